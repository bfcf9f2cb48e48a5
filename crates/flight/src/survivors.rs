//! Survivors: a sample of the objects that a process made, by call site, with what became of them: old, or freed while young.
//! `contract/survivors-file-v1.md` describes the file.
//!
//! [`parse_survivors`] is pure and takes any bytes whatever. [`SurvivorsAsk`] asks a living process for a recording and
//! reads it.

use crate::bytes::{section, u32_at, u64_at};
use crate::events::{EventsError, MAX_EVENTS_BYTES, Trace, Wanted, open, open_request, read_at};
use crate::{Origin, Snapshot, magic};
use rustix::fs::OFlags;
use std::path::{Path, PathBuf};

const HEADER_SIZE: usize = 4096;
const FRAME_SIZE: u64 = 8;
const SITE_SIZE: u64 = 48;
const STEP_SIZE: u64 = 8;
const DEADLINE_OFFSET: u64 = 64;
const LAST_OFFSET: u64 = 72;

/// How far a recording has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SurvivorsState {
    /// The process has not noticed yet.
    Asked,
    /// Begun; or its process died before it ended.
    Recording,
    Over,
    Refused(Refusal),
    /// A state that this version does not know.
    Other(u32),
}

/// Why the agent does not record survivors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// A Ruby from whose objects their age cannot be read.
    Ruby,
    /// Another garbage collector than Ruby's default one.
    Collector,
    /// The process has Ractors, or made one meanwhile.
    Ractors,
    /// No memory for the tables.
    Memory,
    /// A reason that this version does not know.
    Other(u32),
}

/// One recording of one process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurvivorsHeader {
    pub state: SurvivorsState,
    /// The number under which it was asked for.
    pub request: u64,
    pub pid: u32,
    /// When sampling ends, `CLOCK_MONOTONIC`.
    pub deadline_mono_ns: u64,
    /// When the recording ends at the latest, `CLOCK_MONOTONIC`.
    pub last_mono_ns: u64,
    /// When the agent began to record; 0 before.
    pub began_mono_ns: u64,
    /// When it ended; 0 before.
    pub ended_mono_ns: u64,
    /// One object in so many was sampled, by chance; not 0.
    pub every: u32,
    /// Markings that ended meanwhile.
    pub collections: u32,
    /// Objects that the process made while it sampled.
    pub allocated: u64,
    /// Of those: sampled.
    pub sampled: u64,
    /// Of the sampled: Ruby's internal ones, which belong to no site.
    pub internal: u64,
    /// Of the sampled: without room in a table or in the file.
    pub lost: u64,
    /// Of the sampled: neither old nor freed when the recording ended.
    pub undecided: u64,
}

/// A method or block.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame {
    /// File, as far as Ruby knows it absolute; of a function in C `<cfunc>`.
    pub path: String,
    /// As Ruby calls it in backtraces, e.g. `block in Order#total`.
    pub label: String,
}

/// A frame and where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// Index into [`Survivors::frames`].
    pub frame: usize,
    /// 0 of a function in C.
    pub line: u32,
}

/// Objects of one class that one stack made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Site {
    pub class: String,
    /// From the innermost frame outward.
    pub steps: Vec<Step>,
    /// Sampled objects.
    pub sampled: u64,
    /// Of those: became old.
    pub promoted: u64,
    /// Of those: freed while young.
    pub died: u64,
    /// Size of the promoted ones when they became old, estimated, bytes.
    pub promoted_bytes: u64,
    /// Size of the freed ones when they were freed, estimated, bytes.
    pub died_bytes: u64,
}

/// A survivors file, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivors {
    pub header: SurvivorsHeader,
    pub frames: Vec<Frame>,
    pub sites: Vec<Site>,
}

/// Reads a survivors file from its bytes. Pure; any bytes whatever are safe.
///
/// # Errors
/// When the bytes are no survivors file, or too damaged or too short.
pub fn parse_survivors(bytes: &[u8]) -> Result<Survivors, SurvivorsError> {
    let header = parse_header(bytes)?;
    let mut survivors = Survivors {
        header,
        frames: Vec::new(),
        sites: Vec::new(),
    };
    if survivors.header.state != SurvivorsState::Over {
        return Ok(survivors);
    }
    let number = |offset| u32_at(bytes, offset).unwrap_or(0);
    let used = u64_at(bytes, 112).unwrap_or(0);
    let have = bytes.len() as u64;
    let body =
        section(bytes, HEADER_SIZE as u64, used).ok_or(SurvivorsError::Truncated { have })?;
    let mut body = Body { rest: body };
    for index in 0..number(160) {
        let frame = body.frame().ok_or(SurvivorsError::Damaged {
            what: "frame",
            index,
        })?;
        survivors.frames.push(frame);
    }
    for index in 0..number(164) {
        let site = body
            .site(survivors.frames.len())
            .ok_or(SurvivorsError::Damaged {
                what: "site",
                index,
            })?;
        survivors.sites.push(site);
    }
    Ok(survivors)
}

