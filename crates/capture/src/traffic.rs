//! What a traffic file says: requests in the order in which they came.

use std::fmt;
use std::time::Duration;

use crate::Format;

/// Of the lines that could not be read, so many are kept with their reason.
pub const FIRST_SKIPPED: usize = 10;

/// Where in the file something stood, counted from 1 unless it says otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A line of text.
    Line(u64),
    /// An element of a HAR document's `entries`.
    Entry(u64),
    /// A record of a capture file.
    Record(u64),
    /// A byte of a capture file, from 0, at which damage begins.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line(number) => write!(f, "line {number}"),
            Self::Entry(number) => write!(f, "entry {number}"),
            Self::Record(number) => write!(f, "record {number}"),
            Self::Byte(offset) => write!(f, "byte {offset}"),
        }
    }
}

/// One request as it was recorded, without what framed it on its connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// Since the first request, as the file has it; see [`Traffic::instants_ns`].
    pub at_ns: u64,
    /// As sent.
    pub method: String,
    /// Origin form, percent-encoded where it could not be sent otherwise.
    pub path: String,
    /// Whom the request was addressed to, if the file says so.
    pub host: Option<String>,
    /// Those that a replay may send again, in their order.
    pub headers: Vec<(String, String)>,
    /// Decoded from whatever transfer coding it had.
    pub body: Vec<u8>,
    /// Which connection it came on, if the file says so: those of one came one after another.
    pub connection: Option<u64>,
    /// Status of the answer; capture files alone are read for it.
    pub status: Option<u16>,
    /// Where it stood.
    pub place: Place,
}

/// A part of the file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skip {
    /// Where it stood.
    pub place: Place,
    /// What was wrong with it.
    pub why: String,
}

/// Everything that could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many lines or entries.
    pub count: u64,
    /// The first [`FIRST_SKIPPED`] of them.
    pub first: Vec<Skip>,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} skipped", self.count)?;
        for (index, skip) in self.first.iter().take(3).enumerate() {
            let separator = if index == 0 { ": " } else { "; " };
            write!(f, "{separator}{}: {}", skip.place, skip.why)?;
        }
        if self.count > 3 {
            write!(f, "; …")?;
        }
        Ok(())
    }
}

/// A traffic file, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traffic {
    /// As recognised or as asked for.
    pub format: Format,
    /// Sorted by instant, those of one instant as in the file; never empty.
    pub requests: Vec<Recorded>,
    /// Whether the file says when; otherwise every instant is 0 and the caller
    /// chooses a rate.
    pub timed: bool,
    /// When the first request came, if the file says so: Unix time in ns.
    pub began_ns: Option<u64>,
    /// The step of the file's clock: access logs mostly have whole seconds.
    pub resolution: Duration,
    /// What could not be read.
    pub skipped: Skipped,
    /// Headers whose values were kept although they are secrets, as a capture file says.
    pub unredacted: Vec<String>,
}

impl Traffic {
    /// From the first request to the last.
    #[must_use]
    pub fn span(&self) -> Duration {
        Duration::from_nanos(self.instants_ns().last().copied().unwrap_or(0))
    }

    /// Each request so many times at its instant, each time on another connection.
    #[must_use]
    pub fn amplified(mut self, times: u64) -> Self {
        let requests = std::mem::take(&mut self.requests);
        let copies = requests.into_iter().flat_map(|request| {
            (0..times).map(move |copy| {
                let connection = request.connection;
                let number = |one: u64| one.saturating_mul(times).saturating_add(copy);
                Recorded {
                    connection: connection.map(number),
                    ..request.clone()
                }
            })
        });
        self.requests = copies.collect();
        self
    }

    /// When each request is due, from the first on, never decreasing. Requests
    /// that share an instant are spread evenly over the step of the file's
    /// clock: k of them at 0, 1/k, 2/k, … of it. A log of whole seconds would
    /// otherwise come as one burst a second, which no user ever made.
    #[must_use]
    pub fn instants_ns(&self) -> Vec<u64> {
        let step = u128::from(u64::try_from(self.resolution.as_nanos()).unwrap_or(u64::MAX));
        let mut instants = Vec::with_capacity(self.requests.len());
        for group in self.requests.chunk_by(|a, b| a.at_ns == b.at_ns) {
            for (index, request) in group.iter().enumerate() {
                let into = if self.timed {
                    step * index as u128 / group.len() as u128
                } else {
                    0
                };
                let into = u64::try_from(into).unwrap_or(u64::MAX);
                instants.push(request.at_ns.saturating_add(into));
            }
        }
        instants
    }
}

#[cfg(test)]
mod tests {
    use crate::read;

    #[test]
    fn an_amplified_request_comes_again_at_its_instant_on_another_connection() {
        let line = |at: &str, connection: u32, url: &str| {
            format!(
                r#"{{"startedDateTime":"2026-01-01T00:00:0{at}Z","connection":"{connection}","request":{{"method":"GET","url":"http://a.test{url}","httpVersion":"HTTP/1.1","headers":[]}}}}"#
            )
        };
        let entries = [
            line("0.0", 4, "/a"),
            line("0.5", 5, "/b"),
            line("1.0", 4, "/c"),
        ]
        .join(",");
        let har = format!(
            r#"{{"log":{{"version":"1.2","creator":{{"name":"powerband"}},"entries":[{entries}]}}}}"#
        );
        let traffic = read(har.as_bytes(), None).unwrap();
        assert_eq!(traffic.clone().amplified(1).requests.len(), 3);
        let twice = traffic.amplified(2);
        let instants = twice.instants_ns();
        let found: Vec<(&str, Option<u64>)> = twice
            .requests
            .iter()
            .map(|one| (&*one.path, one.connection))
            .collect();
        let expected = [
            ("/a", 8),
            ("/a", 9),
            ("/b", 10),
            ("/b", 11),
            ("/c", 8),
            ("/c", 9),
        ];
        assert_eq!(found, expected.map(|(path, number)| (path, Some(number))));
        for pair in instants.chunks(2) {
            assert!(pair[1] - pair[0] < 1_000_000_000, "{pair:?}");
        }
    }
}
