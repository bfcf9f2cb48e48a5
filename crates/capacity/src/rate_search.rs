//! Which arrival rate to offer next, so that the highest one that meets a tail objective is found.
//!
//! In the manner of MLRsearch (draft-ietf-bmwg-mlrsearch): short trials bracket the answer, full-length ones
//! decide it, bisection is on a log scale, and a rate is decided by the majority of its full-length trials (an
//! exceed ratio of one half), so that one stall decides nothing. The answer is the relevant lower bound: the
//! highest rate that met the objective and has no rate below it that did not.
//!
//! Where that bound truly lies is a question of statistics, which the caller answers: a judge gives the
//! interval of the violation rate behind some trials. When the bounds are near enough, further trials on
//! either side look for a rate that surely meets the objective and one that surely does not; these two are
//! the interval of the answer. Requests, clocks and drains are the caller's too.

mod evidence;

use evidence::{Class, Evidence};
use serde::{Deserialize, Serialize};

/// What is searched, and how precisely.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateGoal {
    /// Share of requests that may violate the objective: 0.01 for a p99.
    pub allowed: f64,
    /// Relative distance of the bounds at which the search ends, such as 0.05.
    pub width: f64,
    /// Rate to begin with, per second.
    pub start_per_s: f64,
    /// Below this rate the search goes no further: not even this one meets it.
    pub least_per_s: f64,
    /// Above this rate the search goes no further: the server carries at least this one.
    pub most_per_s: f64,
    /// Length of the trials that bracket the answer, seconds.
    pub short_s: f64,
    /// Length of the trials that decide it, seconds.
    pub full_s: f64,
}

/// What one trial gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateTrial {
    /// Rate that was offered, as the search asked for it.
    pub per_s: f64,
    /// Length of the window, seconds.
    pub seconds: f64,
    /// Requests that fell due.
    pub requests: u64,
    /// Of those, over the limit or failed.
    pub violations: u64,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum RateStep {
    /// Offer this rate for so long, and record what came of it.
    Offer {
        /// Requests per second.
        per_s: f64,
        /// Window, seconds.
        seconds: f64,
        /// What the trial is for.
        purpose: Purpose,
    },
    /// The search is over.
    Done(RateBounds),
}

/// What a trial is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// Short: roughly where the answer lies.
    Bracket,
    /// Full length: whether this rate meets the objective.
    Decide,
    /// Full length, next to the bounds: how sure they are.
    Assure,
}

/// How a search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The bounds are as near as was asked.
    Found,
    /// Not even the least rate met the objective.
    NotEven,
    /// The largest rate that could be offered met it.
    AtLeast,
    /// Not even the least rate could be offered: the generator is the limit, and nothing is known of the server.
    Generator,
    /// Time or trials ran out before that.
    OutOfTime,
}

/// What is known at the end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RateBounds {
    /// How it ended.
    pub ending: Ending,
    /// Highest rate that met the objective, with none below it that did not.
    pub met_per_s: Option<f64>,
    /// Whether the majority of full-length trials says so; otherwise it is a first impression.
    pub decided: bool,
    /// Lowest rate above it that did not meet it.
    pub broke_per_s: Option<f64>,
    /// Highest rate that surely meets it: the lower end of the interval.
    pub low_per_s: Option<f64>,
    /// Lowest rate that surely does not: the upper end.
    pub high_per_s: Option<f64>,
    /// A rate surely met it above one that surely did not: the server changed while it was measured.
    pub contradictory: bool,
    /// A lower rate whose full-length trials so far did not meet it, and that could not be repeated.
    pub doubted_per_s: Option<f64>,
}

