//! Which page made a server stop answering. A page that never answers holds its thread, and once it holds all threads, requests
//! to every page time out. A server takes requests about in the order in which they were sent, so requests sent before the last
//! answered one were in service, and so was the next one; later requests only waited in the queue.

use small_sort::SmallSort;
use std::fmt::{self, Display, Formatter};

use crate::endpoint::EndpointOutcome;
use crate::errors::Errors;
use crate::plan::Mode;

/// Unanswered requests that are remembered; the first ones decide.
const MOST_KEPT: usize = 4_096;
/// Requests sent that close together may be served in another order.
const TOGETHER_NS: u64 = 10_000_000;
/// Open loop: requests without an answer after the last answered one from which on the server counts as stopped.
const LEAST_QUEUED: usize = 3;
/// Open loop: answers before the stop that must have been fast. Where they were slow, the queue had outgrown the timeout.
const LAST_ANSWERS: usize = 5;

/// The page that a server was serving when it stopped answering.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HangingPage {
    /// As the workload calls it.
    pub name: String,
    /// Method and path of its first request without an answer, such as `GET /report`.
    pub request: String,
    /// Of its requests those that were sent before the answers stopped and never answered.
    pub hanging: u64,
    /// Of its requests those that were answered.
    pub answered: u64,
    /// Requests without an answer that were sent later, to any page.
    pub queued: u64,
}

impl Display for HangingPage {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.request)?;
        let path = self.request.split(' ').next_back();
        if self.name != self.request && path != Some(&self.name) {
            write!(f, " ({})", self.name)?;
        }
        let requests = counted(self.hanging);
        write!(f, " does not answer: {requests} to it hung when the server")?;
        write!(f, " stopped answering, and ")?;
        match self.answered {
            0 => write!(f, "it was never answered")?,
            answered => write!(f, "{} to it had been answered", counted(answered))?,
        }
        if self.queued > 0 {
            let behind = counted(self.queued);
            write!(f, "; {behind} sent later timed out in the queue behind")?;
        }
        Ok(())
    }
}

fn counted(requests: u64) -> String {
    match requests {
        1 => "1 request".to_owned(),
        requests => format!("{requests} requests"),
    }
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    at_ns: u64,
    endpoint: usize,
}

/// When requests without an answer were sent, and when the answered ones were.
#[derive(Debug)]
pub(crate) struct Unanswered {
    requests: Vec<Sent>,
    last_answered_sent_ns: u64,
    last_answer_ns: u64,
    /// From sending to the whole answer, of the last answers in any order; zero before there are as many.
    last_took_ns: [u64; LAST_ANSWERS],
    timeout_ns: u64,
    /// Connections of a closed loop.
    connections: Option<usize>,
}

impl Unanswered {
    pub(crate) fn new(mode: &Mode, timeout_ns: u64) -> Self {
        Self {
            requests: Vec::new(),
            last_answered_sent_ns: 0,
            last_answer_ns: 0,
            last_took_ns: [0; LAST_ANSWERS],
            timeout_ns,
            connections: match mode {
                Mode::Closed { connections, .. } => Some(*connections),
                Mode::Open { .. } => None,
            },
        }
    }

    pub(crate) fn answered(&mut self, sent_ns: u64, done_ns: u64) {
        self.last_answered_sent_ns = self.last_answered_sent_ns.max(sent_ns);
        self.last_answer_ns = self.last_answer_ns.max(done_ns);
        self.last_took_ns.rotate_left(1);
        self.last_took_ns[LAST_ANSWERS - 1] = done_ns.saturating_sub(sent_ns);
    }

    /// Its time ran out after it was sent.
    pub(crate) fn add(&mut self, endpoint: usize, sent_ns: u64) {
        if self.requests.len() < MOST_KEPT {
            let at_ns = sent_ns;
            self.requests.push(Sent { at_ns, endpoint });
        }
    }

    /// Whether the run ended with a server that answered nothing any more.
    fn stopped(&self) -> bool {
        let count = |is: &dyn Fn(&Sent) -> bool| self.requests.iter().filter(|r| is(r)).count();
        match self.connections {
            Some(connections) => {
                let under_way =
                    |r: &Sent| r.at_ns.saturating_add(self.timeout_ns) > self.last_answer_ns;
                connections > 0 && count(&under_way) >= connections
            }
            None => {
                let fast = |took_ns: &u64| *took_ns < self.timeout_ns / 2;
                self.last_took_ns.iter().all(fast)
                    && count(&|r| r.at_ns > self.last_answered_sent_ns) >= LEAST_QUEUED
            }
        }
    }

    /// The page that hangs, where the server stopped answering.
    pub(crate) fn page(mut self, endpoints: &[EndpointOutcome]) -> Option<HangingPage> {
        if !self.stopped() {
            return None;
        }
        self.requests.small_sort_by_key(|request| request.at_ns);
        let last = self.last_answered_sent_ns;
        let next = self.requests.iter().find(|r| r.at_ns > last);
        let until = next.map_or(last, |r| r.at_ns.saturating_add(TOGETHER_NS));
        let in_service = self.requests.partition_point(|r| r.at_ns <= until);
        let (in_service, queued) = self.requests.split_at(in_service);
        let hanging = |endpoint| in_service.iter().filter(|r| r.endpoint == endpoint).count();
        let share = |endpoint: usize| {
            let hanging = hanging(endpoint) as f64;
            hanging / (hanging + answered(&endpoints[endpoint]) as f64)
        };
        // Of equal shares the one that was sent first.
        let mut suspects = in_service.iter().map(|request| request.endpoint);
        let first = suspects.next()?;
        let endpoint = suspects.fold(first, |most, other| {
            if share(other) > share(most) {
                other
            } else {
                most
            }
        });
        let page = &endpoints[endpoint];
        let hanging = hanging(endpoint);
        Some(HangingPage {
            name: page.name.clone(),
            request: page.first_failure.as_ref()?.request.clone(),
            hanging: hanging as u64,
            answered: answered(page),
            queued: (queued.len() + in_service.len() - hanging) as u64,
        })
    }
}

