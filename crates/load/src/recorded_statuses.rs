//! Whether the answers to a recording have the statuses that were recorded. A page that redirects to the login, where the
//! recorded user saw it, is other work, and fast.

use std::fmt::Write;

use crate::workload::{Request, Workload};

/// Share of answers of another status beyond which figures are of other work than was recorded.
const MOST_OTHER: f64 = 0.01;
/// So many of them at least: one in fifty answers is no rule.
const LEAST_OTHER: u64 = 3;
/// Changes that a message names.
const MOST_NAMED: usize = 5;
const OK: u16 = 200;
const NOT_MODIFIED: u16 = 304;
const TOO_MANY_REQUESTS: u16 = 429;
/// Rejections that are no page's own: a session or credentials are missing, or the server is asked for too much.
const NO_PAGE: [u16; 5] = [401, 403, 407, 408, TOO_MANY_REQUESTS];
/// With these a server may answer 304 in place of 200.
const CONDITIONAL: [&str; 2] = ["if-none-match", "if-modified-since"];

/// What was recorded of a request's answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recorded {
    status: u16,
    conditional: bool,
}

impl Recorded {
    /// `None` where the recording does not say.
    pub(crate) fn of(request: &Request) -> Option<Self> {
        let mut names = request.headers.iter().map(|(name, _)| name);
        Some(Self {
            status: request.recorded_status?,
            conditional: names.any(|name| CONDITIONAL.iter().any(|c| name.eq_ignore_ascii_case(c))),
        })
    }

    pub(crate) fn is(self, status: u16) -> bool {
        self.status == status
    }

    /// The application rejected the recorded request in the same way, such as one for a page that does not exist: its work, and no
    /// failure. Without a session every page is rejected quickly, and a server that fails or is asked for too much does so when
    /// recorded, too: these stay errors.
    pub(crate) fn was_rejected(self, status: u16) -> bool {
        self.is(status) && (400..500).contains(&status) && !NO_PAGE.contains(&status)
    }
}

/// Answers with another status than was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusChange {
    /// Name of the requests in the workload.
    pub page: String,
    /// Status of the recorded answer.
    pub recorded: u16,
    /// Status of the answer now.
    pub replayed: u16,
    /// How many.
    pub answers: u64,
}

impl StatusChange {
    /// The server fails, or is asked for too much: an error, which is counted as one, and no page in place of another.
    fn is_failure(&self) -> bool {
        self.replayed >= 500 || self.replayed == TOO_MANY_REQUESTS
    }
}

/// The comparison of the answers with the recorded ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordedStatuses {
    /// Whole answers to requests of which a status was recorded.
    pub compared: u64,
    /// Of these, 200 in place of 304 or 304 in place of 200, to conditional requests. The validators that they carry are
    /// of the recorded server, so that this is no change.
    pub revalidated: u64,
    /// Of these, other statuses than recorded; the most frequent first.
    pub changes: Vec<StatusChange>,
}

impl RecordedStatuses {
    pub(crate) fn see(&mut self, page: &str, recorded: Recorded, replayed: u16) {
        self.compared += 1;
        if recorded.is(replayed) {
            return;
        }
        let of_validator = [(OK, NOT_MODIFIED), (NOT_MODIFIED, OK)];
        if recorded.conditional && of_validator.contains(&(recorded.status, replayed)) {
            self.revalidated += 1;
            return;
        }
        let same = |c: &&mut StatusChange| (c.recorded, c.replayed) == (recorded.status, replayed);
        match self.changes.iter_mut().find(same) {
            Some(change) => change.answers += 1,
            None => self.changes.push(StatusChange {
                page: page.to_owned(),
                recorded: recorded.status,
                replayed,
                answers: 1,
            }),
        }
    }

    /// Answers with another status than was recorded.
    #[must_use]
    pub fn changed(&self) -> u64 {
        self.changes.iter().map(|change| change.answers).sum()
    }

    /// Is so large a share of the answers of another status, failures of the server left out, that the figures are of
    /// other work than was recorded?
    #[must_use]
    pub fn is_other_work(&self) -> bool {
        let changes = self.changes.iter().filter(|change| !change.is_failure());
        let other: u64 = changes.map(|change| change.answers).sum();
        other >= LEAST_OTHER && other as f64 > MOST_OTHER * self.compared as f64
    }

