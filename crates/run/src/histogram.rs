//! A histogram inside a JSON document: HdrHistogram's V2 encoding, plain or compressed, in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer, V2Serializer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A histogram as it stands in a document; decoded only when somebody merges it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Hdr(String);

/// A string that is no histogram.
#[derive(Debug, thiserror::Error)]
#[error(
    "the histogram in the document cannot be read ({0}); the file was damaged after it was written"
)]
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

    /// Decodes it.
    pub fn decode(&self) -> Result<Histogram<u64>, HdrError> {
        let bytes = STANDARD
            .decode(&self.0)
            .map_err(|e| HdrError(e.to_string()))?;
        Deserializer::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|e| HdrError(e.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_survives_the_document() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 3_600_000_000, 3).unwrap();
        for value in [1, 20, 20, 3_000, 3_600_000_000] {
            histogram.record(value).unwrap();
        }
        assert_eq!(Hdr::encode(&histogram).decode().unwrap(), histogram);
        let compressed = Hdr::compressed(&histogram);
        assert_eq!(compressed.decode().unwrap(), histogram);
    }

    #[test]
    fn damage_is_an_error_and_no_panic() {
        for text in ["", "AAAA", "not base64!", "HISTFAAAACR4"] {
            assert!(
                Hdr(text.to_owned()).decode().is_err(),
                "{text:?} was decoded"
            );
        }
    }
}
