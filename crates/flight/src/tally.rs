//! The counters of a flight file without its histograms, pool samples and records: the cheapest reading, for frequent
//! readers.

use crate::endpoint::EndpointTally;
use crate::error::FlightError;
use crate::file::FlightFile;
use crate::header::Header;
use crate::snapshot::parse_counters;
use crate::totals::Totals;

/// Bytes of the endpoint table that are read at a time: below what `malloc` asks the kernel for each time anew.
const PIECE: u64 = 64 << 10;

/// What a flight file counted when it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tally {
    pub header: Header,
    /// Over all endpoints, since the file was made.
    pub totals: Totals,
    /// Those in use, in the order of the table.
    pub endpoints: Vec<EndpointTally>,
}

impl FlightFile {
    /// Reads header and totals alone: less than 5 kB.
    ///
    /// # Errors
    /// As for [`crate::parse`], and when reading fails.
    pub fn totals(&self) -> Result<(Header, Totals), FlightError> {
        let head = parse_counters(&self.read(self.layout.totals_end())?)?;
        Ok((head.header, head.totals))
    }

    /// Reads header, totals and the counters of the endpoints in use. The agent uses entries in order, so that nothing is
    /// read far beyond the last one in use.
    ///
    /// # Errors
    /// As for [`crate::parse`], and when reading fails.
    pub fn tally(&self) -> Result<Tally, FlightError> {
        self.tally_in(PIECE)
    }

    /// In pieces of so many bytes, or of one entry where it is larger.
    fn tally_in(&self, piece: u64) -> Result<Tally, FlightError> {
        let (header, totals) = self.totals()?;
        let layout = header.layout;
        let (size, capacity) = (
            u64::from(layout.endpoint_size),
            u64::from(layout.endpoint_capacity),
        );
        let at_once = (piece / size).max(1);
        let mut endpoints = Vec::new();
        let mut first = 0;
        while first < capacity {
            let count = at_once.min(capacity - first);
            let offset = layout.endpoint_offset.saturating_add(first * size);
            let piece = self.section(offset, count * size)?;
            let entries = piece.chunks_exact(size as usize);
            let all_there = entries.len() as u64 == count;
            let mut last_used = false;
            for (index, entry) in (first..).zip(entries) {
                // Records point to entries with 16 bits, so that no later entry can be in use.
                let index = u16::try_from(index).ok();
                let found = index.and_then(|index| EndpointTally::from_le_bytes(index, entry));
                last_used = found.is_some();
                endpoints.extend(found);
            }
            if !all_there || !last_used {
                break;
            }
            first += count;
        }
        Ok(Tally {
            header,
            totals,
            endpoints,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn it_counts_what_a_whole_reading_counts() {
        let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract/samples/flight");
        let mut counted = 0;
        for entry in std::fs::read_dir(samples).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_none_or(|end| end != "flight") {
                continue;
            }
            let file = FlightFile::open(&path).unwrap();
            let whole = file.counters().unwrap();
            let size = u64::from(file.layout.endpoint_size);
            // One to three entries at a time end within, at and behind those in use.
            for piece in [PIECE, size, 2 * size, 3 * size] {
                let tally = file.tally_in(piece).unwrap();
                assert_eq!((&tally.header, tally.totals), (&whole.header, whole.totals));
                let of_whole = whole.endpoints.iter().map(|e| (e.index, &e.name, e.totals));
                let of_tally = tally.endpoints.iter().map(|e| (e.index, &e.name, e.totals));
                assert!(of_whole.eq(of_tally), "{path:?} by {piece} bytes");
                counted += tally.endpoints.len();
            }
        }
        assert!(counted > 32, "{counted}");
    }
}