    /// `33.3 % of the answers (30 of 90) have another status than was recorded: …`; `None` where none has.
    #[must_use]
    pub fn sentence(&self) -> Option<String> {
        let changed = self.changed();
        if changed == 0 {
            return None;
        }
        let mut said = format!(
            "{:.1} % of the answers ({changed} of {}) have another status than was recorded: ",
            changed as f64 / self.compared as f64 * 100.0,
            self.compared
        );
        for (index, change) in self.changes.iter().take(MOST_NAMED).enumerate() {
            let separator = if index == 0 { "" } else { ", " };
            let StatusChange {
                page,
                recorded,
                replayed,
                answers,
            } = change;
            let _ = write!(
                said,
                "{separator}{page} {recorded} -> {replayed} ({answers})"
            );
        }
        let more = self.changes.len().saturating_sub(MOST_NAMED);
        if more > 0 {
            let _ = write!(said, ", and {more} more");
        }
        Some(said)
    }

    /// How to get the recorded answers, judged by the most frequent change that is no failure.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        let first = self.changes.iter().find(|change| !change.is_failure());
        match first.map(|change| change.replayed) {
            Some(403) => REMEDY_OF_403,
            _ => REMEDY,
        }
    }
}

const REMEDY: &str = "the replay is not logged in, or its data are others: record with `powerband mirror --record FILE --keep \
                      Cookie` against a private staging, load a workload file with a session that logs in, or send what the \
                      pages need with --header \"NAME: VALUE\"";
const REMEDY_OF_403: &str = "where the application permits only its own hosts (Rails: config.hosts), send the recorded Host \
                             (--replay-host); else the replay is not logged in: record with `powerband mirror --record FILE \
                             --keep Cookie` against a private staging, or send what the pages need with --header \"NAME: VALUE\"";

impl Workload {
    /// Is it a recording that holds no status? What it is answered now cannot be compared then.
    #[must_use]
    pub fn lacks_statuses(&self) -> bool {
        self.order().is_some() && self.requests().iter().all(|r| r.recorded_status.is_none())
    }
}

/// What is said of a recording that holds no status.
pub const NO_STATUSES: &str = "the recording holds no status of an answer, so whether the answers are those that were recorded \
                               is not known: look at their statuses";

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(pairs: &[(u16, u16, u64)], conditional: bool) -> RecordedStatuses {
        let mut statuses = RecordedStatuses::default();
        for (status, replayed, answers) in pairs {
            let recorded = Recorded {
                status: *status,
                conditional,
            };
            for _ in 0..*answers {
                statuses.see("GET /", recorded, *replayed);
            }
        }
        statuses
    }

    #[test]
    fn other_work_begins_beyond_one_per_cent_and_three_answers() {
        assert!(!seen(&[(200, 200, 297), (200, 302, 3)], false).is_other_work());
        assert!(seen(&[(200, 200, 296), (200, 302, 3)], false).is_other_work());
        assert!(!seen(&[(200, 200, 10), (200, 302, 2)], false).is_other_work());
        assert!(seen(&[(404, 404, 97), (404, 200, 3)], false).is_other_work());
    }

    #[test]
    fn failures_of_the_server_are_changes_and_no_other_work() {
        let failing = seen(&[(200, 200, 50), (200, 503, 40), (200, 429, 10)], false);
        assert!(!failing.is_other_work());
        assert_eq!(
            failing.sentence().unwrap(),
            "50.0 % of the answers (50 of 100) have another status than was recorded: GET / 200 -> 503 (40), GET / 200 -> 429 (10)"
        );
    }

    #[test]
    fn not_modified_is_the_page_only_where_the_request_asked_for_it() {
        let pairs = [(304, 200, 50), (200, 304, 50)];
        let conditional = seen(&pairs, true);
        assert_eq!((conditional.revalidated, conditional.changed()), (100, 0));
        assert_eq!(conditional.sentence(), None);
        let plain = seen(&pairs, false);
        assert_eq!((plain.revalidated, plain.changed()), (0, 100));
        assert!(plain.is_other_work());
        assert_eq!(seen(&[(304, 302, 5)], true).changed(), 5);
    }

    #[test]
    fn the_most_frequent_changes_are_named() {
        let pairs: Vec<(u16, u16, u64)> = (0..7).map(|n| (200, 400 + n, 1)).collect();
        let said = seen(&pairs, false).sentence().unwrap();
        assert!(said.contains("200 -> 404 (1), and 2 more"), "{said}");
    }

    #[test]
    fn a_refused_host_has_a_remedy_of_its_own() {
        assert!(
            seen(&[(200, 403, 5)], false)
                .remedy()
                .contains("--replay-host")
        );
        assert!(
            seen(&[(200, 302, 5)], false)
                .remedy()
                .contains("--keep Cookie")
        );
    }
}
