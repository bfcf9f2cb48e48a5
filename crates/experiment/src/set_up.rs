//! Whether the agent made the calls that an arm asks for, and whether the pool is as large as asked: by what the processes
//! that serve say themselves.

use flight::{Role, Setup, Snapshot, read_setups};
use knobs::Overlay;
use servers::Mismatch;
use std::path::Path;

/// Knobs that the agent carries out, and whether a process did.
type Done = fn(&Setup, &str) -> bool;

const DONE: [(&str, Done); 6] = [
    ("warmup", |it, _| it.warmup),
    ("compact", |it, _| it.compact),
    ("auto_compact", |it, _| it.auto_compact),
    ("gc_profiler", |it, _| it.gc_profiler),
    ("oob_gc", |it, asked| it.oob_gc.to_string() == asked),
    ("require", |it, asked| {
        asked
            .split(',')
            .all(|library| it.required.iter().any(|had| had == library.trim()))
    }),
];

/// The first knob that a serving process does not have.
pub fn not_taken(overlay: &Overlay, counters: &[Snapshot], flight_dir: &Path) -> Option<Mismatch> {
    let chosen = overlay.chosen();
    let asked = |knob: &str| {
        let value = chosen.iter().find(|c| c.knob == knob)?.value.clone();
        Some(value).filter(|value| !matches!(value.as_str(), "off" | "default" | ""))
    };
    if let Some(pool) = overlay.pool()
        && let Some(mismatch) = other_pool(pool, counters)
    {
        return Some(mismatch);
    }
    if DONE.iter().all(|(knob, _)| asked(knob).is_none()) {
        return None;
    }
    // Without the folder there are no reports.
    let read = read_setups(flight_dir).unwrap_or_default();
    let (mut reports, mut unreadable) = (Vec::new(), None);
    for (_, report) in read {
        match report {
            Ok(report) => reports.push(report),
            Err(error) => unreadable = Some(error.to_string()),
        }
    }
    let serving: Vec<&Setup> = reports
        .iter()
        .filter(|it| it.role == Role::Server)
        .collect();
    DONE.iter().find_map(|(knob, done)| {
        let asked = asked(knob)?;
        let lacks = serving.iter().find(|it| !done(it, &asked));
        if lacks.is_none() && unreadable.is_none() && !serving.is_empty() {
            return None;
        }
        let why = lacks
            .into_iter()
            .flat_map(|it| &it.failed)
            .find(|failure| failure.what == *knob)
            .map(|failure| failure.why.clone())
            .or_else(|| unreadable.clone());
        Some(Mismatch {
            knob: (*knob).into(),
            asked,
            runs_with: why.unwrap_or_else(|| "nothing of it".to_owned()),
            hint: "the agent does this as the server boots (docs/agent.md); the server's log says more",
        })
    })
}

/// Where Active Record's pools are of another size, or no process has reported one.
fn other_pool(asked: u32, counters: &[Snapshot]) -> Option<Mismatch> {
    let sizes: Vec<u16> = counters
        .iter()
        .filter_map(|snapshot| Some(snapshot.pool_samples.last()?.size))
        .collect();
    let other = sizes.iter().find(|size| u32::from(**size) != asked);
    let runs_with = match (other, sizes.is_empty()) {
        (Some(size), _) => format!("a pool of {size}"),
        (None, true) => "no pool of Active Record's that the agent could see".to_owned(),
        (None, false) => return None,
    };
    Some(Mismatch {
        knob: "pool".into(),
        asked: asked.to_string(),
        runs_with,
        hint: "config/database.yml must take its pool from RAILS_MAX_THREADS, or the database from DATABASE_URL",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(knobs: &[(&str, &str)], report: Option<&str>) -> Option<String> {
        let overlay = Overlay::of(knobs).unwrap();
        let folder = tempfile::tempdir().unwrap();
        if let Some(report) = report {
            std::fs::write(folder.path().join("setup-7-1.json"), report).unwrap();
        }
        not_taken(&overlay, &[], folder.path()).map(|m| m.to_string())
    }

    const REPORT: &str = r#"{"v":1,"pid":7,"start_ticks":1,"role":"server","warmup":true,"compact":false,
        "auto_compact":false,"gc_profiler":false,"oob_gc":5,"oob_gc_runs":0,"oob_gc_minor_only":false,
        "require":["oj"],"inherited":[],"failed":[{"what":"compact","why":"not on this platform"}]}"#;

    #[test]
    fn what_was_asked_is_looked_for_in_the_reports() {
        assert_eq!(told(&[("yjit", "on")], None), None);
        assert_eq!(told(&[("warmup", "off")], None), None);
        let all = [("warmup", "on"), ("oob_gc", "5"), ("require", "oj")];
        assert_eq!(told(&all, Some(REPORT)), None);
        for (knob, value, said) in [
            ("compact", "on", "not on this platform"),
            ("oob_gc", "6", "nothing of it"),
            ("require", "kgio", "nothing of it"),
        ] {
            let message = told(&[(knob, value)], Some(REPORT)).unwrap();
            assert!(message.contains(said), "{message}");
        }
        let broken = told(&[("warmup", "on")], Some("{"));
        assert!(broken.unwrap().contains("setup-7-1.json"));
        assert!(
            told(&[("warmup", "on")], None)
                .unwrap()
                .contains("warmup = on")
        );
    }
}