fn parse_header(bytes: &[u8]) -> Result<SurvivorsHeader, SurvivorsError> {
    if !bytes.starts_with(magic::SURVIVORS) {
        let found = bytes[..bytes.len().min(magic::SURVIVORS.len())].to_vec();
        return Err(SurvivorsError::Foreign { found });
    }
    if bytes.len() < HEADER_SIZE {
        let have = bytes.len() as u64;
        return Err(SurvivorsError::Truncated { have });
    }
    let u32_of = |offset| u32_at(bytes, offset).unwrap_or(0);
    let u64_of = |offset| u64_at(bytes, offset).unwrap_or(0);
    if u32_of(8) != 1 {
        return Err(SurvivorsError::Version { found: u32_of(8) });
    }
    if u32_of(96) == 0 {
        return Err(SurvivorsError::Damaged {
            what: "interval of the sample",
            index: 0,
        });
    }
    Ok(SurvivorsHeader {
        state: match u32_of(16) {
            0 => SurvivorsState::Asked,
            1 => SurvivorsState::Recording,
            2 => SurvivorsState::Over,
            3 => SurvivorsState::Refused(match u32_of(20) {
                1 => Refusal::Ruby,
                2 => Refusal::Collector,
                3 => Refusal::Ractors,
                4 => Refusal::Memory,
                other => Refusal::Other(other),
            }),
            other => SurvivorsState::Other(other),
        },
        request: u64_of(24),
        pid: u32_of(32),
        deadline_mono_ns: u64_of(DEADLINE_OFFSET as usize),
        last_mono_ns: u64_of(LAST_OFFSET as usize),
        began_mono_ns: u64_of(80),
        ended_mono_ns: u64_of(88),
        every: u32_of(96),
        collections: u32_of(100),
        allocated: u64_of(120),
        sampled: u64_of(128),
        internal: u64_of(136),
        lost: u64_of(144),
        undecided: u64_of(152),
    })
}

/// What is left to read of the entries behind the header.
struct Body<'a> {
    rest: &'a [u8],
}

impl<'a> Body<'a> {
    fn take(&mut self, size: u64) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(usize::try_from(size).ok()?)?;
        self.rest = rest;
        Some(taken)
    }

    fn text(&mut self, size: u32) -> Option<String> {
        let text = self.take(u64::from(size))?;
        Some(String::from_utf8_lossy(text).into_owned())
    }

    fn frame(&mut self) -> Option<Frame> {
        let entry = self.take(FRAME_SIZE)?;
        Some(Frame {
            path: self.text(u32_at(entry, 0)?)?,
            label: self.text(u32_at(entry, 4)?)?,
        })
    }

    fn site(&mut self, frames: usize) -> Option<Site> {
        let entry = self.take(SITE_SIZE)?;
        let depth = u64::from(u32_at(entry, 4)?);
        let class = self.text(u32_at(entry, 0)?)?;
        let steps = self.take(depth * STEP_SIZE)?;
        let steps = steps.chunks_exact(STEP_SIZE as usize).map(|step| {
            let frame = u32_at(step, 0)? as usize;
            let line = i32::try_from(u32_at(step, 4)?).unwrap_or(0);
            (frame < frames).then_some(Step {
                frame,
                line: line.unsigned_abs(),
            })
        });
        Some(Site {
            class,
            steps: steps.collect::<Option<_>>()?,
            sampled: u64_at(entry, 8)?,
            promoted: u64_at(entry, 16)?,
            died: u64_at(entry, 24)?,
            promoted_bytes: u64_at(entry, 32)?,
            died_bytes: u64_at(entry, 40)?,
        })
    }
}

/// Why bytes or a file gave no survivors.
#[derive(Debug, thiserror::Error)]
pub enum SurvivorsError {
    #[error("not a survivors file: it begins with \"{}\" instead of \"PBSURVIV\"", found.escape_ascii())]
    Foreign { found: Vec<u8> },

    #[error("survivors file version {found} is not supported; this powerband reads version 1")]
    Version { found: u32 },

    #[error("the file ends at byte {have}, before what its header says; it was cut off")]
    Truncated { have: u64 },