/// Trials after which a search gives up, whatever time is left.
const MOST_TRIALS: usize = 80;
/// The bracket is left to full-length trials when its relative width is this many times the goal's.
const COARSE: f64 = 4.0;
/// How far above the upper bound trials look for a rate that surely does not meet the objective, in widths. A little
/// above it nearly every request is late.
const STEPS_UP: [i32; 5] = [1, 2, 3, 4, 6];
/// How far below the lower bound they look for one that surely does. That takes the absence of violations from many
/// requests, so that a rate is repeated before the next lower one.
const STEPS_DOWN: [i32; 9] = [1, 2, 2, 2, 3, 3, 4, 4, 6];
/// Failed offers of one rate after which it counts as more than the generator can do.
const MOST_SPOILED: usize = 2;
/// Requests that a short window should hold: fewer say nothing, and none may come at all.
const LEAST_REQUESTS: f64 = 5.0;
/// Violations that the requests behind a rate that surely meets the objective would be allowed together: with fewer,
/// a simulated search was wrong about every sixth such rate.
const SURE_VIOLATIONS: f64 = 30.0;
/// Longest short window, in full-length ones: it must remain short.
const LONGEST_SHORT: f64 = 0.9;

/// Requests without which no rate surely meets an objective that allows this share of violations.
pub fn requests_to_be_sure(allowed: f64) -> u64 {
    // 1 less 0.99 is a little more than 0.01.
    (SURE_VIOLATIONS / allowed).round() as u64
}

/// A search under way. `judge` gives the interval of the violation rate behind `(violations, requests)` of trials.
#[derive(Debug)]
pub struct RateSearch<J> {
    goal: RateGoal,
    evidence: Evidence,
    judge: J,
    spoiled: Vec<f64>,
    /// Windows in which no request fell due.
    empty: usize,
    /// Not even the least rate can be offered.
    exhausted: bool,
    most_per_s: f64,
}

impl<J: Fn(&[(u64, u64)]) -> (f64, f64)> RateSearch<J> {
    /// Nothing offered yet.
    pub fn new(goal: RateGoal, judge: J) -> Self {
        Self {
            evidence: Evidence::new(goal.allowed, goal.full_s),
            most_per_s: rounded(goal.most_per_s),
            goal,
            judge,
            spoiled: Vec::new(),
            empty: 0,
            exhausted: false,
        }
    }

    /// What a trial gave. One in which nothing fell due says nothing of the server nor of the generator: Poisson
    /// arrivals leave some windows empty, and the rate is offered again.
    pub fn record(&mut self, trial: RateTrial) {
        if trial.requests > 0 {
            self.evidence.add(trial);
        } else {
            self.empty += 1;
        }
    }

    /// A trial that says nothing of the server, because the generator could not keep its schedule.
    pub fn spoil(&mut self, per_s: f64) {
        self.spoiled.push(per_s);
        let times = self.spoiled.iter().filter(|r| **r == per_s).count();
        if times >= MOST_SPOILED {
            let least = rounded(self.goal.least_per_s);
            self.exhausted |= rounded(per_s) <= least;
            self.most_per_s = self.most_per_s.min(rounded(per_s * 0.8)).max(least);
        }
    }

    /// No rate from here on can be the answer: the server's throughput is no higher, so that a queue grows, if too
    /// slowly for a window to show.
    pub fn cap(&mut self, per_s: f64) {
        self.evidence.cap(per_s);
    }

    /// Whether a rate surely meets the objective or surely does not, by this judge; `None` while neither is shown. One
    /// stall can make a window look bad, so "does not" takes several such windows and as many violations as "meets" would be
    /// allowed at least.
    pub fn surely(&self, per_s: f64, judge: impl Fn(&[(u64, u64)]) -> (f64, f64)) -> Option<bool> {
        let allowed = self.goal.allowed;
        let meets = self
            .evidence
            .surely_met(|trials| self.holds_enough(trials) && judge(trials).1 <= allowed);
        let breaks = self.evidence.surely_broken(|trials| {
            let violations: u64 = trials.iter().map(|(violations, _)| violations).sum();
            let broke = |trial: &&(u64, u64)| trial.0 as f64 > allowed * trial.1 as f64;
            trials.iter().filter(broke).count() >= evidence::VOTES
                && violations as f64 >= SURE_VIOLATIONS
                && judge(trials).0 > allowed
        });
        let meets = meets.is_some_and(|low| low >= per_s);
        let breaks = breaks.is_some_and(|high| high <= per_s);
        (meets != breaks).then_some(meets)
    }

