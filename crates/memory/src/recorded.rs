//! What was read so far: a series for each process, and one for all together.

use crate::make_up::make_up;
use crate::reader::{Key, ProcessReading, Reading};
use flight::Heap;
use run::memory::{MakeUp, RubyHeap, Sample, SizePool};
use std::collections::BTreeMap;

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
    pub first: Option<MakeUp>,
    pub last: Option<MakeUp>,
    pub first_heap: Option<RubyHeap>,
    pub last_heap: Option<RubyHeap>,
    pub samples: Vec<Sample>,
}

impl Recorded {
    /// Adds a reading; one without processes is none.
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
        // Those that have ended served their part.
        let served = self
            .tracks
            .iter()
            .filter_map(|track| track.samples.last()?.requests);
        all.requests = served.reduce(|a, b| a.saturating_add(b));
        self.samples.push(all);
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
            parent_pid: process.seen.parent_pid,
            name: process.seen.name.clone(),
            worker: None,
            first: None,
            last: None,
            first_heap: None,
            last_heap: None,
            samples: Vec::new(),
        }
    }

    fn add(&mut self, process: &ProcessReading, mut sample: Sample, began_ns: u64) {
        // A program that was started names the process anew.
        self.name.clone_from(&process.seen.name);
        self.worker = process.worker.or(self.worker);
        // A counter that could not be read is where it was.
        sample.requests = sample.requests.or_else(|| self.samples.last()?.requests);
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

fn sample_of(process: &ProcessReading, at_s: f64) -> Sample {
    let resident = &process.seen.resident;
    let exact = process.maps.map(|maps| maps.total());
    Sample {
        at_s,
        rss_bytes: resident.rss_bytes,
        anonymous_bytes: resident.anonymous_bytes,
        file_bytes: resident.file_bytes,
        shared_bytes: resident.shared_bytes,
        swap_bytes: resident.swap_bytes,
        pss_bytes: exact.map(|exact| exact.pss_bytes),
        uss_bytes: exact.map(|exact| exact.private_bytes),
        requests: process.requests,
    }
}

/// A sum that lacks a process is none.
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
    use host::Seen;
    use host::procfs::Resident;
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
            seen: Seen {
                name: "ruby".to_owned(),
                parent_pid: 1,
                start_ticks: 5,
                resident: Resident {
                    rss_bytes: rss << 10,
                    anonymous_bytes: Some(rss << 10),
                    ..Resident::default()
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
            exact: true,
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
        again.seen.start_ticks = 6;
        recorded.add(&reading(1, vec![again]));
        assert_eq!(recorded.tracks.len(), 2);
    }
}
