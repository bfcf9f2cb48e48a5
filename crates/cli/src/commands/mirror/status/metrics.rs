//! Everything that `/metrics` shows: the mirror's counts, what is written, the process, the comparison.

use super::Descriptors;
use crate::commands::mirror::kept::Kept;
use crate::commands::mirror::written::Written;
use capture::file::State;
use exposition::{Text, join, label};
use mirror::Snapshot;

/// A family of what is written: name, type, help, samples.
type Family = (&'static str, &'static str, &'static str, Samples);
type Samples = fn(&mut Text, &str, &Written);

const WRITTEN: [Family; 5] = [
    (
        "recorder_records_total",
        "counter",
        "Records that are in a file: requests of the recording, pairs of the shadow log.",
        |text, labels, one| text.sample(labels, one.records),
    ),
    (
        "recorder_lost_total",
        "counter",
        "Records that are in no file, by cause; those that come after the end are not counted.",
        |text, labels, one| {
            for (cause, count) in &one.lost {
                text.sample(&join(labels, &label("cause", cause)), count);
            }
        },
    ),
    (
        "recorder_bytes_total",
        "counter",
        "Bytes written to files.",
        |text, labels, one| text.sample(labels, one.bytes),
    ),
    (
        "recorder_files_total",
        "counter",
        "Files begun.",
        |text, labels, one| text.sample(labels, one.files),
    ),
    (
        "recorder_state",
        "gauge",
        "1 for the present state: recording, paused (the disk is full), limit_reached, failed or ended.",
        |text, labels, one| {
            for state in State::ALL.map(State::word) {
                let is = u8::from(one.state == state);
                text.sample(&join(labels, &label("state", state)), is);
            }
        },
    ),
];

/// Text exposition 0.0.4.
pub fn text(counts: &Snapshot, kept: &Kept, descriptors: Descriptors) -> String {
    let mut build = Text::new("powerband_");
    build.family("build_info", "gauge", "1, with the version of powerband.");
    build.sample(&label("version", env!("CARGO_PKG_VERSION")), 1);
    let mut text = build.finish();
    text.push_str(&mirror::exposition(counts));
    text.push_str(&written(kept));
    text.push_str(&process(descriptors));
    if let Some(comparison) = &kept.comparison {
        text.push_str(&duplex::exposition(comparison));
    }
    text
}

fn written(kept: &Kept) -> String {
    let mut text = Text::new("powerband_mirror_");
    for (name, kind, help, samples) in &WRITTEN {
        text.family(name, kind, help);
        for (what, one) in &kept.written {
            samples(&mut text, &label("recorder", what), one);
        }
    }
    text.finish()
}

/// Under the names that Prometheus' own libraries have for them.
fn process(descriptors: Descriptors) -> String {
    let mut text = Text::new("process_");
    let families = [
        (
            "open_fds",
            "Number of open file descriptors.",
            descriptors.open,
        ),
        (
            "max_fds",
            "Maximum number of open file descriptors.",
            descriptors.limit,
        ),
    ];
    for (name, help, value) in families {
        text.family(name, "gauge", help);
        if let Some(value) = value {
            text.sample("", value);
        }
    }
    text.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::mirror::written::{RECORDING, SHADOW_LOG};
    use capture::file::{Counts, Lost};

    fn written(state: State) -> Written {
        let counts = Counts {
            state,
            written: 41,
            lost: Lost {
                no_space: 2,
                ..Lost::default()
            },
            bytes: 4_096,
            files: 1,
            ..Counts::default()
        };
        Written::of([&counts], 3)
    }

    #[test]
    fn what_is_written_and_what_is_lost_is_there_and_promtool_finds_nothing_wrong() {
        let kept = Kept {
            written: [
                (RECORDING, written(State::Paused)),
                (SHADOW_LOG, written(State::Recording)),
            ]
            .into(),
            ..Kept::default()
        };
        let descriptors = Descriptors {
            open: Some(17),
            limit: Some(1_024),
        };
        let text = text(&mirror::Counts::default().snapshot(), &kept, descriptors);
        for line in [
            &format!(
                "powerband_build_info{{version=\"{}\"}} 1",
                env!("CARGO_PKG_VERSION")
            ),
            "powerband_mirror_recorder_records_total{recorder=\"recording\"} 41",
            "powerband_mirror_recorder_lost_total{recorder=\"recording\",cause=\"no_space\"} 2",
            "powerband_mirror_recorder_lost_total{recorder=\"recording\",cause=\"backlog\"} 3",
            "powerband_mirror_recorder_lost_total{recorder=\"recording\",cause=\"failed\"} 0",
            "powerband_mirror_recorder_bytes_total{recorder=\"shadow_log\"} 4096",
            "powerband_mirror_recorder_state{recorder=\"recording\",state=\"paused\"} 1",
            "powerband_mirror_recorder_state{recorder=\"recording\",state=\"recording\"} 0",
            "process_open_fds 17",
            "process_max_fds 1024",
        ] {
            assert!(text.lines().any(|one| one == line), "{line}\n{text}");
        }
        assert_eq!(testkit::promtool(&text).unwrap_or_default(), "");
    }

    #[test]
    fn without_a_recording_there_are_no_families_of_it() {
        let descriptors = Descriptors {
            open: None,
            limit: None,
        };
        let counts = mirror::Counts::default().snapshot();
        let text = text(&counts, &Kept::default(), descriptors);
        assert!(!text.contains("recorder_") && !text.contains("process_"));
        assert!(text.contains("powerband_mirror_requests_total 0\n"));
    }
}
