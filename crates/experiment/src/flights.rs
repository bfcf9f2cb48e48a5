//! The agent's evidence: what the server really runs with, and where request time went.

use flight::{Snapshot, Totals, Window};
use run::{EndpointProfile, LockProfile, Profile, Settings, Split};
use small_sort::SmallSort;
use std::collections::BTreeMap;
use std::path::Path;

/// Where the agent writes, in the folder of what is measured.
pub const FOLDER: &str = "flight";

/// The counters of every process that wrote under `root`; files that cannot be read are left out.
pub fn counters(root: &Path) -> Vec<Snapshot> {
    let read = flight::read_dir_counters(root).unwrap_or_default();
    read.into_iter()
        .filter_map(|(_, snapshot)| snapshot.ok())
        .collect()
}

/// Why the server does not run with the settings asked for; `None` when it does, as far as the agent can see.
pub fn mismatch(snapshots: &[Snapshot], asked: Settings) -> Option<String> {
    let advice = "something in the application's own configuration overrides the setting (look at config/puma.rb and the start command)";
    if snapshots.is_empty() {
        return Some(format!(
            "the agent recorded nothing, so what the server really runs with is unknown; {advice}"
        ));
    }
    // A process that has served nothing may be a master, or a server other than the application's.
    let busy = snapshots.iter().any(|s| s.totals.requests > 0);
    let serving = snapshots.iter().filter(|s| !busy || s.totals.requests > 0);
    for server in serving.map(|s| &s.header.server) {
        let wrong = [
            (
                "workers",
                server.workers.map(u64::from),
                u64::from(asked.workers),
            ),
            (
                "threads",
                server.max_threads.map(u64::from),
                u64::from(asked.threads),
            ),
            (
                "threads (minimum)",
                server.min_threads.map(u64::from),
                u64::from(asked.threads),
            ),
        ];
        for (knob, found, wanted) in wrong {
            if let Some(found) = found.filter(|found| *found != wanted) {
                return Some(format!(
                    "{knob} = {wanted} was asked for, and the server runs with {found}: {advice}"
                ));
            }
        }
        if let Some(found) = server
            .preload
            .filter(|found| asked.workers > 0 && *found != asked.preload)
        {
            return Some(format!(
                "preload = {} was asked for, and the server runs with {found}: {advice}",
                asked.preload
            ));
        }
    }
    None
}

/// The processes that have served requests.
pub fn serving_pids(snapshots: &[Snapshot]) -> impl Iterator<Item = u32> {
    let busy = snapshots.iter().filter(|s| s.totals.requests > 0);
    busy.map(|snapshot| snapshot.header.pid)
}

/// What the processes say they are.
pub fn versions(snapshots: &[Snapshot]) -> BTreeMap<String, String> {
    let mut versions = BTreeMap::new();
    if let Some(header) = snapshots.last().map(|s| &s.header) {
        for (name, version) in [
            ("ruby", &header.ruby_version),
            ("server", &header.server.name),
            ("framework", &header.framework),
            ("agent", &header.agent_version),
        ] {
            if !version.is_empty() {
                versions.insert(name.to_owned(), version.clone());
            }
        }
    }
    versions
}

/// Why the agent's split of request time is not to be used; `None` when it is.
pub fn unusable(snapshots: &[Snapshot]) -> Option<&'static str> {
    if has_fibers(snapshots) {
        return Some("fibers serve its requests, and their time cannot be split by thread");
    }
    if snapshots.iter().any(|s| !s.header.measures("held_ns")) {
        return Some("the agent could not measure the GVL in this process");
    }
    None
}

/// Whether fibers serve the requests of one of the processes.
pub fn has_fibers(snapshots: &[Snapshot]) -> bool {
    snapshots.iter().any(|s| s.header.fiber_scheduler)
}

/// Whether every process measures waits for locks apart from I/O.
pub fn tells_locks(snapshots: &[Snapshot]) -> bool {
    !snapshots.is_empty()
        && snapshots
            .iter()
            .all(|snapshot| snapshot.header.measures("lock_wait_ns"))
}

/// The waits of `totals` except that for the GVL: for locks, and for I/O. Where not every process measures the first, the two
/// are one figure.
fn waits_ns(totals: &Totals, locks_apart: bool) -> (Option<u64>, u64) {
    match locks_apart {
        true => (Some(totals.lock_wait_ns), totals.io_ns),
        false => (None, totals.io_ns.saturating_add(totals.lock_wait_ns)),
    }
}

/// Sums over all processes between two readings.
pub fn split(window: &Window, locks_apart: bool) -> Split {
    let totals = &window.totals;
    let ms = |ns: u64| ns as f64 / 1e6;
    let (lock_wait_ns, io_ns) = waits_ns(totals, locks_apart);
    Split {
        requests: totals.requests,
        wall_ms: ms(totals.wall_ns),
        held_ms: ms(totals.held_ns),
        gvl_wait_ms: ms(totals.gvl_wait_ns),
        lock_wait_ms: lock_wait_ns.map(ms),
        io_ms: ms(io_ns),
        cpu_ms: ms(totals.cpu_ns),
        queue_ms: (totals.queue_known > 0).then(|| ms(totals.queue_ns)),
    }
}

