//! The slowest requests of the last minutes, from the records of requests that ended.

use crate::history::MINUTES;
use crate::reading::{Process, Reading};
use crate::subject::Subject;
use flight::events::{Mode, RequestBursts, bursts, bursts_path, read_events, read_header};
use flight::{FlightFile, Record, Totals};
use inspect::Sums;
use small_sort::SmallSort;
use std::collections::HashMap;
use std::path::PathBuf;

/// How many are shown.
const SHOWN: usize = 10;

/// A request that ended.
#[derive(Debug, Clone)]
pub struct Slow {
    pub record: Record,
    pub endpoint: String,
    /// Its process.
    pub process: String,
    /// What its process measures of it.
    pub sums: Sums,
    /// Nanoseconds since 1970.
    pub ended_wall_ns: u64,
    file: PathBuf,
}

/// The slowest of one process or endpoint.
#[derive(Debug, Default)]
pub struct SlowRequests {
    /// The number of the record that comes next in each file.
    next: HashMap<PathBuf, u64>,
    /// With how many that ended no earlier and took no less time. Those with as many as are shown never will be.
    kept: Vec<(Slow, usize)>,
}

impl SlowRequests {
    /// Reads what has ended since the last time; the first time, in the last minutes. The subject is the same each time.
    pub fn read(&mut self, subject: &Subject, reading: &Reading) {
        let since = reading.wall_ns.saturating_sub(MINUTES.as_nanos() as u64);
        self.kept.retain(|(slow, _)| slow.ended_wall_ns >= since);
        for process in reading.processes.iter().filter(|p| subject.is_of(p)) {
            let next = self.next.get(&process.file).copied().unwrap_or(0);
            if process.written == next {
                continue;
            }
            let Ok((records, next)) =
                FlightFile::open(&process.file).and_then(|file| file.records_from(next))
            else {
                continue;
            };
            self.next.insert(process.file.clone(), next);
            for slow in records.into_iter().map(|record| Slow::of(record, process)) {
                let of_endpoint = match subject {
                    Subject::Endpoint(name) => slow.endpoint == *name,
                    Subject::Process(_) => true,
                };
                if of_endpoint && slow.ended_wall_ns >= since {
                    self.add(slow);
                }
            }
        }
    }

    fn add(&mut self, slow: Slow) {
        let mut beaten = 0;
        for (other, by) in &mut self.kept {
            let times = |slow: &Slow| (slow.record.wall_ns, slow.ended_wall_ns);
            let ((wall, ended), (new_wall, new_ended)) = (times(other), times(&slow));
            // Of equals the one that was there first counts.
            if wall >= new_wall && ended >= new_ended {
                beaten += 1;
            } else if new_wall >= wall && new_ended >= ended {
                *by += 1;
            }
        }
        self.kept.retain(|(_, by)| *by < SHOWN);
        if beaten < SHOWN {
            self.kept.push((slow, beaten));
        }
    }

    /// The slowest first.
    #[must_use]
    pub fn slowest(&self) -> Vec<Slow> {
        let mut all: Vec<&Slow> = self.kept.iter().map(|(slow, _)| slow).collect();
        all.small_sort_by_key(|slow| std::cmp::Reverse(slow.record.wall_ns));
        all.into_iter().take(SHOWN).cloned().collect()
    }
}

impl Slow {
    pub(crate) fn of(record: Record, process: &Process) -> Self {
        let mut totals = Totals::default();
        totals.book(&record);
        let mut sums = Sums::default();
        sums.add(&totals, &process.measured, process.further);
        let mut counted = process.endpoints.iter();
        let endpoint = counted.find(|counted| counted.index == record.endpoint);
        Self {
            endpoint: endpoint.map_or_else(|| "(unknown)".to_owned(), |found| found.name.clone()),
            process: process.name.clone(),
            sums,
            ended_wall_ns: record.arrival_wall_ns.saturating_add(record.wall_ns),
            file: process.file.clone(),
            record,
        }
    }

    /// Its name in an address.
    pub(crate) fn id(&self) -> String {
        format!("{}-{}", self.record.start_mono_ns, self.record.thread_id)
    }

    /// What it did, one after the other, or why that is not known.
    ///
    /// # Errors
    /// Its events were not recorded, or are no longer there.
    pub fn course(&self) -> Result<RequestBursts, NoOrder> {
        let file = bursts_path(&self.file);
        if !self.record.events {
            return Err(match read_header(&file).map(|header| header.mode) {
                Ok(Mode::Sampling { one_in }) => NoOrder::NotSampled { one_in },
                Ok(Mode::Trace) | Err(_) => NoOrder::NotSet,
            });
        }
        let events = read_events(&file).map_err(|why| NoOrder::Unreadable(why.to_string()))?;
        let mut requests = bursts(&events).requests.into_iter();
        let own = requests.find(|one| one.start_mono_ns == self.record.start_mono_ns);
        let kept = events.header.capacity();
        own.ok_or(NoOrder::Overwritten { kept })
    }
}

