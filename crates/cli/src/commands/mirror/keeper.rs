//! What is kept of a mirror's traffic: a recording, a log of pairs, a comparison that follows both. One thread does it,
//! which looks for work fifty times a second, so that a producer never wakes a thread.

use super::batch::{Batch, weight};
use super::kept::{Kept, Shelf};
use super::notices::stamped;
use super::recording::Recording;
use super::resolve::Files;
use super::written::{RECORDING, SHADOW_LOG, Written};
use crate::commands::host_name;
use crate::output;
use capture::file::{About, Change, Counts, Limits, Recorder};
use capture::{Answer, Exchange, Pair, Rules};
use mirror::{Shadow, Taken};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often it looks.
const EVERY: Duration = Duration::from_millis(20);
/// Most bytes that wait to be written; more is lost and counted. A disk takes that in a second or two.
const MOST_WAITING: u64 = 64 << 20;
/// What a pair takes in addition to its texts.
const OVERHEAD: u64 = 256;

/// The flag that a line of the log is about.
const RECORD_FLAG: &str = "--record";
const SHADOW_LOG_FLAG: &str = "--shadow-log";

/// Hands over what is to be kept. Every method returns at once.
#[derive(Debug, Default)]
pub struct Inbox {
    exchanges: Mutex<Batch>,
    pairs: Mutex<Vec<(u32, Pair)>>,
    bytes: AtomicU64,
    lost_exchanges: AtomicU64,
    lost_pairs: AtomicU64,
    ended: AtomicBool,
    recording_ended: AtomicBool,
}

impl Inbox {
    /// False after the recording has reached its limit or failed.
    pub fn wants_exchanges(&self) -> bool {
        !self.recording_ended.load(Ordering::Relaxed)
    }

    /// A request and its answer, for the recording.
    pub fn exchange(&self, request: &Taken, answer: Option<&Answer>) {
        if !self.wants_exchanges() {
            return;
        }
        let weight = weight(request);
        if self.has_room(weight, &self.lost_exchanges) {
            locked(&self.exchanges).push(request, answer, weight);
        }
    }

    /// A pair, of the shadows that are counted as this generation.
    pub fn pair(&self, generation: u32, pair: Pair) {
        if self.has_room(weight_of_pair(&pair), &self.lost_pairs) {
            locked(&self.pairs).push((generation, pair));
        }
    }

    /// Records that found no room.
    pub fn lost(&self) -> u64 {
        self.lost_exchanges.load(Ordering::Relaxed) + self.lost_pairs.load(Ordering::Relaxed)
    }

    fn has_room(&self, bytes: u64, lost: &AtomicU64) -> bool {
        let fits = self.bytes.load(Ordering::Relaxed) + bytes <= MOST_WAITING;
        match fits {
            true => self.bytes.fetch_add(bytes, Ordering::Relaxed),
            false => lost.fetch_add(1, Ordering::Relaxed),
        };
        fits
    }
}

fn weight_of_pair(pair: &Pair) -> u64 {
    let differences = pair.shadows.iter().flat_map(|shadow| &shadow.differences);
    let differences: usize = differences
        .map(|one| one.kind.len() + one.primary.len() + one.shadow.len())
        .sum();
    OVERHEAD * (1 + pair.shadows.len() as u64) + (pair.target.len() + differences) as u64
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The shadows of one reading of the settings. Pairs number them by their places in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Generation {
    pub number: u32,
    pub shadows: Vec<duplex::Shadow>,
}

impl Generation {
    pub fn of(number: u32, shadows: &[Shadow]) -> Generation {
        let shadow = |shadow: &Shadow| duplex::Shadow {
            name: shadow.name.clone(),
            twin: shadow.twin,
        };
        Generation {
            number,
            shadows: shadows.iter().map(shadow).collect(),
        }
    }
}

/// The thread and its inbox.
#[derive(Debug)]
pub struct Keeper {
    pub inbox: Arc<Inbox>,
    generation: Arc<Mutex<Generation>>,
    /// What it knows is asked for here.
    pub shelf: Arc<Shelf>,
    thread: JoinHandle<Kept>,
}

impl Keeper {
    /// Makes the files and starts.
    ///
    /// # Errors
    /// A file cannot be made.
    pub fn start(
        files: &Files,
        primary: &str,
        generation: Generation,
        clock: Clock,
    ) -> Result<Keeper, String> {
        let inbox = Arc::new(Inbox::default());
        let shelf = Arc::new(Shelf::default());
        let generation = Arc::new(Mutex::new(generation));
        let mut desk = Desk::new(files, primary, &locked(&generation), clock)?;
        let thread = {
            let (inbox, shelf, generation) = (inbox.clone(), shelf.clone(), generation.clone());
            std::thread::Builder::new()
                .name("keeper".to_owned())
                .spawn(move || {
                    loop {
                        // Read first: entries handed over before the end was set are still taken.
                        let ended = inbox.ended.load(Ordering::Acquire);
                        let current = locked(&generation).clone();
                        desk.take(&inbox, &current);
                        if ended {
                            return desk.finish(&inbox);
                        }
                        shelf.answer(|| desk.shown(&inbox));
                        std::thread::sleep(EVERY);
                    }
                })
        };
        Ok(Keeper {
            inbox,
            generation,
            shelf,
            thread: thread.map_err(|e| format!("cannot start a thread: {e}"))?,
        })
    }

    /// Pairs of this generation are compared among themselves from now on.
    pub fn follow(&self, generation: Generation) {
        *locked(&self.generation) = generation;
    }

    /// Takes what is left, ends the files, and says what became of everything.
    pub fn end(self) -> Kept {
        self.inbox.ended.store(true, Ordering::Release);
        self.shelf.close();
        self.thread.join().unwrap_or_default()
    }
}

/// When the capture began, on both clocks.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    pub began: Instant,
    pub began_unix_ns: u64,
    /// `--for` says when the mirror ends.
    pub length_was_chosen: bool,
}

