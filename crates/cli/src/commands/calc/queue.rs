//! `calc queue`.

use super::given::{Given, number, some_time_s, whole};
use crate::args::QueueArgs;
use capacity::queue::{Answer, MOST_SCV, Model, Queue, knee, sharing};
use experiment::config::{Asked, Problem, parse_latency, parse_rate};
use run::calc::{
    self, Document, QueueAnswer, QueueModel, QueueObjective, QueuePercentile, QueueRate,
};

/// Percentiles by default.
const PERCENTILES: [f64; 3] = [50.0, 95.0, 99.0];
/// Utilisations of the table of rates.
const BUSY: [f64; 7] = [0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95];
/// From here on a slightly higher rate makes a queue of another size.
const NEARLY_SATURATED: f64 = 0.95;

/// The formulas for what was asked.
pub fn queue(args: &QueueArgs, given: &mut Given) -> Option<Document> {
    let asked = Question::read(args, given)?;
    let believed = asked.queue.best();
    let now = asked.rate_per_s.map(|_| &asked.queue);
    let objective = asked.objective(believed);
    let document = calc::Queue {
        rate_per_s: asked.rate_per_s,
        service_ms: asked.queue.service_s() * 1e3,
        service_scv: asked.queue.service_scv(),
        arrival_scv: asked.queue.arrival_scv(),
        servers: asked.queue.servers(),
        most_per_s: asked.queue.most_per_s(),
        offered: now.map(Queue::offered),
        utilisation: now.map(Queue::utilisation),
        believed: named(believed),
        answers: now.map_or_else(Vec::new, |queue| answers(queue, &asked.percentiles)),
        rates: asked.rates(believed, objective.as_ref()),
        objective,
    };
    let no = document
        .objective
        .is_some_and(|o| o.knee_per_s.is_none() || o.met == Some(false));
    Some(Document {
        sentence: super::queue_words::sentence(&document),
        assumptions: super::queue_words::assumptions(&document),
        warnings: super::queue_words::warnings(&document, NEARLY_SATURATED),
        exit_code: u8::from(no),
        queue: Some(document),
        ..super::blank()
    })
}

/// What was asked, checked.
struct Question {
    /// At the rate that was given, or at a small one where none was.
    queue: Queue,
    rate_per_s: Option<f64>,
    /// Percentile and seconds.
    limit: Option<(f64, f64)>,
    percentiles: Vec<f64>,
}

impl Question {
    fn read(args: &QueueArgs, given: &mut Given) -> Option<Question> {
        let rate_per_s = given.optional(&args.rate, "--rate", parse_rate);
        let service = given.required(
            &args.service,
            "--service",
            "give the time for which a request keeps its server busy, such as --service 20ms",
            some_time_s,
        );
        let servers = given.optional(&args.servers, "--servers", |a| {
            whole(a, 1, 100_000, "servers")
        });
        let scv = |a: &Asked| {
            number(
                a,
                0.0,
                MOST_SCV,
                "from 0 (constant) to 100; 1 is exponential",
            )
        };
        let service_scv = given.optional(&args.scv, "--scv", scv);
        let arrival_scv = given.optional(&args.arrival_scv, "--arrival-scv", scv);
        let limit = given.optional(&args.objective, "--objective", parse_latency);
        let percentiles = given.optional(&args.percentiles, "--percentiles", percentiles);
        if args.rate.is_none() && args.objective.is_none() {
            given.problems.push(Problem::with(
                "neither --rate nor --objective was given",
                "give the requests that arrive each second, such as --rate 80, or a limit to find the rate for, such as \
                 --objective p99=250ms",
            ));
        }
        let (service, servers) = (service?, servers.unwrap_or(1));
        let most_per_s = f64::from(servers) / service;
        let refused = format!(
            "give a rate under {}, more servers (over {}), or a shorter service time",
            decimals(most_per_s),
            decimals(rate_per_s.unwrap_or(0.0) * service)
        );
        let queue = Queue::new(rate_per_s.unwrap_or(most_per_s / 2.0), service, servers)
            .and_then(|q| q.varying(arrival_scv.unwrap_or(1.0), service_scv.unwrap_or(1.0)));
        let queue = given.formula("--rate, --service, --servers", &refused, queue)?;
        Some(Question {
            queue,
            rate_per_s,
            limit: limit.map(|l| (l.percentile, l.limit_ms / 1e3)),
            percentiles: percentiles.unwrap_or_else(|| PERCENTILES.to_vec()),
        })
    }

