//! What the figures of `calc queue` mean in words.

use run::calc::{Queue, QueueModel};

/// The answer.
pub fn sentence(queue: &Queue) -> String {
    let mut said = Vec::new();
    let answer = queue.answers.iter().find(|a| a.model == queue.believed);
    if let (Some(answer), Some(rate), Some(busy)) = (answer, queue.rate_per_s, queue.utilisation) {
        let tail = match answer.percentiles.last() {
            Some(p) => format!(
                ", and 1 in {:.0} takes more than {}",
                100.0 / (100.0 - p.percentile),
                time(p.response_ms)
            ),
            None => String::new(),
        };
        said.push(format!(
            "At {} a second {} busy {:.0} % of the time: a request waits {} on average and is answered after {}{tail}.",
            figure(rate),
            if queue.servers == 1 { "the server is".to_owned() } else { format!("each of {} servers is", queue.servers) },
            busy * 100.0,
            time(answer.wait_ms.unwrap_or(0.0)),
            time(answer.response_ms),
        ));
    }
    if let Some(objective) = &queue.objective {
        let limit = format!("p{} ≤ {}", objective.percentile, time(objective.limit_ms));
        said.push(match (objective.knee_per_s, objective.knee_utilisation) {
            (Some(rate), Some(busy)) => format!(
                "{limit} is met up to {} a second, at {:.0} % utilisation.",
                figure(rate),
                busy * 100.0
            ),
            _ => format!(
                "No rate meets {limit}: even a request that never waits is slower too often. Make requests shorter or more even; \
                 more servers do not help."
            ),
        });
    }
    said.join(" ")
}

/// What the formulas take for granted.
pub fn assumptions(queue: &Queue) -> Vec<String> {
    let mut assumptions = vec![
        "The rate is steady and the queue has no limit: no client gives up, no request is refused, and the service time does \
         not grow under load. (Little's law holds without all this.)"
            .to_owned(),
        "A server here is what one request occupies while it is served: a thread, where requests mostly wait for I/O; a \
         process, where they mostly run Ruby (count no more processes than cores)."
            .to_owned(),
    ];
    assumptions.push(match queue.believed {
        QueueModel::Ggc => "Allen and Cunneen: the wait of M/M/c times the mean of the squared variations of arrivals and \
             service. It is an approximation: in simulations it was off by a few per cent with Poisson arrivals, and with others by up to 20 % at 90 % utilisation \
             and 60 % at 70 %. Its percentiles assume that delayed requests wait for an exponential time."
            .to_owned(),
        QueueModel::Mg1 => "Pollaczek and Khinchine: Poisson arrivals and one server; the mean is exact for any service time \
             with this variation; the percentiles assume a gamma distribution."
            .to_owned(),
        _ => "Erlang C: Poisson arrivals and exponential service times; exact.".to_owned(),
    });
    assumptions.push(
        "Processor sharing is for cores that switch between requests instead of serving one after the other: it slows every \
         request down by the same factor, short or long."
            .to_owned(),
    );
    assumptions
}

/// Where the figures are weaker than they look.
pub fn warnings(queue: &Queue, nearly: f64) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(busy) = queue.utilisation.filter(|busy| *busy >= nearly) {
        let one_more = (1.0 - busy) / (1.0 - (busy * 1.01).min(1.0)).max(1e-9);
        let what = match busy * 1.01 < 1.0 {
            true => format!("one per cent more traffic makes the wait {one_more:.1} times as long"),
            false => "one per cent more traffic is more than the servers can do".to_owned(),
        };
        warnings.push(format!(
            "At {:.1} % utilisation {what}, and the queue takes about {} to settle: real traffic does not stay steady for so long.",
            busy * 100.0,
            time(queue.service_ms / (1.0 - busy.sqrt()).powi(2))
        ));
    }
    if queue.believed == QueueModel::Ggc {
        if queue.utilisation.is_some_and(|busy| busy < 0.5) {
            warnings.push(
                "Below 50 % utilisation the approximation can be off by half; waits are short there.".to_owned(),
            );
        }
        if queue.service_scv > 4.0 || queue.arrival_scv > 4.0 {
            warnings.push(
                "With a variation over 4 the wait depends on more than mean and variation, and these formulas know nothing \
                 else. Simulate, or measure."
                    .to_owned(),
            );
        }
    }
    warnings
}

/// `62.5 ms`, `1.25 s`.
fn time(ms: f64) -> String {
    match ms {
        ms if ms >= 1000.0 => format!("{:.2} s", ms / 1000.0),
        ms if ms >= 100.0 => format!("{ms:.0} ms"),
        ms if ms >= 10.0 => format!("{ms:.1} ms"),
        ms => format!("{ms:.2} ms"),
    }
}

/// Three digits that count.
fn figure(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}
