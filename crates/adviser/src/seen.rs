//! What the agent recorded, as the checks need it.

use flight::{Cause, Collection, CollectionKind, Heap, MajorBy, Server};
use knobs::{Value, Version};
use run::inspect::Stopped;
use std::collections::BTreeMap;

/// Fewer collections of a kind say little about their causes.
pub(crate) const LEAST: usize = 10;
/// A cause that takes less of the time, and of whose kind fewer of the slowest requests waited, is nothing to win.
const LEAST_SHARE_OF_TIME: f64 = 0.005;
const LEAST_SHARE_OF_SLOWEST: f64 = 0.05;

/// One process.
#[derive(Debug, Clone)]
pub struct Process {
    pub pid: u32,
    /// Oldest first.
    pub collections: Vec<Collection>,
    /// The log reaches back to the first collection of the file.
    pub is_whole: bool,
    pub heap: Option<Heap>,
    /// Since its file was made.
    pub requests: u64,
}

/// All processes of one server.
#[derive(Debug, Clone)]
pub struct Seen {
    pub ruby: Option<Version>,
    pub server: Server,
    pub allocator: String,
    pub processes: Vec<Process>,
    /// All processes added up.
    pub watched_s: f64,
    /// What collections did to the requests on record; `None` with too few.
    pub stopped: Option<Stopped>,
    /// The environment that a process of it was started with; `None` where that is not known.
    pub environment: Option<BTreeMap<String, String>>,
    /// A process reports `Process.warmup` or `GC.compact`; `None` where no process reports anything.
    pub warmed_up: Option<bool>,
}

impl Seen {
    /// Of all processes.
    pub fn collections(&self) -> impl Iterator<Item = &Collection> {
        self.processes.iter().flat_map(|one| &one.collections)
    }

    /// Major collections that Ruby began by itself.
    pub(crate) fn majors(&self) -> Vec<&Collection> {
        let all = self.collections();
        all.filter(|c| c.kind == Some(CollectionKind::Major) && c.major_by != Some(MajorBy::Force))
            .collect()
    }

    pub(crate) fn minors(&self) -> Vec<&Collection> {
        let all = self.collections();
        all.filter(|c| c.kind == Some(CollectionKind::Minor))
            .collect()
    }

    /// Share of the watched time that their pauses took.
    pub fn share_of_time<'c>(&self, these: impl Iterator<Item = &'c Collection>) -> Option<f64> {
        let pause_s = these.map(|c| c.pause_ns as f64 / 1e9).sum::<f64>();
        (self.watched_s > 0.0).then(|| pause_s / self.watched_s)
    }

    /// Of the slowest 1 % of the requests: the share that collections of this kind stopped.
    pub(crate) fn slowest(&self, kind: CollectionKind) -> Option<f64> {
        let stopped = self.stopped.as_ref()?;
        Some(match kind {
            CollectionKind::Major => stopped.by_major.share,
            CollectionKind::Minor => stopped.by_minor.share,
        })
    }

    /// Why fewer of these collections would win nothing; `None` where they would.
    pub(crate) fn nothing_to_win(
        &self,
        these: &[&Collection],
        kind: CollectionKind,
    ) -> Option<String> {
        let share = self.share_of_time(these.iter().copied())?;
        let slowest = self.slowest(kind);
        let is_little =
            share < LEAST_SHARE_OF_TIME && slowest.is_none_or(|s| s < LEAST_SHARE_OF_SLOWEST);
        is_little.then(|| {
            let of_slowest = slowest.map_or(String::new(), |slowest| {
                format!(
                    ", and {} of the slowest 1 % of the requests waited for a {}",
                    percent(slowest),
                    word(kind)
                )
            });
            format!(
                "they stop a process for {} of the time{of_slowest}",
                percent(share)
            )
        })
    }

    /// How much these collections cost, for the evidence.
    pub(crate) fn cost(&self, these: &[&Collection], kind: CollectionKind) -> String {
        let share = self
            .share_of_time(these.iter().copied())
            .map_or(0.0, |share| share);
        let slowest = self.slowest(kind).map_or(String::new(), |slowest| {
            format!(
                "; {} of the slowest 1 % of the requests waited for a {}",
                percent(slowest),
                word(kind)
            )
        });
        format!(
            "they stop a process for {} of the time{slowest}",
            percent(share)
        )
    }

    /// What a knob with a number is set to, as the variable holds it.
    ///
    /// # Errors
    /// Why that is not known.
    pub(crate) fn number(&self, knob: &str) -> Result<f64, String> {
        let found = knobs::find(knob).ok_or_else(|| format!("{knob} is unknown"))?;
        let environment = self.environment.as_ref();
        let set = environment
            .and_then(|of| of.get(found.variable))
            .filter(|text| !text.is_empty());
        let text = match set {
            Some(set) => set.clone(),
            None => {
                Value::parse(found, found.default)
                    .map_err(|wrong| wrong.to_string())?
                    .set
            }
        };
        let number = text.parse::<f64>();
        number.map_err(|_| format!("{} = {text:?} is not a plain number", found.variable))
    }

    pub(crate) fn is_ruby(&self, major: u32, minor: u32) -> bool {
        self.ruby.is_some_and(|ruby| ruby >= Version(major, minor))
    }

    pub(crate) fn ruby_name(&self) -> String {
        self.ruby
            .map_or_else(|| "this Ruby".to_owned(), |ruby| format!("Ruby {ruby}"))
    }
}

fn word(kind: CollectionKind) -> &'static str {
    match kind {
        CollectionKind::Major => "major one",
        CollectionKind::Minor => "minor one",
    }
}

/// Those that this set off.
pub(crate) fn caused<'c>(these: &[&'c Collection], cause: Cause) -> Vec<&'c Collection> {
    these
        .iter()
        .copied()
        .filter(|c| c.cause == Some(cause))
        .collect()
}

/// Those that are major ones for this reason.
pub(crate) fn major_by<'c>(these: &[&'c Collection], by: MajorBy) -> Vec<&'c Collection> {
    these
        .iter()
        .copied()
        .filter(|c| c.major_by == Some(by))
        .collect()
}

/// `3.4 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// `12 of 40 (30.0 %)`.
pub(crate) fn of(part: usize, all: usize) -> String {
    format!(
        "{part} of {all} ({})",
        percent(part as f64 / all.max(1) as f64)
    )
}

/// `12.5 MiB`.
pub(crate) fn mib(bytes: f64) -> String {
    format!("{:.1} MiB", bytes / f64::from(1 << 20))
}

/// The middle one; `None` of none.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}
