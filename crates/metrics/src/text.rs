//! Sums and gauges as text exposition 0.0.4.

use exposition::{Text, join, label, seconds};

use crate::families::{GROUPS, Group, OF_PROCESS, OVERALL, STATES};
use crate::open_telemetry;
use crate::row::{Buckets, Row};
use crate::sums::{Gauges, Kind, OTHER, PROCESS, Sums};

/// What a scrape shows.
#[derive(Debug, Clone, Copy)]
pub struct Shown {
    /// The most endpoints, and the most job classes, that have series.
    pub endpoints: usize,
    /// Whether the family is there that OpenTelemetry names for servers.
    pub opentelemetry: bool,
}

/// The text of a scrape.
#[must_use]
pub fn text(sums: &Sums, gauges: &Gauges, shown: Shown) -> String {
    let mut text = Text::new("powerband_");
    for group in &GROUPS {
        write_group(&mut text, group, &rows(sums, group, shown.endpoints));
    }
    write_responses(&mut text, sums);
    if shown.opentelemetry {
        open_telemetry::write(&mut text, &by_name(sums, Kind::Request, shown.endpoints));
    }
    for family in &OVERALL {
        text.family(family.name, "counter", family.help);
        for (value, counter) in family.counters {
            counted(
                &mut text,
                &label(family.label, value),
                counter,
                sums.totals.counter(counter),
            );
        }
    }
    for (name, help, key) in OF_PROCESS {
        let at = PROCESS.iter().position(|process| *process == key);
        text.family(name, "counter", help);
        counted(&mut text, "", key, at.and_then(|at| sums.process[at]));
    }
    write_gauges(&mut text, gauges);
    text.finish()
}

/// Of requests alone: a job has no status.
fn write_responses(text: &mut Text, sums: &Sums) {
    let mut all = Row::default();
    sums.of_kind(Kind::Request)
        .for_each(|(_, row)| all.add(row));
    let help = "Responses by class of status; what raised is a 5xx.";
    text.family("responses_total", "counter", help);
    for class in ["1xx", "2xx", "3xx", "4xx", "5xx"] {
        let counter = format!("status_{class}");
        counted(
            text,
            &label("class", class),
            &counter,
            all.counter(&counter),
        );
    }
}

/// One that is not measured has no sample.
fn counted(text: &mut Text, labels: &str, counter: &str, value: Option<u64>) {
    match value {
        Some(value) if counter.ends_with("_ns") => text.sample(labels, seconds(value)),
        Some(value) => text.sample(labels, value),
        None => {}
    }
}

fn histogram(text: &mut Text, labels: &str, counts: Option<&Buckets>, sum: Option<u64>) {
    let (Some(counts), Some(sum)) = (counts, sum) else {
        return;
    };
    let below = |bucket: usize| {
        counts[..bucket]
            .iter()
            .fold(0_u64, |sum, n| sum.saturating_add(*n))
    };
    // Buckets of the file end at these bounds.
    let up_to = |exponent: u32| below(4 * (exponent as usize - 1));
    text.histogram(labels, up_to, below(counts.len()), sum);
}

/// Labels and sums of each series of a group.
fn rows(sums: &Sums, group: &Group, endpoints: usize) -> Vec<(String, Row)> {
    let Some(name_of_label) = group.label else {
        let mut all = None;
        for (_, row) in sums.of_kind(group.kind) {
            all.get_or_insert_with(Row::default).add(row);
        }
        return all.map(|row| (String::new(), row)).into_iter().collect();
    };
    by_name(sums, group.kind, endpoints)
        .into_iter()
        .map(|(name, row)| (label(name_of_label, name), row.clone()))
        .collect()
}

/// The endpoints with the most requests, and the requests for which processes had no entry left. An endpoint that is no longer
/// among them has no series; the sums over all requests include it.
fn by_name(sums: &Sums, kind: Kind, endpoints: usize) -> Vec<(&str, &Row)> {
    let mut shown: Vec<_> = sums
        .of_kind(kind)
        .filter(|(_, row)| row.requests() > 0)
        .collect();
    shown.sort_by_key(|(name, row)| (*name != OTHER, std::cmp::Reverse(row.requests()), *name));
    let other = usize::from(shown.first().is_some_and(|(name, _)| *name == OTHER));
    shown.truncate(endpoints.saturating_add(other));
    shown.sort_by_key(|(name, _)| *name);
    shown
}

