//! What the predictions mean, in sentences.

use ::predict::Cause;
use run::predict::{Document, Point, Rate, Size, WhatIf};

/// An error of the self-check from which on figures are doubtful: of means, and of the p99.
const MUCH: (f64, f64) = (0.15, 0.25);
/// A GVL, or threads, busier than this in the trace leave much to chance.
const BUSY: f64 = 0.85;

pub fn sentence(document: &Document) -> String {
    if document.self_check.failed {
        return no_answer(document);
    }
    match (document.asked.what_if, supposed(document)) {
        (Some(what_if), Some(traced)) => {
            format!("{}, {traced} {}", said(what_if), begin(document))
        }
        _ => begin(document),
    }
}

fn no_answer(document: &Document) -> String {
    let (error, most) = (&document.self_check.error, &document.self_check.most_apart);
    let figures = [
        ("throughput", error.throughput_per_s, most.throughput_per_s),
        ("mean", error.mean_ms, most.mean_ms),
        ("p50", error.p50_ms, most.p50_ms),
        ("p95", error.p95_ms, most.p95_ms),
        ("p99", error.p99_ms, most.p99_ms),
    ];
    let off = figures.into_iter().filter_map(|(name, error, most)| {
        let apart = (1.0 + error).ln().abs() > most.ln();
        apart.then(|| {
            format!(
                "{name} {:+.0} % (from {:+.0} % to {:+.0} % is accepted)",
                100.0 * error,
                100.0 * (1.0 / most - 1.0),
                100.0 * (most - 1.0)
            )
        })
    });
    format!(
        "No answer: the model does not reproduce the trace itself. Under the recorded arrivals its prediction is off: {}.",
        off.collect::<Vec<_>>().join(", ")
    )
}

/// The traced configuration first: as it is, and as it would be.
fn supposed(document: &Document) -> Option<String> {
    let today = document.today.as_ref()?;
    let then = document.points.first()?;
    let (was, would) = (today.rates.first()?, then.rates.first()?);
    let at = |rate: &Rate| match &rate.answer {
        Some(answer) => format!(
            "mean {} ms, p99 {} ms",
            round(answer.figures.mean_ms),
            round(answer.figures.p99_ms)
        ),
        None => "more requests than it can do".to_owned(),
    };
    let measured = &document.self_check.recorded;
    Some(format!(
        "the traced {} would have at {} a second: {}, at most {} a second. Today the model predicts at {} a second: {}, at most {} a \
         second (measured at {} a second: mean {} ms, p99 {} ms).",
        words(then.size),
        round(would.rate_per_s),
        at(would),
        round(then.most_per_s),
        round(was.rate_per_s),
        at(was),
        round(today.most_per_s),
        round(document.traced.rate_per_s),
        round(measured.mean_ms),
        round(measured.p99_ms)
    ))
}

fn said(what_if: WhatIf) -> String {
    let factors = [
        ("I/O takes", what_if.io, "as long"),
        ("CPU work takes", what_if.cpu, "as long"),
        ("there is", what_if.traffic, "the traffic"),
    ];
    let factors = factors.into_iter().filter(|(_, factor, _)| *factor != 1.0);
    let mut said: Vec<String> = factors
        .map(|(what, factor, of)| format!("{what} {} times {of}", round(factor)))
        .collect();
    if what_if.cores != 0.0 {
        let more = if what_if.cores > 0.0 { "more" } else { "fewer" };
        said.push(format!(
            "{} cores {more} are there",
            round(what_if.cores.abs())
        ));
    }
    format!("If {}", said.join(" and "))
}

/// A likely cause of a failed self-check.
pub fn cause(cause: &Cause) -> String {
    match cause {
        Cause::WarmUp { rest_wall_ns, .. } => {
            // In whole seconds, as they are typed.
            let since = i128::from(rest_wall_ns.div_ceil(1_000_000_000)) * 1_000_000_000;
            match jiff::Timestamp::from_nanosecond(since) {
                Ok(since) => format!("{cause} with --since {since}."),
                Err(_) => format!("{cause} with --since."),
            }
        }
        _ => cause.to_string(),
    }
}

