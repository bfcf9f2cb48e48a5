//! Recorded traffic: capture files, and those that other tools write <->
//! requests with the instants at which they came; and what a mirror records.
//! Reading other tools' files is pure functions over bytes; capture files are
//! read and written as streams. Choosing a target and sending are left to others. What each format holds and what it
//! loses is in `docs/traffic.md`.

mod access_log;
mod collector;
mod endpoint;
mod excerpt;
mod exchange;
mod export;
mod field_name;
pub mod file;
mod format;
mod gor;
mod h2load;
mod har;
mod headers;
mod import;
mod instant;
mod json_lines;
mod message;
mod number_hash;
mod pair;
mod redact;
mod request_target;
mod source;
mod traffic;
mod vegeta;

pub use endpoint::{general, name_of};
pub use exchange::{Answer, Exchange, Field};
pub use export::{Export, Exporter};
pub use field_name::{SHADOW_MARK, reads_as};
pub use file::unredacted;
pub use format::Format;
pub use number_hash::{mix64, number_hash};
pub use pair::{Difference, Drop, Failure, Outcome, Pair, ShadowOutcome};
pub use redact::{FilterError, REDACTED, Rules, filter_parameters};
pub use source::{Source, SourceError};
pub use traffic::{FIRST_SKIPPED, Place, Recorded, Skip, Skipped, Traffic};

use collector::Collector;

/// Largest request body that is kept; a request with a larger one is skipped.
pub const MAX_BODY: usize = 16 << 20;

/// Why a file gives no traffic at all.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// Nothing but white space.
    #[error("the file is empty: record some traffic first")]
    Empty,
    /// Compressed.
    #[error("the file is compressed with gzip: decompress it first (gunzip)")]
    Gzip,
    /// None of the formats.
    #[error(
        "the format was not recognised from the first lines ({start:?}): \
         powerband reads {}",
        format::NAMES
    )]
    NotRecognised {
        /// How the file starts.
        start: String,
    },
    /// A capture file of which nothing can be read.
    #[error("{why}")]
    Capture {
        /// In whole words.
        why: String,
    },
    /// One JSON document, and it is broken.
    #[error("not a HAR document: {why}: export it again from the browser or proxy")]
    Document {
        /// The parser's words, with line and column.
        why: String,
    },
    /// The format is clear, but no request could be read.
    #[error("no request could be read as {format}: {skipped}")]
    NothingReadable {
        /// As recognised or as asked for.
        format: Format,
        /// Why not.
        skipped: Skipped,
    },
}

/// Reads a whole file. Without a format, the first lines decide.
///
/// # Errors
/// When there is not one request in it. Single lines that cannot be read are
/// skipped and counted in [`Traffic::skipped`].
pub fn read(text: &[u8], format: Option<Format>) -> Result<Traffic, ReadError> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    if text.starts_with(b"\x1f\x8b") {
        return Err(ReadError::Gzip);
    }
    if text.trim_ascii().is_empty() {
        return Err(ReadError::Empty);
    }
    let format = match format {
        Some(format) => format,
        None if text.starts_with(&file::MAGIC) => Format::Capture,
        None => format::detect(text).ok_or_else(|| ReadError::NotRecognised {
            start: excerpt::excerpt(text.trim_ascii_start()),
        })?,
    };
    let mut found = Collector::default();
    match format {
        Format::Capture => import::read(text, &mut found)?,
        Format::Gor => gor::read(text, &mut found),
        Format::Har => har::read(text, &mut found)?,
        Format::VegetaJson => vegeta::read(text, &mut found),
        Format::H2load => h2load::read(text, &mut found),
        Format::AccessLog => access_log::read(text, &mut found),
        Format::JsonLines => json_lines::read(text, &mut found),
    }
    found.finish(format)
}
