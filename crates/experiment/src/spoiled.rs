//! What on this host spoils a measurement, said before the first one: something can still be done about it then.

use crate::progress::{Event, Watcher};
use host::Roots;
use run::{Folder, LOCK};
use std::path::Path;

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
    let runs = locks.filter_map(|(pid, lock)| Some((pid, Folder::of_lock(&lock, pid)?)));
    runs.map(|(pid, folder)| sentence(pid, &folder)).collect()
}

/// Adds the runs that began since the last look, and says them.
pub fn note_new_runs(known: &mut Vec<String>, watcher: &dyn Watcher) {
    for run in other_runs() {
        if !known.contains(&run) {
            watcher.on(Event::Note(format!("spoils measurements: {run}")));
            known.push(run);
        }
    }
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
    fn a_run_is_named_with_its_process_and_folder() {
        let said = sentence(7, Path::new("/runs/20261120-214512-tune-1f3a"));
        for part in ["PID 7", "-tune-1f3a", "kill 7"] {
            assert!(said.contains(part), "{said}");
        }
    }
}
