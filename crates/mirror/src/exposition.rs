//! What a mirror counts, as Prometheus reads it. Every label is a word of this file, of `counts.rs`, or the name of a
//! shadow, so the number of series is bounded by the settings.

use std::collections::BTreeMap;

use exposition::{Text, join, label};

use crate::cause::{Cause, Effect};
use crate::counts::{STATUSES, ShadowSnapshot, Snapshot};
use crate::http1;
use crate::latency::LatencySnapshot;

/// A family, and where its samples come from.
struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    samples: Samples,
}

enum Samples {
    One(fn(&Snapshot) -> u64),
    /// By cause: those with this effect.
    Causes(Effect),
    /// By what strictness would refuse.
    Tolerated,
    /// By the class of the primary's status.
    Statuses,
    Latency(fn(&Snapshot) -> &LatencySnapshot),
    /// Each shadow's.
    Shadows(fn(&ShadowSnapshot) -> u64),
    /// Each shadow's, by these causes.
    ShadowCauses(
        fn() -> Vec<&'static str>,
        fn(&ShadowSnapshot) -> &BTreeMap<&'static str, u64>,
    ),
}

use Samples::{Causes, Latency, One, ShadowCauses, Shadows, Statuses, Tolerated};

const FAMILIES: [Family; 23] = [
    Family {
        name: "connections_total",
        kind: "counter",
        help: "Connections of clients that were accepted.",
        samples: One(|counts| counts.connections),
    },
    Family {
        name: "connections",
        kind: "gauge",
        help: "Connections of clients that are open.",
        samples: One(|counts| counts.open),
    },
    Family {
        name: "connections_idle",
        kind: "gauge",
        help: "Open connections of clients without a request.",
        samples: One(|counts| counts.idle),
    },
    Family {
        name: "connections_limit",
        kind: "gauge",
        help: "Connections of clients that may be open at once.",
        samples: One(|counts| counts.most),
    },
    Family {
        name: "idle_closed_total",
        kind: "counter",
        help: "Connections of clients that were closed while idle, to make room for others.",
        samples: One(|counts| counts.idle_closed),
    },
    Family {
        name: "waited_total",
        kind: "counter",
        help: "Times that all connections were taken and none was idle, so that a further client had to wait.",
        samples: One(|counts| counts.waited),
    },
    Family {
        name: "requests_total",
        kind: "counter",
        help: "Well-formed requests whose head was read.",
        samples: One(|counts| counts.received),
    },
    Family {
        name: "answered_total",
        kind: "counter",
        help: "Requests whose answer by the primary went to the client whole.",
        samples: One(|counts| counts.answered),
    },
    Family {
        name: "failed_total",
        kind: "counter",
        help: "Requests that the primary failed, by cause.",
        samples: Causes(Effect::Failed),
    },
    Family {
        name: "aborted_total",
        kind: "counter",
        help: "Requests that ended on the client's side before the answer was whole, by cause.",
        samples: Causes(Effect::Aborted),
    },
    Family {
        name: "refused_total",
        kind: "counter",
        help: "Heads, and what comes before them, that were refused and reached nobody, by cause.",
        samples: Causes(Effect::Refused),
    },
    Family {
        name: "tolerated_total",
        kind: "counter",
        help: "Causes for which --strictness enforce would refuse requests that passed; a request may have several.",
        samples: Tolerated,
    },
    Family {
        name: "retried_total",
        kind: "counter",
        help: "Connections that were tried again, and requests that were sent again, by cause.",
        samples: Causes(Effect::Retried),
    },
    Family {
        name: "upgraded_total",
        kind: "counter",
        help: "Connections that became tunnels.",
        samples: One(|counts| counts.upgraded),
    },
    Family {
        name: "primary_answers_total",
        kind: "counter",
        help: "Final answers of the primaries by the class of their status.",
        samples: Statuses,
    },
    Family {
        name: "primary_first_byte_seconds",
        kind: "histogram",
        help: "From the last byte of a request to the first byte of the primary's final answer.",
        samples: Latency(|counts| &counts.primary.first_byte),
    },
    Family {
        name: "primary_answer_seconds",
        kind: "histogram",
        help: "From the last byte of a request to the last byte of the primary's answer.",
        samples: Latency(|counts| &counts.primary.whole),
    },
    Family {
        name: "held_bytes",
        kind: "gauge",
        help: "Bytes of requests and answers held for shadows.",
        samples: One(|counts| counts.held_bytes),
    },
    Family {
        name: "shadow_sampled_total",
        kind: "counter",
        help: "Requests that were to go to a shadow, copies counted.",
        samples: Shadows(|one| one.sampled),
    },
    Family {
        name: "shadow_answered_total",
        kind: "counter",
        help: "Whole answers of a shadow.",
        samples: Shadows(|one| one.answered),
    },
    Family {
        name: "shadow_pending",
        kind: "gauge",
        help: "Requests that wait for a shadow or are under way to it.",
        samples: Shadows(|one| one.pending),
    },
    Family {
        name: "shadow_failed_total",
        kind: "counter",
        help: "Requests that a shadow was sent and did not answer whole, by cause.",
        samples: ShadowCauses(
            || capture::Failure::ALL.map(capture::Failure::word).to_vec(),
            |one| &one.failed,
        ),
    },
    Family {
        name: "shadow_dropped_total",
        kind: "counter",
        help: "Requests that were never sent to a shadow, by cause.",
        samples: ShadowCauses(
            || capture::Drop::ALL.map(capture::Drop::word).to_vec(),
            |one| &one.dropped,
        ),
    },
];

