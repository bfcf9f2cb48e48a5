//! What a recording thread calls: redacts, writes, begins new files, pauses while the disk is full, and ends at a limit. It
//! has neither thread nor channel of its own.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::disk::{Disk, Files, Space};
use super::state::{Change, Counts, State};
use super::writer::BLOCK;
use super::{About, Created, FileError, Head, Limits, Record, WriteError, Writer};
use crate::Rules;

/// What is not flushed yet is lost when the process is killed.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// How often a full disk is looked at again.
const RETRY_EVERY: Duration = Duration::from_secs(1);
/// A recording goes on when so much is free, so that it does not take the last bytes from other programs again at once.
const ROOM: u64 = 16 << 20;
/// Of a small filesystem this share is enough.
const SHARE_OF_SMALL: u64 = 16;
/// A new file is begun where the limit leaves so much.
const LEAST_FILE: u64 = 64 << 10;

/// Writes the files of one capture.
#[derive(Debug)]
pub struct Recorder<T, D: Disk = Files> {
    disk: D,
    base: PathBuf,
    number: u32,
    /// Bytes of parts that existed already.
    earlier: u64,
    limits: Limits,
    rules: Rules,
    began_ns: u64,
    about: About,
    /// The present file; `None` where none could be begun, and after the end.
    writer: Option<Writer<D::File, T>>,
    file_began: Instant,
    flushed: Instant,
    retried: Instant,
    /// What had been lost for want of space when the disk was found full.
    lost_before: u64,
    /// Of files that are done with.
    done: Counts,
}

impl<T: Record> Recorder<T> {
    /// Begins the first file: `path`, or the next number of it that is not taken.
    /// `began_ns`: the Unix time from which records count their instants.
    ///
    /// Where the disk is full the recording starts paused. Where the file cannot be made for another reason it has failed.
    /// Either is reported.
    pub fn start(
        path: &Path,
        limits: Limits,
        rules: Rules,
        began_ns: u64,
        about: About,
        now: Instant,
    ) -> (Self, Option<Change>) {
        Self::start_on(Files, path, limits, rules, began_ns, about, now)
    }
}

impl<T: Record, D: Disk> Recorder<T, D> {
    /// The same on another disk.
    pub fn start_on(
        disk: D,
        path: &Path,
        limits: Limits,
        rules: Rules,
        began_ns: u64,
        about: About,
        now: Instant,
    ) -> (Self, Option<Change>) {
        let mut recorder = Self {
            disk,
            base: path.to_owned(),
            number: 0,
            earlier: 0,
            limits,
            rules,
            began_ns,
            about,
            writer: None,
            file_began: now,
            flushed: now,
            retried: now,
            lost_before: 0,
            done: Counts::default(),
        };
        let change = recorder.next_file(now);
        (recorder, change)
    }

    /// Begins a file where the limit leaves room for one.
    fn next_file(&mut self, now: Instant) -> Option<Change> {
        match self.begin_file(now) {
            Ok(true) => None,
            Ok(false) => Some(self.limit_reached()),
            Err(error) => Some(self.troubled(0, error)),
        }
    }

    /// What the limit leaves for the files that are not closed yet.
    fn left(&self) -> u64 {
        let total = self.limits.total.unwrap_or(u64::MAX);
        total.saturating_sub(self.earlier.saturating_add(self.done.bytes))
    }

    /// False where the limit leaves no room for a file.
    fn begin_file(&mut self, now: Instant) -> io::Result<bool> {
        if self.left() < LEAST_FILE {
            return Ok(false);
        }
        self.file_began = now;
        let created = self.disk.create_next(&self.base, self.number)?;
        let Created {
            number, path, file, ..
        } = created;
        if self.left().saturating_sub(created.passed) < LEAST_FILE {
            self.disk.remove(&path);
            return Ok(false);
        }
        let mut about = self.about.clone();
        about.part = self.done.files;
        let head = Head::new(T::KIND, self.began_ns, about);
        let writer = match Writer::new(file, &head) {
            Ok(writer) => writer,
            Err(error) => {
                self.disk.remove(&path);
                return Err(match error {
                    FileError::Io(error) => error,
                    other => io::Error::other(other),
                });
            }
        };
        // The first file's name for the capture holds for all.
        self.about.capture.clone_from(&head.about.capture);
        self.writer = Some(writer);
        self.number = number + 1;
        self.earlier = self.earlier.saturating_add(created.passed);
        self.done.files += 1;
        self.done.path = path;
        Ok(true)
    }

    /// Redacts and writes a record. It is lent, so that a caller that writes millions can use its memory again.
    #[must_use]
    pub fn take(&mut self, record: &mut T) -> Option<Change> {
        match self.done.state {
            State::Recording => {}
            State::Paused => {
                self.done.lost.no_space += 1;
                return None;
            }
            State::LimitReached | State::Ended => return None,
            State::Failed => {
                self.done.lost.failed += 1;
                return None;
            }
        }
        let writer = self.writer.as_mut()?;
        record.redact(&self.rules);
        match writer.gather(record) {
            Ok(()) => {}
            Err(WriteError::TooLarge { .. } | WriteError::Encoding(_)) => {
                self.done.lost.too_large += 1;
                return None;
            }
            Err(WriteError::Io(error)) => return Some(self.troubled(1, error)),
        }
        if writer.is_block() {
            let change = self.flush();
            if change.is_some() {
                return change;
            }
        }
        let bytes = self.writer.as_ref().map_or(0, Writer::bytes);
        match self.limits.bytes.is_some_and(|most| bytes >= most) {
            true => self.rotate(Instant::now()),
            false => None,
        }
    }

