//! New rows from the flight files of a folder. What was read is remembered by each file's name, so that no row is read twice.

use crate::batch::Batch;
use crate::collections::Collected;
use crate::counters::Counted;
use crate::memory::{Held, RunsWith};
use crate::position::{Position, Positions};
use crate::process::{Process, Service, Writer};
use crate::requests::Request;
use flight::{FlightError, FlightFile, Header, Tally, Totals};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is read.
#[derive(Debug, Clone)]
pub struct Wanted {
    /// The folder that has the files.
    pub folder: PathBuf,
    /// `None`: every application.
    pub application: Option<String>,
    /// One request in so many, at least 1.
    pub sample: u32,
    pub writer: Arc<Writer>,
}

/// Reads a folder again and again.
#[derive(Debug)]
pub struct Intake {
    wanted: Wanted,
    positions: Positions,
    counted: BTreeMap<String, Counts>,
    names: BTreeSet<Arc<str>>,
    /// Unix time in nanoseconds from which it counts.
    began_ns: u64,
    /// Unix time in nanoseconds at which the minute began.
    minute_ns: u64,
}

/// What a file had counted at the last minute.
#[derive(Debug, Default)]
struct Counts {
    requests: u64,
    endpoints: BTreeMap<u16, Totals>,
}

impl Counts {
    fn of(tally: &Tally) -> Counts {
        let endpoints = tally.endpoints.iter().map(|e| (e.index, e.totals));
        Counts {
            requests: tally.totals.requests,
            endpoints: endpoints.collect(),
        }
    }
}

/// The files that are in the folder, also those that cannot be read now.
struct Found {
    /// Names and paths.
    files: Vec<(String, PathBuf)>,
    /// Whether every folder could be listed. If so, a file that is not in `files` was removed.
    is_whole: bool,
}

/// The resident memory of a flight file's process, itself `None` where it is not known; `None` for a process that has ended.
pub type Living<'a> = &'a dyn Fn(&Path, &Header) -> Option<Option<u64>>;

impl Intake {
    /// Begins at these positions, and counts from now on.
    pub fn new(wanted: Wanted, positions: Positions, now_ns: u64) -> Intake {
        let mut intake = Intake {
            wanted,
            positions,
            counted: BTreeMap::new(),
            names: BTreeSet::new(),
            began_ns: now_ns,
            minute_ns: now_ns,
        };
        // What cannot be read now has its baseline from the first minute that reads it.
        let found = intake.found().map(|found| found.files);
        for (name, path) in found.unwrap_or_default() {
            let tally = intake.open(path).and_then(|file| file.tally().ok());
            intake
                .counted
                .extend(tally.map(|tally| (name, Counts::of(&tally))));
        }
        intake
    }

    /// How far the files that are still there were read.
    pub fn positions(&self) -> &Positions {
        &self.positions
    }

    /// Adds new requests that arrived in this range (Unix time in microseconds). `false` where the batch became full before all files
    /// were read.
    ///
    /// # Errors
    /// When the folder cannot be listed. A file that cannot be read is left to the next look, with its position.
    pub fn look(
        &mut self,
        days: &RangeInclusive<i64>,
        batch: &mut Batch,
    ) -> Result<bool, FlightError> {
        let found = self.found()?;
        if found.is_whole {
            let there: BTreeSet<&String> = found.files.iter().map(|(name, _)| name).collect();
            self.positions.retain(|name, _| there.contains(name));
            self.counted.retain(|name, _| there.contains(name));
        }
        for (name, path) in found.files {
            if batch.is_full() {
                return Ok(false);
            }
            let Some(file) = self.open(path) else {
                continue;
            };
            // A file that is damaged, or removed meanwhile, has no rows.
            let _ = self.read_requests(&name, &file, days, batch);
        }
        Ok(true)
    }

    fn read_requests(
        &mut self,
        name: &str,
        file: &FlightFile,
        days: &RangeInclusive<i64>,
        batch: &mut Batch,
    ) -> Result<(), FlightError> {
        let mut position = self.position(name);
        let (records, next) = file.records_from(position.records)?;
        if next <= position.records {
            return Ok(());
        }
        // After the records, so that the names of their endpoints are there.
        let tally = file.tally()?;
        let process = Arc::new(Process::of(&tally.header, &self.wanted.writer));
        let names: BTreeMap<u16, Arc<str>> = tally
            .endpoints
            .into_iter()
            .map(|endpoint| (endpoint.index, interned(&mut self.names, &endpoint.name)))
            .collect();
        // What a file had lost before it was first read is nobody's loss.
        if position.records > 0 {
            let expected = next - position.records;
            batch.lost.requests += expected.saturating_sub(records.len() as u64);
        }
        position.records = next;
        let sampled = records
            .into_iter()
            .filter(|record| is_sampled(&tally.header, record.index, self.wanted.sample));
        let rows = sampled.map(|record| Request {
            process: Arc::clone(&process),
            endpoint: names.get(&record.endpoint).cloned().unwrap_or_default(),
            record,
            weight: self.wanted.sample,
        });
        let rows = rows.filter(|row| days.contains(&row.arrived_us()));
        batch.requests.extend(rows);
        self.positions.insert(name.to_owned(), position);
        Ok(())
    }

