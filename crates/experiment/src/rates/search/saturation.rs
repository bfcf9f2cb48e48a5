//! What a closed loop is answered: where the search begins, and what its answer must stay below.

use super::{Judge, Question, Search};
use crate::error::Failure;
use crate::generator;
use crate::progress::Event;
use crate::rates::figure::figure;
use crate::rates::lengths::{self, Lengths};
use capacity::RateBounds;
use run::RateEnding;
use std::time::Duration;

/// Most connections of the second closed loop. Windows never have more than half as many requests under way, so that the
/// loop keeps the server busier than any of them even where more were wanted.
const MOST_CONNECTIONS: usize = 2 * generator::MOST_CONNECTIONS;

/// What a closed loop was answered.
#[derive(Debug, Clone, Copy)]
pub(super) struct Saturated {
    pub(super) per_s: f64,
    pub(super) connections: usize,
    /// The highest rate that met the objective without being below `per_s`.
    pub(super) capped_per_s: Option<f64>,
}

impl Search<'_> {
    /// Good answers per second of a closed loop: where to look.
    pub(super) fn saturate(&mut self) -> Result<f64, Failure> {
        self.station
            .generator
            .watcher
            .on(Event::Phase("saturating"));
        let budget_s = self.question.budget.as_secs_f64();
        let length_s = lengths::fit(budget_s, true, None, 0.01, 0.0).saturation_s;
        self.closed_loop(self.question.connections, length_s)
    }

    fn closed_loop(&mut self, connections: usize, length_s: f64) -> Result<f64, Failure> {
        let length = Duration::from_secs_f64(length_s);
        let (outcome, waited) = self
            .station
            .closed(connections, length, self.question.seed)?;
        self.waited.extend(waited);
        let server = self.station.generator.server;
        let hung = self.question.hung.as_ref();
        crate::trial::pages::answer_after(hung, &outcome, "at full load", server)?;
        let good = outcome.throughput_per_s();
        if good <= 0.0 {
            let why = outcome.first_error.clone().unwrap_or_else(|| {
                format!("none came within {:.1} s", outcome.window().as_secs_f64())
            });
            return Err(Failure::Trial(format!("not one good answer: {why}")));
        }
        Ok(good)
    }

    /// A rate cannot be served for long that is not below what the server answers at most, and a window may be too
    /// short to show its queue growing. The closed loop may have been too short too, or have had too few connections:
    /// it is measured again, for the length of a window. True where that leaves the search to go on below a cap.
    /// Where the check fails, the answer stays, with a warning, and nothing more is measured.
    pub(super) fn compare_with_saturation(
        &mut self,
        rates: &mut capacity::RateSearch<Judge<'_>>,
        bounds: &RateBounds,
        saturated: &mut Saturated,
        lengths: Lengths,
    ) -> Result<bool, Failure> {
        let Some(met) = bounds.met_per_s.filter(|met| *met >= saturated.per_s) else {
            return Ok(false);
        };
        let needs_s = lengths.full_s + self.aside_s();
        if self.ended.is_some() || self.left_for_the_answer_s(lengths) < needs_s {
            return Ok(false);
        }
        self.station
            .generator
            .watcher
            .on(Event::Phase("saturating"));
        let connections = connections_for(met, self.question);
        let per_s = match self.closed_loop_again(connections, lengths.full_s) {
            Err(Failure::Trial(why)) => {
                self.warnings.push(format!(
                    "whether {} a second is below the saturated throughput could not be checked with {connections} \
                     clients, and nothing was measured after that: {why}",
                    figure(met)
                ));
                self.ended = Some((RateEnding::Broken, why));
                return Ok(false);
            }
            Err(Failure::Interrupted) => {
                let why = "interrupted in the closed loop".to_owned();
                self.warnings.push(why.clone());
                self.ended = Some((RateEnding::Interrupted, why));
                return Ok(false);
            }
            per_s => per_s?,
        };
        if per_s > saturated.per_s {
            saturated.per_s = per_s;
            saturated.connections = connections;
        }
        if met < saturated.per_s {
            return Ok(false);
        }
        saturated.capped_per_s = Some(met);
        rates.cap(saturated.per_s);
        Ok(true)
    }

    fn closed_loop_again(&mut self, connections: usize, length_s: f64) -> Result<f64, Failure> {
        let per_s = self.closed_loop(connections, length_s)?;
        match self.station.recovers(self.at_first)? {
            true => Ok(per_s),
            false => Err(Failure::Trial(
                "the server did not recover from them".to_owned(),
            )),
        }
    }
}

