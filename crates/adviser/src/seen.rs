//! What the agent recorded, as the checks need it.

use flight::{Cause, Collection, CollectionKind, Heap, MajorBy, Server};
use knobs::{Kind, Knob, Value, Version};
use run::inspect::Stopped;
use std::collections::BTreeMap;

/// Fewer collections of a kind say little about their causes.
pub(crate) const LEAST: usize = 10;
/// Major collections are rarer, and each costs more.
pub(crate) const LEAST_MAJORS: usize = 3;
/// A cause that takes less of the time for which requests run Ruby, and of whose kind fewer of the slowest requests waited, is nothing to
/// win.
const LEAST_SHARE: f64 = 0.005;
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
    /// Other allocators whose libraries this machine has.
    pub installed: Vec<knobs::Allocator>,
    /// As [`flight::About`] has it.
    pub jit: String,
    pub processes: Vec<Process>,
    /// All processes added up.
    pub watched_s: f64,
    /// Share of the time for which requests held the GVL that collections took in the requests' own threads; `None` where it is not known.
    pub collected_share: Option<f64>,
    /// What collections did to the requests on record; `None` with too few.
    pub stopped: Option<Stopped>,
    /// The environment that a process of it was started with; `None` where that is not known.
    pub environment: Option<BTreeMap<String, String>>,
    /// What the processes report of their set-up; `None` where no process reports anything.
    pub setup: Option<Setup>,
}

/// Calls that the agent made for an experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setup {
    pub warmup: bool,
    pub compact: bool,
    /// A collection after so many requests, between them; 0: never.
    pub oob_gc: u32,
    /// Major collections happen only out of band.
    pub minor_only: bool,
}

impl Setup {
    /// How collections are moved between requests, as a knob; `None` where they are not.
    pub fn out_of_band(&self) -> Option<String> {
        match (self.oob_gc, self.minor_only) {
            (0, true) => Some("oob_major=on".to_owned()),
            (0, false) => None,
            (every, _) => Some(format!("oob_gc={every}")),
        }
    }
}

impl Seen {
    /// Of all processes.
    pub fn collections(&self) -> impl Iterator<Item = &Collection> {
        self.processes.iter().flat_map(|one| &one.collections)
    }

    /// Major collections that Ruby began by itself.
    pub(crate) fn majors(&self) -> Vec<&Collection> {
        let all = self
            .collections()
            .filter(|c| c.kind == Some(CollectionKind::Major));
        all.filter(|c| c.major_by != Some(MajorBy::Force) && c.cause != Some(Cause::Method))
            .collect()
    }

    /// The same where their reasons are those of Ruby's limits.
    ///
    /// # Errors
    /// Why they are not, or that they are too few.
    pub(crate) fn majors_by_limits(&self) -> Result<Vec<&Collection>, String> {
        if let Some(setup) = self.setup.filter(|setup| setup.minor_only) {
            return Err(format!(
                "major collections run between requests alone ({}), so that their reasons say nothing about limits",
                setup.out_of_band().unwrap_or_default()
            ));
        }
        let majors = self.majors();
        match majors.len() < LEAST_MAJORS {
            false => Ok(majors),
            true => Err(format!(
                "the logs have {} that Ruby began by itself, and {LEAST_MAJORS} are the least",
                run::counted(majors.len() as u64, "major collection")
            )),
        }
    }

    pub(crate) fn minors(&self) -> Vec<&Collection> {
        let all = self.collections();
        all.filter(|c| c.kind == Some(CollectionKind::Minor))
            .collect()
    }

