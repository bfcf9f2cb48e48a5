//! What was read so far: a series for each process, and one for all together.

use crate::make_up::make_up;
use crate::reader::{Key, ProcessReading, Reading};
use flight::Heap;
use run::memory::{MakeUp, RubyHeap, Sample, SizePool};
use std::collections::{BTreeMap, BTreeSet};

/// The series.
#[derive(Debug, Default)]
pub struct Recorded {
    pub(crate) samples: Vec<Sample>,
    /// In the order in which they were first seen.
    pub(crate) tracks: Vec<Track>,
    places: BTreeMap<Key, usize>,
    /// `CLOCK_MONOTONIC` of the first reading.
    began_mono_ns: Option<u64>,
}

/// One process.
#[derive(Debug)]
pub(crate) struct Track {
    pub pid: u32,
    pub parent_pid: u32,
    pub name: String,
    pub worker: Option<u32>,
    /// As last read, and what earlier flight files of the process had counted.
    counter: Option<u64>,
    served_before: u64,
    pub first: Option<MakeUp>,
    pub last: Option<MakeUp>,
    pub first_heap: Option<RubyHeap>,
    pub last_heap: Option<RubyHeap>,
    pub samples: Vec<Sample>,
}

impl Recorded {
    /// Adds a reading; a reading without processes is ignored.
    pub fn add(&mut self, reading: &Reading) {
        if reading.processes.is_empty() {
            return;
        }
        let began_ns = *self.began_mono_ns.get_or_insert(reading.mono_ns);
        let at_s = reading.at.as_secs_f64();
        let each: Vec<Sample> = reading
            .processes
            .iter()
            .map(|process| sample_of(process, at_s))
            .collect();
        for (process, sample) in reading.processes.iter().zip(&each) {
            let place = *self.places.entry(process.key()).or_insert_with(|| {
                self.tracks.push(Track::of(process));
                self.tracks.len() - 1
            });
            self.tracks[place].add(process, *sample, began_ns);
        }
        let mut all = summed(&each, at_s);
        // Requests of ended processes count, too.
        let served = self
            .tracks
            .iter()
            .filter_map(|track| track.samples.last()?.requests);
        all.requests = served.reduce(|a, b| a.saturating_add(b));
        self.samples.push(all);
    }

    /// How many readings there are.
    #[must_use]
    pub fn readings(&self) -> usize {
        self.samples.len()
    }

    /// Drops every second reading, so that the others are as far apart as before in the whole time.
    pub fn halve(&mut self) {
        let mut nth = 0;
        self.samples.retain(|_| {
            nth += 1;
            nth % 2 == 1
        });
        let kept: BTreeSet<u64> = self.samples.iter().map(|s| s.at_s.to_bits()).collect();
        for track in &mut self.tracks {
            track
                .samples
                .retain(|sample| kept.contains(&sample.at_s.to_bits()));
        }
    }

    /// Seconds from the first reading to the last.
    pub fn length_s(&self) -> f64 {
        self.samples.last().map_or(0.0, |sample| sample.at_s)
    }
}

impl Track {
    fn of(process: &ProcessReading) -> Self {
        Self {
            pid: process.pid,
            parent_pid: process.status.parent_pid,
            name: process.status.name.clone(),
            worker: None,
            counter: None,
            served_before: 0,
            first: None,
            last: None,
            first_heap: None,
            last_heap: None,
            samples: Vec::new(),
        }
    }

    fn add(&mut self, process: &ProcessReading, mut sample: Sample, began_ns: u64) {
        // exec changes the name.
        self.name.clone_from(&process.status.name);
        self.worker = process.worker.or(self.worker);
        sample.requests = self.served(process.requests);
        self.samples.push(sample);
        if let Some(heap) = &process.heap {
            let heap = ruby_heap(heap, began_ns);
            self.first_heap.get_or_insert_with(|| heap.clone());
            self.last_heap = Some(heap);
        }
        if let Some(maps) = &process.maps {
            let made = make_up(maps, process.heap.as_ref(), sample.at_s);
            self.first.get_or_insert_with(|| made.clone());
            self.last = Some(made);
        }
    }
}

impl Track {
    /// Requests since the first flight file of the process that was read: Puma begins another file where it restarts in place.
    /// Where the counter cannot be read it keeps its value.
    fn served(&mut self, counter: Option<u64>) -> Option<u64> {
        if let Some(counter) = counter {
            if let Some(before) = self.counter.filter(|before| counter < *before) {
                self.served_before = self.served_before.saturating_add(before);
            }
            self.counter = Some(counter);
        }
        Some(self.served_before.saturating_add(self.counter?))
    }
}

fn sample_of(process: &ProcessReading, at_s: f64) -> Sample {
    let memory = &process.status.memory;
    let exact = process.maps.map(|maps| maps.total());
    Sample {
        at_s,
        rss_bytes: memory.rss_bytes,
        anonymous_bytes: memory.anonymous_bytes,
        file_bytes: memory.file_bytes,
        shared_bytes: memory.shared_bytes,
        swap_bytes: memory.swap_bytes,
        pss_bytes: exact.map(|exact| exact.pss_bytes),
        uss_bytes: exact.map(|exact| exact.private_bytes),
        requests: None,
    }
}

