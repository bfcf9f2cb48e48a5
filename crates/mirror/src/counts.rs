//! What the mirror counts: every request ends in exactly one place, so that
//! `received = answered + failed + aborted` and, for each shadow,
//! `sampled = answered + failed by cause + dropped by cause + under way`.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError};

use capture::{Drop, Failure};
use serde::Serialize;

use crate::cause::{Cause, Causes, Effect};
use crate::count::Count;
use crate::http1::Tolerated;
use crate::latency::{Latency, LatencySnapshot};

/// Of the client's half.
#[derive(Debug, Default)]
pub struct ClientCounts {
    /// Connections accepted.
    pub connections: Count,
    /// Connections open now: a gauge.
    pub open: Count,
    /// Of these, the ones without a request: a gauge.
    pub idle: Count,
    /// Connections that may be open at once: a gauge.
    pub most: Count,
    /// Connections that were closed while idle, to make room for others.
    pub idle_closed: Count,
    /// Times that all connections were taken and none was idle, so that a further client had to wait.
    pub waited: Count,
    /// Well-formed requests whose head has been read.
    pub received: Count,
    /// Requests whose answer by the primary went to the client whole.
    pub answered: Count,
    /// What became of the other ones, of heads that were refused, and of attempts that were made again.
    pub causes: Causes,
    /// Requests that passed only because strictness is not enforced, by [`Tolerated`], in the order of [`Tolerated::ALL`]; one
    /// may have several causes.
    pub tolerated: [Count; Tolerated::ALL.len()],
    /// Connections that became tunnels (websockets); their requests are counted as answered.
    pub upgraded: Count,
}

/// Of the primaries' answers.
#[derive(Debug, Default)]
pub struct PrimaryCounts {
    /// Final answers by the class of their status, in the order of [`STATUSES`].
    statuses: [Count; STATUSES.len()],
    /// From the request's last byte to the final answer's first byte.
    pub(crate) first_byte: Latency,
    /// From the request's last byte to the answer's last byte.
    pub(crate) whole: Latency,
}

/// Classes of statuses: by the first digit from 1 to 5, and the rest.
pub const STATUSES: [&str; 6] = ["1xx", "2xx", "3xx", "4xx", "5xx", "other"];

impl PrimaryCounts {
    /// One more final answer.
    pub(crate) fn answer(&self, status: u16) {
        let class = usize::from(status / 100).wrapping_sub(1);
        self.statuses[class.min(STATUSES.len() - 1)].add(1);
    }
}

/// Of one shadow.
#[derive(Debug, Default)]
pub struct ShadowCounts {
    /// Requests that the sample and the filter let pass, amplified copies counted; those that never became whole,
    /// because the client left first, are not.
    pub sampled: Count,
    /// Whole answers.
    pub answered: Count,
    /// By [`Failure`], in the order of [`Failure::ALL`].
    pub failed: [Count; Failure::ALL.len()],
    /// By [`Drop`], in the order of [`Drop::ALL`].
    pub dropped: [Count; Drop::ALL.len()],
    /// Waiting or under way: a gauge.
    pub pending: Count,
}

impl ShadowCounts {
    /// One more of a cause.
    pub fn fail(&self, failure: Failure) {
        self.failed[failure as usize].add(1);
    }

    /// So many more that were sampled and dropped at once.
    pub fn drop_sampled(&self, drop: Drop, n: u64) {
        self.sampled.add(n);
        self.drop(drop, n);
    }

    /// So many more of a cause.
    pub fn drop(&self, drop: Drop, n: u64) {
        self.dropped[drop as usize].add(n);
    }
}

/// Of a whole mirror, for as long as it lives; a reload keeps the counts of shadows that keep their names.
#[derive(Debug, Default)]
pub struct Counts {
    /// The client's half.
    pub client: ClientCounts,
    /// The primaries' answers.
    pub primary: PrimaryCounts,
    /// By name, in the order of the settings.
    pub shadows: std::sync::RwLock<Vec<(String, Arc<ShadowCounts>)>>,
    /// Bytes held for shadows now: a gauge.
    pub held_bytes: Count,
    /// Connections to shadows that may be open, those of shadows that are ending after a reload included: a gauge.
    pub shadow_connections: Count,
}

/// The counts at one moment, for status pages and logs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// As in [`ClientCounts`].
    pub connections: u64,
    /// Open now.
    pub open: u64,
    /// As in [`ClientCounts`].
    pub idle: u64,
    /// As in [`ClientCounts`].
    pub most: u64,
    /// As in [`ClientCounts`].
    pub idle_closed: u64,
    /// As in [`ClientCounts`].
    pub waited: u64,
    /// As in [`ClientCounts`].
    pub received: u64,
    /// As in [`ClientCounts`].
    pub answered: u64,
    /// Requests that the primary failed: no connection, cut off, malformed, too late.
    pub failed: u64,
    /// Requests whose client left before the answer was whole, sent a malformed body, did nothing for too long while it
    /// was its turn, or was cut at the end of a drain.
    pub aborted: u64,
    /// Heads that were refused (400, 408, 431, 501, 505), and errors before a head. They are no requests, and reach no
    /// server.
    pub refused: u64,
    /// By [`Cause`], those that happened.
    pub causes: BTreeMap<&'static str, u64>,
    /// By cause, those that happened.
    pub tolerated: BTreeMap<&'static str, u64>,
    /// As in [`ClientCounts`].
    pub upgraded: u64,
    /// The primaries' answers.
    pub primary: PrimarySnapshot,
    /// Bytes held for shadows now.
    pub held_bytes: u64,
    /// In the order of the settings.
    pub shadows: Vec<ShadowSnapshot>,
}

