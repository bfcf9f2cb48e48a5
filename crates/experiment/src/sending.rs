//! How requests are sent, the same for all servers of a run: on kept connections or on one each, with which headers, and
//! with a proxy's `X-Forwarded-Proto` where the first server redirects to https without it.

mod failing_pages;

use crate::request::Experiment;
use failing_pages::FailingPages;
use load::{Header, Https, Outcome, Plan};
use run::{Redirects, Sending};
use servers::Running;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// What all plans of a run have in common.
#[derive(Debug)]
pub(crate) struct Sender {
    keep_alive: bool,
    headers: Vec<Header>,
    /// Of the first server that answered.
    https: OnceLock<Settled>,
    redirects: Mutex<Redirects>,
    /// A redirecting page was named while the run went on.
    named: OnceLock<()>,
    failing: Mutex<FailingPages>,
    /// The workload is a recording without statuses.
    lacks_statuses: bool,
}

#[derive(Debug)]
struct Settled {
    forwarded: bool,
    trouble: Option<String>,
}

impl Sender {
    /// Nothing has been asked yet.
    pub fn new(experiment: &Experiment) -> Sender {
        Sender {
            keep_alive: experiment.keep_alive,
            headers: experiment.headers.clone(),
            https: OnceLock::new(),
            redirects: Mutex::default(),
            named: OnceLock::new(),
            failing: Mutex::default(),
            lacks_statuses: experiment.workload.lacks_statuses(),
        }
    }

    /// Sends as was asked, and as the first server wanted.
    pub fn apply(&self, plan: &mut Plan) {
        plan.keep_alive = self.keep_alive;
        plan.headers.clone_from(&self.headers);
        if self.https.get().is_some_and(|settled| settled.forwarded) {
            plan.headers.push(Header::forwarded_https());
        }
    }

    /// Whether a server has said if it wants the proxy's header.
    pub fn is_settled(&self) -> bool {
        self.https.get().is_some()
    }

    /// Keeps what the first server wants; what a reader must know of it.
    pub fn settle(&self, found: &Https, plan: &Plan) -> Option<String> {
        let trouble = trouble(found, plan);
        let forwarded = *found == Https::Forwarded;
        let said = trouble
            .clone()
            .or(forwarded.then(|| run::FORWARDED.to_owned()));
        let _ = self.https.set(Settled { forwarded, trouble });
        said
    }

    /// For the document.
    pub fn sending(&self) -> Sending {
        sending(
            self.keep_alive,
            &self.headers,
            self.https.get().is_some_and(|settled| settled.forwarded),
        )
    }

    /// What a reader must know of the redirect to https, of a recording whose answers cannot be compared, and of pages that fail
    /// in some of their requests.
    pub fn caveats(&self) -> Vec<String> {
        let https = self.https.get().and_then(|settled| settled.trouble.clone());
        let statuses = self.lacks_statuses.then(|| load::NO_STATUSES.to_owned());
        let failing = lock(&self.failing).warnings();
        https.into_iter().chain(statuses).chain(failing).collect()
    }

    /// What a reader must know before believing what was measured since the last time.
    pub fn warnings(&self) -> Vec<String> {
        [self.caveats(), self.take_redirects().warnings()].concat()
    }

    /// Counts the redirects and the failing pages of a window. What a reader must know of them is returned once, as soon as it is
    /// known: a run on pages that only redirect, or that fail, is better ended than waited for.
    pub fn saw(&self, outcome: &Outcome, server: Option<&Running>) -> Vec<String> {
        let mut redirects = lock(&self.redirects);
        add(&mut redirects, outcome);
        let mut said = once(&redirects, &self.named);
        let why = |request: &str| server?.why_failing(request);
        said.extend(lock(&self.failing).saw(outcome, why));
        said
    }

    /// The redirects since the last time.
    pub fn take_redirects(&self) -> Redirects {
        std::mem::take(&mut *lock(&self.redirects))
    }
}