    fn read_collections(
        &mut self,
        name: &str,
        file: &FlightFile,
        process: &Arc<Process>,
        days: &RangeInclusive<i64>,
        batch: &mut Batch,
    ) -> Result<(), FlightError> {
        let log = file.log()?.unwrap_or_default();
        let mut position = self.position(name);
        let newest = log.written.saturating_sub(1);
        for collection in log.collections {
            // The newest may go on.
            let ended = collection.over || collection.index < newest;
            if collection.index < position.collections || !ended {
                continue;
            }
            if position.collections > 0 {
                batch.lost.collections += collection.index - position.collections;
            }
            position.collections = collection.index + 1;
            let row = Collected {
                process: Arc::clone(process),
                collection,
            };
            if days.contains(&row.began_us()) {
                batch.collections.push(row);
            }
        }
        self.positions.insert(name.to_owned(), position);
        Ok(())
    }

    /// Ends a minute: adds what was counted in it, the collections that ended, and what live processes hold.
    ///
    /// # Errors
    /// As for [`Intake::look`].
    pub fn minute(
        &mut self,
        now_ns: u64,
        days: &RangeInclusive<i64>,
        living: Living<'_>,
        batch: &mut Batch,
    ) -> Result<(), FlightError> {
        let from_ns = std::mem::replace(&mut self.minute_ns, now_ns);
        let seconds = now_ns.saturating_sub(from_ns) as f64 / 1e9;
        let from_us = (from_ns / 1_000) as i64;
        let mut rows: BTreeMap<(Arc<Service>, Arc<str>), Counted> = BTreeMap::new();
        for (name, path) in self.found()?.files {
            let Some(file) = self.open(path) else {
                continue;
            };
            let Ok((header, totals)) = file.totals() else {
                continue;
            };
            let process = Arc::new(Process::of(&header, &self.wanted.writer));
            // A damaged file has no rows.
            let _ = self.read_collections(&name, &file, &process, days, batch);
            if let Some(resident_bytes) = living(file.path(), &header) {
                batch.held.push(Held {
                    process,
                    at_us: (now_ns / 1_000) as i64,
                    resident_bytes,
                    in_flight: header.in_flight,
                    runs_with: Arc::new(RunsWith::of(&header)),
                    heap: header.heap,
                });
            }
            let before = self.counted.get(&name);
            if before.is_some_and(|before| totals.requests == before.requests) {
                continue;
            }
            let Ok(tally) = file.tally() else { continue };
            // Made before this exporter began, which could not read it then.
            if before.is_none() && header.created_wall_ns < self.began_ns {
                self.counted.insert(name, Counts::of(&tally));
                continue;
            }
            let before = self.counted.entry(name).or_default();
            before.requests = tally.totals.requests;
            let service = Arc::new(Service::of(&tally.header, &self.wanted.writer));
            let measured = metrics::measured(&tally.header);
            for endpoint in tally.endpoints {
                let was = before.endpoints.entry(endpoint.index).or_default();
                let since = endpoint.totals.since(was);
                *was = endpoint.totals;
                if since.requests == 0 {
                    continue;
                }
                let name = interned(&mut self.names, &endpoint.name);
                let row = rows.entry((Arc::clone(&service), Arc::clone(&name)));
                let row = row.or_insert_with(|| Counted {
                    service: Arc::clone(&service),
                    endpoint: name,
                    from_us,
                    seconds,
                    counts: [None; flight::COUNTERS],
                });
                row.add(&since, &measured);
            }
        }
        batch.counted.extend(rows.into_values());
        Ok(())
    }

    fn position(&self, name: &str) -> Position {
        self.positions.get(name).copied().unwrap_or_default()
    }

    fn found(&self) -> Result<Found, FlightError> {
        let paths = flight::find(&self.wanted.folder)?;
        let is_file = |path: &PathBuf| path.extension().is_some_and(|end| end == "flight");
        let is_whole = paths.iter().all(is_file);
        let named = paths.into_iter().filter(is_file).filter_map(|path| {
            let name = path.file_name()?.to_str()?.to_owned();
            Some((name, path))
        });
        Ok(Found {
            files: named.collect(),
            is_whole,
        })
    }

    /// `None` of a file that cannot be read, or is of another application.
    fn open(&self, path: PathBuf) -> Option<FlightFile> {
        let file = FlightFile::open(path).ok()?;
        self.is_wanted(&file).then_some(file)
    }

    fn is_wanted(&self, file: &FlightFile) -> bool {
        let Some(application) = &self.wanted.application else {
            return true;
        };
        let of =
            |(header, _): (Header, Totals)| flight::application_of(&header.app_root) == application;
        file.totals().is_ok_and(of)
    }
}

fn interned(names: &mut BTreeSet<Arc<str>>, name: &str) -> Arc<str> {
    if let Some(known) = names.get(name) {
        return Arc::clone(known);
    }
    let name: Arc<str> = name.into();
    names.insert(Arc::clone(&name));
    name
}

/// Whether a request is in the sample: the answer is the same each time. Neighbours are independent, so that no pattern of the
/// requests agrees with the sample's.
fn is_sampled(header: &Header, index: u64, sample: u32) -> bool {
    // The last steps of SplitMix64 (Steele, Lea, Flood 2014).
    let mut mixed = header.created_wall_ns ^ u64::from(header.pid) << 32;
    mixed = mixed.wrapping_add((index + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (mixed ^ (mixed >> 31)).is_multiple_of(u64::from(sample.max(1)))
}

#[cfg(test)]
mod tests;
