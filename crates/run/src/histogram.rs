//! A histogram inside a JSON document: HdrHistogram's V2 encoding, plain or compressed, in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};
use serde::{Deserialize, Serialize};
use std::io::Read;

/// Of the compressed encoding: its cookie and the length of what follows.
const COMPRESSED: [u8; 4] = [0x1c, 0x84, 0x93, 0x14];
const COMPRESSED_HEAD: usize = 8;
/// Of the plain encoding: cookie, length, offset, digits, lowest and highest value, ratio.
const HEAD: usize = 40;
/// Bytes of the longest number in it.
const LONGEST_NUMBER: usize = 9;

/// A histogram as it stands in a document; decoded only when somebody merges it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Hdr(String);

/// A string that is no histogram of the bounds that are wanted.
#[derive(Debug, thiserror::Error)]
#[error("the histogram cannot be read ({0}); the file was damaged after it was written")]
pub struct HdrError(String);

impl Hdr {
    /// As it stands in a line of HdrHistogram's log format.
    pub fn from_log(encoded: &str) -> Hdr {
        Hdr(encoded.to_owned())
    }

    /// Encodes a histogram.
    pub fn encode(histogram: &Histogram<u64>) -> Hdr {
        Hdr::with(V2Serializer::new(), histogram)
    }

    /// In half the size, for a document with many of them; other tools read this encoding too.
    pub fn compressed(histogram: &Histogram<u64>) -> Hdr {
        Hdr::with(V2DeflateSerializer::new(), histogram)
    }

    fn with(mut serializer: impl Serializer, histogram: &Histogram<u64>) -> Hdr {
        let mut bytes = Vec::new();
        serializer.serialize(histogram, &mut bytes).expect(
            "writing a histogram to memory cannot fail: its range is bounded by construction",
        );
        Hdr(STANDARD.encode(bytes))
    }

    /// Decodes it into a histogram of these bounds. Another one is refused: its values would be rounded once more. Nothing
    /// larger than such a histogram is put into memory, whatever the string holds.
    ///
    /// # Errors
    /// When it is damaged or has other bounds.
    pub fn decode(&self, bounds: &Histogram<u64>) -> Result<Histogram<u64>, HdrError> {
        let bytes = STANDARD
            .decode(&self.0)
            .map_err(|e| HdrError(e.to_string()))?;
        let longest = HEAD + LONGEST_NUMBER * bounds.distinct_values();
        let plain = plain(bytes, longest)?;
        if plain.len() > longest {
            return Err(HdrError("it is longer than its bounds allow".to_owned()));
        }
        check(&plain, bounds)?;
        Deserializer::new()
            .deserialize(&mut plain.as_slice())
            .map_err(|e| HdrError(e.to_string()))
    }
}

/// The plain encoding, or the beginning of one that is longer than that.
fn plain(bytes: Vec<u8>, longest: usize) -> Result<Vec<u8>, HdrError> {
    if !bytes.starts_with(&COMPRESSED) {
        return Ok(bytes);
    }
    let packed = bytes.get(COMPRESSED_HEAD..).unwrap_or_default();
    let mut plain = Vec::new();
    ZlibDecoder::new(packed)
        .take(longest as u64 + 1)
        .read_to_end(&mut plain)
        .map_err(|e| HdrError(e.to_string()))?;
    Ok(plain)
}