    /// Share of the time for which requests ran Ruby that these collections took, by their part of the pauses in requests.
    pub fn share<'c>(&self, these: impl Iterator<Item = &'c Collection>) -> Option<f64> {
        let all = in_requests(self.collections());
        let part = match all > 0.0 {
            true => in_requests(these) / all,
            false => 0.0,
        };
        Some(self.collected_share? * part)
    }

    /// Of the slowest 1 % of the requests: the share that collections of this kind stopped.
    pub(crate) fn slowest(&self, kind: CollectionKind) -> Option<f64> {
        let stopped = self.stopped.as_ref()?;
        Some(match kind {
            CollectionKind::Major => stopped.by_major.share,
            CollectionKind::Minor => stopped.by_minor.share,
        })
    }

    /// Whether fewer of these collections would win nothing.
    pub(crate) fn is_cheap(&self, these: &[&Collection], kind: CollectionKind) -> bool {
        let share = self.share(these.iter().copied());
        share.is_some_and(|share| share < LEAST_SHARE)
            && self
                .slowest(kind)
                .is_none_or(|slowest| slowest < LEAST_SHARE_OF_SLOWEST)
    }

    /// How much these collections cost.
    pub(crate) fn cost(&self, these: &[&Collection], kind: CollectionKind) -> String {
        let share = self.share(these.iter().copied()).map_or_else(
            || "what they cost is not known".to_owned(),
            |share| {
                format!(
                    "they take {} of the time for which requests run Ruby",
                    percent(share)
                )
            },
        );
        let slowest = self.slowest(kind).map_or(String::new(), |slowest| {
            format!(
                "; {} of the slowest 1 % of the requests waited for a {}",
                percent(slowest),
                word(kind)
            )
        });
        share + &slowest
    }

    /// What a knob with a number is set to, as the variable holds it; without a limit it is infinite.
    ///
    /// # Errors
    /// Why that is not known.
    pub(crate) fn number(&self, knob: &str) -> Result<f64, String> {
        let found = knobs::find(knob).ok_or_else(|| format!("{knob} is unknown"))?;
        let environment = self.environment.as_ref();
        let set = environment
            .and_then(|of| of.get(found.variable))
            .filter(|text| !text.is_empty());
        match set {
            Some(set) => plain_number(found, set),
            None => default_number(knob),
        }
    }

    /// Whether Ruby is this version or later.
    ///
    /// # Errors
    /// That it is not known.
    pub(crate) fn is_ruby(&self, major: u32, minor: u32) -> Result<bool, String> {
        let ruby = self.ruby.ok_or("the files do not say which Ruby it is")?;
        Ok(ruby >= Version(major, minor))
    }

    pub(crate) fn ruby_name(&self) -> String {
        self.ruby
            .map_or_else(|| "this Ruby".to_owned(), |ruby| format!("Ruby {ruby}"))
    }
}

/// Their pauses in the threads of requests, nanoseconds.
fn in_requests<'c>(these: impl Iterator<Item = &'c Collection>) -> f64 {
    let these = these.filter(|c| c.in_request);
    these.map(|c| c.pause_ns as f64).sum()
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

/// `12.5 MiB`, `64 KiB`.
pub(crate) fn mib(bytes: f64) -> String {
    match bytes < f64::from(1 << 20) {
        true => format!("{:.0} KiB", bytes / 1_024.0),
        false => format!("{:.1} MiB", bytes / f64::from(1 << 20)),
    }
}

/// What a knob with a number is set to without its variable; without a limit it is infinite.
///
/// # Errors
/// Why that is not known.
pub(crate) fn default_number(knob: &str) -> Result<f64, String> {
    let found = knobs::find(knob).ok_or_else(|| format!("{knob} is unknown"))?;
    match Value::parse(found, found.default) {
        Ok(value) => plain_number(found, &value.set),
        // The default in words: there is no limit.
        Err(_) => Ok(f64::INFINITY),
    }
}

fn plain_number(knob: &Knob, text: &str) -> Result<f64, String> {
    let is_whole = matches!(knob.kind, Kind::Size { .. } | Kind::Whole { .. });
    let number = match is_whole {
        true => text.parse::<u64>().ok().map(|number| number as f64),
        false => text.parse::<f64>().ok(),
    };
    number
        .filter(|number| number.is_finite() && *number > 0.0)
        .ok_or_else(|| format!("{} = {text:?} is not a plain number above 0", knob.variable))
}