    #[error("{what} number {index} contradicts the rest; the file is damaged")]
    Damaged { what: &'static str, index: u32 },

    #[error(transparent)]
    File(#[from] EventsError),
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct SurvivorsWanted {
    /// Distinguishes this recording from others; not 0.
    pub request: u64,
    /// How long objects are sampled.
    pub duration_ns: u64,
    /// How long it is watched afterwards, at most, what becomes of them.
    pub follow_ns: u64,
    /// One object in so many; not 0.
    pub every: u32,
    /// Length of the file.
    pub bytes: u64,
    /// Now, on both clocks.
    pub wall_ns: u64,
    pub mono_ns: u64,
}

/// A recording that was asked for.
#[derive(Debug)]
pub struct SurvivorsAsk(Trace);

impl SurvivorsAsk {
    /// Makes the file in full and asks the process of this flight file for the recording.
    ///
    /// # Errors
    /// As for [`Trace::ask`].
    pub fn ask(
        flight: &Path,
        snapshot: &Snapshot,
        wanted: &SurvivorsWanted,
    ) -> Result<Self, EventsError> {
        let asked = Wanted {
            path: survivors_path(flight),
            request: wanted.request,
            bytes: wanted.bytes,
            header: asking_header(snapshot, wanted),
            deadlines: &[
                (DEADLINE_OFFSET, wanted.duration_ns),
                (
                    LAST_OFFSET,
                    wanted.duration_ns.saturating_add(wanted.follow_ns),
                ),
            ],
        };
        Trace::ask_for(flight, &asked).map(Self)
    }

    /// How far the process has come.
    ///
    /// # Errors
    /// When the header cannot be read.
    pub fn header(&self) -> Result<SurvivorsHeader, SurvivorsError> {
        parse_header(&self.bytes(HEADER_SIZE)?)
    }

    /// What it recorded.
    ///
    /// # Errors
    /// When the file cannot be read, is damaged, or holds more than [`MAX_EVENTS_BYTES`].
    pub fn read(&self) -> Result<Survivors, SurvivorsError> {
        let header = self.bytes(HEADER_SIZE)?;
        // The length of one that ends just now is not in this header.
        if parse_header(&header)?.state != SurvivorsState::Over {
            return parse_survivors(&header);
        }
        let used = u64_at(&header, 112).unwrap_or(0);
        let length = self.0.file().metadata().map_err(|e| self.failed(e))?.len();
        let bytes = length.min(used.saturating_add(HEADER_SIZE as u64));
        if bytes > MAX_EVENTS_BYTES {
            return Err(SurvivorsError::File(EventsError::TooLarge {
                path: self.0.path().to_owned(),
                bytes,
                limit: MAX_EVENTS_BYTES,
            }));
        }
        parse_survivors(&self.bytes(bytes as usize)?)
    }

    /// Ends the recording where it still goes on, and removes the file.
    ///
    /// # Errors
    /// When a file cannot be written or removed.
    pub fn withdraw(self) -> Result<(), EventsError> {
        self.0.withdraw(true)
    }

    fn bytes(&self, size: usize) -> Result<Vec<u8>, SurvivorsError> {
        let mut bytes = vec![0; size];
        let got = read_at(self.0.file(), &mut bytes, 0).map_err(|e| self.failed(e))?;
        bytes.truncate(got);
        Ok(bytes)
    }

    fn failed(&self, source: std::io::Error) -> SurvivorsError {
        SurvivorsError::File(EventsError::Io {
            path: self.0.path().to_owned(),
            source,
        })
    }
}

fn survivors_path(flight: &Path) -> PathBuf {
    flight.with_extension("survivors")
}

/// Until when (`CLOCK_MONOTONIC`) another reader's recording of this process goes on; `None` when there is none.
#[must_use]
pub fn is_sampled_until(flight: &Path) -> Option<u64> {
    let request = open_request(flight)?;
    let path = survivors_path(flight);
    let mut bytes = vec![0; HEADER_SIZE];
    let got = read_at(&open(&path, OFlags::RDONLY).ok()?, &mut bytes, 0).ok()?;
    let header = parse_header(&bytes[..got]).ok()?;
    let goes_on = matches!(
        header.state,
        SurvivorsState::Asked | SurvivorsState::Recording
    );
    (header.request == request && goes_on).then_some(header.last_mono_ns)
}

fn asking_header(snapshot: &Snapshot, wanted: &SurvivorsWanted) -> Vec<u8> {
    let flight = &snapshot.header;
    let mut bytes = vec![0; HEADER_SIZE];
    let mut put = |offset: usize, value: &[u8]| {
        bytes[offset..offset + value.len()].copy_from_slice(value);
    };
    put(0, magic::SURVIVORS);
    put(8, &1_u32.to_le_bytes());
    put(12, &(HEADER_SIZE as u32).to_le_bytes());
    put(24, &wanted.request.to_le_bytes());
    put(32, &flight.pid.to_le_bytes());
    let index = flight.server.worker_index.unwrap_or(u32::MAX);
    put(36, &index.to_le_bytes());
    put(40, &flight.start_ticks.to_le_bytes());
    put(48, &wanted.wall_ns.to_le_bytes());
    put(56, &wanted.mono_ns.to_le_bytes());
    put(96, &wanted.every.to_le_bytes());
    let capacity = wanted.bytes.saturating_sub(HEADER_SIZE as u64);
    put(104, &capacity.to_le_bytes());
    if let Some(Origin {
        pid_namespace,
        boot_id,
    }) = &flight.origin
    {
        put(168, &pid_namespace.to_le_bytes());
        put(176, boot_id);
    }
    bytes
}