/// Means per request, and by endpoint.
pub fn profile(window: &Window, locks_apart: bool, tree_cpu_ms: f64) -> Option<Profile> {
    let totals = &window.totals;
    let mean = |sum: u64| totals.per_request(sum).map(|ns| ns / 1e6);
    let (lock_wait_ns, io_ns) = waits_ns(totals, locks_apart);
    let (held_ms, io_ms) = (mean(totals.held_ns)?, mean(io_ns)?);
    let mut endpoints: Vec<EndpointProfile> = window
        .endpoints
        .iter()
        .map(|(name, endpoint)| {
            let mean = |sum: u64| endpoint.totals.per_request(sum).unwrap_or(0.0) / 1e6;
            let (lock_wait_ns, io_ns) = waits_ns(&endpoint.totals, locks_apart);
            EndpointProfile {
                name: name.clone(),
                requests: endpoint.totals.requests,
                wall_ms: mean(endpoint.totals.wall_ns),
                held_ms: mean(endpoint.totals.held_ns),
                gvl_wait_ms: mean(endpoint.totals.gvl_wait_ns),
                lock_wait_ms: lock_wait_ns.map(mean),
                io_ms: mean(io_ns),
            }
        })
        .collect();
    endpoints.small_sort_by(|a, b| {
        (b.wall_ms * b.requests as f64).total_cmp(&(a.wall_ms * a.requests as f64))
    });
    Some(Profile {
        requests: totals.requests,
        wall_ms: mean(totals.wall_ns)?,
        held_ms,
        gvl_wait_ms: mean(totals.gvl_wait_ns)?,
        lock_wait_ms: lock_wait_ns.and_then(mean),
        lock: lock(window),
        io_ms,
        cpu_ms: mean(totals.cpu_ns)?,
        tree_cpu_ms,
        useful_threads: if held_ms > 0.0 {
            1.0 + io_ms / held_ms
        } else {
            f64::from(u16::MAX)
        },
        endpoints,
    })
}

/// The one with the longest waits.
fn lock(window: &Window) -> Option<LockProfile> {
    let mean = |sum: u64| window.totals.per_request(sum).unwrap_or(0.0);
    let named = window
        .locks
        .iter()
        .filter(|((site, _), _)| !site.is_empty());
    let ((site, _), lock) = named.max_by_key(|(_, lock)| lock.wait_ns)?;
    let one = lock.objects == 1 && lock.holds > 0;
    (lock.wait_ns > 0).then(|| LockProfile {
        site: site.clone(),
        wait_ms: mean(lock.wait_ns) / 1e6,
        held_ms: one.then(|| lock.held_ns as f64 / lock.holds as f64 / 1e6),
        holds_per_request: if one { mean(lock.holds) } else { 0.0 },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window() -> Window {
        let totals = Totals {
            requests: 2,
            wall_ns: 20_000_000,
            held_ns: 6_000_000,
            gvl_wait_ns: 4_000_000,
            lock_wait_ns: 3_000_000,
            io_ns: 7_000_000,
            ..Totals::default()
        };
        let endpoint = flight::EndpointWindow {
            totals,
            ..Default::default()
        };
        Window {
            totals,
            endpoints: [("GET /".to_owned(), endpoint)].into(),
            ..Window::default()
        }
    }

    #[test]
    fn a_wait_for_a_lock_is_no_io_and_adds_no_threads() {
        let profile = profile(&window(), true, 0.0).unwrap();
        assert_eq!((profile.lock_wait_ms, profile.io_ms), (Some(1.5), 3.5));
        assert!((profile.useful_threads - (1.0 + 7.0 / 6.0)).abs() < 1e-12);
        let endpoint = &profile.endpoints[0];
        assert_eq!((endpoint.lock_wait_ms, endpoint.io_ms), (Some(1.5), 3.5));
    }

    #[test]
    fn the_lock_with_the_longest_waits_is_named() {
        let lock = |wait_ns, holds, objects| flight::LockWindow {
            wait_ns,
            holds,
            held_ns: holds * 5_000_000,
            objects,
        };
        let at = |site: &str| (site.to_owned(), flight::LockKind::Mutex);
        let mut window = window();
        assert_eq!(profile(&window, true, 0.0).unwrap().lock, None);
        window.locks = [
            (at(""), lock(9_000_000, 0, 0)),
            (at("lib/cache.rb:41"), lock(3_000_000, 4, 1)),
            (at("lib/keyed.rb:7"), lock(2_000_000, 4, 3)),
        ]
        .into();
        let found = profile(&window, true, 0.0).unwrap().lock.unwrap();
        assert_eq!(found.site, "lib/cache.rb:41");
        assert_eq!((found.wait_ms, found.held_ms), (1.5, Some(5.0)));
        assert_eq!(found.holds_per_request, 2.0);
        window.locks.remove(&at("lib/cache.rb:41"));
        let several = profile(&window, true, 0.0).unwrap().lock.unwrap();
        assert_eq!((several.held_ms, several.holds_per_request), (None, 0.0));
    }

    #[test]
    fn a_wait_for_a_lock_is_not_lost_between_the_columns() {
        for (locks_apart, io_ms) in [(true, 3.5), (false, 5.0)] {
            let split = split(&window(), locks_apart);
            let locks = split.lock_wait_ms.unwrap_or(0.0);
            assert_eq!(
                split.held_ms + split.gvl_wait_ms + locks + split.io_ms,
                split.wall_ms
            );
            let profile = profile(&window(), locks_apart, 0.0).unwrap();
            let locks = profile.lock_wait_ms.unwrap_or(0.0);
            assert_eq!(profile.io_ms, io_ms);
            assert_eq!(profile.lock_wait_ms.is_some(), locks_apart);
            assert_eq!(
                profile.held_ms + profile.gvl_wait_ms + locks + profile.io_ms,
                profile.wall_ms
            );
        }
    }
}
