//! What requests do, step by step, as compactly as a trace of many thousands
//! needs it.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::CapacityError;

/// A lock or a pool of a process, by its place in [`super::Scenario::stations`],
/// which says how many may hold it at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Station(pub u8);

/// One thing a request does, times in nanoseconds.
///
/// Never a stall: waiting for the GVL, for a core, for a lock or in a queue
/// belongs to the configuration that was measured, not to the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// CPU time under the GVL, the garbage collector's pauses that the request
    /// ran itself included. Such a pause stops the Ruby threads of its own
    /// process and no others, which is what holding the GVL does.
    Held(u64),
    /// Waiting for something outside the process, without the GVL.
    Io(u64),
    /// CPU time without the GVL: password hashes, compression.
    Native(u64),
    /// Takes one place of the station, waiting first come first served and
    /// without the GVL where none is free. A request takes no second place of a
    /// station that it holds, and whatever it still holds at its end is given
    /// back.
    Acquire(Station),
    Release(Station),
    /// The answer is with the client: what follows keeps the thread, but delays
    /// no client. Without this the answer is out after the last step.
    Answer,
}

/// The longest time of a step, in nanoseconds: about 36 years.
pub const LONGEST_STEP_NS: u64 = (1 << 60) - 1;

const KIND_BITS: u32 = 3;

/// A step in eight bytes: the kind below, its time or its station above.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Packed(u64);

impl Packed {
    fn pack(step: Step) -> Self {
        let (kind, value) = match step {
            Step::Held(ns) => (0, ns),
            Step::Io(ns) => (1, ns),
            Step::Native(ns) => (2, ns),
            Step::Acquire(Station(station)) => (3, u64::from(station)),
            Step::Release(Station(station)) => (4, u64::from(station)),
            Step::Answer => (5, 0),
        };
        Self(value.min(LONGEST_STEP_NS) << KIND_BITS | kind)
    }

    fn unpack(self) -> Step {
        let value = self.0 >> KIND_BITS;
        let station = Station((value & 0xff) as u8);
        match self.0 & ((1 << KIND_BITS) - 1) {
            0 => Step::Held(value),
            1 => Step::Io(value),
            2 => Step::Native(value),
            3 => Step::Acquire(station),
            4 => Step::Release(station),
            _ => Step::Answer,
        }
    }
}

/// Requests in the order in which they arrived, each with its steps: 8 bytes a
/// step, 12 a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Work {
    /// Offsets from the first request; empty or as many as requests.
    arrivals_ns: Vec<u64>,
    /// Where each request's steps end in `steps`.
    ends: Vec<u32>,
    steps: Vec<Packed>,
}

impl Work {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a request that arrived `arrival_ns` after the first one. Requests
    /// are pushed in the order of their arrival; steps that last no time are
    /// left out, neighbours of a kind are joined, and no step is longer than
    /// [`LONGEST_STEP_NS`].
    pub fn push(&mut self, arrival_ns: u64, steps: impl IntoIterator<Item = Step>) {
        let from = self.steps.len();
        for step in steps {
            let last = self.steps[from..].last_mut();
            match (step, last.as_ref().map(|last| last.unpack())) {
                (Step::Held(0) | Step::Io(0) | Step::Native(0), _) => {}
                (Step::Held(more), Some(Step::Held(ns))) => {
                    join(last, Step::Held(ns.saturating_add(more)));
                }
                (Step::Io(more), Some(Step::Io(ns))) => {
                    join(last, Step::Io(ns.saturating_add(more)));
                }
                (Step::Native(more), Some(Step::Native(ns))) => {
                    join(last, Step::Native(ns.saturating_add(more)));
                }
                _ => self.steps.push(Packed::pack(step)),
            }
        }
        self.arrivals_ns.push(arrival_ns);
        self.ends
            .push(u32::try_from(self.steps.len()).unwrap_or(u32::MAX));
    }

    /// Requests.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// When each request arrived, from the first.
    #[must_use]
    pub fn arrivals_ns(&self) -> &[u64] {
        &self.arrivals_ns
    }

