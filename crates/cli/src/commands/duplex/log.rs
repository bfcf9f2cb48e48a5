//! Files of a mirror -> a comparison, a block in memory at a time.

use crate::Failure;
use ::duplex::{Comparison, Shadow};
use capture::Pair;
use capture::file::{Head, Reader};
use run::duplex::NotRead;
use small_sort::SmallSort;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// Everything that the files hold, and what of them could not be read.
pub fn read(
    paths: &[PathBuf],
    twin: Option<&str>,
    margin: f64,
) -> Result<(Comparison, Vec<NotRead>), Failure> {
    let logs = paths
        .iter()
        .map(|path| Ok((path.display().to_string(), open(path)?)));
    gathered(logs.collect::<Result<Vec<_>, Failure>>()?, twin, margin)
}

fn open(path: &Path) -> Result<Reader<BufReader<File>, Pair>, Failure> {
    let file = File::open(path).map_err(|e| {
        Failure::usage(format!(
            "{}: {e}; name a log of powerband mirror --shadow-log",
            path.display()
        ))
    })?;
    Reader::new(BufReader::new(file))
        .map_err(|e| Failure::usage(format!("{}: {e}", path.display())))
}

/// By name; in any order, as the shell made of `*`.
fn gathered<R: Read>(
    mut logs: Vec<(String, Reader<R, Pair>)>,
    twin: Option<&str>,
    margin: f64,
) -> Result<(Comparison, Vec<NotRead>), Failure> {
    logs.small_sort_by_key(|(_, log)| (log.head().began_ns, log.head().about.part));
    let Some(first) = logs.first().map(|(_, log)| log.head().clone()) else {
        return Err(Failure::usage("--shadow-log: name a file"));
    };
    let shadows = shadows(&first, twin)?;
    let mut comparison =
        Comparison::new(shadows, margin).map_err(|e| Failure::no_answer(e.to_string()))?;
    let mut not_read = Vec::new();
    let (mut capture, mut began_ns) = (first.about.capture.clone(), first.began_ns);
    let (mut offset_ns, mut last_ns) = (0_u64, 0_u64);
    // Of this capture: a log of its last hour alone is an hour long.
    let mut first_ns = None;
    for (name, mut log) in logs {
        let head = log.head();
        if head.about.shadows != first.about.shadows {
            return Err(Failure::usage(format!(
                "{name}: its shadows are {}, and those of the first log {}; compare logs of the same shadows",
                head.about.shadows.join(", "),
                first.about.shadows.join(", ")
            )));
        }
        if twin.is_none() && head.about.twin != first.about.twin {
            return Err(Failure::usage(format!(
                "{name}: its twin is {:?}, and that of the first log {:?}; name the one to go by with --twin",
                head.about.twin, first.about.twin
            )));
        }
        if head.about.capture != capture {
            // Another run of the mirror: what lies between the two is no time of either.
            (capture, began_ns, offset_ns) = (head.about.capture.clone(), head.began_ns, last_ns);
            first_ns = None;
        }
        let here_ns = head.began_ns - began_ns;
        for pair in &mut log {
            match pair {
                Ok(pair) => {
                    let at_ns = here_ns.saturating_add(pair.at_ns);
                    let since_ns = at_ns.saturating_sub(*first_ns.get_or_insert(at_ns));
                    let at_ns = offset_ns.saturating_add(since_ns);
                    last_ns = last_ns.max(at_ns);
                    comparison.push_at(at_ns, &pair);
                }
                Err(e) => not_read.push(part(&name, format!("reading ended early: {e}"))),
            }
        }
        let damaged = log.damaged();
        not_read.extend(
            damaged
                .first
                .iter()
                .map(|damage| part(&name, damage.to_string())),
        );
        let more = damaged.count.saturating_sub(damaged.first.len() as u64);
        if more > 0 {
            not_read.push(part(&name, format!("and {more} more places")));
        }
    }
    Ok((comparison, not_read))
}

fn shadows(head: &Head, twin: Option<&str>) -> Result<Vec<Shadow>, Failure> {
    let names = &head.about.shadows;
    if let Some(twin) = twin.filter(|twin| !names.iter().any(|name| name == twin)) {
        return Err(Failure::usage(format!(
            "--twin = {twin:?}: the log has no such shadow; name one of {}",
            names.join(", ")
        )));
    }
    let twin = twin.or(Some(head.about.twin.as_str()));
    let shadow = |name: &String| Shadow {
        name: name.clone(),
        twin: twin == Some(name),
    };
    Ok(names.iter().map(shadow).collect())
}

