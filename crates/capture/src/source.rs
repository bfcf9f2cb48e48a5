//! Any readable file as records of a capture, one after another: ours as a
//! stream, others read whole.

use std::io::{self, Chain, Cursor, Read};

use crate::file::{About, Damaged, FileError, Head, Kind, MAGIC, Reader};
use crate::traffic::{Skipped, Traffic};
use crate::{Exchange, Format, ReadError, read};

/// Why a file gives no records.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The medium.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// A capture file of which nothing can be read.
    #[error("{0}")]
    File(FileError),
    /// A file of another tool.
    #[error("{0}")]
    Other(#[from] ReadError),
}

impl From<FileError> for SourceError {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Io(error) => Self::Io(error),
            other => Self::File(other),
        }
    }
}

/// The records of one file, in the file's order.
pub struct Source {
    records: Records,
    format: Format,
    began_ns: Option<u64>,
    timed: bool,
    about: About,
    skipped: Skipped,
}

enum Records {
    Ours(Box<Reader<Box<dyn Read>, Exchange>>),
    Others(Box<dyn Iterator<Item = Exchange>>),
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Source")
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

impl Source {
    /// Opens what an input holds; the first bytes say what that is.
    ///
    /// # Errors
    /// See [`SourceError`].
    pub fn open(input: Box<dyn Read>) -> Result<Self, SourceError> {
        let (ours, mut input) = sniffed(input)?;
        if ours {
            let reader = Reader::new(Box::new(input) as Box<dyn Read>)?;
            return Ok(Self {
                format: Format::Capture,
                began_ns: Some(reader.head().began_ns),
                timed: true,
                about: reader.head().about.clone(),
                skipped: Skipped::default(),
                records: Records::Ours(Box::new(reader)),
            });
        }
        let mut text = Vec::new();
        input.read_to_end(&mut text)?;
        let mut traffic = read(&text, None)?;
        Ok(Self {
            format: traffic.format,
            began_ns: traffic.began_ns,
            timed: traffic.timed,
            about: About::default(),
            skipped: std::mem::take(&mut traffic.skipped),
            records: Records::Others(Box::new(traffic.into_exchanges())),
        })
    }

    /// Records that did not come from a file, in their order, which count from `began_ns`.
    #[must_use]
    pub fn of_records(records: Vec<Exchange>, began_ns: u64, about: About) -> Self {
        Self {
            records: Records::Others(Box::new(records.into_iter())),
            format: Format::Capture,
            began_ns: Some(began_ns),
            timed: true,
            about,
            skipped: Skipped::default(),
        }
    }

    /// What the file is.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The Unix time in ns from which records count, where the file says so.
    #[must_use]
    pub fn began_ns(&self) -> Option<u64> {
        self.began_ns
    }

    /// Whether the file says when requests came.
    #[must_use]
    pub fn timed(&self) -> bool {
        self.timed
    }

    /// The facts in the head of a capture file.
    #[must_use]
    pub fn about(&self) -> &About {
        &self.about
    }

    /// What of a capture file could not be read so far.
    #[must_use]
    pub fn damaged(&self) -> Damaged {
        match &self.records {
            Records::Ours(reader) => reader.damaged().clone(),
            Records::Others(_) => Damaged::default(),
        }
    }

    /// What of another tool's file could not be read.
    #[must_use]
    pub fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    /// The head of a file of these records.
    #[must_use]
    pub fn head(&self, written_by: &str) -> Head {
        let mut about = self.about.clone();
        written_by.clone_into(&mut about.written_by);
        Head::new(Kind::Traffic, self.began_ns.unwrap_or(0), about)
    }
}

/// An input from its first byte, of which some were looked at.
type Whole<R> = Chain<Cursor<Vec<u8>>, R>;

/// Whether it begins as a capture file, and all of it.
fn sniffed<R: Read>(mut input: R) -> io::Result<(bool, Whole<R>)> {
    let mut first = Vec::new();
    input
        .by_ref()
        .take(MAGIC.len() as u64)
        .read_to_end(&mut first)?;
    Ok((first == MAGIC, Cursor::new(first).chain(input)))
}

impl Iterator for Source {
    /// An error is the medium's, and the last item.
    type Item = io::Result<Exchange>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.records {
            Records::Ours(reader) => reader.next(),
            Records::Others(records) => records.next().map(Ok),
        }
    }
}

impl Traffic {
    /// Reads an input of any format; of a capture file nothing but its requests is held in memory.
    ///
    /// # Errors
    /// See [`SourceError`].
    pub fn read_from(input: impl Read) -> Result<Self, SourceError> {
        let (ours, mut input) = sniffed(input)?;
        if ours {
            return Ok(Self::from_capture(input)?);
        }
        let mut text = Vec::new();
        input.read_to_end(&mut text)?;
        Ok(read(&text, None)?)
    }
}
