//! Blocks -> records, one block in memory at a time. A damaged part is skipped
//! up to the next block with a valid checksum, and reported.

use std::fmt;
use std::io::{self, Read};

use super::block::{self, BlockHead};
use super::input::Input;
use super::{FileError, Head, Record};

/// Of the damaged places, so many are kept.
pub const FIRST_DAMAGES: usize = 10;
/// Bytes at which magic numbers are looked for at once.
const SEARCHED: usize = 64 << 10;
/// So many bytes of blocks may turn out damaged before their lengths are believed all the same and they are skipped
/// whole: to look inside each for others would let a made-up file keep a reader busy for hours.
const PATIENCE: u64 = 64 << 20;

/// A part of a file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// Where it begins, in bytes from the beginning of the file.
    pub offset: u64,
    /// How many bytes were skipped.
    pub bytes: u64,
    /// What is wrong there.
    pub why: &'static str,
    /// How many records it cost, where the blocks around it say.
    pub records: Option<u64>,
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            offset, bytes, why, ..
        } = self;
        write!(f, "{bytes} bytes at byte {offset}: {why}, ")?;
        match self.records {
            Some(1) => write!(f, "1 record lost"),
            Some(records) => write!(f, "{records} records lost"),
            None => write!(f, "an unknown number of records lost"),
        }
    }
}

/// All that could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Damaged {
    /// How many places.
    pub count: u64,
    /// Bytes skipped.
    pub bytes: u64,
    /// Records that are known to be lost.
    pub records: u64,
    /// The first [`FIRST_DAMAGES`] of them.
    pub first: Vec<Damage>,
}

impl Damaged {
    fn add(&mut self, damage: Damage) {
        self.count += 1;
        self.bytes += damage.bytes;
        self.records = self.records.saturating_add(damage.records.unwrap_or(0));
        if self.first.len() < FIRST_DAMAGES {
            self.first.push(damage);
        }
    }
}

/// Reads one file, record by record.
#[derive(Debug)]
pub struct Reader<R, T> {
    input: Input<R>,
    head: Head,
    raw: Vec<u8>,
    records: std::vec::IntoIter<T>,
    /// How many records the file has had so far, those that were lost included.
    before: u64,
    damaged: Damaged,
    /// What is being skipped: where, why, and the records of a block whose head is sound.
    skipping: Option<(u64, &'static str, Option<u64>)>,
    in_vain: u64,
    ended: bool,
}

impl<R: Read, T: Record> Reader<R, T> {
    /// Reads the head.
    ///
    /// # Errors
    /// See [`FileError`].
    pub fn new(mut input: R) -> Result<Self, FileError> {
        let (head, length) = Head::read(&mut input)?;
        if head.kind != T::KIND {
            return Err(FileError::Kind {
                found: head.kind,
                wanted: T::KIND,
            });
        }
        Ok(Self {
            input: Input::new(input, length),
            head,
            raw: Vec::new(),
            records: Vec::new().into_iter(),
            before: 0,
            damaged: Damaged::default(),
            skipping: None,
            in_vain: 0,
            ended: false,
        })
    }

    /// The file's head.
    #[must_use]
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// What could not be read so far; all of it once the iterator has ended.
    #[must_use]
    pub fn damaged(&self) -> &Damaged {
        &self.damaged
    }

