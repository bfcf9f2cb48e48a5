//! Prometheus' HTTP API: one range query after another.

mod credentials;

use crate::Failure;
use crate::args::PrometheusArgs;
use crate::client::{self, AddressFlag};
use fleet::{AnswerError, Answered, Span};
use http::StatusCode;
use std::time::Duration;
use ureq::Agent;

const FLAG: AddressFlag = AddressFlag {
    name: "--prometheus",
    example: "https://prometheus.internal:9090",
    secrets: "--basic-file or POWERBAND_PROMETHEUS_BASIC",
};

/// A query over weeks of many pods takes Prometheus a while.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Of one answer: a histogram of a thousand pods fits.
const MOST_BYTES: u64 = 256 << 20;

/// A server and how it is asked.
pub(super) struct Prometheus {
    agent: Agent,
    /// Without a slash at its end.
    address: String,
    authorization: Option<String>,
}

impl Prometheus {
    /// Checks the address and reads credentials; asks nothing yet.
    pub(super) fn of(address: &str, args: &PrometheusArgs) -> Result<Prometheus, Failure> {
        let asked = address.trim().trim_end_matches('/');
        let uri = FLAG.address(asked)?;
        let authorization = credentials::authorization(args)?;
        if authorization.is_some() {
            FLAG.keeps_secrets(&uri)?;
        }
        Ok(Prometheus {
            agent: client::agent(&uri, TIMEOUT, None)?,
            address: asked.to_owned(),
            authorization,
        })
    }

    /// The address, which holds no credentials.
    pub(super) fn shown(&self) -> &str {
        &self.address
    }

    /// The answer to a query.
    pub(super) fn answer(&self, promql: &str, span: Span) -> Result<Answered, Failure> {
        let wrong = |what: String| Failure::no_answer(format!("{}: {what}", self.address));
        let mut request = self
            .agent
            .get(format!("{}/api/v1/query_range", self.address))
            .query("query", promql)
            .query("start", span.from_s.to_string())
            .query("end", span.to_s.to_string())
            .query("step", span.step_s.to_string());
        if let Some(authorization) = &self.authorization {
            request = request.header("Authorization", authorization);
        }
        let mut answer = request.call().map_err(|e| match e {
            ureq::Error::Timeout(_) => wrong(format!(
                "Prometheus does not answer within {} s; check the address, or try again",
                TIMEOUT.as_secs()
            )),
            e => wrong(format!("Prometheus cannot be asked: {e}; check the address, and that it is reached from here")),
        })?;
        let status = answer.status();
        let body = answer
            .body_mut()
            .with_config()
            .limit(MOST_BYTES)
            .read_to_string();
        let body = body.map_err(|e| {
            wrong(format!(
                "the answer cannot be read: {e}; try again, or choose fewer instances by --match"
            ))
        })?;
        answered(status, fleet::series(&body, span)).map_err(wrong)
    }
}

/// The answer, or what is wrong and the remedy.
fn answered(status: StatusCode, said: Result<Answered, AnswerError>) -> Result<Answered, String> {
    Err(match (status.as_u16(), said) {
        (200, Ok(answered)) => return Ok(answered),
        (401 | 403, _) => {
            format!("it answers {status}; give --token-file or --basic-file, or another one")
        }
        (200, Err(error @ AnswerError::NotPrometheus(_))) => {
            format!("{error}; give the address of a Prometheus server")
        }
        // A limit, a timeout, or a proxy that waits no longer.
        (422 | 429 | 500..=599, Err(error @ AnswerError::Refused(_))) => {
            format!("{error} (status {status}); try again, or raise Prometheus' query limits")
        }
        (429 | 502..=504, _) => {
            format!("it answers {status}; try again, or raise Prometheus' query limits")
        }
        (_, Err(error @ AnswerError::Refused(_))) => {
            format!("{error} (status {status}); check --match")
        }
        (300..=399, _) => {
            format!("it answers {status}, which is not followed; give the address that it names")
        }
        _ => format!("it answers {status}; give the address of a Prometheus server, without /api"),
    })
}

/// Refuses figures of more than one application.
pub(super) fn only_job<'a>(jobs: impl IntoIterator<Item = &'a str>) -> Result<(), Failure> {
    let mut jobs = jobs.into_iter();
    if let (Some(one), Some(other)) = (jobs.next(), jobs.next()) {
        return Err(Failure::usage(format!(
            "the series are of more than one job, such as {one:?} and {other:?}; name that of the application: --match 'job=\"{one}\"'"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_jobs_are_refused_with_a_matcher() {
        assert!(only_job([]).is_ok() && only_job(["shop"]).is_ok());
        let refused = only_job(["admin", "shop"]).unwrap_err().message;
        assert!(
            refused.contains("such as \"admin\" and \"shop\""),
            "{refused}"
        );
        assert!(refused.ends_with("--match 'job=\"admin\"'"), "{refused}");
    }

    #[test]
    fn each_answer_has_its_remedy() {
        let refused = || Err(AnswerError::Refused("too many samples".to_owned()));
        let foreign = || Err(AnswerError::NotPrometheus("no matrix".to_owned()));
        let again = "try again, or raise Prometheus' query limits";
        let all = [
            (400, refused(), "(status 400 Bad Request); check --match"),
            (422, refused(), again),
            (503, refused(), again),
            (504, foreign(), again),
            (200, foreign(), "give the address of a Prometheus server"),
            (302, foreign(), "give the address that it names"),
            (403, foreign(), "give --token-file"),
            (500, foreign(), "without /api"),
        ];
        for (status, said, remedy) in all {
            let said = answered(StatusCode::from_u16(status).unwrap(), said).unwrap_err();
            assert!(said.contains(remedy), "{status}: {said}");
        }
        let none = Answered::default();
        assert_eq!(answered(StatusCode::OK, Ok(none.clone())), Ok(none));
    }
}