/// Whole answers, whatever their status.
fn answered(page: &EndpointOutcome) -> u64 {
    let failed = |errors: &Errors| errors.total() - errors.unanswered();
    page.ok + failed(&page.errors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::failure::FirstFailure;

    const SECOND: u64 = 1_000_000_000;

    fn page(name: &str, ok: u64) -> EndpointOutcome {
        let mut page = EndpointOutcome::new(name);
        page.ok = ok;
        page.first_failure = Some(FirstFailure {
            request: name.to_owned(),
            what: crate::TIMED_OUT.to_owned(),
        });
        page
    }

    /// Of requests sent at these instants (in seconds) to these pages, none was answered; the last answered one was sent at 3 s.
    fn found(mode: &Mode, unanswered: &[(f64, usize)], ok: [u64; 2]) -> Option<HangingPage> {
        let mut sent = Unanswered::new(mode, 10 * SECOND);
        sent.answered(3 * SECOND, 3 * SECOND + 5_000_000);
        for (at_s, endpoint) in unanswered {
            sent.add(*endpoint, (at_s * SECOND as f64) as u64);
        }
        sent.page(&[page("GET /", ok[0]), page("GET /report", ok[1])])
    }

    #[test]
    fn the_page_that_was_in_service_is_named_and_not_those_in_the_queue() {
        // Two threads hang, one before the last answer; then everything times out, above all the usual page.
        let queued = (0..40).map(|n| (3.5 + f64::from(n), 0));
        let mut unanswered: Vec<(f64, usize)> = queued.collect();
        unanswered.extend([(2.0, 1), (3.1, 1)]);
        let found = found(&Mode::closed(4), &unanswered, [300, 0]).unwrap();
        assert_eq!(
            found.to_string(),
            "GET /report does not answer: 2 requests to it hung when the server stopped answering, and it was never answered; \
             40 requests sent later timed out in the queue behind"
        );
    }

    #[test]
    fn a_page_that_hangs_now_and_then_is_distinguished_from_one_that_was_sent_at_the_same_time() {
        let unanswered = [(3.1, 0), (3.101, 1), (3.2, 0), (3.3, 0)];
        let found = found(&Mode::closed(4), &unanswered, [300, 5]).unwrap();
        assert_eq!(
            (found.name.as_str(), found.hanging, found.queued),
            ("GET /report", 1, 3)
        );
        assert!(
            found.to_string().contains("5 requests to it had been"),
            "{found}"
        );
    }

    #[test]
    fn a_server_that_goes_on_answering_has_no_hanging_page() {
        // Connections that time out one at a time, the last ones long before the end.
        let early = Mode::closed(2);
        let mut sent = Unanswered::new(&early, SECOND);
        sent.add(1, SECOND);
        sent.add(1, 2 * SECOND);
        sent.answered(60 * SECOND, 61 * SECOND);
        assert_eq!(sent.page(&[page("GET /", 9), page("GET /slow", 0)]), None);
        // One of four connections.
        assert_eq!(found(&Mode::closed(4), &[(3.1, 1)], [300, 0]), None);
        // An open loop without three requests after the last answered one.
        let open = Mode::Open {
            arrivals: crate::Arrivals::poisson(1.0, 1),
            max_connections: 4,
        };
        assert_eq!(
            found(&open, &[(2.0, 1), (2.1, 1), (3.1, 0)], [300, 0]),
            None
        );
        let stopped = [(2.0, 1), (3.1, 1), (3.2, 0), (3.3, 0)];
        assert_eq!(
            found(&open, &stopped, [300, 0]).unwrap().name,
            "GET /report"
        );
    }

    #[test]
    fn an_overloaded_server_in_an_open_loop_has_no_hanging_page() {
        let open = Mode::Open {
            arrivals: crate::Arrivals::poisson(2.0, 1),
            max_connections: 1_000,
        };
        // First come, first served: a request every 500 ms, each served for `service_ms`, 10 s of patience.
        let served = |service_ms: u64| {
            let timeout_ns = 10 * SECOND;
            let mut sent = Unanswered::new(&open, timeout_ns);
            let mut free_ns = 0;
            for at_ns in (0..80).map(|n| n * SECOND / 2) {
                free_ns = at_ns.max(free_ns) + service_ms * 1_000_000;
                if free_ns - at_ns < timeout_ns {
                    sent.answered(at_ns, free_ns);
                } else {
                    sent.add(0, at_ns);
                }
            }
            sent
        };
        let pages = [page("GET /", 40), page("GET /report", 0)];
        assert_eq!(served(1_000).page(&pages), None);
        let mut stopped = served(100);
        stopped.add(1, 41 * SECOND);
        stopped.add(0, 42 * SECOND);
        stopped.add(0, 43 * SECOND);
        assert_eq!(stopped.page(&pages).unwrap().name, "GET /report");
    }

    #[test]
    fn of_a_server_that_never_answered_the_first_request_is_named() {
        let mut sent = Unanswered::new(&Mode::closed(1), SECOND);
        sent.add(1, SECOND);
        sent.add(0, 2 * SECOND);
        let found = sent.page(&[page("GET /", 0), page("GET /report", 0)]);
        assert_eq!(found.unwrap().name, "GET /report");
    }
}
