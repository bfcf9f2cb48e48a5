//! The trials of a search and what they say of each rate.

use super::RateTrial;
use std::ops::RangeBounds;

/// What the full-length trials of a rate say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The majority met the objective: a lower bound.
    Lower,
    /// The majority did not: an upper bound.
    Upper,
    /// No majority of two yet.
    Open,
}

/// Trials that must agree before a rate is decided.
pub const VOTES: usize = 2;
/// Trials after which the majority decides.
const MOST_VOTES: usize = 4;

/// All trials that count.
#[derive(Debug)]
pub struct Evidence {
    allowed: f64,
    full_s: f64,
    trials: Vec<RateTrial>,
    /// Not even a rate that met the objective is a lower bound from here on.
    ceiling: f64,
}

impl Evidence {
    pub fn new(allowed: f64, full_s: f64) -> Evidence {
        Evidence {
            allowed,
            full_s,
            trials: Vec::new(),
            ceiling: f64::INFINITY,
        }
    }

    pub fn cap(&mut self, per_s: f64) {
        self.ceiling = self.ceiling.min(per_s);
    }

    pub fn add(&mut self, trial: RateTrial) {
        self.trials.push(trial);
    }

    pub fn trials(&self) -> &[RateTrial] {
        &self.trials
    }

    pub fn any_full(&self) -> bool {
        self.trials.iter().any(|t| self.is_full(t))
    }

    pub fn has_full(&self, rate: f64) -> bool {
        self.at(rate).any(|t| self.is_full(t))
    }

    /// Full-length trials at such rates.
    pub fn full_within(&self, rates: impl RangeBounds<f64>) -> usize {
        let within = |t: &&RateTrial| self.is_full(t) && rates.contains(&t.per_s);
        self.trials.iter().filter(within).count()
    }

    /// Every rate tried, each once, ascending.
    pub fn rates(&self) -> Vec<f64> {
        let mut rates: Vec<f64> = self.trials.iter().map(|t| t.per_s).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        rates
    }

    /// By the majority of all trials, short ones included: the highest rate that met the objective below the lowest
    /// that did not, and that one.
    pub fn impression(&self) -> (Option<f64>, Option<f64>) {
        let met = |rate: &f64| {
            let (met, broke) = self.at(*rate).fold((0, 0), |(met, broke), t| {
                if self.met(t) {
                    (met + 1, broke)
                } else {
                    (met, broke + 1)
                }
            });
            met >= broke
        };
        enclosing(&self.rates(), met, |rate| !met(rate))
    }

    /// The same by what each rate's full-length trials show together, and its short ones where it has no other: a full-length trial
    /// that did not meet the objective is not outweighed by a short one that did.
    pub fn shown(&self) -> (Option<f64>, Option<f64>) {
        let met = |rate: &f64| {
            let full = self.has_full(*rate);
            let counting = self.at(*rate).filter(|t| !full || self.is_full(t));
            let (violations, requests) =
                counting.fold((0, 0), |(v, n), t| (v + t.violations, n + t.requests));
            violations as f64 <= self.allowed * requests as f64
        };
        enclosing(&self.rates(), met, |rate| !met(rate))
    }

    /// The relevant bounds: the highest lower bound below the lowest upper bound, and that one. Both were offered.
    pub fn decided(&self) -> (Option<f64>, Option<f64>) {
        enclosing(
            &self.rates(),
            |rate| *rate < self.ceiling && self.class(*rate) == Class::Lower,
            |rate| self.class(*rate) == Class::Upper,
        )
    }

    /// The same with the ceiling as an upper bound: it limits what is offered next, and no window was offered there.
    pub fn limits(&self) -> (Option<f64>, Option<f64>) {
        let (lower, upper) = self.decided();
        let ceiling = Some(self.ceiling).filter(|ceiling| ceiling.is_finite());
        (lower, upper.into_iter().chain(ceiling).reduce(f64::min))
    }

    /// The lowest rate below the bound with a full-length trial that did not meet the objective, and without a
    /// majority.
    pub fn doubted(&self, bound: f64) -> Option<f64> {
        let failed = |rate: &f64| self.at(*rate).any(|t| self.is_full(t) && !self.met(t));
        let mut rates = self.full_rates().into_iter();
        rates.find(|rate| *rate < bound && self.class(*rate) == Class::Open && failed(rate))
    }

