//! Collections by kind and cause, and what they cost the slowest requests.

use crate::band::Sample;
use crate::quantile::place;
use flight::{Collection, Snapshot};
use run::inspect::{
    CollectionCause, CollectionKind, Collections, CollectionsOfKind, MajorBy, Stopped, StoppedBy,
};
use small_sort::SmallSort;
use std::collections::BTreeMap;

/// The slowest 1 % need this many requests.
pub const LEAST_REQUESTS: usize = 1_000;
/// A shorter stop is none: Ruby enters the collector to look whether there is anything to do, and the part of major collections is
/// kept in whole microseconds.
const LEAST_STOP_NS: u64 = 10_000;
/// A 99th percentile needs this many collections.
const LEAST_COLLECTIONS: usize = 100;

/// The logs of all processes.
#[derive(Debug, Default)]
pub struct Logs {
    all: Vec<Collection>,
    watched_ns: u64,
    lost: u64,
    /// A process had a log.
    pub(crate) any: bool,
}

impl Logs {
    /// Adds the collections that began from `from_mono_ns` on, of a process that was there until `until_mono_ns`.
    pub fn add(&mut self, snapshot: &Snapshot, from_mono_ns: u64, until_mono_ns: u64) {
        let Some(log) = &snapshot.log else { return };
        let oldest = log.collections.first().filter(|_| log.lost() > 0);
        let reaches_back = oldest.map_or(0, |oldest| oldest.start_mono_ns);
        let made = snapshot.header.created_mono_ns;
        let from = from_mono_ns.max(reaches_back).max(made);
        // A process that has ended may have collected after its last request.
        let last = log.collections.last().map_or(0, |last| last.end_mono_ns);
        let until_mono_ns = until_mono_ns.max(last);
        let these = log.collections.iter().filter(|c| c.start_mono_ns >= from);
        self.all.extend(these);
        self.any = true;
        self.watched_ns = self
            .watched_ns
            .saturating_add(until_mono_ns.saturating_sub(from));
        if reaches_back > from_mono_ns {
            self.lost = self.lost.saturating_add(log.lost());
        }
    }

    fn kinds(&self) -> Vec<CollectionsOfKind> {
        let mut groups: BTreeMap<_, Vec<&Collection>> = BTreeMap::new();
        for one in &self.all {
            let key = (kind(one.kind), major_by(one.major_by), cause(one.cause));
            groups.entry(key).or_default().push(one);
        }
        let mut kinds: Vec<_> = groups
            .into_iter()
            .map(|((kind, major_by, cause), these)| CollectionsOfKind {
                kind,
                major_by,
                cause,
                ..of_kind(&these, self.watched_ns)
            })
            .collect();
        kinds.small_sort_by(|a, b| b.pause_ms.total_cmp(&a.pause_ms));
        kinds
    }
}

fn of_kind(these: &[&Collection], watched_ns: u64) -> CollectionsOfKind {
    let mut pauses: Vec<u64> = these.iter().map(|c| c.pause_ns).collect();
    pauses.sort_unstable();
    let at = |q: f64| ms(pauses[place(q, pauses.len())]);
    let sum =
        |of: fn(&Collection) -> u64| these.iter().fold(0_u64, |sum, c| sum.saturating_add(of(c)));
    let mean = |of: fn(&Collection) -> Option<u64>| {
        let counts: Vec<f64> = these
            .iter()
            .filter_map(|c| of(c))
            .map(|count| count as f64)
            .collect();
        (!counts.is_empty()).then(|| counts.iter().sum::<f64>() / counts.len() as f64)
    };
    let pause_ns = sum(|c| c.pause_ns);
    let watched = (watched_ns > 0).then_some(watched_ns as f64);
    CollectionsOfKind {
        kind: None,
        major_by: None,
        cause: None,
        count: these.len() as u64,
        per_minute: watched.map(|ns| these.len() as f64 / ns * 60e9),
        pause_ms: ms(pause_ns),
        share_of_time: watched.map(|ns| pause_ns as f64 / ns),
        p50_ms: at(0.5),
        p99_ms: (pauses.len() >= LEAST_COLLECTIONS).then(|| at(0.99)),
        longest_pause_ms: ms(these.iter().map(|c| c.longest_ns).max().unwrap_or(0)),
        cpu_ms: ms(sum(|c| c.cpu_ns)),
        freed: mean(|c| c.freed),
        promoted: mean(Collection::promoted),
    }
}

