//! Where a head ends, in bytes that come piece by piece: each is looked at once.

use memchr::memchr;

use super::Malformed;

/// How far a head has been looked through.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct HeadEnd {
    /// No end lies before this.
    scanned: usize,
}

impl HeadEnd {
    /// `bytes` from the head's first on, and more of them each time; the length of the head once it is there whole.
    pub(super) fn find(&mut self, bytes: &[u8], limit: usize) -> Result<Option<usize>, Malformed> {
        // Nothing beyond the limit is looked at, or it would depend on the cuts which error is found.
        let seen = &bytes[..bytes.len().min(limit)];
        while let Some(offset) = memchr(b'\n', &seen[self.scanned..]) {
            let feed = self.scanned + offset;
            if feed == 0 || seen[feed - 1] != b'\r' {
                return Err(Malformed::LineEnd);
            }
            self.scanned = feed + 1;
            if feed >= 3 && seen[feed - 3..feed - 1] == *b"\r\n" {
                return Ok(Some(feed + 1));
            }
        }
        self.scanned = seen.len();
        if bytes.len() >= limit {
            return Err(Malformed::HeadTooLong(limit));
        }
        Ok(None)
    }
}