    /// What the full-length trials say, by their majority and together. Where the two disagree, because one trial
    /// weighs as much as all others, more are wanted; in the end the majority decides: that is the exceedance
    /// tolerated. A short trial that did not meet the objective has a vote too: had it lasted longer, the queue
    /// would only have grown.
    pub fn class(&self, rate: f64) -> Class {
        let voting = || self.at(rate).filter(|t| self.is_full(t) || !self.met(t));
        let met = voting().filter(|t| self.met(t)).count();
        let broke = voting().count() - met;
        let (violations, requests) =
            voting().fold((0, 0), |(v, n), t| (v + t.violations, n + t.requests));
        let together = violations as f64 <= self.allowed * requests as f64;
        let enough = met + broke >= MOST_VOTES;
        if met >= VOTES && met > broke && (together || enough) {
            Class::Lower
        } else if broke >= VOTES && (broke > met || !together) {
            Class::Upper
        } else {
            Class::Open
        }
    }

    /// A rate with full-length trials that is not decided yet.
    pub fn open(&self) -> Option<f64> {
        let open = |rate: &f64| self.has_full(*rate) && self.class(*rate) == Class::Open;
        // Rates beyond the bounds were tried for the interval's sake and need no majority.
        let (lower, upper) = self.limits();
        let between =
            |rate: &f64| lower.is_none_or(|l| *rate > l) && upper.is_none_or(|u| *rate < u);
        self.rates().into_iter().filter(between).find(open)
    }

    /// Rates of a class.
    pub fn count(&self, class: Class) -> i32 {
        let of_class = self.rates().into_iter().filter(|r| self.class(*r) == class);
        of_class.count() as i32
    }

    /// The highest rate that surely meets the objective. Violations grow with the rate, so trials at higher rates
    /// speak for a lower one, on the safe side.
    pub fn surely_met(&self, sure: impl Fn(&[(u64, u64)]) -> bool) -> Option<f64> {
        let rates = self.full_rates();
        let found = |from: &f64| {
            let ends = rates.iter().filter(|to| *to >= from);
            ends.into_iter().any(|to| sure(&self.pooled(*from, *to)))
        };
        rates.iter().rev().copied().find(|rate| found(rate))
    }

    /// The lowest rate that surely does not; trials at lower rates speak for a higher one.
    pub fn surely_broken(&self, sure: impl Fn(&[(u64, u64)]) -> bool) -> Option<f64> {
        let rates = self.full_rates();
        let found = |to: &f64| {
            let starts = rates.iter().filter(|from| *from <= to);
            starts
                .into_iter()
                .any(|from| sure(&self.pooled(*from, *to)))
        };
        rates.iter().copied().find(|rate| found(rate))
    }

    fn full_rates(&self) -> Vec<f64> {
        let full = |rate: &f64| self.has_full(*rate);
        self.rates().into_iter().filter(full).collect()
    }

    fn pooled(&self, from: f64, to: f64) -> Vec<(u64, u64)> {
        let within = |t: &&RateTrial| self.is_full(t) && (from..=to).contains(&t.per_s);
        let trials = self.trials.iter().filter(within);
        trials.map(|t| (t.violations, t.requests)).collect()
    }

    fn at(&self, rate: f64) -> impl Iterator<Item = &RateTrial> {
        self.trials.iter().filter(move |t| t.per_s == rate)
    }

    fn is_full(&self, trial: &RateTrial) -> bool {
        // A window may end a tick early.
        trial.seconds >= 0.95 * self.full_s
    }

    fn met(&self, trial: &RateTrial) -> bool {
        trial.violations as f64 <= self.allowed * trial.requests as f64
    }
}

/// The highest of the rates that are below and the lowest above, of ascending rates.
fn enclosing(
    rates: &[f64],
    below: impl Fn(&f64) -> bool,
    above: impl Fn(&f64) -> bool,
) -> (Option<f64>, Option<f64>) {
    let upper = rates.iter().copied().find(|rate| above(rate));
    let mut lower = rates.iter().rev().copied();
    let lower = lower.find(|rate| below(rate) && upper.is_none_or(|u| *rate < u));
    (lower, upper)
}