fn begin(document: &Document) -> String {
    let per_s = document.asked.rates_per_s.first().copied().unwrap_or(0.0);
    let objective = document
        .asked
        .objective
        .map(|o| format!("p{} ≤ {} ms", o.percentile, round(o.limit_ms)));
    let Some((point, at)) = begun(document) else {
        let many = document.points.len();
        return match (&objective, document.exit_code) {
            (Some(objective), _) => format!(
                "Not one of the {many} configurations keeps {objective} at {} a second{}{}.",
                round(per_s),
                within_memory(document),
                left_open(document)
            ),
            (None, 1) => {
                format!("Not one of the {many} configurations fits into the memory that was given.")
            }
            (None, _) => format!(
                "Not one of the {many} configurations can do {} a second: give more processes, threads or cores.",
                round(per_s)
            ),
        };
    };
    let because = match &objective {
        Some(objective) if at.is_some_and(|at| is_undecided(point, at)) => format!(
            "the smallest configuration that probably keeps {objective} (undecided: the interval contains the limit)"
        ),
        Some(objective) if per_s <= point.add_at_per_s => {
            format!("the smallest configuration that keeps {objective} with room to grow")
        }
        Some(objective) => format!("the smallest configuration that keeps {objective}"),
        None => "the smallest configuration whose highest rate is at least 97 % of the best one's (without --objective \
                 the rate only excludes configurations that cannot serve it)"
            .to_owned(),
    };
    let answer = at
        .and_then(|at| at.answer.as_ref())
        .map_or(String::new(), |answer| {
            format!(
                ": mean {} ms, p99 {} ms ({} to {})",
                round(answer.figures.mean_ms),
                round(answer.figures.p99_ms),
                round(answer.low.p99_ms),
                round(answer.high.p99_ms)
            )
        });
    let recorded = round(document.traced.rate_per_s);
    let traced = match recorded == round(per_s) {
        true => String::new(),
        false => format!(" (the trace has {recorded})"),
    };
    format!(
        "At {} a second{traced} begin with {}, {because}{}{answer}. It serves at most {} a second; add capacity from {} a second on.",
        round(per_s),
        words(point.size),
        within_memory(document),
        round(point.most_per_s),
        round(point.add_at_per_s)
    )
}

fn begun(document: &Document) -> Option<(&Point, Option<&Rate>)> {
    let size = document.begin_with?;
    let point = document.points.iter().find(|point| point.size == size)?;
    Some((point, point.rates.first()))
}

/// Whether the interval of the highest rate that meets the objective holds this one.
fn is_undecided(point: &Point, at: &Rate) -> bool {
    point
        .objective
        .is_some_and(|objective| objective.decides(at.rate_per_s).is_none())
}

/// How many of those that miss the objective by the best estimate may yet meet it.
fn left_open(document: &Document) -> String {
    let fits = document.points.iter().filter(|p| p.fits != Some(false));
    let open = fits.filter(|p| p.rates.first().is_some_and(|at| is_undecided(p, at)));
    match open.count() {
        0 => String::new(),
        1 => " by the best estimate; 1 is undecided, because its interval contains the limit"
            .to_owned(),
        many => format!(
            " by the best estimate; {many} are undecided, because their intervals contain the limit"
        ),
    }
}

fn within_memory(document: &Document) -> String {
    match document.points.iter().any(|point| point.fits.is_some()) {
        true => " within the memory that was given".to_owned(),
        false => String::new(),
    }
}

/// What is not the application's to say.
pub fn assumptions(document: &Document, connections_known: bool) -> Vec<String> {
    let mut said = Vec::new();
    let asked = &document.asked;
    said.push(format!(
        "arrivals are Poisson, as of independent users, and connections are {}",
        match asked.keep_alive {
            true => "kept",
            false if connections_known => "opened for each request",
            false => "opened for each request, as nothing in the trace says otherwise: give --keep-alive where clients or a proxy keep them",
        }
    ));
    let quota = asked.quota_cores.map_or(String::new(), |quota| {
        format!(", with a quota of {} of them", round(quota))
    });
    said.push(format!(
        "the server has {} cores{quota}, and no other program uses them (change with --cores and --quota)",
        round(asked.cores)
    ));
    match (&document.memory, asked.memory_bytes) {
        (Some(memory), _) => said.push(format!("memory is fitted to {}", memory.from)),
        (None, Some(_)) => {}
        (None, None) => said.push(
            "memory is not known: flight files do not hold it; predict while the traced server runs, or give --measured-memory"
                .to_owned(),
        ),
    }
    said
}

pub fn warnings(document: &Document) -> Vec<String> {
    let mut said = Vec::new();
    let check = &document.self_check;
    let (mean, p99) = (check.error.mean_ms, check.error.p99_ms);
    if !check.failed && (mean.abs() > MUCH.0 || p99.abs() > MUCH.1) {
        said.push(format!(
            "For the traced configuration, whose true figures are known, the model is off by {:+.0} % at the mean and {:+.0} % at \
             the p99. The intervals of the predictions allow for an error of this size: trust the order of the configurations more \
             than the figures. Other programs on the machine can cause it: trace again on a quiet one.",
            100.0 * mean,
            100.0 * p99
        ));
    }
    let traced = &document.traced;
    let busiest = traced.utilisation_gvl.max(traced.utilisation_threads);
    if busiest > BUSY {
        said.push(format!(
            "The trace was made at {:.0} % utilisation. Errors grow with utilisation: trace at {:.0} % or less.",
            100.0 * busiest,
            100.0 * BUSY
        ));
    }
    if let (None, Some(_)) = (&document.memory, document.asked.memory_bytes) {
        said.push(
            "Whether a configuration fits into the memory that was given is not known: flight files do not hold memory. \
             Predict while the traced server runs, or give --measured-memory."
                .to_owned(),
        );
    }
    let outside = document
        .asked
        .rates_per_s
        .iter()
        .filter(|rate| {
            document
                .points
                .iter()
                .all(|point| **rate > point.most_per_s)
        })
        .count();
    if outside > 0 && document.begin_with.is_some() {
        said.push(format!(
            "{outside} of the rates {} more than any of these configurations can do.",
            if outside == 1 { "is" } else { "are" }
        ));
    }
    said
}

