//! The families of `contract/metrics-v1.md`, in its order, with what the sums and gauges say.

use crate::families::{GROUPS, Group, OF_PROCESS, OVERALL, STATES};
use crate::family::{Durations, Family, Labels, Type, one, with};
use crate::open_telemetry;
use crate::row::{Buckets, Row};
use crate::sums::{Gauges, Kind, OTHER, PROCESS, Sums};
use small_sort::SmallSort;

/// What a scrape shows.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// The most endpoints, and the most job classes, that have series.
    pub endpoints: usize,
    /// Whether the family is there that OpenTelemetry names for servers.
    pub opentelemetry: bool,
}

/// Every family; those of which nothing is measured have no sample.
#[must_use]
pub fn families(sums: &Sums, gauges: &Gauges, shown: Shown) -> Vec<Family> {
    let mut all = Vec::new();
    for group in &GROUPS {
        let rows = rows(sums, group, shown.endpoints);
        all.extend(counters(group, &rows));
        all.push(states(group, &rows));
        all.extend(histograms(group, &rows));
    }
    all.push(responses(sums));
    if shown.opentelemetry {
        let endpoints = by_name(sums, Kind::Request, shown.endpoints);
        all.push(open_telemetry::family(&endpoints));
    }
    for overall in &OVERALL {
        let mut family = Family::new(overall.name, Type::Counter, overall.help);
        for (value, counter) in overall.counters {
            let counted = sums.totals.counter(counter);
            family.counted(one(overall.label, value), counter, counted);
        }
        all.push(family);
    }
    for (name, help, key) in OF_PROCESS {
        let at = PROCESS.iter().position(|process| *process == key);
        let mut family = Family::new(name, Type::Counter, help);
        family.counted(Vec::new(), key, at.and_then(|at| sums.process[at]));
        all.push(family);
    }
    all.extend(pools(gauges));
    all.extend(processes(gauges));
    all.push(server_info(gauges));
    all
}

/// Of requests alone: a job has no status.
fn responses(sums: &Sums) -> Family {
    let mut all = Row::default();
    sums.of_kind(Kind::Request)
        .for_each(|(_, row)| all.add(row));
    let help = "Responses by class of status; what raised is a 5xx.";
    let mut family = Family::new("responses_total", Type::Counter, help);
    for class in ["1xx", "2xx", "3xx", "4xx", "5xx"] {
        let counter = format!("status_{class}");
        family.counted(one("class", class), &counter, all.counter(&counter));
    }
    family
}

/// Labels and sums of each series of a group.
fn rows(sums: &Sums, group: &Group, endpoints: usize) -> Vec<(Labels, Row)> {
    let Some(name_of_label) = group.label else {
        let mut all = None;
        for (_, row) in sums.of_kind(group.kind) {
            all.get_or_insert_with(Row::default).add(row);
        }
        return all.map(|row| (Vec::new(), row)).into_iter().collect();
    };
    by_name(sums, group.kind, endpoints)
        .into_iter()
        .map(|(name, row)| (one(name_of_label, name), row.clone()))
        .collect()
}

/// The endpoints with the most requests, and the requests for which processes had no entry left. An endpoint that is no longer
/// among them has no series; the sums over all requests include it.
fn by_name(sums: &Sums, kind: Kind, endpoints: usize) -> Vec<(&str, &Row)> {
    let mut shown: Vec<_> = sums
        .of_kind(kind)
        .filter(|(_, row)| row.requests() > 0)
        .collect();
    shown.small_sort_by_key(|(name, row)| {
        (*name != OTHER, std::cmp::Reverse(row.requests()), *name)
    });
    let other = usize::from(shown.first().is_some_and(|(name, _)| *name == OTHER));
    shown.truncate(endpoints.saturating_add(other));
    shown.small_sort_by_key(|(name, _)| *name);
    shown
}

fn counters(group: &Group, rows: &[(Labels, Row)]) -> [Family; 5] {
    let Group {
        count,
        errors,
        prefix,
        subject,
        by,
        ..
    } = group;
    let mut capital = (*subject).to_owned();
    capital[..1].make_ascii_uppercase();
    let plain = [
        (
            format!("{count}_total"),
            format!("{capital} that ended"),
            "requests",
        ),
        (
            format!("{errors}_total"),
            format!("{capital} that failed (an exception, or a status of 500 to 599)"),
            "server_errors",
        ),
        (
            format!("{prefix}_cpu_seconds_total"),
            format!("Processor time of {subject}"),
            "cpu_ns",
        ),
        (
            format!("{prefix}_gc_stopped_seconds_total"),
            format!("Time in which the garbage collector stopped {subject}"),
            "gc_ns",
        ),
        (
            format!("{prefix}_allocations_total"),
            format!("Objects allocated by {subject}"),
            "allocations",
        ),
    ];
    plain.map(|(name, help, counter)| {
        let mut family = Family::new(&name, Type::Counter, &format!("{help}{by}."));
        for (labels, row) in rows {
            family.counted(labels.clone(), counter, row.counter(counter));
        }
        family
    })
}

