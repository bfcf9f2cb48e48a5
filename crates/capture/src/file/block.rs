//! The head of a block: 48 bytes that vouch for themselves, so that lengths are
//! believed before they are acted upon.

use super::head::{u32_at, u64_at};

pub(super) const MAGIC: [u8; 8] = *b"\xf5PBblk\r\n";
/// Bytes of a block's head.
pub(super) const HEAD: usize = 48;
/// Of a block's records, unpacked: what a reader is ready to hold.
pub(super) const MOST_RAW: usize = 32 << 20;
/// LZ4 blocks without a frame.
const LZ4: u8 = 1;
/// LZ4 makes at most so many bytes of one.
const MOST_EXPANSION: usize = 255;

/// What a block says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlockHead {
    pub(super) packed: usize,
    pub(super) raw: usize,
    pub(super) records: u32,
    /// Of the packed bytes.
    pub(super) checksum: u32,
    /// How many records the file had before.
    pub(super) first_record: u64,
    pub(super) first_at_ns: u64,
}

impl BlockHead {
    /// Lengths are at most what [`MOST_RAW`] packs to, so that they fit.
    pub(super) fn bytes(&self, nonce: &[u8; 16]) -> [u8; HEAD] {
        let mut head = [0; HEAD];
        head[..8].copy_from_slice(&MAGIC);
        head[8..12].copy_from_slice(&(self.packed as u32).to_le_bytes());
        head[12..16].copy_from_slice(&(self.raw as u32).to_le_bytes());
        head[16..20].copy_from_slice(&self.records.to_le_bytes());
        head[20..24].copy_from_slice(&self.checksum.to_le_bytes());
        head[24..32].copy_from_slice(&self.first_record.to_le_bytes());
        head[32..40].copy_from_slice(&self.first_at_ns.to_le_bytes());
        head[40] = LZ4;
        let checksum = checksum(nonce, &head[..44]);
        head[44..].copy_from_slice(&checksum.to_le_bytes());
        head
    }

    /// `None`: no block of this file begins here.
    pub(super) fn parse(bytes: &[u8], nonce: &[u8; 16]) -> Option<Self> {
        let bytes = bytes.get(..HEAD)?;
        if bytes[..8] != MAGIC || u32_at(bytes, 44) != checksum(nonce, &bytes[..44]) {
            return None;
        }
        let head = Self {
            packed: u32_at(bytes, 8) as usize,
            raw: u32_at(bytes, 12) as usize,
            records: u32_at(bytes, 16),
            checksum: u32_at(bytes, 20),
            first_record: u64_at(bytes, 24),
            first_at_ns: u64_at(bytes, 32),
        };
        let possible = bytes[40] == LZ4
            && head.raw <= MOST_RAW
            && head.packed <= lz4_flex::block::get_maximum_output_size(MOST_RAW)
            && head.raw <= head.packed.saturating_mul(MOST_EXPANSION)
            && (1..=head.raw).contains(&(head.records as usize));
        possible.then_some(head)
    }
}

/// Begins with the file's nonce, so that the sender of a recorded request cannot forge one.
pub(super) fn checksum(nonce: &[u8; 16], bytes: &[u8]) -> u32 {
    let mut checksum = crc32fast::Hasher::new();
    checksum.update(nonce);
    checksum.update(bytes);
    checksum.finalize()
}