fn part(name: &str, reason: String) -> NotRead {
    NotRead {
        file: name.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use capture::file::{About, Kind, Writer};
    use capture::{Answer, Outcome, ShadowOutcome};

    const SECOND: u64 = 1_000_000_000;

    fn pair(at_ns: u64) -> Pair {
        let answer = Answer {
            status: 200,
            first_byte_ns: 1_000_000,
            took_ns: 5_000_000,
            body_bytes: 3,
            digest: 7,
            content_type: String::new(),
            complete: true,
        };
        Pair {
            id: 1,
            at_ns,
            method: "GET".to_owned(),
            endpoint: "GET /".to_owned(),
            target: "/".to_owned(),
            primary: Some(answer.clone()),
            shadows: vec![ShadowOutcome {
                shadow: 0,
                copy: 0,
                delay_ns: 0,
                waited_ns: None,
                outcome: Outcome::Answered(answer),
                differences: Vec::new(),
            }],
        }
    }

    /// A log with a request every second, and its blocks as small as they can be.
    fn log(
        capture: &str,
        part: u32,
        began_s: u64,
        names: &[&str],
        seconds: std::ops::Range<u64>,
    ) -> Vec<u8> {
        let about = About {
            capture: capture.to_owned(),
            part,
            shadows: names.iter().map(|name| (*name).to_owned()).collect(),
            ..About::default()
        };
        let head = Head::new(Kind::ShadowLog, began_s * SECOND, about);
        let mut writer = Writer::new(Vec::new(), &head).unwrap();
        for second in seconds {
            writer.push(&pair(second * SECOND)).unwrap();
            writer.flush().unwrap();
        }
        writer.finish().unwrap()
    }

    fn gathered_of(
        logs: &[Vec<u8>],
        twin: Option<&str>,
    ) -> Result<(Comparison, Vec<NotRead>), Failure> {
        let named = logs.iter().enumerate();
        let opened = named
            .map(|(nth, bytes)| (format!("{nth}.pbc"), Reader::new(bytes.as_slice()).unwrap()));
        gathered(opened.collect(), twin, 0.03)
    }

    fn span_s(logs: &[Vec<u8>]) -> f64 {
        let (comparison, not_read) = gathered_of(logs, None).unwrap();
        assert_eq!(not_read, []);
        comparison.document(&::duplex::Asked::default()).span_s
    }

    #[test]
    fn parts_of_a_capture_share_its_clock_and_other_captures_follow() {
        let first = log("monday", 0, 1_000, &["new"], 0..10);
        let second = log("monday", 1, 1_000, &["new"], 10..20);
        assert_eq!(span_s(&[second, first.clone()]), 19.0);
        // A part whose clock begins anew says when.
        let later = log("monday", 1, 1_010, &["new"], 0..10);
        assert_eq!(span_s(&[later, first.clone()]), 19.0);
        let tuesday = log("tuesday", 0, 90_000, &["new"], 0..10);
        assert_eq!(span_s(&[tuesday, first.clone()]), 18.0);
        // What is left of a day is as long as it is, alone and after another.
        let evening = log("wednesday", 5, 180_000, &["new"], 70_000..70_010);
        assert_eq!(span_s(std::slice::from_ref(&evening)), 9.0);
        assert_eq!(span_s(&[evening, first]), 18.0);
    }

    #[test]
    fn when_a_log_began_changes_nothing_of_its_answer() {
        let answer = |from: u64| {
            let log = log("a", 3, 1_000, &["new"], from..from + 900);
            let (comparison, _) = gathered_of(&[log], None).unwrap();
            comparison.document(&::duplex::Asked::default())
        };
        let at_once = answer(0);
        assert_eq!(at_once.comparisons[0].outcome, run::Outcome::Equivalent);
        assert_eq!(
            serde_json::to_value(answer(36_000)).unwrap(),
            serde_json::to_value(at_once).unwrap()
        );
    }

    #[test]
    fn logs_of_other_shadows_and_twins_that_are_none_are_refused() {
        let logs = [
            log("a", 0, 1, &["new"], 0..3),
            log("b", 0, 2, &["newer"], 0..3),
        ];
        let refused = gathered_of(&logs, None).unwrap_err();
        assert!(
            refused.code == 2 && refused.message.starts_with("1.pbc: its shadows are newer"),
            "{refused:?}"
        );
        let refused = gathered_of(&logs[..1], Some("base")).unwrap_err();
        assert!(refused.message.contains("name one of new"), "{refused:?}");
        assert_eq!(
            gathered_of(&[log("a", 0, 1, &[], 0..3)], None)
                .unwrap_err()
                .code,
            3
        );
    }

    #[test]
    fn a_damaged_block_is_reported_and_the_rest_counts() {
        let mut bytes = log("a", 0, 1, &["new"], 0..10);
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        let (comparison, not_read) = gathered_of(&[bytes], None).unwrap();
        assert_eq!(not_read.len(), 1, "{not_read:?}");
        assert!(not_read[0].reason.contains("1 record lost"), "{not_read:?}");
        assert_eq!(comparison.requests(), 9);
    }
}