/// A thread that panicked leaves no figure half changed.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn once(redirects: &Redirects, named: &OnceLock<()>) -> Vec<String> {
    let warnings = redirects.warnings();
    if warnings.is_empty() || named.set(()).is_err() {
        return Vec::new();
    }
    warnings
}

/// How a plan is sent, as documents have it; values of headers are left out. `forwarded` was added to `headers` unasked.
pub fn sending(keep_alive: bool, headers: &[Header], forwarded: bool) -> Sending {
    Sending {
        keep_alive,
        headers: headers.iter().map(|h| h.name().to_owned()).collect(),
        forwarded_https: forwarded,
    }
}

pub use crate::windows::redirects;

/// Redirects of each page of an outcome.
fn add(redirects: &mut Redirects, outcome: &Outcome) {
    for endpoint in &outcome.endpoints {
        let of_page = crate::windows::redirects(endpoint);
        redirects.add(&endpoint.name, endpoint.ok, &of_page);
    }
}

/// What to do about a redirect to https that no header prevented.
pub fn trouble(found: &Https, plan: &Plan) -> Option<String> {
    let Https::Asked { location } = found else {
        return None;
    };
    Some(match plan.target.is_local() {
        true if !plan.may_be_forwarded() => format!(
            "the server redirects to {location} in spite of the headers that were given: X-Forwarded-Proto: https is what a proxy \
             that terminates TLS sends"
        ),
        true => format!(
            "the server redirects to {location}, also where X-Forwarded-Proto: https is sent: ask for https:// URLs, name what \
             your proxy sends with --header \"NAME: VALUE\", or turn the redirect off (Rails: config.force_ssl)"
        ),
        false => format!(
            "the server redirects to {location}: ask for the https:// URL; or, where this is an application's server behind a \
             proxy that terminates TLS, add --header \"X-Forwarded-Proto: https\""
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::{Mode, Stop, Workload};
    use std::net::SocketAddr;

    #[test]
    fn a_page_that_redirects_is_named_once_while_the_run_goes_on() {
        let redirect = |answers| run::Redirect {
            status: 302,
            location: Some("/login".to_owned()),
            answers,
            expected: false,
        };
        let (mut redirects, named) = (Redirects::default(), OnceLock::new());
        redirects.add("GET /", 1000, &[redirect(1)]);
        assert!(once(&redirects, &named).is_empty());
        redirects.add("GET /account", 40, &[redirect(40)]);
        let said = once(&redirects, &named);
        assert!(
            said.len() == 1 && said[0].contains("GET /account"),
            "{said:?}"
        );
        assert!(once(&redirects, &named).is_empty());
    }

    #[test]
    fn what_to_do_about_a_redirect_to_https_depends_on_whose_server_it_is() {
        let said = |ip: [u8; 4], header: Option<&str>| {
            let at = SocketAddr::from((ip, 80));
            let workload = Workload::get("/").unwrap();
            let mut plan = Plan::new(at, workload, Mode::closed(1), Stop::requests(1));
            plan.headers
                .extend(header.map(|h| Header::parse(h).unwrap()));
            let location = "https://shop.test/".to_owned();
            assert_eq!(trouble(&Https::Forwarded, &plan), None);
            trouble(&Https::Asked { location }, &plan).unwrap()
        };
        for (said, parts) in [
            (
                said([192, 0, 2, 1], None),
                ["ask for the https:// URL", "add --header"],
            ),
            (
                said([127, 0, 0, 1], None),
                ["also where X-Forwarded-Proto", "config.force_ssl"],
            ),
            (
                said([127, 0, 0, 1], Some("X-Forwarded-Proto: http")),
                ["in spite of the headers", "X-Forwarded-Proto: https"],
            ),
        ] {
            assert!(said.contains("https://shop.test/"), "{said}");
            for part in parts {
                assert!(said.contains(part), "{part}: {said}");
            }
        }
    }
}