    /// The next trial that fits into the seconds left, or the end.
    pub fn next(&self, left_s: f64) -> RateStep {
        let trials = self.evidence.trials().len() + self.spoiled.len() + self.empty;
        let wanted = if trials < MOST_TRIALS && !self.exhausted {
            self.wanted()
        } else {
            None
        };
        match wanted {
            Some((per_s, purpose)) if self.seconds(per_s, purpose) <= left_s => RateStep::Offer {
                per_s,
                seconds: self.seconds(per_s, purpose),
                purpose,
            },
            // Bounds that are near enough stay so when there is no time left to assure them.
            wanted => {
                let apart = || self.bracketing().or_else(|| self.deciding()).is_some();
                let out = trials >= MOST_TRIALS || wanted.is_some() && apart();
                RateStep::Done(self.bounds(out))
            }
        }
    }

    fn seconds(&self, per_s: f64, purpose: Purpose) -> f64 {
        let RateGoal {
            short_s, full_s, ..
        } = self.goal;
        match purpose {
            Purpose::Bracket => {
                let holding = (LEAST_REQUESTS / per_s).min(LONGEST_SHORT * full_s);
                short_s.max(holding)
            }
            Purpose::Decide | Purpose::Assure => full_s,
        }
    }

    /// The rate within what may be offered.
    fn within(&self, rate: f64) -> f64 {
        rate.min(self.most_per_s).max(self.goal.least_per_s)
    }

    fn wanted(&self) -> Option<(f64, Purpose)> {
        let bracket = self.bracketing().map(|rate| (rate, Purpose::Bracket));
        bracket
            .or_else(|| self.deciding().map(|rate| (rate, Purpose::Decide)))
            .or_else(|| self.doubting().map(|rate| (rate, Purpose::Decide)))
            .or_else(|| self.assuring().map(|rate| (rate, Purpose::Assure)))
            .map(|(rate, purpose)| (rounded(rate), purpose))
    }

    /// A rate for a short trial, until first impressions enclose the answer roughly.
    fn bracketing(&self) -> Option<f64> {
        if self.evidence.any_full() {
            return None;
        }
        let goal = &self.goal;
        let tried = self.evidence.rates().len() as i32;
        let next = match self.evidence.impression() {
            (None, None) => self.within(goal.start_per_s),
            // Farther with each step, so that a bad start costs little.
            (Some(met), None) => self.within(met * 1.25_f64.powi(tried.min(3))),
            (None, Some(broke)) => self.within(broke / 1.5_f64.powi(tried.min(3))),
            (Some(met), Some(broke)) if broke / met > 1.0 + COARSE * goal.width => {
                (met * broke).sqrt()
            }
            _ => return None,
        };
        // The edges are left to full-length trials.
        (!self.evidence.rates().contains(&rounded(next))).then_some(next)
    }

    /// A rate for a full-length trial, until the bounds are near enough.
    fn deciding(&self) -> Option<f64> {
        let goal = &self.goal;
        if let Some(open) = self.evidence.open() {
            return Some(open).filter(|rate| *rate <= self.most_per_s);
        }
        let (lower, upper) = self.evidence.limits();
        let (met, broke) = self.evidence.impression();
        let unclassed = |rate: &f64| self.evidence.class(*rate) == Class::Open;
        let steps = |class| (1.0 + 2.0 * goal.width).powi(self.evidence.count(class).min(8));
        let next = match (lower, upper) {
            (None, None) => self.within(met.or(broke).unwrap_or(goal.start_per_s)),
            (None, Some(upper)) => {
                let impression = met.filter(|rate| *rate < upper).filter(unclassed);
                impression
                    .unwrap_or(upper / steps(Class::Upper))
                    .max(goal.least_per_s)
            }
            (Some(lower), None) => {
                let impression = broke.filter(|rate| *rate > lower).filter(unclassed);
                impression
                    .unwrap_or(lower * steps(Class::Lower))
                    .min(self.most_per_s)
            }
            (Some(lower), Some(upper)) if upper / lower > 1.0 + goal.width => {
                (lower * upper).sqrt()
            }
            (Some(_), Some(_)) => return None,
        };
        // Rounding may lead back to a bound, and the edges of the range are bounds in the end.
        let can_be_offered = rounded(next) <= self.most_per_s;
        (can_be_offered && self.evidence.class(rounded(next)) == Class::Open).then_some(next)
    }

