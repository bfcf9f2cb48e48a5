//! Whether the agent made the calls that an arm asks for, and whether the pool is as large as asked: by what the processes
//! that serve say themselves.

use flight::{Role, Setup, Snapshot, read_setups};
use knobs::Overlay;
use servers::Mismatch;
use std::collections::BTreeMap;
use std::path::Path;

/// Knobs that the agent carries out, and whether a process did.
type Done = fn(&Setup, &str) -> bool;

const DONE: [(&str, Done); 7] = [
    ("warmup", |it, _| it.warmup),
    ("compact", |it, _| it.compact),
    ("auto_compact", |it, _| it.auto_compact),
    ("gc_profiler", |it, _| it.gc_profiler),
    ("oob_gc", |it, asked| it.oob_gc.to_string() == asked),
    ("oob_major", |it, _| it.oob_major),
    ("require", |it, asked| {
        asked
            .split(',')
            .all(|library| it.required.iter().any(|had| had == library.trim()))
    }),
];

/// The first knob that a serving process does not have. `versions`: of the gems of the arm's bundle.
pub fn not_taken(
    overlay: &Overlay,
    versions: &BTreeMap<String, String>,
    counters: &[Snapshot],
    flight_dir: &Path,
) -> Option<Mismatch> {
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
    if versions.is_empty() && DONE.iter().all(|(knob, _)| asked(knob).is_none()) {
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
    if let Some(mismatch) = other_version(versions, &serving) {
        return Some(mismatch);
    }
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

/// The first gem that a serving process has in another version, or that no process has reported.
fn other_version(versions: &BTreeMap<String, String>, serving: &[&Setup]) -> Option<Mismatch> {
    versions.iter().find_map(|(gem, version)| {
        let found = serving.iter().map(|it| it.versions.get(gem));
        let runs_with = match found.clone().find(|found| *found != Some(version)) {
            Some(Some(other)) if !other.is_empty() => other.clone(),
            Some(_) => "without the gem".to_owned(),
            None if serving.is_empty() => "a version that no process has reported".to_owned(),
            None => return None,
        };
        Some(Mismatch {
            knob: format!("{}{gem}", knobs::GEM).into(),
            asked: version.clone(),
            runs_with,
            hint: "the start command must run the server by bundle exec, and nothing may select another Gemfile",
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
        let versions = overlay.gems();
        not_taken(&overlay, &versions, &[], folder.path()).map(|m| m.to_string())
    }

    const REPORT: &str = r#"{"v":1,"pid":7,"start_ticks":1,"role":"server","warmup":true,"compact":false,
        "auto_compact":false,"gc_profiler":false,"oob_gc":5,"oob_gc_runs":0,"oob_gc_minor_only":false,
        "require":["oj"],"versions":{"puma":"6.6.0","rack":""},"inherited":[],"failed":[{"what":"compact","why":"not on this platform"}]}"#;

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
        assert_eq!(told(&[("puma", "6.6.0")], Some(REPORT)), None);
        for (gem, version, said) in [
            (
                "puma",
                "7.2.0",
                "gem.puma = 7.2.0 was asked, the server runs with 6.6.0",
            ),
            ("gem.rack", "3.1.0", "without the gem"),
            ("gem.oj", "3.1.0", "without the gem"),
        ] {
            let message = told(&[(gem, version)], Some(REPORT)).unwrap();
            assert!(message.contains(said), "{message}");
        }
        let unreported = told(&[("puma", "6.6.0")], None).unwrap();
        assert!(
            unreported.contains("no process has reported"),
            "{unreported}"
        );
        let broken = told(&[("warmup", "on")], Some("{"));
        assert!(broken.unwrap().contains("setup-7-1.json"));
        assert!(
            told(&[("warmup", "on")], None)
                .unwrap()
                .contains("warmup = on")
        );
    }
}
