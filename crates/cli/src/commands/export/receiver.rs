//! A receiver of OTLP over HTTP, to which readings are pushed.

use super::secrets::Secrets;
use super::wanted::Pushes;
use crate::Failure;
use crate::client;
use http::StatusCode;
use std::time::Duration;
use ureq::Agent;

/// A push takes at most so long, and never longer than the interval.
const LONGEST: Duration = Duration::from_secs(10);
/// Of an answer's body.
const MOST_BYTES: u64 = 64 << 10;
/// A receiver may ask for this much patience.
const MOST_PATIENCE: Duration = Duration::from_secs(300);

/// Where pushes go.
#[derive(Debug)]
pub struct Receiver {
    agent: Agent,
    /// With `/v1/metrics`.
    url: String,
    secrets: Secrets,
}

/// Why a push did not succeed.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    pub why: String,
    /// When the receiver wants the next one.
    pub after: Option<Duration>,
}

impl Receiver {
    pub fn new(wanted: &Pushes) -> Result<Receiver, Failure> {
        let timeout = LONGEST.min(wanted.interval);
        Ok(Receiver {
            agent: client::agent(&wanted.uri, timeout, wanted.ca.as_deref())?,
            url: wanted.uri.to_string(),
            secrets: wanted.secrets.clone(),
        })
    }

    /// Pushes one body.
    pub fn take(&self, body: &[u8]) -> Result<(), Refused> {
        let refused = |why: String| Refused { why, after: None };
        let mut request = self
            .agent
            .post(&self.url)
            .header("Content-Type", "application/x-protobuf");
        let headers = self.secrets.headers();
        for (name, value) in headers.map_err(|failure| refused(failure.message))? {
            request = request.header(name, value);
        }
        let mut answer = request.send(body).map_err(|e| {
            refused(format!(
                "{}: no answer: {e}; check the address, and that the receiver runs",
                self.url
            ))
        })?;
        let status = answer.status();
        let header = |name| answer.headers().get(name)?.to_str().ok();
        let after = header("retry-after").and_then(|value| value.trim().parse().ok());
        let kind = header("content-type").unwrap_or_default();
        let is_page = kind
            .trim_start()
            .to_ascii_lowercase()
            .starts_with("text/html");
        let body = answer
            .body_mut()
            .with_config()
            .limit(MOST_BYTES)
            .read_to_vec();
        self.answered(status, is_page, &body.unwrap_or_default(), after)
    }

    fn answered(
        &self,
        status: StatusCode,
        is_page: bool,
        body: &[u8],
        after: Option<u64>,
    ) -> Result<(), Refused> {
        let refused = |what: String| {
            Err(Refused {
                why: format!("{}: {what}", self.url),
                after: after.map(|seconds| Duration::from_secs(seconds).min(MOST_PATIENCE)),
            })
        };
        match status.as_u16() {
            // Of a proxy in front of the receiver, such as one for logins.
            200..=299 if is_page => refused(format!(
                "it answers {status} with a page of HTML, as no receiver does; give the receiver's own address, or --token-file or --header-file"
            )),
            200..=299 => match metrics::rejected(body) {
                Some((points, message)) => refused(format!(
                    "it takes all but {points} values: {:?}; see the receiver's log",
                    shortened(&message)
                )),
                None => Ok(()),
            },
            401 | 403 => refused(format!(
                "it answers {status}; give --token-file or --header-file, or another one"
            )),
            404 | 405 => refused(format!(
                "it answers {status}; give the address in front of /v1/metrics, and switch the receiver on"
            )),
            300..=399 => refused(format!(
                "it answers {status}, which is not followed; give the address that it names"
            )),
            400 | 413 | 415 => refused(format!(
                "it answers {status}: {:?}; check that it takes OTLP's metrics in protobuf, cumulative",
                shortened(&String::from_utf8_lossy(body))
            )),
            _ => refused(format!("it answers {status}; see the receiver's log")),
        }
    }
}

/// Of a text of others, so much that a line of a log holds it.
fn shortened(text: &str) -> String {
    text.trim().chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOGIN: &str = "<html>";

    #[test]
    fn each_answer_has_its_remedy() {
        let receiver = Receiver {
            agent: ureq::agent(),
            url: "http://localhost:4318/v1/metrics".to_owned(),
            secrets: Secrets::None,
        };
        let of = |status, body: &str, after| {
            let status = StatusCode::from_u16(status).unwrap();
            receiver.answered(status, body == LOGIN, body.as_bytes(), after)
        };
        assert_eq!(of(200, "", None), Ok(()));
        let page = of(200, LOGIN, None).unwrap_err().why;
        assert!(page.contains("give the receiver's own address"), "{page}");
        for (status, remedy) in [
            (401, "give --token-file"),
            (404, "in front of /v1/metrics"),
            (307, "the address that it names"),
            (400, "check that it takes"),
            (503, "see the receiver's log"),
        ] {
            let refused = of(status, "x\u{1b}[31m", Some(9)).unwrap_err();
            assert!(refused.why.contains(remedy), "{status}: {}", refused.why);
            assert!(!refused.why.contains('\u{1b}'), "{}", refused.why);
            assert_eq!(refused.after, Some(Duration::from_secs(9)));
        }
        let long = of(503, "", Some(u64::MAX)).unwrap_err();
        assert_eq!(long.after, Some(MOST_PATIENCE));
    }
}
