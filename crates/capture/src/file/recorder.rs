//! What a recording thread calls: redacts, writes, begins new files, and stops
//! for good when the disk does not take more. It has neither thread nor channel
//! of its own.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::rotation::create_next;
use super::{About, FileError, Head, Limits, Record, WriteError, Writer};
use crate::Rules;

/// What is not flushed yet is lost when the process is killed.
const FLUSH_EVERY: Duration = Duration::from_secs(1);

/// What became of the records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// In a file.
    pub written: u64,
    /// In no file: those that came after recording had stopped, and those that were gathered when it did.
    pub lost: u64,
    /// In no file, because they would fit into none.
    pub refused: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Files begun.
    pub files: u32,
    /// The last of them.
    pub path: PathBuf,
}

/// Recording has ended before its time. Said once; from then on records are counted as lost.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}: nothing is recorded any more; make room and start anew", path.display())]
pub struct Stopped {
    /// The file that was written, or was to be begun.
    pub path: PathBuf,
    /// The system's words.
    pub error: io::Error,
}

/// Writes the files of one capture.
#[derive(Debug)]
pub struct Recorder<T> {
    base: PathBuf,
    number: u32,
    limits: Limits,
    rules: Rules,
    began_ns: u64,
    about: About,
    /// `None`: stopped.
    writer: Option<Writer<File, T>>,
    file_began: Instant,
    flushed: Instant,
    /// Of files that are done with.
    done: Counts,
}

impl<T: Record> Recorder<T> {
    /// Begins the first file: `path`, or the next number of it that is not taken.
    /// `began_ns`: the Unix time from which records count their instants.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn start(
        path: &Path,
        limits: Limits,
        rules: Rules,
        began_ns: u64,
        about: About,
        now: Instant,
    ) -> Result<Self, FileError> {
        let mut recorder = Self {
            base: path.to_owned(),
            number: 0,
            limits,
            rules,
            began_ns,
            about,
            writer: None,
            file_began: now,
            flushed: now,
            done: Counts::default(),
        };
        recorder.begin_file(now)?;
        Ok(recorder)
    }

    fn begin_file(&mut self, now: Instant) -> Result<(), FileError> {
        self.file_began = now;
        let (number, path, file) = create_next(&self.base, self.number)?;
        let mut about = self.about.clone();
        about.part = self.done.files;
        let head = Head::new(T::KIND, self.began_ns, about);
        // The first file's name for the capture holds for all.
        self.about.capture.clone_from(&head.about.capture);
        self.writer = Some(Writer::new(file, &head)?);
        self.number = number + 1;
        self.done.files += 1;
        self.done.path = path;
        Ok(())
    }

    /// Redacts and writes a record. It is lent, so that whoever writes millions can use its memory again.
    ///
    /// # Errors
    /// Once, when recording stops.
    pub fn take(&mut self, record: &mut T) -> Result<(), Stopped> {
        let Some(writer) = &mut self.writer else {
            self.done.lost += 1;
            return Ok(());
        };
        record.redact(&self.rules);
        let taken = writer.flushed() + writer.gathered() + 1;
        match writer.push(record) {
            Ok(()) if self.limits.bytes.is_some_and(|most| writer.bytes() >= most) => {
                self.rotate(Instant::now())
            }
            Ok(()) => Ok(()),
            Err(WriteError::Io(error)) => Err(self.stop(taken, error)),
            Err(WriteError::TooLarge { .. } | WriteError::Encoding(_)) => {
                self.done.refused += 1;
                Ok(())
            }
        }
    }

    /// To be called about ten times a second: writes what has waited for a second, and begins a new file when the
    /// present one is old enough.
    ///
    /// # Errors
    /// Once, when recording stops.
    pub fn tick(&mut self, now: Instant) -> Result<(), Stopped> {
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        if now.saturating_duration_since(self.flushed) >= FLUSH_EVERY {
            self.flushed = now;
            let taken = writer.flushed() + writer.gathered();
            if let Err(error) = writer.flush() {
                return Err(self.stop(taken, error));
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
            return if empty { Ok(()) } else { self.rotate(now) };
        }
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// It could not be written; [`Recorder::counts`] tells what was.
    pub fn finish(&mut self) -> Result<(), Stopped> {
        self.end_file()
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

    /// Whether records still reach a file.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.writer.is_some()
    }

    fn rotate(&mut self, now: Instant) -> Result<(), Stopped> {
        self.end_file()?;
        self.begin_file(now).map_err(|error| Stopped {
            path: self.base.clone(),
            error: match error {
                FileError::Io(error) => error,
                other => io::Error::other(other),
            },
        })
    }

    fn end_file(&mut self) -> Result<(), Stopped> {
        let Some(writer) = &mut self.writer else {
            return Ok(());
        };
        let taken = writer.flushed() + writer.gathered();
        if let Err(error) = writer.flush() {
            return Err(self.stop(taken, error));
        }
        self.done.written += writer.flushed();
        self.done.bytes += writer.bytes();
        self.writer = None;
        Ok(())
    }

    /// `taken`: records that were to be in this file by now.
    fn stop(&mut self, taken: u64, error: io::Error) -> Stopped {
        if let Some(mut writer) = self.writer.take() {
            self.done.written += writer.flushed();
            self.done.lost += taken - writer.flushed();
            self.done.bytes += writer.bytes();
            // Part of a block may be there. A reader would skip it, but the room is wanted by others.
            let whole = writer.bytes();
            let _ = writer.output().set_len(whole);
        }
        Stopped {
            path: self.done.path.clone(),
            error,
        }
    }
}