/// The document's part. `all` and `endpoints` are of the requests on record.
pub fn collections(
    logs: &Logs,
    all: Option<Stopped>,
    endpoints: Vec<Stopped>,
    on_record: usize,
) -> Collections {
    Collections {
        watched_s: logs.watched_ns as f64 / 1e9,
        lost: logs.lost,
        kinds: logs.kinds(),
        why_not: all.is_none().then(|| {
            format!(
                "{} on record for which it is known how long each collection stopped them: the slowest 1 % need {}",
                run::counted(on_record as u64, "request"),
                run::counted(LEAST_REQUESTS as u64, "request")
            )
        }),
        requests: all,
        endpoints,
    }
}

/// The requests of which it is known what stopped them.
pub fn known<'s>(samples: impl Iterator<Item = &'s Sample>) -> Vec<&'s Sample> {
    samples.filter(|s| s.gc_major != u64::MAX).collect()
}

/// What collections did to these requests; `None` for too few.
pub fn stopped(name: &str, mut known: Vec<&Sample>) -> Option<Stopped> {
    let requests = known.len();
    if requests < LEAST_REQUESTS {
        return None;
    }
    let p99 = |mut times: Vec<u64>| {
        let at = place(0.99, times.len());
        ms(*times.select_nth_unstable(at).1)
    };
    let untouched = known.iter().filter(|s| s.gc < LEAST_STOP_NS);
    let untouched: Vec<u64> = untouched.map(|s| s.wall).collect();
    // The same requests as those above the percentile, but for ties.
    let slowest_count = requests - place(0.99, requests) - 1;
    let slowest_count = slowest_count.max(1);
    let p99_ms = p99(known.iter().map(|s| s.wall).collect());
    let without = known.iter().map(|s| s.wall.saturating_sub(s.gc)).collect();
    let p99_without_ms = p99(without);
    known.select_nth_unstable_by_key(requests - slowest_count, |s| s.wall);
    let slowest = &known[requests - slowest_count..];
    Some(Stopped {
        name: name.to_owned(),
        requests: requests as u64,
        p99_ms,
        p99_without_ms,
        untouched: untouched.len() as u64,
        p99_untouched_ms: (untouched.len() >= LEAST_REQUESTS).then(|| p99(untouched)),
        slowest: slowest_count as u64,
        by_major: stopped_by(slowest, |s| s.gc_major.min(s.gc)),
        by_minor: stopped_by(slowest, |s| s.gc.saturating_sub(s.gc_major)),
    })
}

fn stopped_by(slowest: &[&Sample], of: impl Fn(&Sample) -> u64) -> StoppedBy {
    let times = slowest.iter().map(|s| of(s));
    let times: Vec<u64> = times.filter(|ns| *ns >= LEAST_STOP_NS).collect();
    let sum: u128 = times.iter().map(|ns| u128::from(*ns)).sum();
    StoppedBy {
        requests: times.len() as u64,
        share: times.len() as f64 / slowest.len().max(1) as f64,
        mean_ms: sum as f64 / times.len().max(1) as f64 / 1e6,
    }
}

/// In the document's words.
pub fn kind(kind: Option<flight::CollectionKind>) -> Option<CollectionKind> {
    Some(match kind? {
        flight::CollectionKind::Minor => CollectionKind::Minor,
        flight::CollectionKind::Major => CollectionKind::Major,
    })
}

/// In the document's words.
pub fn cause(cause: Option<flight::Cause>) -> Option<CollectionCause> {
    Some(match cause? {
        flight::Cause::NewObject => CollectionCause::Newobj,
        flight::Cause::Malloc => CollectionCause::Malloc,
        flight::Cause::Method => CollectionCause::Method,
        flight::Cause::CApi => CollectionCause::Capi,
        flight::Cause::Stress => CollectionCause::Stress,
    })
}