    /// A rate below the lower bound that did not meet the objective in what it was given: the lower bound is no answer
    /// until the majority of that rate's trials says that this was chance.
    fn doubting(&self) -> Option<f64> {
        let (lower, _) = self.evidence.decided();
        self.evidence.doubted(lower?)
    }

    /// A rate next to the bounds, until one surely meets the objective and one surely does not.
    fn assuring(&self) -> Option<f64> {
        let (lower, upper) = self.evidence.decided();
        let (low, high) = (self.sure_low(), self.sure_high());
        let width = 1.0 + self.goal.width;
        let up = upper.filter(|_| high.is_none()).and_then(|bound| {
            let steps = STEPS_UP.get(self.evidence.full_within(bound * 1.001..))?;
            Some(rounded(bound * width.powi(*steps)))
        });
        let down = lower.filter(|_| low.is_none()).and_then(|bound| {
            let steps = STEPS_DOWN.get(self.evidence.full_within(..bound * 0.999))?;
            Some(rounded(bound / width.powi(*steps)))
        });
        up.filter(|rate| *rate <= self.most_per_s)
            .or(down.filter(|rate| *rate >= self.goal.least_per_s))
    }

    fn sure_low(&self) -> Option<f64> {
        self.evidence.surely_met(|trials| {
            self.holds_enough(trials) && (self.judge)(trials).1 <= self.goal.allowed
        })
    }

    /// Violations come in bursts, so that a few windows may miss them all and look sure.
    fn holds_enough(&self, trials: &[(u64, u64)]) -> bool {
        let requests: u64 = trials.iter().map(|(_, requests)| requests).sum();
        requests >= requests_to_be_sure(self.goal.allowed)
    }

    fn sure_high(&self) -> Option<f64> {
        self.evidence
            .surely_broken(|trials| (self.judge)(trials).0 > self.goal.allowed)
    }

    fn bounds(&self, out_of_time: bool) -> RateBounds {
        let (lower, upper) = self.evidence.limits();
        let (met, broke) = self.evidence.shown();
        // Bounds that stayed apart because what lies between them could not be offered.
        let apart = |lower: f64, upper: f64| {
            upper > self.most_per_s && upper / lower > 1.0 + 2.0 * self.goal.width
        };
        let ending = match (lower, upper) {
            (None, _) if self.exhausted => Ending::Generator,
            (Some(lower), Some(upper)) if !out_of_time && apart(lower, upper) => Ending::AtLeast,
            (Some(_), Some(_)) if !out_of_time => Ending::Found,
            (None, Some(_)) if !out_of_time => Ending::NotEven,
            (Some(_), None) if !out_of_time => Ending::AtLeast,
            _ => Ending::OutOfTime,
        };
        // A first impression may not contradict what was decided.
        let met = lower.or(met.filter(|rate| upper.is_none_or(|u| *rate < u)));
        let (_, decided) = self.evidence.decided();
        let broke = decided.or(broke.filter(|rate| met.is_none_or(|m| *rate > m)));
        let (low, high) = (self.sure_low(), self.sure_high());
        let contradictory = low.zip(high).is_some_and(|(low, high)| low >= high);
        let (low, high) = if contradictory {
            (high, low)
        } else {
            (low, high)
        };
        let met = met.filter(|_| ending != Ending::NotEven);
        RateBounds {
            ending,
            met_per_s: met,
            decided: lower.is_some(),
            broke_per_s: broke,
            low_per_s: low.map(|low| met.map_or(low, |met| low.min(met))),
            high_per_s: high.map(|high| broke.map_or(high, |broke| high.max(broke))),
            contradictory,
            doubted_per_s: self.doubting(),
        }
    }
}

/// Three significant digits: the differences that matter between rates are larger than that.
fn rounded(rate: f64) -> f64 {
    if !(rate.is_finite() && rate > 0.0) {
        return rate;
    }
    let unit = 10_f64.powf(rate.log10().floor() - 2.0);
    (rate / unit).round() * unit
}

#[cfg(test)]
mod tests;