fn write_group(text: &mut Text, group: &Group, rows: &[(String, Row)]) {
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
    for (name, help, counter) in plain {
        text.family(&name, "counter", &format!("{help}{by}."));
        for (labels, row) in rows {
            counted(text, labels, counter, row.counter(counter));
        }
    }
    let help = format!("Time of {subject} by what their thread did{by}.");
    text.family(&format!("{prefix}_seconds_total"), "counter", &help);
    for (labels, row) in rows {
        for (state, counter) in STATES {
            counted(
                text,
                &join(labels, &label("state", state)),
                counter,
                row.counter(counter),
            );
        }
    }
    write_histograms(text, group, rows);
}

fn write_histograms(text: &mut Text, group: &Group, rows: &[(String, Row)]) {
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
    for (name, help, counts, sum) in histograms {
        text.family(
            &format!("{prefix}_{name}_seconds"),
            "histogram",
            &format!("{help}{by}."),
        );
        for (labels, row) in rows {
            histogram(text, labels, counts(row), row.counter(sum));
        }
    }
}

fn write_gauges(text: &mut Text, gauges: &Gauges) {
    let pools: Vec<_> = gauges
        .pools
        .iter()
        .map(|(number, pool)| (label("pool", &number.to_string()), pool))
        .collect();
    text.family(
        "pool_size",
        "gauge",
        "Connections that the pools of live processes may have.",
    );
    for (labels, pool) in &pools {
        text.sample(labels, pool.size);
    }
    text.family(
        "pool_connections",
        "gauge",
        "Connections of the pools of live processes as last seen.",
    );
    for (labels, pool) in &pools {
        for (state, value) in [
            ("busy", pool.busy),
            ("idle", pool.idle),
            ("dead", pool.dead),
        ] {
            text.sample(&join(labels, &label("state", state)), value);
        }
    }
    let help = "Threads of live processes that waited for a connection as last seen.";
    text.family("pool_waiting", "gauge", help);
    for (labels, pool) in &pools {
        text.sample(labels, pool.waiting);
    }
    text.family("processes", "gauge", "Live processes that record.");
    text.sample("", gauges.processes);
    let help = "Processes that the servers of live processes are set to run.";
    text.family("processes_expected", "gauge", help);
    text.sample("", gauges.processes_expected);
    text.family(
        "requests_in_flight",
        "gauge",
        "Requests and jobs being served in live processes.",
    );
    text.sample("", gauges.in_flight);
    let help = "Threads that serve in live processes at most.";
    text.family("threads", "gauge", help);
    gauges.threads.into_iter().for_each(|n| text.sample("", n));
    let help = "Resident memory of live processes (RSS); a page that they share counts in each.";
    text.family("resident_memory_bytes", "gauge", help);
    gauges
        .resident_bytes
        .into_iter()
        .for_each(|n| text.sample("", n));
    text.family(
        "unreadable_files",
        "gauge",
        "Flight files that are damaged or none, and left out.",
    );
    text.sample("", gauges.unreadable);
    let help = "Live processes that cannot make their flight file, by the error.";
    text.family("processes_unrecorded", "gauge", help);
    for (reason, number) in &gauges.unrecorded {
        text.sample(&label("reason", reason), number);
    }
    let help = "What live processes are, always 1.";
    text.family("server_info", "gauge", help);
    for (server, sizes) in &gauges.servers {
        let sizes = sizes.labels();
        let sizes = sizes.iter().map(|(name, value)| (*name, value.as_str()));
        let all = server.labels().into_iter().chain(sizes);
        let all: Vec<String> = all.map(|(name, value)| label(name, value)).collect();
        text.sample(&all.join(","), 1);
    }
}