struct Desk {
    clock: Clock,
    recording: Option<Recording>,
    log: Option<Recorder<Pair>>,
    files: Files,
    primary: String,
    generation: Generation,
    comparison: Option<duplex::Comparison>,
    /// When the first pair of this generation was given to the primary.
    first_ns: Option<u64>,
    /// Of logs that are done with.
    logs_before: Vec<Counts>,
    /// What the inbox held, and will again: emptied, with its memory.
    told: Batch,
    /// The record that is written, of which the next one takes the memory.
    exchange: Exchange,
}

impl Desk {
    fn new(
        files: &Files,
        primary: &str,
        generation: &Generation,
        clock: Clock,
    ) -> Result<Desk, String> {
        let mut desk = Desk {
            clock,
            recording: None,
            log: None,
            files: files.clone(),
            primary: primary.to_owned(),
            generation: generation.clone(),
            comparison: None,
            first_ns: None,
            logs_before: Vec::new(),
            told: Batch::default(),
            exchange: Exchange::default(),
        };
        if let Some(path) = &files.record {
            let about = About {
                unredacted: files.keep.clone(),
                ..desk.about()
            };
            let begun = Recording::start(path, files, desk.limits(), clock.began_unix_ns, about);
            let (recording, change) = begun?;
            desk.recording = Some(recording);
            told_at_start(RECORD_FLAG, path, change)?;
        }
        if let (Some(path), Some(change)) = (&files.shadow_log, desk.begin_generation()?) {
            told_at_start(SHADOW_LOG_FLAG, path, Some(change))?;
        }
        Ok(desk)
    }

    /// Begins the comparison of these shadows, and their log.
    fn begin_generation(&mut self) -> Result<Option<Change>, String> {
        if let Some(mut log) = self.log.take() {
            told(SHADOW_LOG_FLAG, log.finish());
            self.logs_before.push(log.counts());
        }
        self.first_ns = None;
        self.comparison = match self.generation.shadows.as_slice() {
            [] => None,
            shadows => Some(
                duplex::Comparison::new(shadows.to_vec(), duplex::MARGIN)
                    .map_err(|e| e.to_string())?,
            ),
        };
        let path = self
            .files
            .shadow_log
            .as_ref()
            .filter(|_| !self.generation.shadows.is_empty());
        let Some(path) = path else {
            return Ok(None);
        };
        let (log, change) = Recorder::start(
            path,
            self.limits(),
            self.rules(),
            self.clock.began_unix_ns,
            self.about(),
            Instant::now(),
        );
        self.log = Some(log);
        Ok(change)
    }

    fn limits(&self) -> Limits {
        Limits {
            bytes: self.files.rotate_size,
            age: self.files.rotate_every,
            total: Some(self.files.record_limit),
        }
    }

    fn rules(&self) -> Rules {
        self.files.rules()
    }

    fn about(&self) -> About {
        let twin = self.generation.shadows.iter().find(|shadow| shadow.twin);
        About {
            written_by: format!("powerband {}", env!("CARGO_PKG_VERSION")),
            host: host_name(),
            primary: self.primary.clone(),
            shadows: self
                .generation
                .shadows
                .iter()
                .map(|shadow| shadow.name.clone())
                .collect(),
            twin: twin.map_or_else(String::new, |shadow| shadow.name.clone()),
            ..About::default()
        }
    }