fn states(group: &Group, rows: &[(Labels, Row)]) -> Family {
    let name = format!("{}_seconds_total", group.prefix);
    let help = format!(
        "Time of {} by what their thread did{}.",
        group.subject, group.by
    );
    let mut family = Family::new(&name, Type::Counter, &help);
    for (labels, row) in rows {
        for (state, counter) in STATES {
            family.counted(with(labels, "state", state), counter, row.counter(counter));
        }
    }
    family
}

fn histograms(group: &Group, rows: &[(Labels, Row)]) -> [Family; 3] {
    let Group {
        prefix,
        subject,
        by,
        ..
    } = group;
    type Of = fn(&Row) -> Option<&Buckets>;
    let histograms: [(&str, String, Of, &str); 3] = [
        (
            "duration",
            format!("Time of {subject}, without what went before"),
            |row| row.wall.as_ref(),
            "wall_ns",
        ),
        (
            "gvl_wait",
            format!("Time for which {subject} were ready to run and waited for the GVL"),
            |row| row.gvl_wait.as_ref(),
            "gvl_wait_ns",
        ),
        (
            "queue",
            format!("Time for which {subject} waited before they were begun, where it is known"),
            |row| row.queue.as_ref(),
            "queue_ns",
        ),
    ];
    histograms.map(|(name, help, buckets, sum)| {
        let name = format!("{prefix}_{name}_seconds");
        let mut family = Family::new(&name, Type::Histogram, &format!("{help}{by}."));
        for (labels, row) in rows {
            if let (Some(buckets), Some(sum_ns)) = (buckets(row), row.counter(sum)) {
                family.durations(labels.clone(), Durations::of(buckets, sum_ns));
            }
        }
        family
    })
}

fn pools(gauges: &Gauges) -> [Family; 3] {
    let help = "Connections that the pools of live processes may have.";
    let mut size = Family::new("pool_size", Type::Gauge, help);
    let help = "Connections of the pools of live processes as last seen.";
    let mut connections = Family::new("pool_connections", Type::Gauge, help);
    let help = "Threads of live processes that waited for a connection as last seen.";
    let mut waiting = Family::new("pool_waiting", Type::Gauge, help);
    for (number, pool) in &gauges.pools {
        let labels = one("pool", &number.to_string());
        for (state, value) in [
            ("busy", pool.busy),
            ("idle", pool.idle),
            ("dead", pool.dead),
        ] {
            connections.number(with(&labels, "state", state), value);
        }
        size.number(labels.clone(), pool.size);
        waiting.number(labels, pool.waiting);
    }
    [size, connections, waiting]
}

fn processes(gauges: &Gauges) -> Vec<Family> {
    let numbers = [
        (
            "processes",
            "Live processes that record.",
            Some(gauges.processes),
        ),
        (
            "processes_expected",
            "Processes that the servers of live processes are set to run.",
            Some(gauges.processes_expected),
        ),
        (
            "requests_in_flight",
            "Requests and jobs being served in live processes.",
            Some(gauges.in_flight),
        ),
        (
            "threads",
            "Threads that serve in live processes at most.",
            gauges.threads,
        ),
        (
            "resident_memory_bytes",
            "Resident memory of live processes (RSS); a page that they share counts in each.",
            gauges.resident_bytes,
        ),
        (
            "unreadable_files",
            "Flight files that are damaged or none, and left out.",
            Some(gauges.unreadable),
        ),
    ];
    let mut all: Vec<Family> = numbers
        .into_iter()
        .map(|(name, help, number)| {
            let mut family = Family::new(name, Type::Gauge, help);
            number
                .into_iter()
                .for_each(|number| family.number(Vec::new(), number));
            family
        })
        .collect();
    let help = "Live processes that cannot make their flight file, by the error.";
    let mut unrecorded = Family::new("processes_unrecorded", Type::Gauge, help);
    for (reason, number) in &gauges.unrecorded {
        unrecorded.number(one("reason", reason), *number);
    }
    all.push(unrecorded);
    all
}

fn server_info(gauges: &Gauges) -> Family {
    let help = "What live processes are, always 1.";
    let mut family = Family::new("server_info", Type::Gauge, help);
    for (server, sizes) in &gauges.servers {
        let named = server
            .labels()
            .map(|(name, value)| (name, value.to_owned()));
        family.number(named.into_iter().chain(sizes.labels()).collect(), 1);
    }
    family
}
