//! What a capture file begins with: what it is, when its clock began, who wrote it.

use std::collections::hash_map::RandomState;
use std::fmt;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};

use serde::{Deserialize, Serialize};

/// As in PNG: a byte that is no text, both line ends and the end of a DOS file,
/// so that whatever mangles text is found out here.
pub(crate) const MAGIC: [u8; 8] = *b"\x89PBC\r\n\x1a\n";
const VERSION: u16 = 1;
/// Bytes before the JSON.
const FIXED: usize = 44;
/// Of that JSON.
const MOST_ABOUT: usize = 1 << 20;

/// What the records are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// [`crate::Exchange`]s: can be replayed.
    Traffic,
    /// [`crate::Pair`]s: a shadow's answers next to the primary's.
    ShadowLog,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Traffic => "traffic",
            Self::ShadowLog => "shadow-log",
        })
    }
}

/// Facts for people and for programs that join files; any of them may be missing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct About {
    /// Program and version.
    pub written_by: String,
    /// Name of the machine.
    pub host: String,
    /// The same in all files of one capture, which share their clock and number their connections together.
    pub capture: String,
    /// Which file of the capture, from 0.
    pub part: u32,
    /// Where the traffic went: an address or URL without credentials.
    pub primary: String,
    /// Names of the shadows, in the order in which pairs number them.
    pub shadows: Vec<String>,
    /// The one of them that is configured as the primary is; empty where none is.
    pub twin: String,
    /// Names of headers whose values were kept although they are secrets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unredacted: Vec<String>,
}

/// What is said of a file in which the values of these headers were kept; `None` where there are none.
#[must_use]
pub fn unredacted(headers: &[String]) -> Option<String> {
    (!headers.is_empty()).then(|| {
        format!(
            "the recording holds unredacted values of {}: with the file one can act as the users in it",
            headers.join(", ")
        )
    })
}

/// The head of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// What the records are.
    pub kind: Kind,
    /// The instant from which records count theirs: Unix time in ns.
    pub began_ns: u64,
    /// Drawn for each file. Checksums of blocks begin with it, so that no client can send a body that looks like one.
    pub nonce: [u8; 16],
    /// The rest.
    pub about: About,
}

/// Why nothing of a capture file can be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The medium.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// Another format.
    #[error("not a capture file: it does not begin as one")]
    NotOurs,
    /// Cut off or changed.
    #[error(
        "the head of the capture file is damaged ({0}): its blocks cannot be told apart from others; take a copy"
    )]
    Damaged(&'static str),
    /// Of a later powerband.
    #[error(
        "the capture file has version {0} and this powerband reads version {VERSION}: use a newer one"
    )]
    Version(u16),
    /// Records of another kind.
    #[error(
        "the capture file is of kind {found}, and {wanted} is needed: name the other file that was recorded"
    )]
    Kind {
        /// As its head says.
        found: Kind,
        /// As was asked for.
        wanted: Kind,
    },
}

impl Head {
    /// The head of a new file, the first of its capture unless `about` names one.
    #[must_use]
    pub fn new(kind: Kind, began_ns: u64, about: About) -> Self {
        let mut head = Self {
            kind,
            began_ns,
            nonce: nonce(),
            about,
        };
        if head.about.capture.is_empty() {
            head.about.capture = head
                .nonce
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
        }
        head
    }

    pub(crate) fn write(&self, out: &mut impl Write) -> io::Result<u64> {
        let about = serde_json::to_vec(&self.about).map_err(io::Error::other)?;
        if about.len() > MOST_ABOUT {
            return Err(io::Error::other(format!(
                "what the head tells has {} bytes, at most {MOST_ABOUT} fit: shorten the names",
                about.len()
            )));
        }
        let mut bytes = Vec::with_capacity(FIXED + about.len());
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.push(match self.kind {
            Kind::Traffic => 1,
            Kind::ShadowLog => 2,
        });
        bytes.push(0);
        // At most MOST_ABOUT.
        bytes.extend_from_slice(&(about.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&self.began_ns.to_le_bytes());
        bytes.extend_from_slice(&self.nonce);
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&bytes);
        checksum.update(&about);
        bytes.extend_from_slice(&checksum.finalize().to_le_bytes());
        bytes.extend_from_slice(&about);
        out.write_all(&bytes)?;
        Ok(bytes.len() as u64)
    }