/// Connections of a closed loop that keeps the server as busy as this rate would: twice the requests that are on
/// their way at a time when each takes as long as the limit allows.
fn connections_for(per_s: f64, question: &Question) -> usize {
    let under_way = per_s * question.objective.limit_ms / 1e3;
    let wanted = (2.0 * under_way).ceil() as usize;
    question.connections.max(wanted.min(MOST_CONNECTIONS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Goal;
    use crate::config::{Asked, Request, resolve};
    use crate::generator::Generator;
    use crate::idle_threads::Waited;
    use crate::progress::Watcher;
    use crate::rates::Curve;
    use crate::rates::station::Station;
    use crate::request::Experiment;
    use crate::sending::Sender;
    use capacity::{Ending, RateGoal};
    use run::LatencyObjective;
    use std::time::Instant;

    struct Silent;

    impl Watcher for Silent {
        fn on(&self, _: Event<'_>) {}

        fn cancelled(&self) -> bool {
            false
        }

        fn elapsed(&self) -> Duration {
            Duration::ZERO
        }
    }

    fn experiment() -> Experiment {
        let request = Request {
            base_dir: env!("CARGO_MANIFEST_DIR").into(),
            path: Some(Asked::new("/".to_owned(), "--path")),
            ..Request::default()
        };
        resolve(request, Goal::Tune, 1).unwrap()
    }

    /// What the check of an answer above saturation comes to. The port was free a moment ago, and has no listener:
    /// every request of the closed loop fails.
    fn checked(budget: Duration, curve: Curve, curve_s: f64) -> run::RateSearch {
        let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let target = load::Target::from(free.local_addr().unwrap());
        drop(free);
        let experiment = experiment();
        let sender = Sender::new(&experiment);
        let station = Station {
            generator: Generator {
                target,
                workload: &experiment.workload,
                timeout: Duration::from_secs(1),
                limit: None,
                allow_remote: false,
                cores: &[],
                server: None,
                watcher: &Silent,
                sender: &sender,
            },
            server_cores: 1.0,
            agent: None,
        };
        let question = Question {
            objective: LatencyObjective {
                percentile: 99.0,
                limit_ms: 50.0,
            },
            seed: 1,
            budget,
            saturated_per_s: Some(90.0),
            connections: 2,
            hung: None,
            curve,
            at_least: None,
        };
        let mut search = Search {
            station: &station,
            question: &question,
            began: Instant::now(),
            at_first: None,
            measured: Vec::new(),
            pages: Default::default(),
            ended: None,
            waited: Vec::from_iter(queue_before_idle_threads()),
            warnings: Vec::new(),
        };
        let lengths = Lengths {
            saturation_s: 0.2,
            short_s: 0.1,
            full_s: 0.2,
            curve_s,
        };
        let goal = RateGoal {
            allowed: 0.01,
            width: 0.08,
            start_per_s: 54.0,
            least_per_s: 1.0,
            most_per_s: 360.0,
            short_s: 0.1,
            full_s: 0.2,
        };
        let judge = crate::rates::violations::judge(0.01, 1, 0.05);
        let mut rates: capacity::RateSearch<Judge<'_>> = capacity::RateSearch::new(goal, &judge);
        let bounds = RateBounds {
            ending: Ending::AtLeast,
            met_per_s: Some(100.0),
            decided: true,
            broke_per_s: None,
            low_per_s: None,
            high_per_s: None,
            contradictory: false,
            doubted_per_s: None,
        };
        let mut saturated = Saturated {
            per_s: 90.0,
            connections: 2,
            capped_per_s: None,
        };
        let capped = search
            .compare_with_saturation(&mut rates, &bounds, &mut saturated, lengths)
            .ok();
        assert_eq!(capped, Some(false));
        assert_eq!((saturated.per_s, saturated.capped_per_s), (90.0, None));
        search.concluded(bounds, None, saturated, lengths, goal)
    }

    /// 90 ms for a thread, 10 ms in it, and of two threads' 20 s 1 s.
    fn queue_before_idle_threads() -> Option<Waited> {
        let settings = run::Settings {
            workers: 0,
            threads: 2,
            preload: false,
        };
        let split = run::Split {
            requests: 100,
            wall_ms: 1_000.0,
            held_ms: 500.0,
            gvl_wait_ms: 0.0,
            lock_wait_ms: None,
            io_ms: 500.0,
            cpu_ms: 500.0,
            queue_ms: Some(9_000.0),
        };
        Waited::of(settings, &split, 10.0)
    }

    #[test]
    fn a_queue_before_idle_threads_is_explained() {
        let found = checked(Duration::from_secs(600), Curve::None, 0.0);
        let said = found.warnings.join(" ");
        assert!(
            said.contains("waited 90 ms for a thread, and took 10 ms"),
            "{said}"
        );
    }

    #[test]
    fn a_check_that_fails_takes_nothing_from_the_answer() {
        let found = checked(Duration::from_secs(600), Curve::None, 0.0);
        assert_eq!(
            (found.ending, found.met_per_s),
            (RateEnding::AtLeast, Some(100.0))
        );
        let said = found.warnings.join(" ");
        assert!(said.contains("could not be checked"), "{said}");
    }

    #[test]
    fn the_check_leaves_the_rates_that_the_user_named_their_time() {
        let budget = Duration::from_secs(600);
        let was_made = |curve, curve_s| {
            let found = checked(budget, curve, curve_s);
            found.warnings.join(" ").contains("could not be checked")
        };
        let named = || Curve::At(vec![10.0, 20.0]);
        assert!(was_made(named(), 180.0));
        assert!(!was_made(named(), 599.5));
        assert!(was_made(Curve::Wide, 599.5), "nobody asked for this curve");
    }
}