    fn objective(&self, model: Model) -> Option<QueueObjective> {
        let (percentile, limit_s) = self.limit?;
        let share = percentile / 100.0;
        let found = knee(&self.queue, model, share, limit_s);
        let met = |_| {
            let answer = self.queue.answer(model)?;
            Some(answer.response_beyond(limit_s) <= 1.0 - share)
        };
        Some(QueueObjective {
            percentile,
            limit_ms: limit_s * 1e3,
            knee_per_s: found.map(|k| k.rate_per_s),
            knee_utilisation: found.map(|k| k.utilisation),
            met: self.rate_per_s.and_then(met),
        })
    }

    /// The usual utilisations, the rate that was asked for, and the knee.
    fn rates(&self, model: Model, objective: Option<&QueueObjective>) -> Vec<QueueRate> {
        let most_per_s = self.queue.most_per_s();
        let mut rates: Vec<f64> = BUSY.iter().map(|busy| busy * most_per_s).collect();
        rates.extend(self.rate_per_s);
        rates.extend(objective.and_then(|o| o.knee_per_s));
        rates.sort_by(f64::total_cmp);
        rates.dedup_by(|a, b| (*a / *b - 1.0).abs() < 1e-9);
        let row = |rate_per_s: f64| {
            let queue = self.queue.at(rate_per_s).ok()?;
            let answer = queue.answer(model)?;
            Some(QueueRate {
                rate_per_s,
                utilisation: queue.utilisation(),
                wait_ms: answer.wait_s * 1e3,
                response_ms: answer.response_s * 1e3,
                percentiles: of_percentiles(&answer, &self.percentiles),
            })
        };
        rates.into_iter().filter_map(row).collect()
    }
}

/// `50,95,99` or `p50,p99.9`.
fn percentiles(asked: &Asked) -> Result<Vec<f64>, Problem> {
    let remedy = "give percentiles from 1 to 99.99, such as 50,95,99";
    let one = |text: &str| {
        let text = text.trim();
        let number = text.strip_prefix('p').unwrap_or(text).parse::<f64>().ok();
        number.filter(|p| (1.0..=99.99).contains(p)).ok_or_else(|| {
            Problem::of(
                asked,
                format_args!("{text:?} is no such percentile"),
                remedy,
            )
        })
    };
    let mut all = asked
        .text
        .split(',')
        .map(one)
        .collect::<Result<Vec<f64>, Problem>>()?;
    all.sort_by(f64::total_cmp);
    all.dedup();
    Ok(all)
}

fn named(model: Model) -> QueueModel {
    match model {
        Model::Mmc => QueueModel::Mmc,
        Model::Mg1 => QueueModel::Mg1,
        Model::Ggc => QueueModel::Ggc,
    }
}

/// The formula to believe first, M/M/c for comparison, and sharing.
fn answers(queue: &Queue, percentiles: &[f64]) -> Vec<QueueAnswer> {
    let believed = queue.best();
    let mut models = vec![believed];
    models.extend([Model::Mmc].into_iter().filter(|m| *m != believed));
    let row = |model: Model| {
        let answer = queue.answer(model)?;
        Some(QueueAnswer {
            model: named(model),
            fits: model == believed,
            delayed: Some(answer.delayed),
            wait_ms: Some(answer.wait_s * 1e3),
            response_ms: answer.response_s * 1e3,
            in_queue: Some(answer.in_queue),
            in_system: answer.in_system,
            percentiles: of_percentiles(&answer, percentiles),
        })
    };
    let mut answers: Vec<QueueAnswer> = models.into_iter().filter_map(row).collect();
    let shared = sharing(queue);
    answers.push(QueueAnswer {
        model: QueueModel::Sharing,
        fits: queue.arrival_scv() == 1.0,
        delayed: None,
        wait_ms: None,
        response_ms: shared.response_s * 1e3,
        in_queue: None,
        in_system: shared.in_system,
        percentiles: Vec::new(),
    });
    answers
}