/// Text exposition 0.0.4.
#[must_use]
pub fn exposition(counts: &Snapshot) -> String {
    let mut text = Text::new("powerband_mirror_");
    for family in &FAMILIES {
        text.family(family.name, family.kind, family.help);
        write(&mut text, counts, &family.samples);
    }
    text.finish()
}

fn write(text: &mut Text, counts: &Snapshot, samples: &Samples) {
    match samples {
        One(value) => text.sample("", value(counts)),
        Causes(effect) => {
            let causes = Cause::with(*effect).map(Cause::word);
            each(text, "", "cause", causes, &counts.causes);
        }
        Tolerated => {
            let causes = http1::Tolerated::ALL.map(http1::Tolerated::word);
            each(text, "", "cause", causes, &counts.tolerated);
        }
        Statuses => each(text, "", "status", STATUSES, &counts.primary.statuses),
        Latency(of) => {
            let found = of(counts);
            text.histogram(
                "",
                |exponent| found.up_to(exponent),
                found.count,
                found.sum_ns,
            );
        }
        Shadows(value) => {
            for one in &counts.shadows {
                text.sample(&label("shadow", &one.name), value(one));
            }
        }
        ShadowCauses(causes, of) => {
            for one in &counts.shadows {
                each(
                    text,
                    &label("shadow", &one.name),
                    "cause",
                    causes(),
                    of(one),
                );
            }
        }
    }
}

/// Every word, so that one that is there for the first time is seen to grow from 0.
fn each(
    text: &mut Text,
    labels: &str,
    name: &str,
    words: impl IntoIterator<Item = &'static str>,
    counts: &BTreeMap<&'static str, u64>,
) {
    for word in words {
        let count = counts.get(word).copied().unwrap_or(0);
        text.sample(&join(labels, &label(name, word)), count);
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
        counts.client.causes.add(Cause::Unreachable);
        counts.client.causes.add(Cause::Unreachable);
        counts.client.causes.add(Cause::TooLarge);
        counts.primary.answer(204);
        counts
            .primary
            .first_byte
            .add(std::time::Duration::from_micros(1_500));
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
            "powerband_mirror_failed_total{cause=\"unreachable\"} 2",
            "powerband_mirror_failed_total{cause=\"answer_timeout\"} 0",
            "powerband_mirror_refused_total{cause=\"too_large\"} 1",
            "powerband_mirror_primary_answers_total{status=\"2xx\"} 1",
            "powerband_mirror_primary_answers_total{status=\"5xx\"} 0",
            "powerband_mirror_primary_first_byte_seconds_bucket{le=\"0.001024\"} 0",
            "powerband_mirror_primary_first_byte_seconds_bucket{le=\"0.002048\"} 1",
            "powerband_mirror_primary_first_byte_seconds_sum 0.0015",
            "powerband_mirror_primary_answer_seconds_count 0",
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
