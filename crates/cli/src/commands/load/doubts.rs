//! What makes an assertion undecided, whatever the figures say: page, documents, JUnit and the exit code go by the same outcome.

use run::Redirects;
use run::load::{Assertion, AssertionOutcome, Document, Endpoint, State};

/// Reasons, in the words that follow the figure: "12.0 ms, but the run was interrupted".
#[derive(Debug, Default)]
pub struct Doubts {
    /// Of every assertion: the figures decide nothing.
    pub of_all: Option<String>,
    /// Of an assertion that fails.
    pub of_failing: Option<String>,
    /// Of an assertion that holds.
    pub of_holding: Option<String>,
    /// Of pages: leave an assertion on them that holds undecided.
    pub redirects: Redirects,
}

impl Doubts {
    /// As far as the document alone shows them.
    pub fn of(document: &Document) -> Doubts {
        let generator = &document.generator;
        let late = !generator.ok && generator.only_late;
        let other_work = document.recorded.as_ref().is_some_and(|r| r.other_work);
        Doubts {
            of_all: no_figures(document).map(str::to_owned),
            // Response times count from the moment a request was due: a late start can only make them longer.
            of_failing: late.then(|| "the load generator was late".to_owned()),
            of_holding: match (document.counts.ok, other_work) {
                (0, _) => Some("every request failed".to_owned()),
                (_, true) => Some("the answers are of other work than was recorded".to_owned()),
                (_, false) => None,
            },
            redirects: redirects(&document.endpoints),
        }
    }

    /// Why an assertion with this outcome, of a page or of all, is undecided.
    pub fn why(&self, outcome: AssertionOutcome, page: Option<&str>) -> Option<String> {
        let of_all = self.of_all.clone();
        match outcome {
            AssertionOutcome::Unknown => None,
            AssertionOutcome::Fails => of_all.or_else(|| self.of_failing.clone()),
            AssertionOutcome::Holds => of_all
                .or_else(|| self.of_holding.clone())
                .or_else(|| redirected(&self.redirects, page)),
        }
    }
}

/// Why the figures decide nothing.
pub fn no_figures(document: &Document) -> Option<&'static str> {
    let generator = &document.generator;
    match document.state {
        State::Interrupted => Some("the run was interrupted"),
        State::Unreachable => Some("the run was given up"),
        State::Done if document.counts.answered == 0 => Some("no request was answered"),
        State::Done if !generator.ok && !generator.only_late => {
            Some("the load generator was too slow")
        }
        State::Done => None,
    }
}

/// The redirects of all pages.
pub fn redirects(endpoints: &[Endpoint]) -> Redirects {
    let mut all = Redirects::default();
    for endpoint in endpoints {
        all.add(&endpoint.name, endpoint.ok, &endpoint.redirects);
    }
    all
}

fn redirected(redirects: &Redirects, page: Option<&str>) -> Option<String> {
    let unserved = redirects.unserved();
    let named: Vec<&str> = unserved
        .filter(|name| page.is_none_or(|page| page == *name))
        .collect();
    let (first, more) = named.split_first()?;
    Some(match more.len() {
        0 => format!("answers of {first} are redirects"),
        more => format!("answers of {first} and of {more} more are redirects"),
    })
}

/// What a reader must know of the redirects for which an assertion is undecided.
pub fn redirects_in_doubt(document: &Document) -> Vec<String> {
    let redirects = redirects(&document.endpoints);
    let of_redirects = |a: &Assertion| {
        a.outcome == AssertionOutcome::Unknown
            && redirected(&redirects, a.endpoint.as_deref()).is_some()
    };
    match document.assertions.iter().any(of_redirects) {
        true => redirects.warnings(),
        false => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::load::document::latency;
    use load::new_histogram;
    use std::collections::BTreeMap;

    /// Of `/` all answers are redirects, of `/up` none.
    fn shop(expected: bool) -> Vec<Endpoint> {
        let page = |name: &str, redirects| Endpoint {
            name: name.to_owned(),
            asked: 100,
            ok: 100,
            failed: 0,
            errors: BTreeMap::new(),
            response: latency(&new_histogram()),
            classes: Vec::new(),
            redirects,
        };
        let to_login = run::Redirect {
            status: 302,
            location: Some("/login".to_owned()),
            answers: 100,
            expected,
        };
        vec![page("GET /up", Vec::new()), page("GET /", vec![to_login])]
    }

    #[test]
    fn redirects_that_the_workload_does_not_expect_leave_assertions_in_doubt() {
        let doubt = |expected, page| redirected(&redirects(&shop(expected)), page);
        let said = doubt(false, None).unwrap();
        assert_eq!(said, "answers of GET / are redirects");
        assert_eq!(doubt(false, Some("GET /")), Some(said));
        assert_eq!(doubt(false, Some("GET /up")), None);
        assert_eq!(doubt(true, None), None);
    }
}