    /// The steps of one request; of none beyond the last.
    pub fn steps(&self, request: usize) -> impl Iterator<Item = Step> + '_ {
        let (from, to) = self.range(request);
        (from..to).map(|index| self.step(index))
    }

    /// As many requests drawn from these with replacement, at the old arrival
    /// times: one draw of a bootstrap.
    #[must_use]
    pub fn resample(&self, seed: u64) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut drawn = Self::new();
        for &arrival_ns in &self.arrivals_ns {
            let request = random.random_range(0..self.len());
            drawn.push(arrival_ns, self.steps(request));
        }
        drawn
    }

    /// The same requests with every step changed, for a question of what if:
    /// I/O twice as slow, CPU a fifth faster.
    #[must_use]
    pub fn map(&self, mut change: impl FnMut(Step) -> Step) -> Self {
        let mut changed = Self::new();
        for (request, &arrival_ns) in self.arrivals_ns.iter().enumerate() {
            changed.push(arrival_ns, self.steps(request).map(&mut change));
        }
        changed
    }

    pub(super) fn range(&self, request: usize) -> (usize, usize) {
        let to = self
            .ends
            .get(request)
            .map_or(self.steps.len(), |&end| end as usize);
        let from = match request {
            0 => 0,
            _ => self.ends.get(request - 1).map_or(to, |&end| end as usize),
        };
        (from, to)
    }

    pub(super) fn step(&self, index: usize) -> Step {
        self.steps[index].unpack()
    }

    pub(super) fn step_count(&self) -> usize {
        self.steps.len()
    }

    /// CPU time and I/O time of all requests.
    pub(super) fn totals_ns(&self) -> (f64, f64) {
        let mut totals = (0.0, 0.0);
        for packed in &self.steps {
            match packed.unpack() {
                Step::Held(ns) | Step::Native(ns) => totals.0 += ns as f64,
                Step::Io(ns) => totals.1 += ns as f64,
                Step::Acquire(_) | Step::Release(_) | Step::Answer => {}
            }
        }
        totals
    }

    pub(super) fn check(&self, stations: usize) -> Result<(), CapacityError> {
        if self.is_empty() {
            return Err(CapacityError::NoRequests);
        }
        if self.steps.len() > u32::MAX as usize {
            return Err(CapacityError::TooManySteps {
                steps: self.steps.len(),
            });
        }
        if self.arrivals_ns.windows(2).any(|pair| pair[0] > pair[1]) {
            return Err(CapacityError::ArrivalsRunBackwards);
        }
        let highest = self
            .steps
            .iter()
            .filter_map(|packed| match packed.unpack() {
                Step::Acquire(Station(station)) | Step::Release(Station(station)) => Some(station),
                _ => None,
            });
        match highest.max() {
            Some(station) if usize::from(station) >= stations => {
                Err(CapacityError::UnknownStation { station, stations })
            }
            _ => Ok(()),
        }
    }
}

fn join(last: Option<&mut Packed>, step: Step) {
    if let Some(last) = last {
        *last = Packed::pack(step);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_come_back_as_they_were_pushed() {
        let steps = [
            Step::Held(5),
            Step::Acquire(Station(3)),
            Step::Io(1 << 50),
            Step::Release(Station(3)),
            Step::Native(7),
            Step::Answer,
        ];
        let mut work = Work::new();
        work.push(0, [Step::Io(1)]);
        work.push(10, steps);
        work.push(20, []);
        assert_eq!(work.steps(1).collect::<Vec<_>>(), steps);
        assert_eq!(work.steps(0).collect::<Vec<_>>(), [Step::Io(1)]);
        assert_eq!(work.steps(2).count() + work.steps(9).count(), 0);
        assert_eq!((work.len(), work.arrivals_ns()), (3, &[0, 10, 20][..]));
    }

    #[test]
    fn neighbours_of_a_kind_are_one_step_and_nothing_is_none() {
        let mut work = Work::new();
        work.push(
            0,
            [
                Step::Held(5),
                Step::Io(0),
                Step::Held(6),
                Step::Io(2),
                Step::Io(3),
            ],
        );
        work.push(0, [Step::Io(9), Step::Held(u64::MAX)]);
        assert_eq!(
            work.steps(0).collect::<Vec<_>>(),
            [Step::Held(11), Step::Io(5)]
        );
        assert_eq!(work.steps(1).last(), Some(Step::Held(LONGEST_STEP_NS)));
    }

    #[test]
    fn a_draw_holds_requests_of_the_trace_at_its_times() {
        let mut work = Work::new();
        (1..=50).for_each(|n| work.push(n * 10, [Step::Held(n), Step::Io(n * 2)]));
        let drawn = work.resample(4);
        assert_eq!(drawn, work.resample(4));
        assert_ne!(drawn, work.resample(5));
        assert_eq!(drawn.arrivals_ns(), work.arrivals_ns());
        let whole = |request| drawn.steps(request).collect::<Vec<_>>();
        assert!((0..50).all(|n| (0..50).any(|m| work.steps(m).collect::<Vec<_>>() == whole(n))));
    }

    #[test]
    fn what_if_changes_steps_and_nothing_else() {
        let mut work = Work::new();
        work.push(0, [Step::Held(4), Step::Io(10)]);
        work.push(7, [Step::Io(30)]);
        let slower = work.map(|step| match step {
            Step::Io(ns) => Step::Io(ns * 2),
            other => other,
        });
        assert_eq!(
            slower.steps(0).collect::<Vec<_>>(),
            [Step::Held(4), Step::Io(20)]
        );
        assert_eq!(slower.steps(1).collect::<Vec<_>>(), [Step::Io(60)]);
        assert_eq!(slower.arrivals_ns(), work.arrivals_ns());
    }
}