fn of_percentiles(answer: &Answer, percentiles: &[f64]) -> Vec<QueuePercentile> {
    let one = |percentile: &f64| QueuePercentile {
        percentile: *percentile,
        wait_ms: answer.wait_quantile_s(percentile / 100.0) * 1e3,
        response_ms: answer.response_quantile_s(percentile / 100.0) * 1e3,
    };
    percentiles.iter().map(one).collect()
}

/// Four decimals, as far as they say anything.
fn decimals(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(rate: Option<&str>, service: &str, servers: &str) -> QueueArgs {
        let text = |t: &str| Some(t.to_owned());
        QueueArgs {
            rate: rate.and_then(text),
            service: text(service),
            servers: text(servers),
            scv: None,
            arrival_scv: None,
            objective: None,
            percentiles: None,
        }
    }

    fn calculated(args: &QueueArgs) -> Document {
        let mut given = Given::default();
        queue(args, &mut given).unwrap_or_else(|| panic!("{:?}", given.problems))
    }

    #[test]
    fn an_impossible_rate_is_answered_with_plain_numbers() {
        let remedy = |rate, service| {
            let mut given = Given::default();
            assert!(queue(&asked(Some(rate), service, "4"), &mut given).is_none());
            given.problems[0].remedy.clone()
        };
        assert_eq!(
            remedy("300", "20ms"),
            "give a rate under 200, more servers (over 6), or a shorter service time"
        );
        assert!(remedy("200", "30ms").contains("under 133.3333, more servers (over 6)"));
    }

    /// M/M/1 at 40 a second and 20 ms: 100 ms, 80 of them in the queue.
    #[test]
    fn one_server_by_hand() {
        let mut args = asked(Some("40"), "20ms", "1");
        args.objective = Some("p99=250ms".to_owned());
        let document = calculated(&args);
        let found = document.queue.unwrap();
        let answer = &found.answers[0];
        assert_eq!((answer.model, answer.fits), (QueueModel::Mmc, true));
        assert!((answer.response_ms - 100.0).abs() < 1e-9);
        assert!((answer.wait_ms.unwrap() - 80.0).abs() < 1e-9);
        assert!((answer.in_system - 4.0).abs() < 1e-9);
        let objective = found.objective.unwrap();
        assert!((objective.knee_per_s.unwrap() - (50.0 - 100_f64.ln() / 0.25)).abs() < 1e-3);
        assert_eq!((objective.met, document.exit_code), (Some(false), 1));
        assert!(
            found
                .rates
                .windows(2)
                .all(|w| w[0].rate_per_s < w[1].rate_per_s)
        );
        assert_eq!(found.rates.len(), 8, "0.8 is both usual and asked for");
    }

    #[test]
    fn more_than_the_servers_can_do_is_refused() {
        let mut given = Given::default();
        assert!(queue(&asked(Some("200"), "20ms", "4"), &mut given).is_none());
        let said = given.problems[0].to_string();
        assert!(
            said.contains("busy 100 %") && said.contains("under 200"),
            "{said}"
        );
    }

    #[test]
    fn everything_wrong_is_reported_at_once() {
        let mut args = asked(Some("-1"), "0s", "0");
        args.scv = Some("-1".to_owned());
        args.arrival_scv = Some("many".to_owned());
        args.objective = Some("p99=250".to_owned());
        args.percentiles = Some("50,100".to_owned());
        let mut given = Given::default();
        assert!(queue(&args, &mut given).is_none());
        assert_eq!(given.problems.len(), 7, "{:?}", given.problems);
    }

    #[test]
    fn an_objective_alone_asks_for_the_rate() {
        let mut args = asked(None, "20ms", "4");
        args.objective = Some("p95=100ms".to_owned());
        let document = calculated(&args);
        let found = document.queue.unwrap();
        assert_eq!((found.rate_per_s, found.answers.len()), (None, 0));
        assert!(found.objective.unwrap().knee_per_s.is_some());
        assert_eq!(document.exit_code, 0);
        args.objective = Some("p95=30ms".to_owned());
        assert_eq!(calculated(&args).exit_code, 1);
    }
}
