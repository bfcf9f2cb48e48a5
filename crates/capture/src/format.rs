//! The formats, and how a file shows which one it is.

use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::{access_log, collector, gor, h2load, json_lines};

pub(crate) const NAMES: &str = "its own capture files (.pbc), GoReplay (.gor), HAR, vegeta's JSON targets, h2load timing \
     scripts, access logs in the common and combined formats, and access logs of JSON lines";

/// Lines that may be garbage before one is recognised.
const LOOKED_AT: usize = 100;

/// A kind of traffic file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// Our own: `.pbc`.
    Capture,
    /// GoReplay's `--output-file`.
    Gor,
    /// HTTP Archive 1.2, as browsers and proxies export it.
    Har,
    /// `vegeta attack -format=json`: one target a line, without instants.
    VegetaJson,
    /// `h2load --timing-script-file`.
    H2load,
    /// nginx or Apache, common or combined.
    AccessLog,
    /// An access log with a JSON object a line.
    JsonLines,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Capture => "capture file",
            Self::Gor => "GoReplay",
            Self::Har => "HAR",
            Self::VegetaJson => "vegeta JSON targets",
            Self::H2load => "h2load timing script",
            Self::AccessLog => "access log",
            Self::JsonLines => "JSON access log",
        })
    }
}

impl Format {
    /// Whether its instants are those of a calendar.
    pub(crate) fn tells_the_date(self) -> bool {
        !matches!(self, Self::VegetaJson | Self::H2load)
    }

    /// The step of its clock; none where the file's own instants must show it.
    pub(crate) fn resolution(self) -> Option<Duration> {
        match self {
            Self::Capture | Self::Gor | Self::VegetaJson => Some(Duration::from_nanos(1)),
            Self::Har => Some(Duration::from_millis(1)),
            Self::H2load => Some(Duration::from_micros(1)),
            Self::AccessLog => Some(Duration::from_secs(1)),
            Self::JsonLines => None,
        }
    }
}

/// The format of the first line that shows one.
pub(crate) fn detect(text: &[u8]) -> Option<Format> {
    if starts_as_har(text) {
        return Some(Format::Har);
    }
    collector::lines(text)
        .map(|(_, line)| line)
        .filter(|line| !line.is_empty())
        .take(LOOKED_AT)
        .find_map(|line| {
            if gor::is_header(line) {
                Some(Format::Gor)
            } else if h2load::is_line(line) {
                Some(Format::H2load)
            } else if line.starts_with(b"{") {
                of_object(&serde_json::from_slice(line).ok()?)
            } else {
                access_log::is_line(line).then_some(Format::AccessLog)
            }
        })
}

/// `{"log": {`, however it is laid out: the document may be one line of many
/// megabytes, so that it is not parsed here.
fn starts_as_har(text: &[u8]) -> bool {
    let mut rest = text;
    [&b"{"[..], b"\"log\"", b":", b"{"].iter().all(|token| {
        rest.trim_ascii_start()
            .strip_prefix(*token)
            .inspect(|after| rest = after)
            .is_some()
    })
}

fn of_object(object: &Map<String, Value>) -> Option<Format> {
    let has = |key: &str| object.get(key).is_some_and(Value::is_string);
    if json_lines::time_of(object).is_none() && has("method") && has("url") {
        return Some(Format::VegetaJson);
    }
    json_lines::names_a_request(object).then_some(Format::JsonLines)
}
