//! What the exporter's address answers: the text of a scrape, and whether the exporter lives.

use super::source::Source;
use crate::listener::{Answer, Question};
use std::sync::Arc;

/// The answers.
#[derive(Debug)]
pub struct Page {
    /// Of the scrapes.
    path: String,
    opentelemetry: bool,
    source: Arc<Source>,
}

impl Page {
    pub fn new(path: String, opentelemetry: bool, source: Arc<Source>) -> Page {
        Page {
            path,
            opentelemetry,
            source,
        }
    }

    /// Answers one question.
    pub fn answer(&self, question: &Question<'_>) -> Answer {
        match question.path() {
            path if path == self.path => self.scrape(),
            // It lives without flight files, too: a restart of the exporter makes none.
            "/livez" => Answer::plain("200 OK", "ok\n"),
            _ => Answer::plain(
                "404 Not Found",
                format!("there are {} and /livez\n", self.path),
            ),
        }
    }

    /// Where the sums are not known it is a failed scrape: Prometheus would take lower sums for a restart of all servers.
    fn scrape(&self) -> Answer {
        match self.source.read() {
            Ok(reading) => {
                let families = self.source.families(&reading, self.opentelemetry);
                let text = metrics::text(&families);
                Answer::of("text/plain; version=0.0.4; charset=utf-8", text)
            }
            Err(failure) => Answer::plain(
                "503 Service Unavailable",
                format!("powerband: {}\n", failure.message),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listener::asked;

    const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contract/samples/flight");

    fn answer(folder: &str, path: &str) -> Answer {
        let source = Arc::new(Source::new(Some(folder.into()), None, 20));
        let page = Page::new("/internal/metrics".to_owned(), false, source);
        let head = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        asked(&head, |question| page.answer(question))
    }

    #[test]
    fn a_scrape_has_the_sums_and_the_exporters_version() {
        let found = answer(SAMPLES, "/internal/metrics?x=1");
        assert_eq!(found.status, "200 OK", "{}", found.body);
        let version = env!("CARGO_PKG_VERSION");
        let last = format!("powerband_build_info{{version=\"{version}\"}} 1\n");
        assert!(found.body.ends_with(&last), "{}", found.body);
        assert!(found.body.contains("\npowerband_requests_total "));
        assert!(!found.body.contains("http_server_request_duration"));
        assert_eq!(testkit::promtool(&found.body).unwrap_or_default(), "");
    }

    #[test]
    fn a_folder_without_sums_is_a_failed_scrape_with_the_reason() {
        let empty = tempfile::tempdir().unwrap();
        let empty = empty.path().to_str().unwrap();
        let found = answer(empty, "/internal/metrics");
        assert_eq!(found.status, "503 Service Unavailable");
        assert!(
            found.body.starts_with("powerband: no flight file is in"),
            "{}",
            found.body
        );
        assert_eq!(answer(empty, "/livez").status, "200 OK");
        let none = answer(empty, "/metrics");
        assert_eq!(none.status, "404 Not Found");
        assert_eq!(&*none.body, "there are /internal/metrics and /livez\n");
    }
}
