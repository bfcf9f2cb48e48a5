//! Whether the disk has room for what a run writes, before minutes are spent: the agent allocates its files in full, and without
//! them no trial counts.

use crate::error::Stopped;
use crate::progress::{Event, Watcher};
use crate::request::{Experiment, Goal};
use std::path::Path;

/// Requests that the agent keeps of each process in a trial.
pub const RING: u32 = 4096;
/// The agent's variable for that number.
pub const RING_VARIABLE: &str = "POWERBAND_RING";
/// Of a flight file, a request kept; what else is in it included.
const RECORD_BYTES: u64 = 336;
/// The courses of requests, which the pilot's processes keep too.
const COURSES_BYTES: u64 = 2_200_000;
/// Logs and documents.
const DOCUMENTS_BYTES: u64 = 4 << 20;
/// Trials of the pilot, whose files stay until the verdict.
const PILOT: u64 = 3;
/// Trials of a usual run.
const USUAL_TRIALS: u64 = 40;

/// Most workers that are assumed where the application's own configuration decides and is not known yet.
const ASSUMED_WORKERS: u64 = 4;

/// Bytes that a run needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Need {
    /// With no worker where their number is not known.
    least: u64,
    /// With the number that is assumed.
    likely: u64,
}

/// Refuses a run that its disk has no room for; warns where the need is an assumption.
pub fn check(experiment: &Experiment, folder: &Path, watcher: &dyn Watcher) -> Result<(), Stopped> {
    refuse(experiment, folder, needed(experiment, cores()), watcher)
}

/// Refuses a trace that its disk has no room for; warns where the need is an assumption.
pub fn check_trace(
    experiment: &Experiment,
    folder: &Path,
    ring: u32,
    watcher: &dyn Watcher,
) -> Result<(), Stopped> {
    let of_process = u64::from(ring) * RECORD_BYTES + COURSES_BYTES;
    let needed = need(experiment, cores(), |workers| {
        DOCUMENTS_BYTES + (1 + workers) * of_process
    });
    refuse(experiment, folder, needed, watcher)
}

fn refuse(
    experiment: &Experiment,
    folder: &Path,
    needed: Need,
    watcher: &dyn Watcher,
) -> Result<(), Stopped> {
    // What cannot be looked at says why once something is written there.
    let free = host::disk::free_bytes(folder).unwrap_or(u64::MAX);
    if let Some(warning) = judged(experiment, free, needed)? {
        watcher.on(Event::Note(warning));
    }
    Ok(())
}

/// A warning where the disk may be too small, an error where it certainly is.
fn judged(experiment: &Experiment, free: u64, needed: Need) -> Result<Option<String>, Stopped> {
    let said = |bytes| {
        lacking(free, bytes).map(|lacking| {
            format!(
                "{}: {lacking}; free some room (powerband runs --prune deletes old runs), or name a folder on another disk \
                 with --runs DIR",
                experiment.runs_dir.display()
            )
        })
    };
    match said(needed.least) {
        Some(refusal) => Err(Stopped::Configuration(refusal)),
        None => Ok(said(needed.likely)),
    }
}

fn cores() -> f64 {
    host::cores::available().map_or(1.0, |cores| cores.effective)
}

/// Why the agent could make no file, where that is because the disk is full.
pub fn full(folder: &Path) -> Option<String> {
    let free = host::disk::free_bytes(folder).ok()?;
    let is_full = free < u64::from(RING) * RECORD_BYTES;
    is_full.then(|| {
        format!(
            "the agent recorded nothing because the disk of {} is full; free some room",
            folder.display()
        )
    })
}

fn lacking(free: u64, needed: u64) -> Option<String> {
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    (free < needed).then(|| {
        format!(
            "{} MiB are free on its disk, and the run needs about {} MiB",
            free >> 20,
            mib(needed)
        )
    })
}

