//! What a trial would have shown: the very arrivals that it had, and, where that is known, the very requests.

use capacity::sim::Work;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::bench::{Bench, Point, Prediction};
use crate::{OfferedLoad, PredictError, Within, bootstrap};

/// A trial to be scored against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// From its start, in nanoseconds.
    pub arrivals_ns: Vec<u64>,
    pub kinds: Option<Kinds>,
}

/// Which request of the workload each was: a report that takes a third of a second keeps others waiting when it comes, and
/// not when it comes in the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kinds {
    /// Of the trial's requests, in the order of arrival.
    pub trial: Vec<u32>,
    /// Of the trace's, likewise.
    pub traced: Vec<u32>,
}

impl Bench {
    /// What `point` would answer to a trial's requests: each as the next of its kind in the trace, the trace's first again
    /// after its last. The interval is about that, from `draws` other traces that might have been.
    ///
    /// # Errors
    /// As for [`Bench::predict`].
    pub fn predict_trial(
        &self,
        point: Point,
        trial: &Trial,
        seed: u64,
        draws: u32,
    ) -> Result<(Prediction, Within), PredictError> {
        let offered = OfferedLoad::Given {
            arrivals_ns: trial.arrivals_ns.clone(),
        };
        let predict = |work: &Work| self.simulate(work, point, &offered, seed);
        let prediction = predict(&work(&self.application.work, trial, None))?;
        let drawn: Result<Vec<_>, _> = (1..=draws)
            .map(|nth| {
                let other = Some(seed.wrapping_add(u64::from(nth)));
                let work = work(&self.application.work, trial, other);
                self.simulate_draw(nth as usize, &work, point, &offered, seed)
            })
            .collect();
        let within = Within::of(&prediction.figures, &drawn?, &self.error);
        Ok((prediction, within))
    }
}

/// The trial's requests with the trace's steps, in their order or, with a seed, as neighbours of a kind drawn with replacement.
fn work(traced: &Work, trial: &Trial, seed: Option<u64>) -> Work {
    let of_kind = by_kind(traced.len(), trial.kinds.as_ref());
    let mut random = seed.map(Pcg64::seed_from_u64);
    let mut turns = vec![Turn::default(); of_kind.len()];
    let mut work = Work::new();
    for (nth, &arrival_ns) in trial.arrivals_ns.iter().enumerate() {
        let kind = trial.kinds.as_ref().map_or(0, |kinds| kinds.trial[nth]) as usize;
        // What the trace never had is taken for anything.
        let kind = match of_kind.get(kind).is_some_and(|found| !found.is_empty()) {
            true => kind,
            false => of_kind.len() - 1,
        };
        let place = turns[kind].next(of_kind[kind].len(), random.as_mut());
        work.push(arrival_ns, traced.steps(of_kind[kind][place]));
    }
    work
}

/// The trace's requests of each kind, and last all of them.
fn by_kind(count: usize, kinds: Option<&Kinds>) -> Vec<Vec<usize>> {
    let mut found = Vec::new();
    if let Some(kinds) = kinds {
        let most = kinds.traced.iter().max().map_or(0, |&kind| kind as usize);
        found.resize(most + 1, Vec::new());
        let known = kinds.traced.iter().take(count).enumerate();
        known.for_each(|(nth, &kind)| found[kind as usize].push(nth));
    }
    found.push((0..count).collect());
    found
}

/// Whose turn it is among those of a kind.
#[derive(Debug, Clone, Copy, Default)]
struct Turn {
    next: usize,
    left: usize,
}

impl Turn {
    fn next(&mut self, count: usize, random: Option<&mut Pcg64>) -> usize {
        if let Some(random) = random {
            if self.left == 0 {
                self.left = bootstrap::block_length(count);
                self.next = random.random_range(0..count);
            }
            self.left -= 1;
        }
        let taken = self.next % count;
        self.next = taken + 1;
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capacity::sim::Step;

    fn traced() -> Work {
        let mut work = Work::new();
        (0..6).for_each(|n| work.push(n, [Step::Held(n + 1)]));
        work
    }

    fn held(work: &Work) -> Vec<u64> {
        let of = |nth| match work.steps(nth).next() {
            Some(Step::Held(ns)) => ns,
            other => panic!("{other:?}"),
        };
        (0..work.len()).map(of).collect()
    }

    fn kinds(trial: &[u32], traced: &[u32]) -> Option<Kinds> {
        Some(Kinds {
            trial: trial.to_vec(),
            traced: traced.to_vec(),
        })
    }

    #[test]
    fn each_is_the_next_of_its_kind_and_the_first_again() {
        let trial = Trial {
            arrivals_ns: vec![10, 20, 30, 40, 50],
            kinds: kinds(&[1, 0, 1, 1, 1], &[0, 1, 0, 0, 1, 1]),
        };
        let found = work(&traced(), &trial, None);
        assert_eq!(held(&found), [2, 1, 5, 6, 2]);
        assert_eq!(found.arrivals_ns(), [10, 20, 30, 40, 50]);
    }

    #[test]
    fn without_kinds_they_come_in_the_order_of_the_trace() {
        let trial = Trial {
            arrivals_ns: (0..8).collect(),
            kinds: None,
        };
        assert_eq!(
            held(&work(&traced(), &trial, None)),
            [1, 2, 3, 4, 5, 6, 1, 2]
        );
    }

    #[test]
    fn a_kind_that_the_trace_never_had_is_taken_for_anything() {
        let trial = Trial {
            arrivals_ns: vec![0, 1, 2],
            kinds: kinds(&[7, 0, 7], &[0, 0, 0, 0, 0, 0]),
        };
        assert_eq!(held(&work(&traced(), &trial, None)), [1, 1, 2]);
    }

    #[test]
    fn draws_stay_within_their_kind_and_differ() {
        let trial = Trial {
            arrivals_ns: (0..60).collect(),
            kinds: kinds(&[0, 1].repeat(30), &[0, 1, 0, 1, 0, 1]),
        };
        let drawn = held(&work(&traced(), &trial, Some(3)));
        assert!(
            drawn
                .iter()
                .enumerate()
                .all(|(nth, held)| (held - 1) % 2 == nth as u64 % 2)
        );
        assert_eq!(drawn, held(&work(&traced(), &trial, Some(3))));
        assert_ne!(drawn, held(&work(&traced(), &trial, Some(4))));
    }
}
