//! The response times of two servers over time, of one endpoint or of all.

use crate::histogram::Histogram;
use crate::seen::Time;
use crate::windows::{Join, Windows};

/// So many windows of sums share one pair of distributions, which are larger.
const SUMS_TO_A_SPREAD: usize = 8;

/// Times of both.
#[derive(Debug, Default)]
pub struct Series {
    pub sums: Windows<Sum>,
    pub spreads: Windows<Spread>,
    pub candidate_failed: u64,
    pub reference_failed: u64,
}

/// Requests that both answered in one window.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Sum {
    pub requests: u64,
    pub candidate_ns: u64,
    pub reference_ns: u64,
    /// Of the candidate's times, the wait of the mirror's thread for a core.
    pub waited_ns: u64,
}

/// All requests that both were given in one window.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Spread {
    pub candidate: Histogram,
    pub reference: Histogram,
    /// The candidate's times without the wait of the mirror's thread for a core; only of a candidate against the primary, whose
    /// times hold no such wait.
    pub unwaited: Histogram,
}

impl Series {
    /// One request in a window, and how long each took; `None` is for ever.
    pub fn add(&mut self, window: usize, candidate: Option<Time>, reference_ns: Option<u64>) {
        let candidate_ns = candidate.map(|time| time.took_ns);
        if let (Some(candidate_ns), Some(reference_ns)) = (candidate_ns, reference_ns) {
            let sum = self.sums.at(window);
            sum.requests += 1;
            // A time of 0 has no ratio, and is none.
            sum.candidate_ns = sum.candidate_ns.saturating_add(candidate_ns.max(1));
            sum.reference_ns = sum.reference_ns.saturating_add(reference_ns.max(1));
            let waited_ns = candidate.and_then(|time| time.waited_ns);
            sum.waited_ns = sum.waited_ns.saturating_add(waited_ns.unwrap_or(0));
        }
        self.candidate_failed += u64::from(candidate_ns.is_none());
        self.reference_failed += u64::from(reference_ns.is_none());
        let spread = self.spreads.at(window / SUMS_TO_A_SPREAD);
        put(&mut spread.candidate, candidate_ns);
        put(&mut spread.reference, reference_ns);
    }

    /// Of the same request, how long the candidate took without the mirror's wait for a core.
    pub fn add_wait(&mut self, window: usize, candidate: Option<Time>) {
        let without = |time: Time| time.took_ns.saturating_sub(time.waited_ns.unwrap_or(0));
        let spread = self.spreads.at(window / SUMS_TO_A_SPREAD);
        put(&mut spread.unwaited, candidate.map(without));
    }

    /// Windows are twice as long from now on.
    pub fn lengthen(&mut self) {
        self.sums.lengthen();
        self.spreads.lengthen();
    }
}

fn put(histogram: &mut Histogram, ns: Option<u64>) {
    match ns {
        Some(ns) => histogram.add(ns),
        None => histogram.add_infinite(),
    }
}

impl Sum {
    /// Mean times, ms, reference and candidate; `None` without requests.
    pub fn means_ms(&self) -> Option<(f64, f64)> {
        let mean = |ns: u64| ns as f64 / self.requests as f64 / 1e6;
        (self.requests > 0).then(|| (mean(self.reference_ns), mean(self.candidate_ns)))
    }

    /// What the mirror waited for a core within an answer of the candidate, mean, ms; 0 without requests.
    pub fn wait_ms(&self) -> f64 {
        self.waited_ns as f64 / self.requests.max(1) as f64 / 1e6
    }
}

impl Join for Sum {
    fn join(&mut self, next: &Sum) {
        self.requests += next.requests;
        self.candidate_ns = self.candidate_ns.saturating_add(next.candidate_ns);
        self.reference_ns = self.reference_ns.saturating_add(next.reference_ns);
        self.waited_ns = self.waited_ns.saturating_add(next.waited_ns);
    }
}

impl Join for Spread {
    fn join(&mut self, next: &Spread) {
        self.candidate.join(&next.candidate);
        self.reference.join(&next.reference);
        self.unwaited.join(&next.unwaited);
    }
}