    /// Reads as much as the head has, and no more.
    ///
    /// # Errors
    /// See [`FileError`].
    pub fn read(input: &mut impl Read) -> Result<(Self, u64), FileError> {
        let mut fixed = [0; FIXED];
        let got = read_up_to(input, &mut fixed)?;
        if got < MAGIC.len() || fixed[..8] != MAGIC {
            return Err(FileError::NotOurs);
        }
        if got < FIXED {
            return Err(FileError::Damaged("cut off"));
        }
        let length = u32_at(&fixed, 12) as usize;
        if length > MOST_ABOUT {
            return Err(FileError::Damaged("its length is impossible"));
        }
        let mut about = Vec::new();
        if input.take(length as u64).read_to_end(&mut about)? < length {
            return Err(FileError::Damaged("cut off"));
        }
        let mut checksum = crc32fast::Hasher::new();
        checksum.update(&fixed[..40]);
        checksum.update(&about);
        let version = u16::from_le_bytes([fixed[8], fixed[9]]);
        if checksum.finalize() != u32_at(&fixed, 40) {
            return Err(FileError::Damaged("its checksum is wrong"));
        }
        if version != VERSION {
            return Err(FileError::Version(version));
        }
        let kind = match fixed[10] {
            1 => Kind::Traffic,
            2 => Kind::ShadowLog,
            _ => return Err(FileError::Damaged("its kind is unknown")),
        };
        let about = serde_json::from_slice(&about)
            .map_err(|_| FileError::Damaged("what it tells is not the JSON that it should be"))?;
        let mut nonce = [0; 16];
        nonce.copy_from_slice(&fixed[24..40]);
        let head = Self {
            kind,
            began_ns: u64_at(&fixed, 16),
            nonce,
            about,
        };
        Ok((head, (FIXED + length) as u64))
    }
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

fn read_up_to(input: &mut impl Read, into: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < into.len() {
        match input.read(&mut into[got..]) {
            Ok(0) => break,
            Ok(count) => got += count,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(got)
}

/// Unknown to the senders of requests: the keys of the standard library's maps come from the system's generator.
fn nonce() -> [u8; 16] {
    let mut nonce = [0; 16];
    for half in nonce.chunks_exact_mut(8) {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u32(std::process::id());
        half.copy_from_slice(&hasher.finish().to_le_bytes());
    }
    nonce
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> Head {
        let about = About {
            host: "web-1".into(),
            shadows: vec!["ruby-3.5".into()],
            ..About::default()
        };
        Head::new(Kind::ShadowLog, 1_795_265_158_000_000_000, about)
    }

    #[test]
    fn a_head_comes_back_and_takes_its_own_bytes_alone() {
        let head = head();
        let mut bytes = Vec::new();
        let length = head.write(&mut bytes).unwrap();
        assert_eq!(length, bytes.len() as u64);
        bytes.extend_from_slice(b"rest");
        let mut input = bytes.as_slice();
        assert_eq!(Head::read(&mut input).unwrap(), (head, length));
        assert_eq!(input, b"rest");
    }

    #[test]
    fn every_changed_bit_and_every_cut_is_found_out() {
        let mut bytes = Vec::new();
        head().write(&mut bytes).unwrap();
        for at in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[at / 8] ^= 1 << (at % 8);
            assert!(Head::read(&mut changed.as_slice()).is_err(), "bit {at}");
        }
        for end in 0..bytes.len() {
            assert!(Head::read(&mut &bytes[..end]).is_err(), "{end} bytes");
        }
    }

    #[test]
    fn nonces_differ() {
        assert_ne!(head().nonce, head().nonce);
    }
}
