//! One search on one server: offers the rates that `capacity` asks for, lets the server drain between them, and
//! measures the rest of the curve.

mod at_least;
mod conclusion;
mod saturation;
mod window;

use super::figure::figure;
use super::lengths::{self, Lengths};
use super::pages::Pages;
use super::points::Measured;
use super::station::Station;
use super::violations::{ALPHA, judge};
use crate::error::Failure;
use crate::idle_threads::Waited;
use crate::progress::Event;
use capacity::{Ending, Purpose, RateBounds, RateGoal, RateStep};
use run::{AtLeast, LatencyObjective, RateEnding, RatePurpose, RateSearch, RateTrial};
use saturation::Saturated;
use std::time::{Duration, Instant};
use window::{counted, described};

/// Distance of the bounds at which a search is content.
pub const WIDTH: f64 = 0.08;
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
/// In every warning that gives the reason why windows do not count.
const DO_NOT_COUNT: &str = "windows in a row do not count";
/// What a trial takes in addition to its window, seconds, before one was measured.
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
    /// The page that made the server stop answering before.
    pub hung: Option<load::HangingPage>,
    /// Which curve is wanted in addition to the search's own trials.
    pub curve: Curve,
    /// Rate that must surely meet the objective, or surely not.
    pub at_least: Option<f64>,
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

/// A search under way.
struct Search<'a> {
    station: &'a Station<'a>,
    question: &'a Question,
    began: Instant,
    at_first: Option<Duration>,
    measured: Vec<Measured>,
    pages: Pages,
    /// Why nothing more can be measured.
    ended: Option<(RateEnding, String)>,
    /// Of the closed loops.
    waited: Vec<Waited>,
    /// What went wrong after the search had its answer.
    warnings: Vec<String>,
}

/// Measures the server behind `station`.
pub fn search(station: &Station<'_>, question: &Question) -> Result<RateSearch, Failure> {
    // Of the search alone.
    let _ = station.generator.sender.take_redirects();
    let mut search = Search {
        station,
        question,
        began: Instant::now(),
        at_first: None,
        measured: Vec::new(),
        pages: Pages::default(),
        ended: None,
        waited: Vec::new(),
        warnings: Vec::new(),
    };
    search.at_first = station.probe()?;
    let saturated_per_s = match question.saturated_per_s {
        Some(known) => known,
        None => {
            let saturated = search.saturate()?;
            // The first requests of a server without a warm-up are slow, and would pass for its quickness.
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
    let judge = judge(allowed, question.seed, ALPHA);
    let mut rates: capacity::RateSearch<Judge<'_>> = capacity::RateSearch::new(goal, &judge);
    let mut saturated = Saturated {
        per_s: saturated_per_s,
        connections: question.connections,
        capped_per_s: None,
    };
    search.find(&mut rates, lengths)?;
    // What fails from here on takes nothing from an answer that is complete.
    let mut ended = search.ended.clone();
    let looks = search.at_least(&mut rates, lengths)?;
    // The windows of --at-least may have moved the bounds.
    let mut bounds = search.find(&mut rates, lengths)?;
    if search.compare_with_saturation(&mut rates, &bounds, &mut saturated, lengths)? {
        bounds = search.find(&mut rates, lengths)?;
    }
    if bounds.ending == Ending::OutOfTime {
        ended = ended.or_else(|| search.ended.clone());
    }
    if search.ended.is_none() {
        search.draw(saturated.per_s, lengths)?;
    }
    if search.measured.is_empty() && matches!(ended, Some((RateEnding::Interrupted, _))) {
        return Err(Failure::Interrupted);
    }
    let mut found = search.concluded(bounds, ended, saturated, lengths, goal);
    found.at_least = question.at_least.map(|per_s| {
        let judge = super::violations::judge(allowed, question.seed, ALPHA / f64::from(looks));
        let met = match found.out_of_reach {
            Some(_) => Some(false),
            None => at_least::verdict(rates.surely(per_s, judge), per_s, &bounds, saturated.per_s),
        };
        AtLeast { per_s, met }
    });
    Ok(found)
}

/// Why nothing more is measured after so many windows with a late generator.
fn too_many(windows: u32, why: &str) -> String {
    format!("{windows} {DO_NOT_COUNT}: {why}")
}

/// The judge of a search.
type Judge<'a> = &'a dyn Fn(&[(u64, u64)]) -> (f64, f64);

/// The shorter of two probes, or the one that there is.
fn quicker(one: Option<Duration>, other: Option<Duration>) -> Option<Duration> {
    one.into_iter().chain(other).min()
}

impl Search<'_> {
    fn find(
        &mut self,
        search: &mut capacity::RateSearch<Judge<'_>>,
        lengths: Lengths,
    ) -> Result<RateBounds, Failure> {
        let mut late = 0;
        loop {
            let left_s = match self.ended {
                Some(_) => 0.0,
                None => self.left_s() - self.aside_s(),
            };
            let step = lengths::step(left_s, lengths.curve_s, &self.question.curve, |left_s| {
                search.next(left_s)
            });
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
                    self.ended = Some((RateEnding::GeneratorLate, too_many(late, why)));
                }
            } else {
                late = 0;
                search.record(counted(&trial));
            }
        }
    }

    /// The points of the curve that the search has not measured, lowest first, since the highest hurt most. They change
    /// nothing of what the search has found.
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
            if self.ended.is_some() {
                break;
            }
            self.offer(*rate, seconds, RatePurpose::Curve)?;
        }
        if let Some((_, why)) = &self.ended {
            self.warnings
                .push(format!("the curve is not complete: {why}"));
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
        self.pages.add(&offered.outcome.endpoints, purpose);
        self.measured.push(Measured {
            trial: trial.clone(),
            response: offered.outcome.response,
        });
        Ok(Some(trial))
    }

    fn left_s(&self) -> f64 {
        (self.question.budget.as_secs_f64() - self.began.elapsed().as_secs_f64()).max(0.0)
    }

    /// Without the time that the rates of `--at` keep.
    fn left_for_the_answer_s(&self, lengths: Lengths) -> f64 {
        self.left_s() - lengths::reserved_s(lengths.curve_s, &self.question.curve)
    }

    /// What a trial takes in addition to its window, as measured so far.
    fn aside_s(&self) -> f64 {
        let aside: Vec<f64> = self.measured.iter().map(|m| m.trial.recovery_s).collect();
        stats::summary::median(&aside).unwrap_or(ASIDE_S)
    }
}