    fn take(&mut self, inbox: &Inbox, current: &Generation) {
        std::mem::swap(&mut *locked(&inbox.exchanges), &mut self.told);
        let pairs = std::mem::take(&mut *locked(&inbox.pairs));
        let (batch, recording) = (&mut self.told, &mut self.recording);
        let mut bytes = batch.drain(self.clock.began, &mut self.exchange, |exchange| {
            if let Some(recording) = recording {
                told(RECORD_FLAG, recording.take(exchange));
            }
        });
        for (generation, mut pair) in pairs {
            bytes += weight_of_pair(&pair);
            if generation == current.number && generation != self.generation.number {
                self.generation = current.clone();
                match self.begin_generation() {
                    Ok(change) => told(SHADOW_LOG_FLAG, change),
                    Err(why) => output::error(&why),
                }
            }
            // Late ones of shadows that a reload has done away with are counted there, and compared no more.
            if generation == self.generation.number {
                if let Some(comparison) = &mut self.comparison {
                    // A mirror that was idle, or got its shadows later, has not run for that long.
                    let first_ns = *self.first_ns.get_or_insert(pair.at_ns);
                    comparison.push_at(pair.at_ns.saturating_sub(first_ns), &pair);
                }
                if let Some(log) = &mut self.log {
                    told(SHADOW_LOG_FLAG, log.take(&mut pair));
                }
            }
        }
        inbox.bytes.fetch_sub(bytes, Ordering::Relaxed);
        let now = Instant::now();
        if let Some(recording) = &mut self.recording {
            told(RECORD_FLAG, recording.tick(now));
            if recording.state().is_final() {
                inbox.recording_ended.store(true, Ordering::Relaxed);
            }
        }
        if let Some(log) = &mut self.log {
            told(SHADOW_LOG_FLAG, log.tick(now));
        }
    }

    fn shown(&self, inbox: &Inbox) -> Kept {
        let recording = self.recording.as_ref().map(Recording::counts);
        let no_room = self.recording.as_ref().map_or(0, Recording::no_room);
        let logs = self.logs_before.iter().cloned();
        let logs: Vec<Counts> = logs
            .chain(self.log.as_ref().map(Recorder::counts))
            .collect();
        let files = recording.iter().chain(&logs);
        let files = files
            .filter(|counts| counts.files > 0)
            .map(|counts| counts.path.clone())
            .collect();
        let mut written = BTreeMap::new();
        if recording.is_some() {
            let lost = inbox.lost_exchanges.load(Ordering::Relaxed);
            written.insert(RECORDING, Written::of(&recording, lost + no_room));
        }
        if !logs.is_empty() {
            let lost = inbox.lost_pairs.load(Ordering::Relaxed);
            written.insert(SHADOW_LOG, Written::of(&logs, lost));
        }
        let asked = duplex::Asked {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            made_at: jiff::Timestamp::now()
                .strftime("%Y-%m-%dT%H:%M:%SZ")
                .to_string(),
            length_was_chosen: self.clock.length_was_chosen,
            ..duplex::Asked::default()
        };
        Kept {
            comparison: self
                .comparison
                .as_ref()
                .map(|comparison| comparison.document(&asked)),
            written,
            files,
        }
    }

    fn finish(&mut self, inbox: &Inbox) -> Kept {
        if let Some(recording) = &mut self.recording {
            told(RECORD_FLAG, recording.finish());
        }
        if let Some(log) = &mut self.log {
            told(SHADOW_LOG_FLAG, log.finish());
        }
        self.shown(inbox)
    }
}

/// A file that cannot be made is a wrong setting at the start; a full disk and a reached limit are not.
fn told_at_start(flag: &str, path: &Path, change: Option<Change>) -> Result<(), String> {
    if let Some(Change::Failed { error, .. }) = &change {
        let path = path.display().to_string();
        return Err(format!("{flag} = {path:?}: {error}"));
    }
    told(flag, change);
    Ok(())
}

/// Whatever becomes of a recording, the mirror goes on.
fn told(flag: &str, change: Option<Change>) {
    if let Some(change) = change {
        output::error(&stamped(&format!("{flag}: {change}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn after_the_limit_no_request_is_copied_for_the_recording() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("traffic.pbc");
        std::fs::write(&path, [0; 1_000]).unwrap();
        let files = Files {
            record: Some(path),
            topic: None,
            shadow_log: None,
            rotate_size: None,
            rotate_every: None,
            record_limit: 1_000,
            redact: Vec::new(),
            keep: Vec::new(),
            filters: Vec::new(),
        };
        let clock = Clock {
            began: Instant::now(),
            began_unix_ns: 0,
            length_was_chosen: false,
        };
        let generation = Generation::of(0, &[]);
        let mut desk = Desk::new(&files, "primary", &generation, clock).unwrap();
        let inbox = Inbox::default();
        assert!(inbox.wants_exchanges());
        desk.take(&inbox, &generation);
        assert!(!inbox.wants_exchanges());
        let kept = desk.finish(&inbox);
        assert_eq!(kept.written[RECORDING].state, "limit_reached");
        assert!(kept.files.is_empty());
    }
}