/// In the document's words.
pub fn major_by(major_by: Option<flight::MajorBy>) -> Option<MajorBy> {
    Some(match major_by? {
        flight::MajorBy::NoFree => MajorBy::Nofree,
        flight::MajorBy::OldGen => MajorBy::Oldgen,
        flight::MajorBy::Shady => MajorBy::Shady,
        flight::MajorBy::OldMalloc => MajorBy::Oldmalloc,
        flight::MajorBy::Force => MajorBy::Force,
    })
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample(wall: u64, gc: u64, gc_major: u64) -> Sample {
        Sample {
            wall,
            queue: u64::MAX,
            held: 0,
            gvl_wait: 0,
            lock_wait: 0,
            io: 0,
            gc,
            gc_major,
        }
    }

    /// 10,000 requests of 1 to 10,000 µs; of the slowest hundred 40 waited 12 ms for a major collection, 5 for both kinds.
    fn requests() -> Vec<Sample> {
        let of = |rank: u64| {
            let wall = rank * 1_000;
            match rank {
                9_901..=9_940 => sample(wall + 12_000_000, 12_000_000, 12_000_000),
                9_941..=9_945 => sample(wall + 12_000_000, 3_000_500, 1_000_000),
                _ => sample(wall, 0, 0),
            }
        };
        (1..=10_000).rev().map(of).collect()
    }

    #[test]
    fn the_slowest_hundredth_says_what_it_waited_for() {
        let found = stopped("all requests", known(requests().iter())).unwrap();
        assert_eq!((found.requests, found.slowest), (10_000, 100));
        assert_eq!(found.by_major.requests, 45);
        assert_eq!(found.by_major.share, 0.45);
        assert!((found.by_major.mean_ms - (40.0 * 12.0 + 5.0) / 45.0).abs() < 1e-9);
        assert_eq!(found.by_minor.requests, 5);
        assert!((found.by_minor.mean_ms - 2.000_5).abs() < 1e-9);
        assert_eq!(found.p99_ms, 9.9);
        assert_eq!(found.untouched, 9_955);
        assert!(found.p99_without_ms <= found.p99_ms);
    }

    #[test]
    fn a_look_and_what_rounding_leaves_of_a_major_collection_stop_nobody() {
        let looked = |gc, gc_major| vec![sample(9_000_000, gc, gc_major); LEAST_REQUESTS];
        let found = |gc, gc_major| stopped("all", known(looked(gc, gc_major).iter())).unwrap();
        let all = LEAST_REQUESTS as u64;
        assert_eq!(found(LEAST_STOP_NS - 1, 0).untouched, all);
        assert_eq!(found(LEAST_STOP_NS, 0).untouched, 0);
        assert_eq!(found(5_003_999, 5_000_000).by_minor.requests, 0);
        assert_eq!(found(5_010_000, 5_000_000).by_minor.requests, 10);
    }

    #[test]
    fn a_process_is_watched_until_its_last_collection() {
        let path = "../../contract/samples/flight/collected.flight";
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let snapshot = flight::parse(&std::fs::read(path).unwrap()).unwrap();
        let last = snapshot.log.as_ref().unwrap().collections.last().unwrap();
        let watched = |until| {
            let mut logs = Logs::default();
            logs.add(&snapshot, 0, until);
            logs.watched_ns
        };
        assert_eq!(watched(0), watched(last.end_mono_ns));
        assert_eq!(watched(last.end_mono_ns + 5), watched(0) + 5);
    }

    #[test]
    fn too_few_requests_and_older_agents_give_no_answer() {
        let few: Vec<Sample> = requests().into_iter().take(LEAST_REQUESTS - 1).collect();
        assert_eq!(stopped("few", known(few.iter())), None);
        let unknown = vec![sample(1, 1, u64::MAX); 2_000];
        assert_eq!(stopped("older", known(unknown.iter())), None);
        assert_eq!(
            (known(few.iter()).len(), known(unknown.iter()).len()),
            (LEAST_REQUESTS - 1, 0)
        );
    }

    /// By sorting, and by the definition of each figure.
    fn naive(samples: &[Sample]) -> (f64, f64, u64, u64) {
        let p99 = |times: &mut Vec<u64>| {
            times.sort();
            let least = (1..=times.len()).find(|rank| *rank as f64 >= 0.99 * times.len() as f64);
            times[least.unwrap() - 1] as f64 / 1e6
        };
        let mut walls: Vec<u64> = samples.iter().map(|s| s.wall).collect();
        let mut less: Vec<u64> = samples.iter().map(|s| s.wall - s.gc).collect();
        let (all, without) = (p99(&mut walls), p99(&mut less));
        let count = (samples.len() - (0.99 * samples.len() as f64).ceil() as usize).max(1);
        let mut sorted = samples.to_vec();
        sorted.sort_by_key(|s| std::cmp::Reverse(s.wall));
        let slowest = &sorted[..count];
        let major = slowest.iter().filter(|s| s.gc_major > 0).count() as u64;
        (all, without, count as u64, major)
    }

    proptest! {
        #[test]
        fn the_figures_are_those_of_their_definitions(
            parts in proptest::collection::vec((0_u64..50, 0_u64..20, 0_u64..20), 1_000..1_300),
        ) {
            // No two take equally long, so that there is one answer to which are the slowest.
            let samples: Vec<Sample> = (0_u64..)
                .zip(parts)
                .map(|(at, (rest, minor, major))| {
                    let gc = (minor + major) * 1_000_000;
                    sample(rest * 1_000_000 + gc + at, gc, major * 1_000_000)
                })
                .collect();
            let (all, without, count, major) = naive(&samples);
            let found = stopped("all", known(samples.iter())).unwrap();
            prop_assert_eq!((found.p99_ms, found.p99_without_ms), (all, without));
            prop_assert_eq!((found.slowest, found.by_major.requests), (count, major));
            let untouched = samples.iter().filter(|s| s.gc == 0).count() as u64;
            prop_assert_eq!(found.untouched, untouched);
        }
    }
}
