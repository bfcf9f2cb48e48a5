//! The document of a reading.

use crate::asked::Asked;
use crate::baseline::saved_apart;
use crate::calculated_queue::calculated_queue;
use crate::collections::{collections, known, stopped};
use crate::group::Group;
use crate::instant::{printable, rfc3339};
use crate::interval::interval;
use crate::memory::memory;
use crate::reading::Reading;
use crate::threads::{serves, threads};
use run::inspect::{
    Collections, Collector, Document, Process, ProcessState, SCHEMA, Scope, Traffic,
};
use small_sort::SmallSort;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Makes the document.
#[must_use]
pub fn document(mut reading: Reading, asked: &Asked) -> Document {
    // Before the first file was made no process counted requests.
    let made_ns = reading.first_ns.unwrap_or(asked.now_ns);
    let baseline_ns = reading.baseline.as_ref().map(|of| of.read_at_ns);
    // A server that began later did not exist before: its rates are of its own time.
    let asked_from_ns = reading.selection.since_ns.or(baseline_ns);
    let from_ns = asked_from_ns.unwrap_or(0).max(made_ns);
    let to_ns = reading.last_ns.max(from_ns);
    let span_s = (to_ns - from_ns) as f64 / 1e9;
    let from_rings = reading.selection.since_ns.is_some();
    let records_from_ns = reading.lost_before_ns.unwrap_or(0).max(from_ns);
    let rings_reach = records_from_ns == from_ns && baseline_ns.is_none();
    // Records that are gone would make every rate too low.
    let rate_span = (!from_rings || rings_reach).then_some(span_s);
    let interval = interval(&mut reading, span_s);
    let saved_apart = saved_apart(reading.baseline.as_ref(), span_s);
    let collections = collections_of(&reading);
    let (requests, endpoints) = traffic(&mut reading, false, rate_span, from_rings);
    let (jobs, job_classes) = traffic(&mut reading, true, rate_span, from_rings);
    let advice = match (&requests, &jobs) {
        (Some(requests), _) => threads(requests, "request", &reading.processes),
        (None, Some(jobs)) => threads(jobs, "job", &reading.processes),
        (None, None) => None,
    };
    let queue = requests
        .as_ref()
        .and_then(|requests| calculated_queue(requests, &reading.processes));
    let memory = memory(&reading.processes, &reading.here);
    let mut processes = reading.processes;
    if from_rings {
        // Otherwise each process that ended before `--last` looks as if it had just ended.
        processes.retain(|p| p.requests > 0 || p.state == ProcessState::Live);
    }
    let mut document = Document {
        schema: SCHEMA.to_owned(),
        powerband_version: asked.version.clone(),
        read_at: rfc3339(asked.now_ns),
        sources: asked.sources.clone(),
        scope: Scope {
            from: rfc3339(from_ns),
            to: rfc3339(to_ns),
            span_s,
            since: reading.selection.since_ns.map(rfc3339),
            threads: reading.selection.threads,
            records: reading.records,
            records_from: rfc3339(records_from_ns),
            last_ended_before_s: reading
                .last_ended_ns
                .map(|ended_ns| asked.now_ns.saturating_sub(ended_ns) as f64 / 1e9),
            records_are_all: rings_reach,
        },
        requests,
        jobs,
        job_classes,
        memory,
        collector: reading.collector.map(|sums| Collector {
            pauses: sums.pauses,
            pause_ms: sums.pause_ns as f64 / 1e6,
            cpu_ms: sums.cpu_ns as f64 / 1e6,
            share_of_time: (sums.watched_ns > 0)
                .then(|| sums.pause_ns as f64 / sums.watched_ns as f64),
        }),
        collections: collections.map(|found| in_order(found, &endpoints)),
        endpoints,
        pools: reading.pools.into_document(),
        locks: reading.locks.into_document(),
        calculated_queue: queue,
        threads: advice,
        processes,
        interval,
        not_read: reading.not_read,
        warnings: Vec::new(),
    };
    document.warnings = warnings(&document, asked, reading.fibers, rings_reach);
    let without_file = crate::unrecorded::sentences(&reading.unrecorded);
    document.warnings.splice(0..0, without_file);
    document.warnings.extend(saved_apart);
    if applications(&document).len() > 1 {
        // A number of threads for several applications together is right for none of them.
        document.threads = None;
        document.calculated_queue = None;
    }
    document
}

/// Where the applications lie whose processes served something.
fn applications(document: &Document) -> BTreeSet<&str> {
    let roots = served(document).map(|p| p.app_root.as_str());
    roots.map(flight::application_of).collect()
}

/// All requests (or jobs) together, and each endpoint.
fn traffic(
    reading: &mut Reading,
    jobs: bool,
    span_s: Option<f64>,
    from_rings: bool,
) -> (Option<Traffic>, Vec<Traffic>) {
    let (mine, others) = std::mem::take(&mut reading.endpoints)
        .into_iter()
        .partition(|(_, group)| group.jobs == jobs);
    reading.endpoints = others;
    let mine: BTreeMap<String, Group> = mine;
    let mut groups: Vec<(String, Group)> = mine.into_iter().collect();
    groups.retain(|(_, group)| group.sums.requests > 0);
    if groups.is_empty() {
        return (None, Vec::new());
    }
    let mut all = Group::default();
    groups.iter().for_each(|(_, group)| all.merge(group));
    let wall = all.sums.wall.total();
    let mut each: Vec<Traffic> = groups
        .into_iter()
        .map(|(name, group)| group.into_traffic(&name, wall, span_s, from_rings))
        .collect();
    each.small_sort_by(|a, b| b.share_of_time.total_cmp(&a.share_of_time));
    let name = if jobs { "all jobs" } else { "all requests" };
    (Some(all.into_traffic(name, wall, span_s, from_rings)), each)
}