/// Why the order of what a request did is not known.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum NoOrder {
    /// The server records no events.
    #[error(
        "The order of its steps is not recorded. Where POWERBAND_BURSTS=N is set, a server records one in N requests event by event; \
         `powerband trace --gvl` records the next seconds."
    )]
    NotSet,
    /// It records those of other requests.
    #[error(
        "The order of its steps is not recorded: the server records one in {one_in} requests event by event (POWERBAND_BURSTS={one_in}), not this one."
    )]
    NotSampled { one_in: u32 },
    /// They were, and newer ones have their place.
    #[error(
        "The order of its steps is no longer known: its events were recorded, and newer ones have overwritten them. A process keeps its newest \
         {kept} events: with a larger N, POWERBAND_BURSTS=N keeps each for longer."
    )]
    Overwritten { kept: u64 },
    #[error("The order of its steps is not known: its events were recorded, but {0}.")]
    Unreadable(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{process, record};
    use proptest::prelude::*;
    use std::path::Path;

    proptest! {
        /// However requests come and go, the list is what sorting all of the last minutes gives.
        #[test]
        fn the_slowest_of_the_last_minutes(ended in prop::collection::vec((0..900_u64, 0..50_u64), 0..200)) {
            let process = process(1, 0, &[]);
            let mut slow = SlowRequests::default();
            let mut sorted = ended.clone();
            sorted.sort_by_key(|(second, _)| *second);
            for &(second, ms) in &sorted {
                let mut one = Slow::of(record(ms), &process);
                one.ended_wall_ns = second;
                slow.add(one);
            }
            for since in [0, 300, 600] {
                slow.kept.retain(|(slow, _)| slow.ended_wall_ns >= since);
                let mut walls: Vec<u64> = ended.iter().filter(|(s, _)| *s >= since).map(|(_, ms)| ms * 1_000_000).collect();
                walls.sort_by_key(|wall| std::cmp::Reverse(*wall));
                walls.truncate(SHOWN);
                let found: Vec<u64> = slow.slowest().iter().map(|one| one.record.wall_ns).collect();
                prop_assert_eq!(found, walls);
            }
        }
    }

    #[test]
    fn a_request_without_an_order_says_why() {
        let sampled = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../contract/samples/events/sampled.bursts");
        let events = read_events(&sampled).unwrap();
        let own = bursts(&events).requests.remove(0).start_mono_ns;
        let course = |start_mono_ns, events, file: &Path| {
            let record = Record {
                start_mono_ns,
                events,
                ..record(1)
            };
            let mut slow = Slow::of(record, &process(1, 0, &[]));
            slow.file = file.to_owned();
            slow.course()
        };
        assert!(course(own, true, &sampled).is_ok());
        let kept = events.header.capacity();
        assert_eq!(
            course(own + 1, true, &sampled),
            Err(NoOrder::Overwritten { kept })
        );
        let Mode::Sampling { one_in } = events.header.mode else {
            panic!("{:?}", events.header);
        };
        assert_eq!(
            course(own, false, &sampled),
            Err(NoOrder::NotSampled { one_in })
        );
        let none = Path::new("/nonexistent.flight");
        assert_eq!(course(own, false, none), Err(NoOrder::NotSet));
        let unreadable = course(own, true, none).unwrap_err().to_string();
        assert!(unreadable.contains("/nonexistent.bursts"), "{unreadable}");
    }

    #[test]
    fn files_are_read_on_from_the_last_record() {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract/samples/flight");
        let file = samples.join("wide.flight");
        let open = FlightFile::open(&file).unwrap();
        let snapshot = open.snapshot().unwrap();
        let last = snapshot
            .records
            .iter()
            .map(|r| r.arrival_wall_ns + r.wall_ns)
            .max()
            .unwrap();
        let mut process = Process::of(&open.tally().unwrap());
        process.file.clone_from(&file);
        let name = snapshot
            .endpoint_of(&snapshot.records[0])
            .unwrap()
            .name
            .clone();
        let subject = Subject::Endpoint(name.clone());
        let reading = Reading {
            wall_ns: last,
            processes: vec![process],
            ..Reading::default()
        };
        let mut slow = SlowRequests::default();
        slow.read(&subject, &reading);
        let first = slow.slowest();
        assert!(!first.is_empty() && first.iter().all(|one| one.endpoint == name));
        slow.read(&subject, &reading);
        assert_eq!(slow.slowest().len(), first.len(), "nothing is read twice");
        let later = Reading {
            wall_ns: last + 2 * MINUTES.as_nanos() as u64,
            ..reading
        };
        slow.read(&subject, &later);
        assert!(slow.slowest().is_empty());
    }
}
