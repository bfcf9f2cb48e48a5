//! What a mirror counts, as Prometheus reads it. Every label is a word of this file, of `counts.rs`, or the name of a
//! shadow, so the number of series is bounded by the settings.

use std::collections::BTreeMap;

use exposition::{Text, join, label};

use crate::counts::{ShadowSnapshot, Snapshot};

/// Text exposition 0.0.4.
#[must_use]
pub fn exposition(counts: &Snapshot) -> String {
    let mut text = Text::new("powerband_mirror_");
    let plain: [(&str, &str, &str, u64); 9] = [
        (
            "connections_total",
            "counter",
            "Connections of clients that were accepted.",
            counts.connections,
        ),
        (
            "connections",
            "gauge",
            "Connections of clients that are open.",
            counts.open,
        ),
        (
            "requests_total",
            "counter",
            "Well-formed requests whose head was read.",
            counts.received,
        ),
        (
            "answered_total",
            "counter",
            "Requests whose answer by the primary went to the client whole.",
            counts.answered,
        ),
        (
            "failed_total",
            "counter",
            "Requests that the primary failed.",
            counts.failed,
        ),
        (
            "aborted_total",
            "counter",
            "Requests whose client left before the answer was whole.",
            counts.aborted,
        ),
        (
            "refused_total",
            "counter",
            "Heads that were refused and reached nobody.",
            counts.refused,
        ),
        (
            "upgraded_total",
            "counter",
            "Connections that became tunnels.",
            counts.upgraded,
        ),
        (
            "held_bytes",
            "gauge",
            "Bytes of requests and answers held for shadows.",
            counts.held_bytes,
        ),
    ];
    for (name, kind, help, value) in plain {
        text.family(name, kind, help);
        text.sample("", value);
    }
    type Value = fn(&ShadowSnapshot) -> u64;
    let of_shadow: [(&str, &str, &str, Value); 3] = [
        (
            "shadow_sampled_total",
            "counter",
            "Requests that were to go to a shadow, copies counted.",
            |one| one.sampled,
        ),
        (
            "shadow_answered_total",
            "counter",
            "Whole answers of a shadow.",
            |one| one.answered,
        ),
        (
            "shadow_pending",
            "gauge",
            "Requests that wait for a shadow or are under way to it.",
            |one| one.pending,
        ),
    ];
    for (name, kind, help, value) in of_shadow {
        each_shadow(
            &mut text,
            counts,
            (name, kind, help),
            |text, labels, one| text.sample(labels, value(one)),
        );
    }
    let failures = capture::Failure::ALL.map(capture::Failure::word);
    each_shadow(
        &mut text,
        counts,
        (
            "shadow_failed_total",
            "counter",
            "Requests that a shadow was sent and did not answer whole, by cause.",
        ),
        |text, labels, one| by_cause(text, labels, &failures, &one.failed),
    );
    let drops = capture::Drop::ALL.map(capture::Drop::word);
    each_shadow(
        &mut text,
        counts,
        (
            "shadow_dropped_total",
            "counter",
            "Requests that were never sent to a shadow, by cause.",
        ),
        |text, labels, one| by_cause(text, labels, &drops, &one.dropped),
    );
    text.finish()
}

/// Without shadows, nothing.
fn each_shadow(
    text: &mut Text,
    counts: &Snapshot,
    (name, kind, help): (&str, &str, &str),
    with: impl Fn(&mut Text, &str, &ShadowSnapshot),
) {
    text.family(name, kind, help);
    for shadow in &counts.shadows {
        with(text, &label("shadow", &shadow.name), shadow);
    }
}

/// Every cause, so that one that happens for the first time is seen to grow from 0.
fn by_cause(text: &mut Text, labels: &str, causes: &[&str], counts: &BTreeMap<&'static str, u64>) {
    for cause in causes {
        let count = counts.get(cause).copied().unwrap_or(0);
        text.sample(&join(labels, &label("cause", cause)), count);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::counts::{Counts, ShadowCounts};
    use capture::{Drop, Failure};

    fn snapshot() -> Snapshot {
        let counts = Counts::default();
        counts.client.received.add(7);
        counts.client.answered.add(5);
        counts.held_bytes.add(4_096);
        for name in ["b", "a \"twin\"\\"] {
            let shadow = ShadowCounts::default();
            shadow.sampled.add(4);
            shadow.answered.add(2);
            shadow.fail(Failure::Deadline);
            shadow.drop(Drop::QueueFull, 1);
            counts
                .shadows
                .write()
                .unwrap()
                .push((name.to_owned(), Arc::new(shadow)));
        }
        counts.snapshot()
    }

    #[test]
    fn every_count_is_there_under_its_name() {
        let text = exposition(&snapshot());
        for line in [
            "# TYPE powerband_mirror_requests_total counter",
            "powerband_mirror_requests_total 7",
            "powerband_mirror_held_bytes 4096",
            "powerband_mirror_shadow_sampled_total{shadow=\"b\"} 4",
            "powerband_mirror_shadow_failed_total{shadow=\"b\",cause=\"deadline\"} 1",
            "powerband_mirror_shadow_failed_total{shadow=\"b\",cause=\"tls\"} 0",
            "powerband_mirror_shadow_dropped_total{shadow=\"a \\\"twin\\\"\\\\\",cause=\"queue_full\"} 1",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
    }

    #[test]
    fn without_shadows_there_are_no_families_of_theirs() {
        let text = exposition(&Counts::default().snapshot());
        assert!(!text.contains("shadow_") && text.contains("powerband_mirror_requests_total 0\n"));
    }

    #[test]
    fn promtool_finds_nothing_wrong() {
        let found = testkit::promtool(&exposition(&snapshot()));
        assert_eq!(found.unwrap_or_default(), "");
    }
}
