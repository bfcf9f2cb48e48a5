//! Which requests are refused although they are unambiguous.

use super::HeadLimits;

/// What becomes of such a request. An ambiguous request is refused in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// It is refused.
    #[default]
    Enforce,
    /// It passes unchanged and is counted.
    Report,
}

/// Why a request passes only where [`Strictness::Report`] holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tolerated {
    /// More bytes than [`HeadLimits::bytes`].
    HeadBytes,
    /// More fields than [`HeadLimits::fields`].
    HeadFields,
    /// Bytes that are no UTF-8 in the target.
    TargetBytes,
    /// No `Host` on HTTP/1.1.
    NoHost,
}

impl Tolerated {
    /// In the order of their numbers.
    pub const ALL: [Self; 4] = [
        Self::HeadBytes,
        Self::HeadFields,
        Self::TargetBytes,
        Self::NoHost,
    ];

    /// As counters name it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::HeadBytes => "head_bytes",
            Self::HeadFields => "head_fields",
            Self::TargetBytes => "target_bytes",
            Self::NoHost => "no_host",
        }
    }
}

/// How many times a limit is exceeded before a request is refused nevertheless: each connection may hold so much of a head.
const MOST: usize = 4;

impl Strictness {
    /// What is refused in any case.
    pub(super) fn limits(self, limits: HeadLimits) -> HeadLimits {
        match self {
            Self::Enforce => limits,
            Self::Report => HeadLimits {
                bytes: limits.bytes.saturating_mul(MOST),
                fields: limits.fields.saturating_mul(MOST),
            },
        }
    }
}

/// A copy of the head that the parser takes, which wants UTF-8: with letters in the place of other bytes in the target, so that
/// all else stays where it is. `None`: nothing in the target is to be replaced.
pub(super) fn with_plain_target(head: &[u8]) -> Option<Vec<u8>> {
    let start = memchr::memchr(b' ', head)? + 1;
    let length = memchr::memchr2(b' ', b'\r', &head[start..])?;
    let target = start..start + length;
    // A target that names a host keeps its bytes, since the host is compared with `Host`.
    if head[start] != b'/' || std::str::from_utf8(&head[target.clone()]).is_ok() {
        return None;
    }
    let mut plain = head.to_vec();
    for byte in &mut plain[target] {
        if !byte.is_ascii() {
            *byte = b'x';
        }
    }
    Some(plain)
}