fn needed(experiment: &Experiment, cores: f64) -> Need {
    if experiment.workload_command.is_some() {
        return need(experiment, cores, |_| DOCUMENTS_BYTES);
    }
    let asked = experiment.env.get(RING_VARIABLE);
    let ring = asked.and_then(|n| n.parse().ok()).unwrap_or(RING);
    let flight = u64::from(ring) * RECORD_BYTES;
    let trials = match experiment.keep_flights {
        true => USUAL_TRIALS,
        false => 1,
    };
    let most = most_workers(experiment);
    need(experiment, cores, |baseline| {
        DOCUMENTS_BYTES
            + PILOT * (1 + baseline) * (flight + COURSES_BYTES)
            + trials * (1 + most.unwrap_or(baseline)) * flight
    })
}

/// What a baseline of so many workers needs, for the number that is asked, or for the ones that are possible.
fn need(experiment: &Experiment, cores: f64, bytes: impl Fn(u64) -> u64) -> Need {
    let first = match &experiment.goal {
        Goal::Arms { arms, .. } => arms.first().map(|arm| arm.settings),
        Goal::Tune => experiment.baseline,
    };
    let asked = first.map(|settings| u64::from(settings.workers));
    let assumed = (cores.ceil() as u64).min(ASSUMED_WORKERS);
    Need {
        least: bytes(asked.unwrap_or(0)),
        likely: bytes(asked.unwrap_or(assumed)),
    }
}

fn most_workers(experiment: &Experiment) -> Option<u64> {
    let named: Vec<u16> = match &experiment.goal {
        Goal::Arms { arms, .. } => arms.iter().map(|arm| arm.settings.workers).collect(),
        Goal::Tune => experiment.workers.clone().unwrap_or_default(),
    };
    named.into_iter().max().map(u64::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Asked, Request, resolve};

    fn asked(set: impl Fn(&mut Request)) -> Experiment {
        let mut request = Request {
            base_dir: env!("CARGO_MANIFEST_DIR").into(),
            ..Request::default()
        };
        set(&mut request);
        resolve(request, Goal::Tune, 1).unwrap()
    }

    #[test]
    fn more_processes_longer_records_and_kept_files_need_more() {
        let workers = |list: &str| {
            let list = Asked::new(list, "a test");
            needed(&asked(|r| r.workers = Some(list.clone())), 2.0).likely
        };
        let usual = needed(&asked(|_| ()), 2.0).likely;
        assert_eq!(workers("0,2"), usual, "as many workers as cores");
        assert!(workers("0,4") > usual && workers("0") < usual);
        let kept = asked(|r| r.keep_flights = Some(Asked::new("true", "a test")));
        assert!(needed(&kept, 2.0).likely > 4 * usual);
        let ring = |n: &str| {
            let env = [(RING_VARIABLE.to_owned(), Asked::new(n, "a test"))].into();
            needed(&asked(|r| r.env = Clone::clone(&env)), 2.0).likely
        };
        assert!(ring("100000") > usual);
        assert_eq!(ring("4096"), usual);
    }

    #[test]
    fn an_application_on_many_cores_is_refused_only_where_one_process_has_no_room() {
        let unknown = asked(|_| ());
        let single = asked(|r| r.baseline = Some(Asked::new("threads=5,workers=0", "a test")));
        let (on_64, known) = (needed(&unknown, 64.0), needed(&single, 64.0));
        assert_eq!(on_64.least, known.least);
        assert_eq!(known.least, known.likely);
        assert!(on_64.likely < 100 << 20, "{on_64:?}");
        assert_eq!(on_64, needed(&unknown, 4.0));
    }

    #[test]
    fn where_the_need_is_an_assumption_a_lack_of_room_is_a_warning() {
        let (experiment, needed) = (asked(|_| ()), needed(&asked(|_| ()), 64.0));
        assert_eq!(judged(&experiment, needed.likely, needed).unwrap(), None);
        let warning = judged(&experiment, needed.least, needed).unwrap().unwrap();
        assert!(warning.contains("the run needs about"), "{warning}");
        assert!(judged(&experiment, needed.least - 1, needed).is_err());
    }

    #[test]
    fn a_disk_with_too_little_room_is_refused_with_both_figures() {
        assert_eq!(lacking(50 << 20, 50 << 20), None);
        let said = lacking((3 << 20) + 5, (49 << 20) + 1).unwrap();
        assert!(
            said.starts_with("3 MiB are free") && said.ends_with("about 50 MiB"),
            "{said}"
        );
    }
}