    /// Makes the next block's records ready. False: the file has ended.
    fn next_block(&mut self) -> io::Result<bool> {
        loop {
            let there = self.input.fill(block::HEAD)?;
            if there == 0 {
                self.skipped(None);
                return Ok(false);
            }
            let Some(head) = BlockHead::parse(self.input.bytes(), &self.head.nonce) else {
                let why = if there < block::HEAD {
                    "the head of a block is cut off"
                } else {
                    "no block begins here"
                };
                self.skip_to_magic(why, None)?;
                continue;
            };
            let whole = block::HEAD + head.packed;
            let there = self.input.fill(whole)?;
            let packed = self.input.bytes().get(block::HEAD..whole);
            let sound =
                packed.is_some_and(|p| block::checksum(&self.head.nonce, p) == head.checksum);
            if !sound {
                let why = if there < whole {
                    "the block is cut off"
                } else {
                    "the block's checksum is wrong"
                };
                self.in_vain += there.min(whole) as u64;
                let records = Some(u64::from(head.records));
                if self.in_vain > PATIENCE {
                    self.begin_skipping(why, records);
                    self.input.consume(there.min(whole));
                } else {
                    self.skip_to_magic(why, records)?;
                }
                continue;
            }
            self.skipped(Some(head.first_record));
            self.before = head.first_record.saturating_add(u64::from(head.records));
            self.unpack(&head, whole);
            self.input.consume(whole);
            return Ok(true);
        }
    }

    /// The records of a block that is as it was written.
    fn unpack(&mut self, head: &BlockHead, whole: usize) {
        let packed = &self.input.bytes()[block::HEAD..whole];
        self.raw.clear();
        self.raw.resize(head.raw, 0);
        let mut records = Vec::new();
        let mut why = "the block does not unpack";
        if lz4_flex::block::decompress_into(packed, &mut self.raw).is_ok_and(|n| n == head.raw) {
            why = "a record is not what this powerband writes";
            let mut decoder = rmp_serde::Deserializer::from_read_ref(&self.raw);
            for _ in 0..head.records {
                match T::deserialize(&mut decoder) {
                    Ok(record) => records.push(record),
                    Err(_) => break,
                }
            }
        }
        let missing = u64::from(head.records) - records.len() as u64;
        if missing > 0 {
            self.damaged.add(Damage {
                offset: self.input.offset(),
                bytes: whole as u64,
                why,
                records: Some(missing),
            });
        }
        // One large block does not stay in memory for ever.
        self.raw.shrink_to(1 << 20);
        self.records = records.into_iter();
    }

    fn begin_skipping(&mut self, why: &'static str, records: Option<u64>) {
        let offset = self.input.offset();
        let (_, _, known) = self.skipping.get_or_insert((offset, why, None));
        if let Some(records) = records {
            *known = Some(known.unwrap_or(0).saturating_add(records));
        }
    }

    /// To the next place past this one where a block may begin.
    fn skip_to_magic(&mut self, why: &'static str, records: Option<u64>) -> io::Result<()> {
        self.begin_skipping(why, records);
        self.input.consume(1);
        loop {
            let there = self.input.fill(SEARCHED)?;
            if let Some(at) = memchr::memmem::find(self.input.bytes(), &block::MAGIC) {
                self.input.consume(at);
                return Ok(());
            }
            if there < SEARCHED {
                self.input.consume(there);
                return Ok(());
            }
            // It may have begun in the last bytes.
            self.input.consume(there - (block::MAGIC.len() - 1));
        }
    }

    /// A block is sound, or the file has ended: reports what was skipped until here.
    fn skipped(&mut self, first_record: Option<u64>) {
        let missing = first_record.and_then(|first| first.checked_sub(self.before));
        let here = self.input.offset();
        match (self.skipping.take(), missing) {
            (None, None | Some(0)) => {}
            (None, Some(missing)) => self.damaged.add(Damage {
                offset: here,
                bytes: 0,
                why: "blocks are missing",
                records: Some(missing),
            }),
            (Some((offset, why, known)), missing) => self.damaged.add(Damage {
                offset,
                bytes: here - offset,
                why,
                records: missing.or(known),
            }),
        }
    }
}

impl<R: Read, T: Record> Iterator for Reader<R, T> {
    /// An error is the medium's, and the last item.
    type Item = io::Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.records.next() {
                return Some(Ok(record));
            }
            if self.ended {
                return None;
            }
            match self.next_block() {
                Ok(more) => self.ended = !more,
                Err(error) => {
                    self.ended = true;
                    return Some(Err(error));
                }
            }
        }
    }
}
