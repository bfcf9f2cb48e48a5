//! One search on one server: offers the rates that `capacity` asks for, lets the server drain between them, and
//! measures the rest of the curve.

use super::answer::figure;
use super::lengths::{self, Lengths};
use super::points::points;
use super::station::{Offered, Station};
use crate::progress::Event;
use crate::trial::Failure;
use crate::windows::quantile_ms;
use capacity::{Ending, Purpose, RateBounds, RateGoal, RateStep};
use hdrhistogram::Histogram;
use run::{LatencyObjective, RateEnding, RatePurpose, RateSearch, RateTrial};
use std::time::{Duration, Instant};

/// Distance of the bounds at which a search is content.
pub const WIDTH: f64 = 0.08;
/// One minus the confidence of the two-sided intervals of the violation rate, so 2.5 % on either side.
pub const ALPHA: f64 = 0.05;
/// Where the search begins, as a share of the saturated throughput.
const START: f64 = 0.6;
/// Beyond this share of the saturated throughput nothing is offered.
const MOST: f64 = 4.0;
/// Below this share of the start nothing is.
const LEAST: f64 = 0.02;
/// Requests that a window at the least rate must hold.
const LEAST_REQUESTS: f64 = 20.0;
/// A window of less than this many settling times flatters the rate.
const SETTLED: f64 = 5.0;
/// Windows in a row with a late generator after which the machine is too busy to measure on.
const MOST_LATE: u32 = 5;
/// What a trial takes beside its window, seconds, before one was measured.
const ASIDE_S: f64 = 1.0;

/// What is to be found out.
#[derive(Debug, Clone)]
pub struct Question {
    pub objective: LatencyObjective,
    pub seed: u64,
    /// Time for everything.
    pub budget: Duration,
    /// Good answers per second of a closed loop, where they were measured before.
    pub saturated_per_s: Option<f64>,
    /// Connections of that loop otherwise.
    pub connections: usize,
    /// Which curve is wanted beside the search's own trials.
    pub curve: Curve,
}

/// Which rates the curve has.
#[derive(Debug, Clone, PartialEq)]
pub enum Curve {
    /// Those of the search.
    None,
    /// From well below to well above saturation.
    Wide,
    /// These.
    At(Vec<f64>),
}

/// What was measured at one time.
pub(super) struct Measured {
    pub(super) trial: RateTrial,
    pub(super) response: Histogram<u64>,
}

/// A search under way.
struct Search<'a> {
    station: &'a Station<'a>,
    question: &'a Question,
    began: Instant,
    at_first: Option<Duration>,
    measured: Vec<Measured>,
    /// Why nothing more can be measured.
    ended: Option<(RateEnding, String)>,
}

/// Measures the server behind `station`.
pub fn search(station: &Station<'_>, question: &Question) -> Result<RateSearch, Failure> {
    let mut search = Search {
        station,
        question,
        began: Instant::now(),
        at_first: None,
        measured: Vec::new(),
        ended: None,
    };
    search.at_first = station.probe()?;
    let saturated_per_s = match question.saturated_per_s {
        Some(known) => known,
        None => {
            let saturated = search.saturate()?;
            // The first requests of a server that nobody has warmed up are slow, and would pass for its quickness.
            search.at_first = quicker(search.at_first, station.probe()?);
            saturated
        }
    };
    let allowed = question.objective.allowed_violation_rate();
    let limit_s = question.objective.limit_ms / 1e3;
    let start_per_s = START * saturated_per_s;
    let with_curve = question.curve != Curve::None;
    let lengths = lengths::fit(
        search.left_s(),
        with_curve,
        Some(start_per_s),
        allowed,
        limit_s,
    );
    let goal = RateGoal {
        allowed,
        width: WIDTH,
        start_per_s,
        least_per_s: (LEAST * start_per_s)
            .max(LEAST_REQUESTS / lengths.full_s)
            .min(start_per_s),
        most_per_s: MOST * saturated_per_s,
        short_s: lengths.short_s,
        full_s: lengths.full_s,
    };
    let bounds = search.find(goal, lengths)?;
    let ended = search.ended.take();
    if ended.is_none() {
        search.draw(saturated_per_s, lengths)?;
    }
    if search.measured.is_empty() && matches!(ended, Some((RateEnding::Interrupted, _))) {
        return Err(Failure::Interrupted);
    }
    Ok(search.concluded(bounds, ended, saturated_per_s, lengths, goal))
}

