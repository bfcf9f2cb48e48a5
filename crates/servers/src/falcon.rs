//! Falcon: the flags that make `falcon serve` run with the settings asked for, and what its processes show of themselves.
//!
//! Read in the sources of Falcon 0.55 (`command/serve.rb`, `service/server.rb`) and async-container 0.38: the first process
//! forks as many others as are asked for, each of which loads the application and then gives itself a title. Falcon starts a
//! process that has ended again for ever, also where the application cannot be loaded; with `--no-restart` it ends then.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use rustix::process::Signal;

use crate::bundler;
use crate::control::StatusError;
use crate::guard::{Guard, Remove};
use crate::handle::{Handle, Progress};
use crate::prepared::Prepared;
use crate::proc;
use crate::read_back::{Mismatch, ReadBack};
use crate::spec::{ServerSpec, Settings};

/// It lets requests end for a second (`--graceful-stop`).
const ORDERLY_END: Signal = Signal::INT;

/// The words that start Falcon for this application: `bundle exec falcon` where its Gemfile.lock names Falcon and that works,
/// else plain `falcon`.
pub fn default_falcon_command(app_dir: &Path) -> Vec<String> {
    bundler::command(app_dir, "falcon")
}

/// A Falcon that was started.
#[derive(Debug)]
struct Falcon {
    workers_asked: u16,
    /// How a process begins its title once it serves.
    title: String,
}

pub(crate) fn prepare(
    spec: &ServerSpec,
    program: &[String],
    port: u16,
    env: BTreeMap<String, String>,
) -> Prepared {
    let (count, address) = (spec.settings.workers, format!("http://127.0.0.1:{port}"));
    let count_word = count.to_string();
    let flags = [
        "serve",
        "--no-restart",
        "--count",
        &count_word,
        "--bind",
        &address,
    ];
    let flags = flags.map(String::from);
    Prepared {
        words: program.iter().cloned().chain(flags).collect(),
        env,
        remove: Remove::default(),
        handle: Box::new(Falcon {
            workers_asked: count,
            title: format!("{address} "),
        }),
    }
}

impl Falcon {
    /// The processes that the first one has forked and that serve.
    fn serving(&self, master: u32) -> BTreeSet<u32> {
        let serves = |pid: &u32| {
            let stat = proc::stat(*pid);
            let title = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            stat.is_some_and(|stat| stat.parent == master && !stat.is_dead())
                && title.starts_with(self.title.as_bytes())
        };
        proc::descendants(master)
            .into_iter()
            .filter(serves)
            .collect()
    }
}

impl Handle for Falcon {
    fn progress(&self, master: u32) -> Progress {
        let (serving, of) = (self.serving(master).len(), usize::from(self.workers_asked));
        match serving < of {
            true => Progress::Missing(format!("{serving} of {of} processes serve")),
            false => Progress::Complete,
        }
    }

    fn workers(&self, master: u32) -> BTreeSet<u32> {
        self.serving(master)
    }

    fn read_back(&self, asked: Settings, master: u32) -> Result<ReadBack, StatusError> {
        Ok(compare(asked, self.serving(master).len()))
    }

    fn ended(&self, master: u32) -> Option<String> {
        match self.progress(master) {
            Progress::Missing(what) => Some(what),
            Progress::Complete | Progress::Hopeless(_) => None,
        }
    }

    fn end(&self, guard: &mut Guard, id: u32, grace: Duration) {
        if guard.signal(id, ORDERLY_END) {
            guard.wait_exit(id, grace);
        }
    }
}

/// Its version is only known to the agent.
fn compare(asked: Settings, workers: usize) -> ReadBack {
    let mismatch = (workers != usize::from(asked.workers)).then(|| Mismatch {
        knob: "workers".into(),
        asked: asked.workers.to_string(),
        runs_with: workers.to_string(),
        hint: "processes ended, which a trial does not replace; look at the server's log",
    });
    ReadBack {
        workers,
        max_threads: vec![1; workers],
        min_threads: Some(1),
        preload: Some(false),
        server: None,
        front: None,
        mismatches: mismatch.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_that_are_missing_are_named() {
        let asked = Settings {
            threads: 1,
            workers: 2,
            preload: false,
        };
        assert_eq!(compare(asked, 2).mismatches, []);
        let read = compare(asked, 1);
        assert_eq!(read.mismatches[0].runs_with, "1");
        assert_eq!((read.max_threads, read.preload), (vec![1], Some(false)));
    }
}
