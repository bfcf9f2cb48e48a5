//! Prometheus' HTTP API: one range query after another.

use super::credentials;
use crate::Failure;
use crate::args::VerdictArgs;
use fleet::{AnswerError, Query, Series};
use http::{StatusCode, Uri};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use ureq::Agent;
use ureq::tls::{Certificate, RootCerts, TlsConfig};

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
    pub(super) fn of(args: &VerdictArgs) -> Result<Prometheus, Failure> {
        let asked = args.prometheus.trim().trim_end_matches('/');
        let uri = address(asked)?;
        let authorization = credentials::authorization(args)?;
        let host = uri.host().unwrap_or_default();
        let is_plain = uri.scheme_str() == Some("http");
        if authorization.is_some() && is_plain && !is_loopback(host) {
            return Err(Failure::usage(format!(
                "--prometheus = {asked:?}: a password or token would go over the network in plain text; give an https address"
            )));
        }
        let mut config = Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(0)
            .user_agent(format!("powerband/{}", env!("CARGO_PKG_VERSION")));
        if is_loopback(host) {
            config = config.proxy(None);
        }
        if !is_plain {
            config = config.tls_config(tls()?);
        }
        Ok(Prometheus {
            agent: config.build().into(),
            address: asked.to_owned(),
            authorization,
        })
    }

    /// The address, which holds no credentials.
    pub(super) fn shown(&self) -> &str {
        &self.address
    }

    /// The series of a query.
    pub(super) fn series(&self, query: &Query) -> Result<Vec<Series>, Failure> {
        let wrong = |what: String| Failure::no_answer(format!("{}: {what}", self.address));
        let span = query.span;
        let mut request = self
            .agent
            .get(format!("{}/api/v1/query_range", self.address))
            .query("query", &query.promql)
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

/// The series, or what is wrong and the remedy.
fn answered(
    status: StatusCode,
    said: Result<Vec<Series>, AnswerError>,
) -> Result<Vec<Series>, String> {
    Err(match (status.as_u16(), said) {
        (200, Ok(series)) => return Ok(series),
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

fn address(asked: &str) -> Result<Uri, Failure> {
    let wrong = |what: &str| {
        // A password that does not belong there is not printed.
        let shown = asked.rsplit('@').next().unwrap_or_default();
        Failure::usage(format!("--prometheus = {shown:?}: {what}"))
    };
    let example = "give an address such as https://prometheus.internal:9090";
    let uri: Uri = asked
        .parse()
        .map_err(|_| wrong(&format!("no address; {example}")))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) || uri.host().is_none_or(str::is_empty) {
        return Err(wrong(&format!("no http or https address; {example}")));
    }
    if uri
        .authority()
        .is_some_and(|authority| authority.as_str().contains('@'))
    {
        return Err(wrong(
            "it holds a user; give --basic-file or POWERBAND_PROMETHEUS_BASIC instead",
        ));
    }
    if uri.query().is_some() {
        return Err(wrong(&format!("it has parameters; {example}")));
    }
    Ok(uri)
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The system's authorities, and ring.
fn tls() -> Result<TlsConfig, Failure> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        return Err(Failure::usage(
            "this system has no certificates to check an https address with; install ca-certificates, or set SSL_CERT_FILE",
        ));
    }
    let certificates: Vec<Certificate<'static>> = found
        .certs
        .iter()
        .map(|one| Certificate::from_der(one).to_owned())
        .collect();
    Ok(TlsConfig::builder()
        .root_certs(RootCerts::Specific(Arc::new(certificates)))
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .build())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(answered(StatusCode::OK, Ok(Vec::new())), Ok(Vec::new()));
    }

    #[test]
    fn addresses() {
        for good in ["http://127.0.0.1:9090", "https://prometheus.internal/shop"] {
            assert!(address(good).is_ok(), "{good}");
        }
        for bad in ["", "prometheus:9090", "ftp://a", "http://", "http://a/?x=1"] {
            assert!(address(bad).is_err(), "{bad}");
        }
        let said = address("http://user:hunter2@a:9090").unwrap_err().message;
        assert!(
            !said.contains("hunter2") && said.contains("--basic-file"),
            "{said}"
        );
        assert!(is_loopback("localhost") && is_loopback("[::1]") && !is_loopback("10.0.0.1"));
    }
}
