//! The results of the requests of one name.

use hdrhistogram::Histogram;

use crate::classes::ByClass;
use crate::errors::Errors;
use crate::failure::FirstFailure;
use crate::recorded_statuses::RecordedStatuses;

/// Good answers of one name that sent the client elsewhere with one status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// From 300 to 399.
    pub status: u16,
    /// The workload names this status for the request, or it is the recorded one.
    pub expected: bool,
    /// How many.
    pub answers: u64,
    /// Where the first of them led, as it came, up to 2,048 bytes; see [`crate::shown_location`].
    pub location: Option<String>,
}

impl Redirect {
    /// 304 redirects no client: it says that its copy is still good.
    pub(crate) fn is(status: u16) -> bool {
        (300..400).contains(&status) && status != 304
    }
}

/// The results of the requests of one name.
#[derive(Debug, Clone)]
pub struct EndpointOutcome {
    /// [`crate::Request::name`].
    pub name: String,
    /// The workload wants a page: each of its requests is a GET or a HEAD, and none is one that a user of a recording sent.
    pub wants_page: bool,
    /// Fell due.
    pub scheduled: u64,
    /// Answered with a status below 400, or 400 to 499 as recorded (401, 403, 407, 408 and 429 excepted).
    pub ok: u64,
    /// As [`crate::Counts::cut`].
    pub cut: u64,
    /// Failed.
    pub errors: Errors,
    /// The first of these.
    pub first_failure: Option<FirstFailure>,
    /// Over the objective, errors included.
    pub violations: u64,
    /// As [`crate::Outcome::response`].
    pub response: Histogram<u64>,
    /// As [`crate::Outcome::classes`].
    pub classes: ByClass,
    /// Of the good answers those that sent the client elsewhere.
    pub redirects: Vec<Redirect>,
    /// Where the first answer led that sent the client to an `https://` URL though the workload does not say so; an
    /// answer that the workload rejects counts too.
    pub to_https: Option<ToHttps>,
    /// Of a recording: how the statuses of its answers compare with the recorded ones.
    pub recorded_statuses: RecordedStatuses,
}

/// An answer that sent the client to an `https://` URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToHttps {
    /// As it came.
    pub location: String,
    /// Path and query that was asked for.
    pub path: String,
}

impl EndpointOutcome {
    /// Of a name of which nothing was asked yet.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            wants_page: true,
            scheduled: 0,
            ok: 0,
            cut: 0,
            errors: Errors::default(),
            first_failure: None,
            violations: 0,
            // Filled at the end of the run, from the classes.
            response: Histogram::new(1).expect("the digits are a valid constant"),
            classes: ByClass::default(),
            redirects: Vec::new(),
            to_https: None,
            recorded_statuses: RecordedStatuses::default(),
        }
    }

    /// The redirects that the workload does not expect.
    pub fn unexpected_redirects(&self) -> impl Iterator<Item = &Redirect> {
        self.redirects.iter().filter(|redirect| !redirect.expected)
    }

    /// How many answers those are.
    pub(crate) fn led_away(&self) -> u64 {
        self.unexpected_redirects().map(|r| r.answers).sum()
    }

    pub(crate) fn redirected(&mut self, status: u16, expected: bool, location: Option<&str>) {
        let known = self.redirects.iter_mut();
        let redirect = known
            .into_iter()
            .find(|r| (r.status, r.expected) == (status, expected));
        match redirect {
            Some(redirect) => redirect.answers += 1,
            None => self.redirects.push(Redirect {
                status,
                expected,
                answers: 1,
                location: location.map(str::to_owned),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirects_are_the_300s_but_for_not_modified() {
        let found: Vec<u16> = (200..500).filter(|status| Redirect::is(*status)).collect();
        let expected: Vec<u16> = (300..400).filter(|status| *status != 304).collect();
        assert_eq!(found, expected);
    }
}
