//! An earlier reading, from saved counters, and its subtraction from a later one.

use crate::counters::restored;
use crate::instant::{printable, rfc3339};
use flight::{Header, Origin, ProcessId, Snapshot};
use run::counters::Document;
use run::inspect::{NotRead, ProcessState};
use small_sort::SmallSort;
use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::Path;

/// An earlier reading, whose counters are subtracted.
#[derive(Debug, Default)]
pub struct Baseline {
    pub(crate) read_at_ns: u64,
    earlier: HashMap<Key, Earlier>,
    /// Between the first document and the last.
    apart_ns: u64,
    /// Names of files that it could not read: most were being made.
    not_read: BTreeSet<OsString>,
    pub(crate) gone: u64,
}

/// A pid is reused, also in another container, and stays after a restart by `exec`.
pub(crate) type Key = (ProcessId, u64, Option<Origin>);

#[derive(Debug)]
struct Earlier {
    file: String,
    /// It may have served since.
    ran: bool,
    counters: Snapshot,
}

/// What became of a process since the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) started: bool,
}

pub(crate) fn key(header: &Header) -> Key {
    (header.process(), header.created_wall_ns, header.origin)
}

impl Baseline {
    /// The counters that documents hold: several where each is of another pod. The interval begins with the first.
    #[must_use]
    pub fn of(documents: &[Document]) -> Self {
        let mut documents: Vec<&Document> = documents.iter().collect();
        // A process that several have counts from the first on.
        documents.small_sort_by_key(|document| std::cmp::Reverse(document.read_at_ns));
        let newest = documents.first().map_or(0, |document| document.read_at_ns);
        let oldest = documents.last().map_or(0, |document| document.read_at_ns);
        let unread = documents.iter().flat_map(|document| &document.not_read);
        let unread = unread.filter(|file| !file.partly);
        let processes = documents.iter().flat_map(|document| &document.processes);
        let earlier = processes.map(|process| {
            let counters = restored(process);
            let earlier = Earlier {
                file: process.file.clone(),
                ran: matches!(process.state, ProcessState::Live | ProcessState::Unknown),
                counters,
            };
            (key(&earlier.counters.header), earlier)
        });
        Self {
            read_at_ns: oldest,
            apart_ns: newest - oldest,
            earlier: earlier.collect(),
            not_read: unread.filter_map(|file| name_of(&file.file)).collect(),
            gone: 0,
        }
    }

    /// Leaves in `snapshot` what was counted since; fails for a process that does not belong into the interval, with the
    /// reason where requests may be missing by it.
    pub(crate) fn subtract(
        &mut self,
        path: &Path,
        snapshot: &mut Snapshot,
    ) -> Result<Change, Option<NotRead>> {
        let made = snapshot.header.created_wall_ns;
        // Percentiles of an interval are those of its histograms: the ring may hold less or more than the interval.
        snapshot.records.clear();
        let Some(earlier) = self.earlier.remove(&key(&snapshot.header)) else {
            let unread = path.file_name().is_some_and(|n| self.not_read.contains(n));
            if made >= self.read_at_ns || unread {
                return Ok(Change { started: true });
            }
            return Err(Some(NotRead {
                file: printable(&path.display().to_string()),
                partly: false,
                reason: format!(
                    "its process began before {} and the saved counters do not have it, so that its share of the interval is not known",
                    rfc3339(self.read_at_ns)
                ),
            }));
        };
        snapshot.subtract(&earlier.counters);
        if !earlier.ran && snapshot.totals.requests == 0 {
            return Err(None);
        }
        Ok(Change { started: false })
    }

    /// The processes that ran at the baseline and of which nothing was read now, save those whose files are there and
    /// stand in `not_read` already.
    pub(crate) fn vanished(&mut self, not_read: &[NotRead]) -> Vec<NotRead> {
        let unread = not_read.iter().filter(|file| !file.partly);
        let unread: BTreeSet<OsString> = unread.filter_map(|file| name_of(&file.file)).collect();
        let mut gone: Vec<NotRead> = self
            .earlier
            .drain()
            .filter(|(_, earlier)| earlier.ran)
            .filter(|(_, earlier)| name_of(&earlier.file).is_none_or(|n| !unread.contains(&n)))
            .map(|(_, earlier)| NotRead {
                file: earlier.file,
                partly: false,
                reason: "it is in the saved counters and no longer there: what its process served since is not counted"
                    .to_owned(),
            })
            .collect();
        gone.small_sort_by(|a, b| a.file.cmp(&b.file));
        self.gone = gone.len() as u64;
        gone
    }
}

/// Of a longer part of the interval the processes of the last saved file are not counted, and rates are too low by it.
const SHARE_APART: f64 = 0.01;

/// Why the rates are too low, where they are by more than a per cent.
pub(crate) fn saved_apart(baseline: Option<&Baseline>, span_s: f64) -> Option<String> {
    let apart_s = baseline?.apart_ns as f64 / 1e9;
    (apart_s > SHARE_APART * span_s).then(|| {
        format!(
            "the files of --since were saved {apart_s:.0} s apart, and rates are over the {span_s:.0} s since the first: those of \
             processes saved later are up to {:.0} % too low",
            100.0 * (apart_s / span_s).min(1.0)
        )
    })
}

/// Of its path, which differs where a folder is read from elsewhere.
fn name_of(path: &str) -> Option<OsString> {
    Path::new(path).file_name().map(OsString::from)
}