    /// To be called about ten times a second: writes what has waited for a second, begins a new file when the present one
    /// is old enough, and looks whether a full disk has room again.
    #[must_use]
    pub fn tick(&mut self, now: Instant) -> Option<Change> {
        match self.done.state {
            State::Recording => {}
            State::Paused => return self.try_again(now),
            State::LimitReached | State::Failed | State::Ended => return None,
        }
        if now.saturating_duration_since(self.flushed) >= FLUSH_EVERY {
            self.flushed = now;
            let change = self.flush();
            if change.is_some() {
                return change;
            }
        }
        let age = now.saturating_duration_since(self.file_began);
        if self.limits.age.is_some_and(|most| age >= most) {
            self.file_began = now;
            // An idle night makes no empty files.
            let empty = self
                .writer
                .as_ref()
                .is_none_or(|w| w.flushed() + w.gathered() == 0);
            return if empty { None } else { self.rotate(now) };
        }
        None
    }

    /// Writes what is left.
    #[must_use]
    pub fn finish(&mut self) -> Option<Change> {
        let change = match self.flush() {
            Some(Change::Paused { path, error, .. }) => Some(Change::Unwritten {
                path,
                error,
                lost: self.done.lost.no_space - self.lost_before,
            }),
            other => other,
        };
        self.close();
        if matches!(self.done.state, State::Recording | State::Paused) {
            self.done.state = State::Ended;
        }
        change
    }

    /// Whether records reach a file now.
    #[must_use]
    pub const fn state(&self) -> State {
        self.done.state
    }

    /// What became of the records so far; those that wait for the next block are not among them.
    #[must_use]
    pub fn counts(&self) -> Counts {
        let mut counts = self.done.clone();
        if let Some(writer) = &self.writer {
            counts.written += writer.flushed();
            counts.bytes += writer.bytes();
        }
        counts
    }

    fn rotate(&mut self, now: Instant) -> Option<Change> {
        let change = self.flush();
        if change.is_some() {
            return change;
        }
        self.close();
        self.next_file(now)
    }

    /// Writes what is gathered.
    fn flush(&mut self) -> Option<Change> {
        let left = self.left();
        let writer = self.writer.as_mut()?;
        let gathered = writer.gathered();
        match writer.flush_within(left) {
            Ok(true) => None,
            Ok(false) => {
                self.done.lost.limit += gathered;
                Some(self.limit_reached())
            }
            Err(error) => Some(self.troubled(gathered, error)),
        }
    }

    fn close(&mut self) {
        if let Some(writer) = self.writer.take() {
            self.done.written += writer.flushed();
            self.done.bytes += writer.bytes();
        }
    }

    fn limit_reached(&mut self) -> Change {
        self.close();
        self.done.state = State::LimitReached;
        Change::LimitReached {
            path: match self.done.files {
                0 => self.base.clone(),
                _ => self.done.path.clone(),
            },
            limit: self.limits.total.unwrap_or_default(),
        }
    }

    /// So many records could not be written. Part of their block may be in the file: it is cut off, so that the next block
    /// follows the last whole one.
    fn troubled(&mut self, records: u64, error: io::Error) -> Change {
        let cut = match &mut self.writer {
            Some(writer) => {
                let whole = writer.bytes();
                self.disk.cut(writer.output(), whole)
            }
            None => Ok(()),
        };
        let path = match &self.writer {
            Some(_) => self.done.path.clone(),
            None => self.base.clone(),
        };
        if !is_full(&error) || cut.is_err() {
            self.done.lost.failed += records;
            self.done.state = State::Failed;
            self.close();
            return Change::Failed { path, error };
        }
        self.lost_before = self.done.lost.no_space;
        self.done.lost.no_space += records;
        self.done.state = State::Paused;
        self.retried = Instant::now();
        let free = self.disk.space(&path).map(|space| space.free);
        Change::Paused { path, error, free }
    }

    fn try_again(&mut self, now: Instant) -> Option<Change> {
        if now.saturating_duration_since(self.retried) < RETRY_EVERY {
            return None;
        }
        self.retried = now;
        let lacks_room = |space: Space| space.free < ROOM.min(space.size / SHARE_OF_SMALL);
        if self.disk.space(&self.base).is_some_and(lacks_room) {
            return None;
        }
        // A quota is not in what the disk says: only writing shows it.
        let probed = self.disk.probe(&self.base, BLOCK);
        let tried = match &self.writer {
            Some(_) => probed.map(|()| true),
            None => probed.and_then(|()| self.begin_file(now)),
        };
        match tried {
            Ok(false) => Some(self.limit_reached()),
            Ok(true) => {
                self.done.state = State::Recording;
                self.flushed = now;
                Some(Change::Resumed {
                    path: self.done.path.clone(),
                    lost: self.done.lost.no_space - self.lost_before,
                })
            }
            Err(error) if is_full(&error) => None,
            Err(error) => Some(self.troubled(0, error)),
        }
    }
}

fn is_full(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded
    )
}