/// The shorter of two probes, or the one that there is.
fn quicker(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}

/// The interval of a violation rate behind trials.
pub fn judge(allowed: f64, seed: u64) -> impl Fn(&[(u64, u64)]) -> (f64, f64) {
    move |trials| {
        let rule = stats::ViolationRule {
            objective_rate: allowed,
            alpha: ALPHA,
            seed,
        };
        // No trial without requests gets here; were it so, nothing would be sure.
        stats::meets(trials, &rule).map_or((0.0, 1.0), |f| (f.interval.low, f.interval.high))
    }
}

impl Search<'_> {
    /// Good answers per second of a closed loop: where to look.
    fn saturate(&mut self) -> Result<f64, Failure> {
        self.station
            .generator
            .watcher
            .on(Event::Phase("saturating"));
        let budget_s = self.question.budget.as_secs_f64();
        let length = lengths::fit(budget_s, true, None, 0.01, 0.0).saturation_s;
        let length = Duration::from_secs_f64(length);
        let outcome = self
            .station
            .closed(self.question.connections, length, self.question.seed)?;
        let good = outcome.throughput_per_s();
        if good <= 0.0 {
            let why = outcome.first_error.clone().unwrap_or_else(|| {
                format!("none came within {:.1} s", outcome.window().as_secs_f64())
            });
            return Err(Failure::Trial(format!("not one good answer: {why}")));
        }
        Ok(good)
    }

    fn find(&mut self, goal: RateGoal, lengths: Lengths) -> Result<RateBounds, Failure> {
        let mut search = capacity::RateSearch::new(goal, judge(goal.allowed, self.question.seed));
        let mut late = 0;
        loop {
            let left_s = self.left_s() - lengths.curve_s - self.aside_s();
            let step = search.next(if self.ended.is_some() { 0.0 } else { left_s });
            let (per_s, seconds, purpose) = match step {
                RateStep::Done(bounds) => return Ok(bounds),
                RateStep::Offer {
                    per_s,
                    seconds,
                    purpose,
                } => (per_s, seconds, purpose),
            };
            let purpose = match purpose {
                Purpose::Bracket => RatePurpose::Bracket,
                Purpose::Decide => RatePurpose::Decide,
                Purpose::Assure => RatePurpose::Assure,
            };
            let Some(trial) = self.offer(per_s, seconds, purpose)? else {
                continue;
            };
            if trial.generator_cpu > load::MAX_CPU_SHARE {
                search.spoil(per_s);
            } else if let Some(why) = &trial.refused {
                // Lateness comes from a busy machine rather than from the rate, so the rate is offered again.
                late += 1;
                if late >= MOST_LATE {
                    let why = format!("{late} windows in a row do not count: {why}");
                    self.ended = Some((RateEnding::GeneratorLate, why));
                }
            } else {
                late = 0;
                search.record(capacity::RateTrial {
                    per_s,
                    seconds: trial.seconds,
                    requests: trial.requests,
                    violations: trial.late + trial.failed,
                });
            }
        }
    }

    /// The points of the curve that the search has not measured, lowest first, since the highest hurt most. What ends
    /// it takes nothing from what the search has found.
    fn draw(&mut self, saturated_per_s: f64, lengths: Lengths) -> Result<(), Failure> {
        let long = self
            .measured
            .iter()
            .filter(|m| m.trial.purpose != RatePurpose::Bracket);
        let measured: Vec<f64> = long.map(|m| m.trial.asked_per_s).collect();
        let rates = match &self.question.curve {
            Curve::None => return Ok(()),
            Curve::Wide => lengths::curve_rates(saturated_per_s, &measured),
            Curve::At(rates) => rates.clone(),
        };
        for (index, rate) in rates.iter().enumerate() {
            let remaining = (rates.len() - index) as f64;
            // Half as much again as the window: queues beyond saturation take their time to drain.
            let share_s = (self.left_s() / remaining - self.aside_s()) / 1.5;
            let seconds = share_s.clamp(lengths.short_s, lengths.full_s);
            if self.left_s() < lengths.short_s + self.aside_s() {
                let why = format!(
                    "no time was left for the curve from {} a second on; give a longer --budget",
                    figure(*rate)
                );
                self.ended = Some((RateEnding::OutOfTime, why));
            }
            if self.ended.is_some() || self.offer(*rate, seconds, RatePurpose::Curve)?.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// Offers one rate and waits until the server has recovered from it. `None` when it died or the user stopped it.
    fn offer(
        &mut self,
        per_s: f64,
        seconds: f64,
        purpose: RatePurpose,
    ) -> Result<Option<RateTrial>, Failure> {
        match self.offer_whole(per_s, seconds, purpose) {
            Err(Failure::Interrupted) => {
                let why = format!("interrupted at {} requests a second", figure(per_s));
                self.ended = Some((RateEnding::Interrupted, why));
                Ok(None)
            }
            offered => offered,
        }
    }

    fn offer_whole(
        &mut self,
        per_s: f64,
        seconds: f64,
        purpose: RatePurpose,
    ) -> Result<Option<RateTrial>, Failure> {
        let watcher = self.station.generator.watcher;
        watcher.on(Event::Offering {
            per_s,
            seconds,
            purpose,
            left_s: self.left_s(),
            budget_s: self.question.budget.as_secs_f64(),
        });
        let length = Duration::from_secs_f64(seconds);
        // One family of arrivals for the whole search, a member for each trial.
        let seed = self
            .question
            .seed
            .wrapping_add(1 + self.measured.len() as u64);
        let offered = match self.station.open(per_s, length, seed) {
            Err(Failure::Trial(why)) => {
                let why = format!("at {} requests a second: {why}", figure(per_s));
                self.ended = Some((RateEnding::Broken, why));
                return Ok(None);
            }
            offered => offered?,
        };
        let outcome = &offered.outcome;
        let draining_ns = outcome.finished_ns.saturating_sub(outcome.ended_ns);
        let drained = Instant::now();
        let recovered = self.station.recovers(self.at_first);
        let (recovered, died) = match recovered {
            Err(Failure::Trial(why)) => (false, Some(why)),
            recovered => (recovered?, None),
        };
        let recovery_s = draining_ns as f64 / 1e9 + drained.elapsed().as_secs_f64();
        if !recovered {
            let why = died.unwrap_or_else(|| {
                format!(
                    "the server did not recover from {} requests a second: {recovery_s:.0} s later a single \
                     request was still slow or failed",
                    figure(per_s)
                )
            });
            self.ended = Some((RateEnding::Broken, why));
        }
        let trial = described(&offered, per_s, purpose, recovery_s, recovered);
        watcher.on(Event::Offered { trial: &trial });
        self.measured.push(Measured {
            trial: trial.clone(),
            response: offered.outcome.response,
        });
        Ok(Some(trial))
    }

    fn left_s(&self) -> f64 {
        (self.question.budget.as_secs_f64() - self.began.elapsed().as_secs_f64()).max(0.0)
    }

    /// What a trial takes beside its window, as measured so far.
    fn aside_s(&self) -> f64 {
        let aside: Vec<f64> = self.measured.iter().map(|m| m.trial.recovery_s).collect();
        stats::summary::median(&aside).unwrap_or(ASIDE_S)
    }

    /// `ended` is what ended the search early; what ended the curve is in `self`.
    fn concluded(
        self,
        bounds: RateBounds,
        ended: Option<(RateEnding, String)>,
        saturated_per_s: f64,
        lengths: Lengths,
        goal: RateGoal,
    ) -> RateSearch {
        let ending = match (bounds.ending, &ended) {
            // Enough was known before.
            (Ending::Found, _) => RateEnding::Found,
            (_, Some((ending, _))) => *ending,
            (Ending::NotEven, _) => RateEnding::NotEven,
            (Ending::AtLeast, _) => RateEnding::AtLeast,
            (Ending::Generator, _) => RateEnding::GeneratorLate,
            (Ending::OutOfTime, _) => RateEnding::OutOfTime,
        };
        let mut warnings: Vec<String> = ended.into_iter().map(|(_, why)| why).collect();
        warnings.extend(self.warnings(&bounds, saturated_per_s, lengths, goal));
        RateSearch {
            objective: self.question.objective,
            ending,
            met_per_s: bounds.met_per_s,
            decided: bounds.decided,
            broke_per_s: bounds.broke_per_s,
            low_per_s: bounds.low_per_s,
            high_per_s: bounds.high_per_s,
            confidence: 1.0 - ALPHA,
            saturated_per_s: Some(saturated_per_s),
            curve: points(&self.measured),
            took_s: self.began.elapsed().as_secs_f64(),
            trials: self.measured.into_iter().map(|m| m.trial).collect(),
            warnings,
        }
    }

    fn warnings(
        &self,
        bounds: &RateBounds,
        saturated_per_s: f64,
        lengths: Lengths,
        goal: RateGoal,
    ) -> Vec<String> {
        let curve = |(_, why): &(RateEnding, String)| format!("the curve is not complete: {why}");
        let mut warnings: Vec<String> = self.ended.iter().map(curve).collect();
        if bounds.ending == Ending::Generator {
            warnings.push(format!(
                "the generator could not keep even {} requests a second; free this machine's cores",
                figure(goal.least_per_s)
            ));
        }
        // Below the share that is searched at most, or below what a window can judge.
        if bounds.ending == Ending::NotEven && goal.least_per_s > LEAST * goal.start_per_s * 1.001 {
            warnings.push(format!(
                "rates below {} a second were not tried: a window would hold too few requests; a longer --budget \
                 lengthens it",
                figure(goal.least_per_s)
            ));
        }
        if self.at_first.is_none() {
            warnings.push(
                "single requests failed even before the load: whether the server recovered between two windows is not \
                 known"
                    .to_owned(),
            );
        }
        if bounds.contradictory {
            warnings.push(
                "a rate surely met the objective above one that surely did not: the server or the machine changed \
                 while it was measured"
                    .to_owned(),
            );
        }
        let trials = self.measured.iter().map(|m| &m.trial);
        let refused: Vec<&str> = trials.filter_map(|t| t.refused.as_deref()).collect();
        if let Some(why) = refused.last() {
            warnings.push(format!("{} trials do not count: {why}", refused.len()));
        }
        if let (Some(met), Some(at_first)) = (bounds.met_per_s, self.at_first) {
            let settling_s = lengths::settling_s(at_first.as_secs_f64(), met / saturated_per_s);
            if lengths.full_s < SETTLED * settling_s {
                let needs = if settling_s.is_finite() {
                    format!("about {settling_s:.0} s")
                } else {
                    "longer than any window".to_owned()
                };
                warnings.push(format!(
                    "at {} a second a queue takes {needs} to settle, and windows were {:.0} s: the rate may be \
                     flattered; a longer --budget lengthens them",
                    figure(met),
                    lengths.full_s
                ));
            }
            let allowed = self.question.objective.allowed_violation_rate();
            if met * lengths.full_s * allowed < 1.0 {
                warnings.push(format!(
                    "a window holds {:.0} requests, too few for p{}: a longer --budget lengthens it",
                    met * lengths.full_s,
                    self.question.objective.percentile
                ));
            }
        }
        warnings
    }
}

fn described(
    offered: &Offered,
    per_s: f64,
    purpose: RatePurpose,
    recovery_s: f64,
    recovered: bool,
) -> RateTrial {
    let outcome = &offered.outcome;
    let requests = outcome.counts.scheduled - outcome.counts.cut;
    let failed = outcome.errors.total();
    RateTrial {
        purpose,
        asked_per_s: per_s,
        seconds: outcome.window().as_secs_f64(),
        requests,
        in_time: requests - outcome.violations.min(requests),
        late: outcome.violations.saturating_sub(failed),
        failed,
        p50_ms: quantile_ms(&outcome.response, 0.50),
        p99_ms: quantile_ms(&outcome.response, 0.99),
        utilisation: offered.utilisation,
        generator_cpu: outcome.generator_cpu_share(),
        lateness_p99_ms: quantile_ms(&outcome.lateness, 0.99),
        recovery_s,
        recovered,
        refused: outcome.generator_ok().err().map(|t| t.to_string()),
    }
}
