//! Which of a workload's pages are broken: their figures are those of an error, and a mean over all pages hides them.

use std::fmt::{self, Display, Formatter};

use crate::endpoint::{EndpointOutcome, Redirect};
use crate::failure::FirstFailure;
use crate::hanging::HangingPage;
use crate::outcome::Outcome;

/// Requests from which on a page can be called broken.
const LEAST_REQUESTS: u64 = 3;
/// Good answers, all of them redirects, from which on a page is never served: one that redirects half of its requests does not.
const LEAST_REDIRECTED: u64 = 10;
/// Share of the requests that failed from which on a page is broken.
const BROKEN: f64 = 0.9;

/// A page with its failed requests; of a broken one, nearly all of its requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenPage {
    /// As the workload calls it.
    pub name: String,
    /// The first failure.
    pub first: FirstFailure,
    /// Requests that failed.
    pub failed: u64,
    /// Requests that ended.
    pub of: u64,
}

impl Display for BrokenPage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let BrokenPage {
            name,
            first,
            failed,
            of,
        } = self;
        write!(f, "{}", first.request)?;
        if *name != first.request {
            write!(f, " ({name})")?;
        }
        write!(
            f,
            ": {failed} of {of} requests failed; the first: {}",
            first.what
        )
    }
}

impl EndpointOutcome {
    fn broken(&self) -> Option<BrokenPage> {
        let failed = self.errors.total();
        let of = self.ok + failed;
        let is_broken = of >= LEAST_REQUESTS && failed as f64 >= BROKEN * of as f64;
        let first = self.first_failure.clone().filter(|_| is_broken)?;
        Some(BrokenPage {
            name: self.name.clone(),
            first,
            failed,
            of,
        })
    }

    /// The first redirect of a page that was asked for and never served.
    fn never_served(&self) -> Option<&Redirect> {
        let is_one = self.wants_page && self.ok >= LEAST_REDIRECTED && self.led_away() == self.ok;
        self.unexpected_redirects().next().filter(|_| is_one)
    }
}

impl Outcome {
    /// The pages whose successful answers, ten at least, are all redirects that the workload does not expect, each with the
    /// first; in the workload's order. Requests that write, such as a form's POST, are answered so by
    /// design, and those of a recording as its users were.
    pub fn redirected_pages(&self) -> impl Iterator<Item = (&str, &Redirect)> {
        let pages = self.endpoints.iter();
        pages.filter_map(|page| Some((page.name.as_str(), page.never_served()?)))
    }

    /// The pages of which nine requests in ten failed, of three at least; in the workload's order. Behind a page that hangs
    /// those that time out only wait, and are left out.
    #[must_use]
    pub fn broken_pages(&self, hanging: Option<&HangingPage>) -> Vec<BrokenPage> {
        let behind = |page: &&EndpointOutcome| {
            hanging.is_some() && 2 * page.errors.timeout > page.errors.total()
        };
        let pages = self.endpoints.iter().filter(|page| !behind(page));
        pages.filter_map(EndpointOutcome::broken).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(name: &str, ok: u64, failed: u64) -> EndpointOutcome {
        let mut page = EndpointOutcome::new(name);
        page.ok = ok;
        page.errors.status_5xx = failed;
        page.first_failure = (failed > 0).then(|| FirstFailure {
            request: "GET /weather".to_owned(),
            what: "answered 500".to_owned(),
        });
        page
    }

    #[test]
    fn a_page_is_broken_when_nearly_all_of_its_requests_fail() {
        let mut outcome = Outcome::empty();
        outcome.endpoints = vec![
            page("GET /weather", 0, 94),
            page("nearly", 10, 90),
            page("many", 11, 89),
            page("few", 0, 2),
            page("good", 100, 0),
            page("unasked", 0, 0),
        ];
        let said: Vec<String> = outcome
            .broken_pages(None)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            said,
            [
                "GET /weather: 94 of 94 requests failed; the first: answered 500",
                "GET /weather (nearly): 90 of 100 requests failed; the first: answered 500",
            ]
        );
    }

    #[test]
    fn a_page_that_always_redirects_is_never_served() {
        let redirected = |name, of: &[(u16, bool)]| {
            let mut page = page(name, 20, 1);
            for (status, expected) in of {
                (0..10).for_each(|_| page.redirected(*status, *expected, Some("/login")));
            }
            page
        };
        let mut writes = redirected("POST /orders", &[(302, false), (303, false)]);
        writes.wants_page = false;
        let mut few = page("few", 9, 0);
        (0..9).for_each(|_| few.redirected(302, false, None));
        let mut outcome = Outcome::empty();
        outcome.endpoints = vec![
            redirected("GET /account", &[(302, false), (301, false)]),
            redirected("half", &[(302, false)]),
            redirected("expected", &[(302, false), (303, true)]),
            writes,
            few,
        ];
        let found: Vec<_> = outcome.redirected_pages().collect();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].0, found[0].1.status), ("GET /account", 302));
    }

    #[test]
    fn pages_that_time_out_behind_a_hanging_one_are_not_broken() {
        let mut outcome = Outcome::empty();
        let mut queued = page("GET /", 0, 0);
        queued.errors.timeout = 40;
        queued.first_failure = Some(FirstFailure {
            request: "GET /".to_owned(),
            what: crate::TIMED_OUT.to_owned(),
        });
        outcome.endpoints = vec![queued, page("GET /weather", 0, 94)];
        assert_eq!(outcome.broken_pages(None).len(), 2);
        let hanging = HangingPage {
            name: "GET /report".to_owned(),
            request: "GET /report".to_owned(),
            hanging: 2,
            answered: 0,
            queued: 40,
        };
        let broken = outcome.broken_pages(Some(&hanging));
        let names: Vec<&str> = broken.iter().map(|page| page.name.as_str()).collect();
        assert_eq!(names, ["GET /weather"]);
    }
}
