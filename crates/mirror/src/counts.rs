//! What the mirror counts: every request ends in exactly one place, so that
//! `received = answered + failed + aborted` and, for each shadow,
//! `sampled = answered + failed by cause + dropped by cause + under way`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use capture::{Drop, Failure};
use serde::Serialize;

/// One counter, which only grows; or one gauge.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// One more.
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Ordering::Relaxed);
    }

    /// Of a gauge: so many less.
    pub fn take(&self, n: u64) {
        self.0.fetch_sub(n, Ordering::Relaxed);
    }

    /// Of a gauge: so many more, unless it would then stand above `most`.
    #[must_use]
    pub fn try_add(&self, n: u64, most: u64) -> bool {
        let more = |now: u64| now.checked_add(n).filter(|then| *then <= most);
        self.0
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .is_ok()
    }

    /// As it stands.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Of the client's half.
#[derive(Debug, Default)]
pub struct ClientCounts {
    /// Connections accepted.
    pub connections: Count,
    /// Connections open now: a gauge.
    pub open: Count,
    /// Well-formed requests whose head has been read.
    pub received: Count,
    /// Requests whose answer by the primary went to the client whole.
    pub answered: Count,
    /// Requests that the primary failed: no connection, cut off, malformed, too late.
    pub failed: Count,
    /// Requests whose client left before the answer was whole, sent a malformed body, did nothing for too long while it
    /// was its turn, or was cut at the end of a drain.
    pub aborted: Count,
    /// Heads that were refused: 400, 408, 431, 501, 505. They are no requests, and reach nobody.
    pub refused: Count,
    /// Connections that became tunnels (websockets); their requests are counted as answered.
    pub upgraded: Count,
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
    /// By name, in the order of the settings.
    pub shadows: std::sync::RwLock<Vec<(String, Arc<ShadowCounts>)>>,
    /// Bytes held for shadows now: a gauge.
    pub held_bytes: Count,
}

/// The counts at one moment, for whoever shows them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Snapshot {
    /// As in [`ClientCounts`].
    pub connections: u64,
    /// Open now.
    pub open: u64,
    /// As in [`ClientCounts`].
    pub received: u64,
    /// As in [`ClientCounts`].
    pub answered: u64,
    /// As in [`ClientCounts`].
    pub failed: u64,
    /// As in [`ClientCounts`].
    pub aborted: u64,
    /// As in [`ClientCounts`].
    pub refused: u64,
    /// As in [`ClientCounts`].
    pub upgraded: u64,
    /// Bytes held for shadows now.
    pub held_bytes: u64,
    /// In the order of the settings.
    pub shadows: Vec<ShadowSnapshot>,
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
    pub failed: std::collections::BTreeMap<&'static str, u64>,
    /// By cause, those that happened.
    pub dropped: std::collections::BTreeMap<&'static str, u64>,
    /// Waiting or under way now.
    pub pending: u64,
}

impl Counts {
    /// Of the shadow of this name: those that it has had so far, or new ones.
    #[must_use]
    pub fn of_shadow(&self, name: &str) -> Arc<ShadowCounts> {
        let mut shadows = self
            .shadows
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
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
        let shadows = self
            .shadows
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        Snapshot {
            connections: client.connections.get(),
            open: client.open.get(),
            received: client.received.get(),
            answered: client.answered.get(),
            failed: client.failed.get(),
            aborted: client.aborted.get(),
            refused: client.refused.get(),
            upgraded: client.upgraded.get(),
            held_bytes: self.held_bytes.get(),
            shadows: shadows
                .iter()
                .map(|(name, counts)| of_shadow(name, counts))
                .collect(),
        }
    }
}

fn of_shadow(name: &str, counts: &ShadowCounts) -> ShadowSnapshot {
    fn by_cause<const N: usize>(
        words: [&'static str; N],
        counts: &[Count; N],
    ) -> std::collections::BTreeMap<&'static str, u64> {
        let named = words.into_iter().zip(counts.iter().map(Count::get));
        named.filter(|(_, count)| *count > 0).collect()
    }
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
    fn causes_stand_at_their_places() {
        for (index, failure) in Failure::ALL.into_iter().enumerate() {
            assert_eq!(failure as usize, index);
        }
        for (index, drop) in Drop::ALL.into_iter().enumerate() {
            assert_eq!(drop as usize, index);
        }
    }
}