fn collections_of(reading: &Reading) -> Option<Collections> {
    if !reading.logs.any {
        return None;
    }
    let groups = || reading.endpoints.iter().filter(|(_, group)| !group.jobs);
    let each = groups().filter_map(|(name, group)| {
        let known = known(group.samples.iter());
        stopped(&printable(name), known)
    });
    let all = known(groups().flat_map(|(_, group)| &group.samples));
    let count = all.len();
    let all = stopped("all requests", all);
    Some(collections(&reading.logs, all, each.collect(), count))
}

/// Endpoints as the document has them.
fn in_order(mut collections: Collections, endpoints: &[Traffic]) -> Collections {
    let place = |name: &String| endpoints.iter().position(|e| e.name == *name);
    collections
        .endpoints
        .small_sort_by_key(|of| place(&of.name));
    collections
}

/// The command that shows one application alone, to be pasted.
fn of_one(document: &Document, asked: &Asked, root: &str) -> String {
    let mut words = vec!["powerband inspect --application".to_owned(), quoted(root)];
    if let Some(threads) = document.scope.threads {
        words.push(format!("--threads {threads}"));
    }
    let since = asked.since.iter();
    words.extend(since.map(|since| format!("--since {}", quoted(since))));
    words.extend(asked.sources.iter().map(|source| quoted(source)));
    words.join(" ")
}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:+@%=,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

fn warnings(document: &Document, asked: &Asked, fibers: bool, rings_reach: bool) -> Vec<String> {
    let mut said = Vec::new();
    if fibers {
        said.push("Fibers serve requests in some of these processes: several share a thread, so that figures of a thread (GVL \
                   held, GVL wait, I/O, CPU, allocations) are of no single request. They are left out.".to_owned());
    } else if document
        .processes
        .iter()
        .any(|p| !p.split_valid && p.requests > 0)
    {
        said.push("Some of these processes could not watch the GVL (Ruby before 3.2, or another engine): their requests count, and the split of time is of the others.".to_owned());
    }
    let roots = applications(document);
    if roots.len() > 1 {
        let roots: Vec<&str> = roots.into_iter().collect();
        let latest = served(document)
            .min_by_key(|p| Reverse((p.state == ProcessState::Live, &p.started_at)));
        let one = latest.map_or(roots[0], |p| flight::application_of(&p.app_root));
        said.push(format!(
            "The files are of {} applications ({}), and all are counted together, so that no number of threads is advised. \
             To count one alone: {}",
            roots.len(),
            roots.join(", "),
            of_one(document, asked, one)
        ));
    }
    // Web servers and job runners differ as a matter of course.
    for one in ["request", "job"] {
        let those = document.processes.iter().filter(|p| serves(p, one));
        let counts: BTreeSet<Option<u32>> = those.map(|p| p.threads).collect();
        if counts.len() < 2 {
            continue;
        }
        let counts: Vec<String> = counts
            .iter()
            .map(|c| c.map_or("unknown".to_owned(), |n| n.to_string()))
            .collect();
        said.push(format!(
            "Processes that served {one}s ran with different thread counts ({}), and GVL wait depends on these counts: --threads N counts only processes with N threads.",
            counts.join(", ")
        ));
    }
    if let (Some(since), false) = (&document.scope.since, rings_reach) {
        said.push(format!(
            "The rings, which hold the latest requests of each process, do not reach back to {since}: all requests since {} are \
             there, older ones in part. Rates are left out; POWERBAND_RING makes rings longer.",
            document.scope.records_from
        ));
    }
    let sum = |of: fn(&Process) -> u64| {
        let each = document.processes.iter().map(of);
        each.fold(0_u64, u64::saturating_add)
    };
    let faults = sum(|p| p.faults);
    if faults > 0 {
        said.push(format!(
            "The agent rescued {} of its own, and no request failed because of them; the server's log has the first of each process.",
            run::counted(faults, "error")
        ));
    }
    let skew = sum(|p| p.clock_skew);
    if skew > 0 {
        said.push(format!(
            "{} came with a queue time below zero or beyond the agent's limit (POWERBAND_QUEUE_LIMIT): the proxy's clock and this machine's disagree, or clients set X-Request-Start and the proxy does not overwrite it.",
            run::counted(skew, "request")
        ));
    }
    let lost = sum(|p| p.endpoints_lost);
    if lost > 0 {
        said.push(format!(
            "{} counted under (other): their endpoints came when the agent's table of endpoints was full. --limit does not change it.",
            of_requests(lost, "is", "are")
        ));
    }
    let died = sum(|p| match p.state {
        ProcessState::Died => p.in_flight,
        _ => 0,
    });
    if died > 0 {
        let (whose, count) = match died {
            1 => ("its process", "is"),
            _ => ("their processes", "are"),
        };
        said.push(format!(
            "{} in progress when {whose} died, and {count} in no figure.",
            of_requests(died, "was", "were")
        ));
    }
    said
}

/// `1 request was`, `3 requests were`.
fn of_requests(count: u64, one: &str, several: &str) -> String {
    let verb = if count == 1 { one } else { several };
    format!("{} {verb}", run::counted(count, "request"))
}

fn served(document: &Document) -> impl Iterator<Item = &Process> {
    document.processes.iter().filter(|p| p.requests > 0)
}