/// The sums; `None` where any process lacks the value.
fn summed(each: &[Sample], at_s: f64) -> Sample {
    let sum = |of: fn(&Sample) -> Option<u64>| each.iter().map(of).sum::<Option<u64>>();
    Sample {
        at_s,
        rss_bytes: each.iter().map(|sample| sample.rss_bytes).sum(),
        anonymous_bytes: sum(|sample| sample.anonymous_bytes),
        file_bytes: sum(|sample| sample.file_bytes),
        shared_bytes: sum(|sample| sample.shared_bytes),
        swap_bytes: sum(|sample| sample.swap_bytes),
        pss_bytes: sum(|sample| sample.pss_bytes),
        uss_bytes: sum(|sample| sample.uss_bytes),
        requests: None,
    }
}

fn ruby_heap(heap: &Heap, began_ns: u64) -> RubyHeap {
    let pool = |pool: &flight::SizePool| SizePool {
        slot_bytes: pool.slot_bytes.into(),
        slots: pool.slots,
        live_slots: pool.live_slots,
    };
    RubyHeap {
        at_s: (heap.mono_ns as f64 - began_ns as f64) / 1e9,
        pages: heap.pages,
        page_bytes: heap.page_bytes.into(),
        live_slots: heap.live_slots,
        free_slots: heap.free_slots,
        old_objects: heap.old_objects,
        pools: heap.pools.iter().map(pool).collect(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use host::ProcessStatus;
    use host::procfs::StatusMemory;
    use std::time::Duration;

    pub(crate) fn process(
        pid: u32,
        rss: u64,
        exact: bool,
        requests: Option<u64>,
    ) -> ProcessReading {
        let text = format!(
            "10-20 rw-p 0 00:00 0 [heap]\nRss: {rss} kB\nPss: {rss} kB\nPrivate_Dirty: 1 kB\n"
        );
        ProcessReading {
            pid,
            status: ProcessStatus {
                name: "ruby".to_owned(),
                parent_pid: 1,
                start_ticks: 5,
                memory: StatusMemory {
                    rss_bytes: rss << 10,
                    anonymous_bytes: Some(rss << 10),
                    ..StatusMemory::default()
                },
            },
            maps: if exact {
                host::smaps::parse_smaps(&text)
            } else {
                None
            },
            worker: None,
            requests,
            heap: None,
        }
    }

    pub(crate) fn reading(at_s: u64, processes: Vec<ProcessReading>) -> Reading {
        Reading {
            at: Duration::from_secs(at_s),
            mono_ns: 0,
            processes,
        }
    }

    #[test]
    fn sums_lack_no_process_and_keep_what_the_dead_served() {
        let mut recorded = Recorded::default();
        recorded.add(&reading(
            0,
            vec![process(7, 10, true, Some(3)), process(8, 20, true, Some(4))],
        ));
        recorded.add(&reading(
            1,
            vec![process(7, 10, true, Some(5)), process(8, 20, false, None)],
        ));
        recorded.add(&reading(
            2,
            vec![process(7, 10, true, Some(6)), process(9, 30, true, None)],
        ));
        recorded.add(&reading(3, Vec::new()));
        let sums: Vec<_> = recorded
            .samples
            .iter()
            .map(|s| (s.rss_bytes >> 10, s.pss_bytes.map(|b| b >> 10), s.requests))
            .collect();
        assert_eq!(
            sums,
            [
                (30, Some(30), Some(7)),
                (30, None, Some(9)),
                (40, Some(40), Some(10))
            ]
        );
        let lengths: Vec<_> = recorded
            .tracks
            .iter()
            .map(|track| (track.pid, track.samples.len()))
            .collect();
        assert_eq!(lengths, [(7, 3), (8, 2), (9, 1)]);
        assert_eq!(recorded.length_s(), 2.0);
        assert_eq!(recorded.samples[0].file_bytes, None);
    }

    #[test]
    fn a_number_that_is_used_again_is_another_process() {
        let mut recorded = Recorded::default();
        recorded.add(&reading(0, vec![process(7, 10, true, None)]));
        let mut again = process(7, 10, true, None);
        again.status.start_ticks = 6;
        recorded.add(&reading(1, vec![again]));
        assert_eq!(recorded.tracks.len(), 2);
    }

    /// Puma in single mode keeps its process when it restarts, and counts from 0 in another file.
    #[test]
    fn a_counter_that_begins_again_goes_on() {
        let mut recorded = Recorded::default();
        for (at_s, counter) in (0..).zip([Some(3), Some(9), None, Some(2), Some(5)]) {
            recorded.add(&reading(at_s, vec![process(7, 10, true, counter)]));
        }
        let served = recorded.samples.iter().map(|sample| sample.requests);
        assert!(served.eq([3, 9, 9, 11, 14].map(Some)));
    }

    #[test]
    fn every_second_reading_is_dropped_of_each_process() {
        let mut recorded = Recorded::default();
        for at_s in 0..7 {
            let mut processes = vec![process(7, 10, true, None)];
            processes.extend((at_s >= 3).then(|| process(8, 10, true, None)));
            recorded.add(&reading(at_s, processes));
        }
        recorded.halve();
        let times = |samples: &[Sample]| samples.iter().map(|s| s.at_s).collect::<Vec<_>>();
        assert_eq!(recorded.readings(), 4);
        assert_eq!(times(&recorded.samples), [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(times(&recorded.tracks[0].samples), [0.0, 2.0, 4.0, 6.0]);
        assert_eq!(times(&recorded.tracks[1].samples), [4.0, 6.0]);
    }
}