/// The primaries' answers at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PrimarySnapshot {
    /// Final answers by the class of their status, those that happened.
    pub statuses: BTreeMap<&'static str, u64>,
    /// As in [`PrimaryCounts`].
    pub first_byte: LatencySnapshot,
    /// As in [`PrimaryCounts`].
    pub whole: LatencySnapshot,
}

/// One shadow's counts at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShadowSnapshot {
    /// The shadow's name.
    pub name: String,
    /// As in [`ShadowCounts`].
    pub sampled: u64,
    /// As in [`ShadowCounts`].
    pub answered: u64,
    /// By cause, those that happened.
    pub failed: BTreeMap<&'static str, u64>,
    /// By cause, those that happened.
    pub dropped: BTreeMap<&'static str, u64>,
    /// Waiting or under way now.
    pub pending: u64,
}

impl Counts {
    /// Of the shadow of this name: those that it has had so far, or new ones.
    #[must_use]
    pub fn of_shadow(&self, name: &str) -> Arc<ShadowCounts> {
        let mut shadows = self.shadows.write().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, counts)) = shadows.iter().find(|(known, _)| known == name) {
            return counts.clone();
        }
        let counts = Arc::new(ShadowCounts::default());
        shadows.push((name.to_owned(), counts.clone()));
        counts
    }

    /// As they stand.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        let client = &self.client;
        let shadows = self.shadows.read().unwrap_or_else(PoisonError::into_inner);
        Snapshot {
            connections: client.connections.get(),
            open: client.open.get(),
            idle: client.idle.get(),
            most: client.most.get(),
            idle_closed: client.idle_closed.get(),
            waited: client.waited.get(),
            received: client.received.get(),
            answered: client.answered.get(),
            failed: client.causes.total(Effect::Failed),
            aborted: client.causes.total(Effect::Aborted),
            refused: client.causes.total(Effect::Refused),
            causes: happened(Cause::ALL.map(|cause| (cause.word(), client.causes.of(cause)))),
            tolerated: by_cause(Tolerated::ALL.map(Tolerated::word), &client.tolerated),
            upgraded: client.upgraded.get(),
            primary: self.primary.snapshot(),
            held_bytes: self.held_bytes.get(),
            shadows: shadows
                .iter()
                .map(|(name, counts)| of_shadow(name, counts))
                .collect(),
        }
    }
}

impl PrimaryCounts {
    fn snapshot(&self) -> PrimarySnapshot {
        let classes = STATUSES
            .into_iter()
            .zip(self.statuses.iter().map(Count::get));
        PrimarySnapshot {
            statuses: happened(classes),
            first_byte: self.first_byte.snapshot(),
            whole: self.whole.snapshot(),
        }
    }
}

/// Those that happened.
fn happened(counts: impl IntoIterator<Item = (&'static str, u64)>) -> BTreeMap<&'static str, u64> {
    counts.into_iter().filter(|(_, count)| *count > 0).collect()
}

fn by_cause<const N: usize>(
    words: [&'static str; N],
    counts: &[Count; N],
) -> BTreeMap<&'static str, u64> {
    happened(words.into_iter().zip(counts.iter().map(Count::get)))
}

fn of_shadow(name: &str, counts: &ShadowCounts) -> ShadowSnapshot {
    ShadowSnapshot {
        name: name.to_owned(),
        sampled: counts.sampled.get(),
        answered: counts.answered.get(),
        failed: by_cause(Failure::ALL.map(Failure::word), &counts.failed),
        dropped: by_cause(Drop::ALL.map(Drop::word), &counts.dropped),
        pending: counts.pending.get(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_counted_by_class() {
        let counts = PrimaryCounts::default();
        for status in [0, 99, 101, 200, 204, 302, 404, 500, 599, 600, u16::MAX] {
            counts.answer(status);
        }
        let found = counts.snapshot().statuses;
        let expected = [1, 2, 1, 1, 2, 4];
        assert_eq!(found, STATUSES.into_iter().zip(expected).collect());
    }

    #[test]
    fn causes_stand_at_their_places() {
        for (index, failure) in Failure::ALL.into_iter().enumerate() {
            assert_eq!(failure as usize, index);
        }
        for (index, cause) in Tolerated::ALL.into_iter().enumerate() {
            assert_eq!(cause as usize, index);
        }
        for (index, drop) in Drop::ALL.into_iter().enumerate() {
            assert_eq!(drop as usize, index);
        }
    }
}
