//! What on this host spoils a measurement, said before the first one: something can still be done about it then.

use crate::progress::{Event, Watcher};
use host::Roots;
use host::facts::Activity;
use run::{Folder, LOCK};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Tells it, and returns it for the document.
pub fn tell(watcher: &dyn Watcher) -> Vec<String> {
    let found = host::facts::collect().map(|facts| host::warnings(&facts));
    let mut found: Vec<String> = found
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect();
    let others = other_runs();
    let now = found
        .iter()
        .cloned()
        .chain(others.iter().map(OtherRun::now));
    for warning in now {
        watcher.on(Event::Note(format!("spoils measurements: {warning}")));
    }
    found.extend(others.iter().map(OtherRun::afterwards));
    found
}

/// What another process of powerband measures on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
struct OtherRun {
    pid: u32,
    folder: PathBuf,
}

impl OtherRun {
    /// While it can still be stopped.
    fn now(&self) -> String {
        let pid = self.pid;
        format!(
            "another run is under way on this host (PID {pid}, {}), and each takes the other's cores; wait for its end, or stop it \
             (kill {pid}), and measure again",
            self.folder.display()
        )
    }

    /// For the document: by the time it is read, another process may have the number.
    fn afterwards(&self) -> String {
        format!(
            "another run ({}) was under way on this host at the same time, and each took the other's cores; measure again without it",
            self.folder.display()
        )
    }
}

/// All that are under way now.
fn other_runs() -> Vec<OtherRun> {
    let locks = host::process::holders(&Roots::default(), LOCK).into_iter();
    let runs = locks.filter_map(|(pid, lock)| Some((pid, Folder::of_lock(&lock, pid)?)));
    runs.map(|(pid, folder)| OtherRun { pid, folder }).collect()
}

/// What spoils measurements on this host from a moment on.
#[derive(Debug)]
pub struct HostWatch {
    /// What the host had done at that moment; `None` where it cannot be read.
    before: Option<(Activity, Instant)>,
    /// What other processes of powerband measured since.
    other_runs: Mutex<Vec<OtherRun>>,
}

impl HostWatch {
    /// From now on.
    pub fn begin() -> HostWatch {
        let before = Activity::read(&Roots::default()).ok();
        HostWatch {
            before: before.map(|before| (before, Instant::now())),
            other_runs: Mutex::new(other_runs()),
        }
    }

    /// Notes the runs that began since the last look. All of them.
    pub fn note_new_runs(&self, watcher: &dyn Watcher) -> Vec<String> {
        let mut known = self
            .other_runs
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        for run in other_runs() {
            if !known.contains(&run) {
                watcher.on(Event::Note(format!("spoils measurements: {}", run.now())));
                known.push(run);
            }
        }
        known.iter().map(OtherRun::afterwards).collect()
    }

    /// Stolen time and swapping since, the load before the run, and other runs.
    pub fn warnings(&self, load_average: f64, watcher: &dyn Watcher) -> Vec<String> {
        let other_runs = self.note_new_runs(watcher);
        let Ok(facts) = host::facts::collect() else {
            return other_runs;
        };
        let facts = match (&self.before, Activity::read(&Roots::default())) {
            (Some((before, since)), Ok(now)) => facts.observe(before, &now, since.elapsed()),
            _ => facts,
        };
        let warnings = host::warnings(&host::HostFacts {
            // Load and waiting of now are mostly this run's own; what was there before it is the question.
            load_average_1m: Some(load_average),
            cpu_pressure: None,
            group_cpu_pressure: None,
            ..facts
        });
        let warnings = warnings.iter().map(ToString::to_string);
        warnings.chain(other_runs).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_named_with_its_process_and_folder() {
        let run = OtherRun {
            pid: 7,
            folder: PathBuf::from("/runs/20261120-214512-tune-1f3a"),
        };
        for part in ["PID 7", "-tune-1f3a", "kill 7", " is under way"] {
            assert!(run.now().contains(part), "{}", run.now());
        }
        let afterwards = run.afterwards();
        assert!(
            afterwards.contains("-tune-1f3a) was under way"),
            "{afterwards}"
        );
        assert!(!afterwards.contains("kill"), "{afterwards}");
    }
}
