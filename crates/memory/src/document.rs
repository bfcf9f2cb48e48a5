//! The memory document.

use crate::judged::{growth_of_all, growth_of_one};
use crate::recorded::{Recorded, Track};
use host::GroupMemory;
use run::memory::{Container, Course, Document, Ending, Growth, LimitReached, Process, SCHEMA};
use std::time::Duration;

/// What the readings themselves do not say.
#[derive(Debug, Clone)]
pub struct Asked {
    pub version: String,
    /// UTC, RFC 3339.
    pub started_at: String,
    pub interval: Duration,
    pub sources: Vec<String>,
    pub ending: Ending,
    /// The group of the processes at the beginning and at the end.
    pub group: Option<(GroupMemory, GroupMemory)>,
    pub not_known: Vec<String>,
}

/// Makes it; at least one reading must be there.
#[must_use]
pub fn document(recorded: &Recorded, asked: Asked) -> Document {
    let growth = match recorded.tracks.as_slice() {
        [only] => growth_of_one(&only.samples),
        _ => growth_of_all(&recorded.samples),
    };
    let processes = recorded.tracks.iter().map(|track| process(track, recorded));
    Document {
        schema: SCHEMA.to_owned(),
        powerband_version: asked.version,
        started_at: asked.started_at,
        length_s: recorded.length_s(),
        interval_s: asked.interval.as_secs_f64(),
        sources: asked.sources,
        ending: asked.ending,
        container: asked
            .group
            .map(|(before, after)| container(&before, &after, &growth)),
        processes: processes.collect(),
        samples: recorded.samples.clone(),
        not_known: asked.not_known,
        growth,
    }
}

fn process(track: &Track, recorded: &Recorded) -> Process {
    let at = |sample: Option<&run::memory::Sample>| sample.map(|sample| sample.at_s);
    Process {
        pid: track.pid,
        parent_pid: track.parent_pid,
        name: track.name.clone(),
        worker: track.worker,
        began: at(track.samples.first()) > at(recorded.samples.first()),
        ended: at(track.samples.last()) < at(recorded.samples.last()),
        growth: growth_of_one(&track.samples),
        first: track.first.clone(),
        last: track.last.clone(),
        first_heap: track.first_heap.clone(),
        last_heap: track.last_heap.clone(),
        samples: track.samples.clone(),
    }
}

fn container(before: &GroupMemory, after: &GroupMemory, growth: &Growth) -> Container {
    let kills = after.oom_kills.zip(before.oom_kills);
    Container {
        current_bytes: Some(after.current_bytes),
        used_bytes: Some(after.used_bytes),
        peak_bytes: after.peak_bytes,
        limit_bytes: after.limit_bytes,
        oom_events: after.oom_events,
        oom_kills: after.oom_kills,
        oom_kills_meanwhile: kills.map(|(after, before)| after.saturating_sub(before)),
        limit_reached: limit_reached(after, growth),
    }
}

fn limit_reached(group: &GroupMemory, growth: &Growth) -> Option<LimitReached> {
    let left = group.room_bytes()? as f64;
    let pace = growth
        .per_hour
        .filter(|_| growth.course == Course::Growing)?;
    let seconds = |bytes_an_hour: f64| left / bytes_an_hour * 3_600.0;
    (pace.low_bytes > 0.0).then(|| LimitReached {
        in_s: seconds(pace.bytes),
        soonest_s: seconds(pace.high_bytes),
        latest_s: seconds(pace.low_bytes),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorded::tests::{process, reading};

    fn asked(limit: Option<u64>) -> Asked {
        let group = |oom_kills| GroupMemory {
            used_bytes: 1 << 30,
            limit_bytes: limit,
            oom_kills: Some(oom_kills),
            ..GroupMemory::default()
        };
        Asked {
            version: "0.1.0".to_owned(),
            started_at: "2026-11-25T20:00:00Z".to_owned(),
            interval: Duration::from_secs(1),
            sources: vec!["--pid 7".to_owned()],
            ending: Ending::TimeOver,
            group: Some((group(2), group(3))),
            not_known: Vec::new(),
        }
    }

    /// 1 MiB a second, and a worker that comes and goes.
    fn leak() -> Recorded {
        let mut recorded = Recorded::default();
        for at_s in 0..60 {
            let mut processes = vec![process(7, 100_000 + at_s * 1024, true, None)];
            if (10..20).contains(&at_s) {
                processes.push(process(8, 10, true, None));
            }
            recorded.add(&reading(at_s, processes));
        }
        recorded
    }

    #[test]
    fn the_limit_is_reached_when_the_rest_is_used_up() {
        let document = document(&leak(), asked(Some(2 << 30)));
        assert_eq!(document.growth.course, Course::Growing);
        let container = document.container.unwrap();
        assert_eq!(
            (container.oom_kills, container.oom_kills_meanwhile),
            (Some(3), Some(1))
        );
        let reached = container.limit_reached.unwrap();
        assert!((reached.in_s - 1_024.0).abs() < 1.0, "{reached:?}");
        assert!(reached.soonest_s <= reached.in_s && reached.in_s <= reached.latest_s);
        let lives: Vec<_> = document
            .processes
            .iter()
            .map(|p| (p.pid, p.began, p.ended))
            .collect();
        assert_eq!(lives, [(7, false, false), (8, true, true)]);
        assert_eq!(document.processes[1].growth.course, Course::TooShort);
    }

    #[test]
    fn without_a_limit_or_growth_none_is_reached() {
        let unlimited = document(&leak(), asked(None));
        assert_eq!(unlimited.container.unwrap().limit_reached, None);
        let mut flat = Recorded::default();
        (0..60).for_each(|at_s| flat.add(&reading(at_s, vec![process(7, 100_000, true, None)])));
        let flat = document(&flat, asked(Some(2 << 30)));
        assert_eq!(flat.growth.course, Course::Flat);
        assert_eq!(flat.container.unwrap().limit_reached, None);
    }
}