pub fn words(size: Size) -> String {
    let many = |count: u16, one: &str, more: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {more}"),
    };
    format!(
        "{} of {}",
        many(size.processes, "process", "processes"),
        many(size.threads, "thread", "threads")
    )
}

/// Three digits at least, and no meaningless ones behind the point.
fn round(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v.fract() == 0.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Document {
        let sample = include_str!("../../../../../contract/samples/predict/mixed.json");
        serde_json::from_str(sample).unwrap()
    }

    #[test]
    fn a_failed_self_check_is_no_answer_and_names_what_is_off() {
        let mut document = sample();
        let check = &mut document.self_check;
        check.failed = true;
        check.error.mean_ms = -0.985;
        check.error.p99_ms = -0.994;
        let said = sentence(&document);
        assert!(said.starts_with("No answer: "), "{said}");
        assert!(
            said.contains("mean -98 % (from -50 % to +100 % is accepted)")
                || said.contains("mean -99 % (from -50 % to +100 % is accepted)"),
            "{said}"
        );
        assert!(
            said.contains("p99 -99 % (from -67 % to +200 % is accepted)"),
            "{said}"
        );
        assert!(
            !said.contains("begin with") && !said.contains("p50"),
            "{said}"
        );
        assert!(
            warnings(&document)
                .iter()
                .all(|w| !w.contains("trust the order"))
        );
    }

    #[test]
    fn a_rate_within_the_interval_is_said_to_be_undecided() {
        let mut document = sample();
        let rate_per_s = document.asked.rates_per_s[0];
        document.asked.objective = Some(run::predict::Objective {
            percentile: 99.0,
            limit_ms: 250.0,
        });
        document.begin_with = Some(document.points[0].size);
        let interval = |low_per_s: f64| {
            Some(run::predict::AtObjective {
                rate_per_s: low_per_s + 2.0,
                low_per_s,
                high_per_s: low_per_s + 4.0,
            })
        };
        document.points[0].objective = interval(rate_per_s + 1.0);
        for (add_at_per_s, keeps) in [
            (rate_per_s - 1.0, "that keeps p99 ≤ 250 ms: mean"),
            (
                rate_per_s + 1.0,
                "that keeps p99 ≤ 250 ms with room to grow: mean",
            ),
        ] {
            document.points[0].add_at_per_s = add_at_per_s;
            let said = sentence(&document);
            assert!(said.contains(keeps), "{said}");
        }
        document.points[0].objective = interval(rate_per_s - 1.0);
        let said = sentence(&document);
        assert!(
            said.contains("that probably keeps p99 ≤ 250 ms (undecided"),
            "{said}"
        );
        (document.begin_with, document.exit_code) = (None, 1);
        document.points[0].objective = interval(rate_per_s - 3.0);
        let said = sentence(&document);
        assert!(
            said.starts_with("Not one of") && said.contains("; 1 is undecided, because"),
            "{said}"
        );
        document.points[0].objective = interval(rate_per_s - 9.0);
        assert!(!sentence(&document).contains("best estimate"));
    }

    #[test]
    fn what_if_is_answered_for_the_traced_configuration_first() {
        let mut document = sample();
        document.today = Some(document.points[0].clone());
        document.asked.what_if = Some(WhatIf {
            io: 2.0,
            cpu: 1.0,
            traffic: 1.0,
            cores: -0.5,
        });
        let said = sentence(&document);
        let first = "If I/O takes 2 times as long and 0.50 cores fewer are there, the traced 1 process of 1 thread would have";
        assert!(said.starts_with(first), "{said}");
        assert!(said.contains("Today the model predicts at"), "{said}");
        let measured = &document.self_check.recorded;
        let measured = format!(
            "mean {} ms, p99 {} ms)",
            round(measured.mean_ms),
            round(measured.p99_ms)
        );
        assert!(said.contains(&measured), "{said}");
    }

    #[test]
    fn a_warm_up_is_left_out_from_its_end_on() {
        let warm_up = Cause::WarmUp {
            parts: 2,
            recorded_ms: 400.0,
            predicted_ms: 4.0,
            rest_wall_ns: 1_700_000_000_500_000_000,
        };
        let said = cause(&warm_up);
        assert!(
            said.ends_with("with --since 2023-11-14T22:13:21Z."),
            "{said}"
        );
    }
}
