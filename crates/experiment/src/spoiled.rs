//! What on this host spoils a measurement, said before the first one: something can still be done about it then.

use crate::progress::{Event, Watcher};
use host::Roots;
use host::facts::Activity;
use run::LOCK;
use std::path::{Path, PathBuf};
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
    found.extend(other_runs());
    for warning in &found {
        watcher.on(Event::Note(format!("spoils measurements: {warning}")));
    }
    found
}

/// What other processes of powerband measure on this host now.
pub fn other_runs() -> Vec<String> {
    let locks = host::process::holders(&Roots::default(), LOCK).into_iter();
    let runs = locks.filter_map(|(pid, lock)| Some((pid, measured_in(&lock, pid)?)));
    runs.map(|(pid, folder)| sentence(pid, &folder)).collect()
}

/// What spoils measurements on this host from a moment on.
#[derive(Debug)]
pub struct HostWatch {
    /// What the host had done at that moment; `None` where it cannot be read.
    before: Option<(Activity, Instant)>,
    /// What other processes of powerband measured since.
    other_runs: Mutex<Vec<String>>,
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
                watcher.on(Event::Note(format!("spoils measurements: {run}")));
                known.push(run);
            }
        }
        known.clone()
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

/// The run folder that the process works on: its lock has the process's number.
fn measured_in(lock: &Path, pid: u32) -> Option<PathBuf> {
    let holder: u32 = std::fs::read_to_string(lock).ok()?.trim().parse().ok()?;
    let folder = lock
        .parent()
        .filter(|folder| folder.join("trials").is_dir());
    folder.filter(|_| holder == pid).map(Path::to_owned)
}

fn sentence(pid: u32, folder: &Path) -> String {
    format!(
        "another run is under way on this host (PID {pid}, {}), and each takes the other's cores; wait for its end, or stop it \
         (kill {pid}), and measure again",
        folder.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_names_its_run_by_the_process_that_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let folder = run::Folder::create(dir.path(), "20261120-214512-tune-1f3a").unwrap();
        let held = folder.lock().unwrap();
        let lock = folder.path().join(LOCK);
        let own = std::process::id();
        assert_eq!(measured_in(&lock, own).as_deref(), Some(folder.path()));
        // Another program's file of this name, and a look of powerband runs.
        assert_eq!(measured_in(&lock, own + 1), None);
        std::fs::write(dir.path().join(LOCK), format!("{own}\n")).unwrap();
        assert_eq!(measured_in(&dir.path().join(LOCK), own), None);
        let said = sentence(7, folder.path());
        for part in ["PID 7", "-tune-1f3a", "kill 7"] {
            assert!(said.contains(part), "{said}");
        }
        drop(held);
    }
}