/// What the library takes on trust: it allocates the length that is written there, and a number of nine bytes overflows.
fn check(plain: &[u8], bounds: &Histogram<u64>) -> Result<(), HdrError> {
    let Some((head, counts)) = plain.split_at_checked(HEAD) else {
        return Err(HdrError("it ends within its head".to_owned()));
    };
    let number = |from: usize, to: usize| {
        let bytes = head[from..to].iter();
        bytes.fold(0, |number: u64, byte| number << 8 | u64::from(*byte))
    };
    if number(4, 8) != counts.len() as u64 {
        return Err(HdrError("its length is another".to_owned()));
    }
    let found = (number(16, 24), number(24, 32), number(12, 16));
    let wanted = (bounds.low(), bounds.high(), u64::from(bounds.sigfig()));
    if found != wanted {
        let words = |(low, high, digits)| format!("{low} to {high} with {digits} digits");
        let (found, wanted) = (words(found), words(wanted));
        return Err(HdrError(format!("it is one of {found}, not of {wanted}")));
    }
    // The high bit says that the number goes on; a count of requests has eight bytes at most.
    let goes_on = |bytes: &[u8]| bytes.iter().all(|byte| byte & 0x80 != 0);
    if counts.windows(LONGEST_NUMBER - 1).any(goes_on) {
        return Err(HdrError("a count is no count of requests".to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::read::ZlibEncoder;

    fn empty() -> Histogram<u64> {
        Histogram::new_with_bounds(1, 3_600_000_000, 3).unwrap()
    }

    #[test]
    fn a_histogram_survives_the_document() {
        let mut histogram = empty();
        for value in [1, 20, 20, 3_000, 3_600_000_000] {
            histogram.record(value).unwrap();
        }
        histogram.record_n(5, 1 << 53).unwrap();
        for hdr in [Hdr::encode(&histogram), Hdr::compressed(&histogram)] {
            assert_eq!(hdr.decode(&empty()).unwrap(), histogram);
        }
    }

    /// Each bucket has the longest count.
    #[test]
    fn the_largest_histogram_survives_the_document() {
        let mut histogram = empty();
        for value in empty().iter_all().map(|step| step.value_iterated_to()) {
            histogram.saturating_record_n(value, 1 << 53);
        }
        let read = Hdr::compressed(&histogram).decode(&empty()).unwrap();
        assert_eq!(read.count_at(1_000), histogram.count_at(1_000));
    }

    #[test]
    fn damage_is_an_error_and_no_panic() {
        for text in ["", "AAAA", "not base64!", "HISTFAAAACR4", "HISTFA=="] {
            let decoded = Hdr(text.to_owned()).decode(&empty());
            assert!(decoded.is_err(), "{text:?} was decoded");
        }
    }

    #[test]
    fn a_histogram_of_other_bounds_is_refused_and_not_rounded() {
        for (low, high, digits) in [
            (2, 3_600_000_000, 3),
            (1, 1_000_000, 3),
            (1, 3_600_000_000, 2),
        ] {
            let mut other = Histogram::<u64>::new_with_bounds(low, high, digits).unwrap();
            other.record(777).unwrap();
            let refused = Hdr::compressed(&other).decode(&empty()).unwrap_err();
            let wanted = format!("it is one of {low} to {high} with {digits} digits, not of 1 to");
            assert!(refused.to_string().contains(&wanted), "{refused}");
        }
    }

    /// A histogram of a single value, whose plain encoding was changed.
    fn changed(change: impl Fn(&mut Vec<u8>)) -> [Hdr; 2] {
        let mut histogram = empty();
        histogram.record(1).unwrap();
        let mut bytes = STANDARD.decode(Hdr::encode(&histogram).0).unwrap();
        change(&mut bytes);
        let mut packed = COMPRESSED.to_vec();
        packed.extend(u32::MAX.to_be_bytes());
        ZlibEncoder::new(bytes.as_slice(), Compression::default())
            .read_to_end(&mut packed)
            .unwrap();
        [bytes, packed].map(|bytes| Hdr(STANDARD.encode(bytes)))
    }

    #[test]
    fn what_would_take_gigabytes_is_refused_before_it_does() {
        for hdr in changed(|bytes| bytes[4..8].copy_from_slice(&u32::MAX.to_be_bytes())) {
            let refused = hdr.decode(&empty()).unwrap_err().to_string();
            assert!(refused.contains("its length is another"), "{refused}");
        }
        let [_, bomb] = changed(|bytes| {
            bytes.resize(HEAD + 100_000_000, 0);
            bytes[4..8].copy_from_slice(&100_000_000_u32.to_be_bytes());
        });
        assert!(bomb.0.len() < 200_000);
        let refused = bomb.decode(&empty()).unwrap_err().to_string();
        assert!(
            refused.contains("longer than its bounds allow"),
            "{refused}"
        );
    }

    #[test]
    fn a_number_that_overflows_is_refused() {
        for hdr in changed(|bytes| {
            bytes.truncate(HEAD);
            bytes.extend([0xff; 9]);
            bytes[4..8].copy_from_slice(&9_u32.to_be_bytes());
        }) {
            let refused = hdr.decode(&empty()).unwrap_err().to_string();
            assert!(refused.contains("no count of requests"), "{refused}");
        }
    }
}
