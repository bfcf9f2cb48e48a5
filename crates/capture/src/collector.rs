//! Requests as the readers find them, and what becomes of them at the end:
//! sorted, with offsets from the first.

use small_sort::SmallSort;
use std::time::Duration;

use crate::excerpt::excerpt;
use crate::headers::{self, Headers};
use crate::request_target;
use crate::traffic::{FIRST_SKIPPED, Place, Recorded, Skip, Skipped, Traffic};
use crate::{Format, MAX_BODY, ReadError};

/// Longest line that is looked at: base64 of the largest body, and its head.
const MAX_LINE: usize = 24 << 20;

/// A request as a reader found it, unchecked.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// In the file's own time, ns; none where the file does not say.
    pub(crate) at_ns: Option<i128>,
    pub(crate) method: String,
    /// Origin form or absolute, as it stood.
    pub(crate) target: Vec<u8>,
    /// Unless the target or a `Host` header names one.
    pub(crate) host: Option<String>,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
    pub(crate) connection: Option<u64>,
    /// Of the answer, where the file holds it.
    pub(crate) status: Option<u16>,
}

#[derive(Debug, Default)]
pub(crate) struct Collector {
    found: Vec<(Option<i128>, Recorded)>,
    skipped: Skipped,
    /// As the file's head says.
    pub(crate) unredacted: Vec<String>,
}

impl Collector {
    /// Checks and keeps a request, or counts why not.
    pub(crate) fn take(&mut self, place: Place, result: Result<Found, String>) {
        match result.and_then(|found| checked(place, found)) {
            Ok(found) => self.found.push(found),
            Err(why) => self.skip(place, why),
        }
    }

    pub(crate) fn skip(&mut self, place: Place, why: String) {
        self.skipped.count += 1;
        if self.skipped.first.len() < FIRST_SKIPPED {
            self.skipped.first.push(Skip { place, why });
        }
    }

    /// Reads a text of one request a line.
    pub(crate) fn take_lines(
        &mut self,
        text: &[u8],
        read: impl Fn(&[u8]) -> Result<Found, String>,
    ) {
        for (place, line) in lines(text) {
            if line.len() > MAX_LINE {
                self.skip(
                    place,
                    format!("{} bytes long, at most {MAX_LINE}", line.len()),
                );
            } else if !line.is_empty() {
                self.take(place, read(line));
            }
        }
    }

    pub(crate) fn finish(mut self, format: Format) -> Result<Traffic, ReadError> {
        let timed = self.found.iter().any(|(at, _)| at.is_some());
        let mut requests = Vec::with_capacity(self.found.len());
        for (at, request) in std::mem::take(&mut self.found) {
            match at {
                None if timed => self.skip(
                    request.place,
                    "no time, although other lines have one".into(),
                ),
                at => requests.push((at.unwrap_or(0), request)),
            }
        }
        self.skipped.first.small_sort_by_key(|skip| skip.place);
        let Some(first) = requests.iter().map(|(at, _)| *at).min() else {
            return Err(ReadError::NothingReadable {
                format,
                skipped: self.skipped,
            });
        };
        let resolution = match format.resolution() {
            Some(known) => known,
            None => step_of(requests.iter().map(|(at, _)| *at)),
        };
        // Stable: requests of one instant stay as the file has them.
        requests.small_sort_by_key(|(at, _)| *at);
        let requests = requests
            .into_iter()
            .map(|(at, request)| Recorded {
                at_ns: u64::try_from(at.saturating_sub(first)).unwrap_or(u64::MAX),
                ..request
            })
            .collect();
        Ok(Traffic {
            format,
            requests,
            timed,
            began_ns: u64::try_from(first)
                .ok()
                .filter(|_| timed && format.tells_the_date()),
            resolution,
            skipped: self.skipped,
            unredacted: self.unredacted,
        })
    }
}

/// Non-empty or not, each line with its number and without its end.
pub(crate) fn lines(text: &[u8]) -> impl Iterator<Item = (Place, &[u8])> {
    (1..)
        .zip(text.split(|byte| *byte == b'\n'))
        .map(|(number, line)| (Place::Line(number), line.trim_ascii()))
}

fn checked(place: Place, found: Found) -> Result<(Option<i128>, Recorded), String> {
    let legal = http::Method::from_bytes(found.method.as_bytes()).is_ok()
        && !found.method.bytes().any(|byte| byte.is_ascii_lowercase())
        && found.method != "CONNECT";
    if !legal {
        return Err(format!(
            "not a method that can be sent: {:?}",
            excerpt(found.method.as_bytes())
        ));
    }
    if found.body.len() > MAX_BODY {
        return Err(format!(
            "the body has {} bytes, at most {MAX_BODY} are read",
            found.body.len()
        ));
    }
    let (host, path) = request_target::origin_form(&found.target)?;
    let (from_headers, headers) = headers::end_to_end(found.headers)?;
    let request = Recorded {
        at_ns: 0,
        method: found.method,
        path,
        host: host.or(from_headers).or(found.host),
        headers,
        body: found.body,
        connection: found.connection,
        status: found.status,
        place,
    };
    Ok((found.at_ns, request))
}

/// The coarsest usual clock that would have shown these instants.
fn step_of(instants: impl Iterator<Item = i128> + Clone) -> Duration {
    [1_000_000_000, 1_000_000, 1_000]
        .into_iter()
        .find(|step| instants.clone().all(|at| at % i128::from(*step) == 0))
        .map_or(Duration::from_nanos(1), Duration::from_nanos)
}
