//! Records -> blocks. Flushed records are in the file whole; unflushed ones are
//! one block at most.

use std::io::{self, Write};
use std::marker::PhantomData;

use super::block::{self, BlockHead, MOST_RAW};
use super::{FileError, Head, Record};

/// Records are gathered to blocks of about so many bytes.
pub const BLOCK: usize = 256 << 10;

/// Why a record could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The medium; the file may end in part of a block, which readers skip.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Nothing of it was written, and later ones may be.
    #[error(
        "the record has {bytes} bytes, and a block holds at most {MOST_RAW}: keep less of bodies"
    )]
    TooLarge {
        /// As it would be written.
        bytes: usize,
    },
    /// Nothing of it was written, and later ones may be.
    #[error("the record cannot be encoded: {0}")]
    Encoding(String),
}

/// Appends the many short names and values of a record in words of eight bytes: a call of musl's `memcpy` takes longer than
/// such a copy.
struct InWords<'r>(&'r mut Vec<u8>);

/// Longer texts are left to `memcpy`.
const MOST_IN_WORDS: usize = 32;

impl Write for InWords<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() > MOST_IN_WORDS {
            self.0.extend_from_slice(bytes);
            return Ok(bytes.len());
        }
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.0.extend_from_slice(word);
        }
        for byte in rest {
            self.0.push(*byte);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes one file.
#[derive(Debug)]
pub struct Writer<W, T> {
    out: W,
    nonce: [u8; 16],
    /// Records gathered for the next block.
    raw: Vec<u8>,
    packed: Vec<u8>,
    gathered: u32,
    first_at_ns: u64,
    flushed: u64,
    bytes: u64,
    of: PhantomData<fn(T)>,
}

impl<W: Write, T: Record> Writer<W, T> {
    /// Writes the head.
    ///
    /// # Errors
    /// What the medium says, or a head of another kind of records.
    pub fn new(mut out: W, head: &Head) -> Result<Self, FileError> {
        if head.kind != T::KIND {
            return Err(FileError::Kind {
                found: head.kind,
                wanted: T::KIND,
            });
        }
        let bytes = head.write(&mut out)?;
        out.flush()?;
        Ok(Self {
            out,
            nonce: head.nonce,
            raw: Vec::with_capacity(BLOCK + BLOCK / 4),
            packed: Vec::new(),
            gathered: 0,
            first_at_ns: 0,
            flushed: 0,
            bytes,
            of: PhantomData,
        })
    }

    /// Gathers a record; writes a block when enough are gathered.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub fn push(&mut self, record: &T) -> Result<(), WriteError> {
        self.gather(record)?;
        if self.is_block() {
            self.flush()?;
        }
        Ok(())
    }

    /// Gathers a record.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub fn gather(&mut self, record: &T) -> Result<(), WriteError> {
        let before = self.raw.len();
        let encoded = rmp_serde::encode::write_named(&mut InWords(&mut self.raw), record);
        let length = self.raw.len() - before;
        if let Err(error) = encoded {
            self.raw.truncate(before);
            return Err(WriteError::Encoding(error.to_string()));
        }
        if length > MOST_RAW - BLOCK {
            self.raw.truncate(before);
            return Err(WriteError::TooLarge { bytes: length });
        }
        if self.gathered == 0 {
            self.first_at_ns = record.at_ns();
        }
        self.gathered += 1;
        Ok(())
    }

    /// Enough are gathered.
    #[must_use]
    pub fn is_block(&self) -> bool {
        self.raw.len() >= BLOCK
    }

    /// Writes what is gathered, if there is any.
    ///
    /// # Errors
    /// The error of the file system; the gathered records are then forgotten.
    pub fn flush(&mut self) -> io::Result<()> {
        self.flush_within(u64::MAX).map(drop)
    }

    /// The same where the file has at most `most` bytes after it; otherwise what was gathered is forgotten, and it returns
    /// false.
    ///
    /// # Errors
    /// The error of the file system; the gathered records are then forgotten.
    pub fn flush_within(&mut self, most: u64) -> io::Result<bool> {
        if self.gathered == 0 {
            return Ok(true);
        }
        let longest = lz4_flex::block::get_maximum_output_size(self.raw.len());
        self.packed.resize(block::HEAD + longest, 0);
        let packed = lz4_flex::block::compress_into(&self.raw, &mut self.packed[block::HEAD..])
            .map_err(io::Error::other)?;
        let whole = &mut self.packed[..block::HEAD + packed];
        let head = BlockHead {
            packed,
            raw: self.raw.len(),
            records: self.gathered,
            checksum: block::checksum(&self.nonce, &whole[block::HEAD..]),
            first_record: self.flushed,
            first_at_ns: self.first_at_ns,
        };
        whole[..block::HEAD].copy_from_slice(&head.bytes(&self.nonce));
        let count = u64::from(self.gathered);
        self.raw.clear();
        // One large record does not stay in memory for ever.
        self.raw.shrink_to(2 * BLOCK);
        self.gathered = 0;
        if self.bytes.saturating_add(whole.len() as u64) > most {
            return Ok(false);
        }
        self.out.write_all(whole)?;
        self.out.flush()?;
        self.flushed += count;
        self.bytes += (block::HEAD + packed) as u64;
        Ok(true)
    }

    /// Records in the file.
    #[must_use]
    pub fn flushed(&self) -> u64 {
        self.flushed
    }

    /// Records that wait for the next block.
    #[must_use]
    pub fn gathered(&self) -> u64 {
        u64::from(self.gathered)
    }

    /// Bytes in the file.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The output, without what is gathered and not flushed.
    pub fn output(&mut self) -> &mut W {
        &mut self.out
    }

    /// Flushes and gives the output back.
    ///
    /// # Errors
    /// What the medium says.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_of_each_length_are_appended_whole() {
        let bytes: Vec<u8> = (0..=u8::MAX).collect();
        let mut raw = Vec::new();
        let mut expected = Vec::new();
        for length in 0..=2 * MOST_IN_WORDS {
            InWords(&mut raw).write_all(&bytes[..length]).unwrap();
            expected.extend_from_slice(&bytes[..length]);
            assert_eq!(raw, expected);
        }
    }
}
