//! A Puma that was started: whether it is complete, what it runs with against what was asked, its end.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use crate::control::{Control, PumaStatus, StatusError};
use crate::guard::Guard;
use crate::handle::{Handle, Progress};
use crate::proc;
use crate::read_back::{Mismatch, ReadBack};
use crate::reforks;
use crate::spec::{PumaStatement, PumaValue, Settings};

/// A Puma that was started with the generated configuration.
#[derive(Debug)]
pub(crate) struct Puma {
    pub(crate) control: Control,
    /// What Puma writes once it has booted.
    pub(crate) effective: PathBuf,
    /// A line for each worker of a cluster whose first report arrived.
    pub(crate) workers: PathBuf,
    pub(crate) asked: Vec<PumaStatement>,
}

/// What Puma's master writes of a worker.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct SeenWorker {
    index: u32,
    pid: u32,
    phase: u32,
}

impl SeenWorker {
    /// Its number and generation. Worker 0 forks the others and is never replaced itself, but Puma raises its phase with theirs.
    fn generation(&self) -> (u32, u32) {
        match self.index {
            0 => (0, 0),
            index => (index, self.phase),
        }
    }
}

impl Puma {
    fn reforks(&self) -> bool {
        read_effective(&self.effective).is_some_and(|effective| effective.fork_worker)
    }
}

impl Handle for Puma {
    fn progress(&self, _: u32) -> Progress {
        match self.control.status() {
            Ok(status) if status.is_complete() && self.effective.exists() => Progress::Complete,
            Ok(status) => {
                let (booted, of) = (status.booted(), status.workers.len());
                Progress::Missing(format!("{booted} of {of} workers have booted"))
            }
            Err(error) => Progress::Missing(error.to_string()),
        }
    }

    fn puma_status(&self) -> Result<PumaStatus, StatusError> {
        self.control.status()
    }

    fn read_back(&self, asked: Settings, _: u32) -> Result<ReadBack, StatusError> {
        let complete = |status: &Result<PumaStatus, _>| {
            !self.reforks() || status.as_ref().is_ok_and(PumaStatus::is_complete)
        };
        let status = reforks::once_replaced(|| self.control.status(), complete)?;
        Ok(of_puma(asked, &self.asked, &status, &self.effective))
    }

    fn workers(&self, _: u32) -> BTreeSet<u32> {
        let workers = self.control.status().map(|status| status.workers);
        let pids = workers.unwrap_or_default().into_iter();
        pids.filter_map(|worker| worker.pid).collect()
    }

    /// A worker that is missing is awaited: the next one shows by its phase why.
    fn replaces_workers(&self) -> bool {
        if !self.reforks() {
            return false;
        }
        let seen = || reforks::recorded(&self.workers);
        let seen = reforks::once_replaced(seen, |seen| all_live(seen));
        all_live(&seen) && reforks::none_crashed(seen.iter().map(SeenWorker::generation))
    }

    /// Puma is asked over its control socket. In single mode SIGTERM runs the stop inside the
    /// signal's handler, and in 2 to 5 of 48 stops (Ruby 3.3.8, Puma 6.6) the handler waited until
    /// the grace was over for a server thread that was stuck closing Puma's own pipe; asked over
    /// the socket, none of 48 did. A cluster's workers get SIGTERM from their master all the same,
    /// and about one stop in eight has a worker stuck at the same place: it is killed after the
    /// grace.
    fn end(&self, guard: &mut Guard, id: u32, grace: Duration) {
        if self.control.stop() {
            guard.wait_exit(id, grace);
        }
    }
}

/// Whether the newest worker of each number lives.
fn all_live(seen: &[SeenWorker]) -> bool {
    let newest: BTreeMap<u32, u32> = seen.iter().map(|one| (one.index, one.pid)).collect();
    let lives = |&pid: &u32| proc::stat(pid).is_some_and(|stat| !stat.is_dead());
    newest.values().all(lives)
}

/// What the generated configuration makes Puma write once it has booted.
#[derive(Debug, Deserialize)]
struct Effective {
    min_threads: u64,
    preload: bool,
    fork_worker: bool,
    puma: String,
    /// The options that a statement of ours sets, by name; null where Puma has none of the name.
    #[serde(default)]
    options: BTreeMap<String, Value>,
}

/// `effective` is the file that Puma writes once it has booted.
fn of_puma(
    asked: Settings,
    statements: &[PumaStatement],
    status: &PumaStatus,
    effective: &Path,
) -> ReadBack {
    let effective = read_effective(effective);
    let not_taken = effective
        .as_ref()
        .map(|effective| options_not_taken(statements, effective));
    let mut read = compare(asked, status, effective);
    read.mismatches.extend(not_taken.into_iter().flatten());
    read
}

fn options_not_taken(asked: &[PumaStatement], effective: &Effective) -> Vec<Mismatch> {
    let found = |statement: &PumaStatement| effective.options.get(statement.name);
    let not_taken = asked
        .iter()
        .filter(|one| !found(one).is_some_and(|value| is(value, one.value)));
    let mismatch = |statement: &PumaStatement| Mismatch {
        knob: format!("puma.{}", statement.name).into(),
        asked: statement.value.to_string(),
        runs_with: match found(statement) {
            None | Some(Value::Null) => "nothing".to_owned(),
            Some(value) => value.to_string(),
        },
        hint: "another configuration file sets it after Powerband's, or this version of Puma has another name for it; take it out",
    };
    not_taken.map(mismatch).collect()
}

fn is(found: &Value, asked: PumaValue) -> bool {
    match asked {
        PumaValue::Number(number) => found
            .as_f64()
            .is_some_and(|found| (found - number).abs() < 1e-5),
        PumaValue::Switch(on) => found.as_bool() == Some(on),
    }
}

fn read_effective(path: &Path) -> Option<Effective> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

fn compare(asked: Settings, status: &PumaStatus, effective: Option<Effective>) -> ReadBack {
    let workers = status.worker_count();
    let max_threads: Vec<u64> = status
        .workers
        .iter()
        .filter_map(|worker| Some(worker.counters?.max_threads))
        .collect();
    let min_threads = effective.as_ref().map(|effective| effective.min_threads);
    let preload = effective
        .as_ref()
        .filter(|_| status.cluster)
        .map(|effective| effective.preload);
    let mut mismatches = Vec::new();
    if workers != usize::from(asked.workers) {
        mismatches.push(Mismatch {
            knob: "workers".into(),
            asked: asked.workers.to_string(),
            runs_with: workers.to_string(),
            hint: "the server's configuration sets its own number; let it take WEB_CONCURRENCY \
                   (or {workers} in a custom command)",
        });
    }
    let wanted = u64::from(asked.threads);
    let other = max_threads
        .iter()
        .chain(&min_threads)
        .find(|&&threads| threads != wanted);
    if other.is_some() {
        let most = max_threads.iter().max().copied().unwrap_or(wanted);
        let least = min_threads.unwrap_or(most).min(most);
        mismatches.push(Mismatch {
            knob: "threads".into(),
            asked: asked.threads.to_string(),
            runs_with: if least == most {
                most.to_string()
            } else {
                format!("{least} to {most}")
            },
            hint: "the server's configuration sets its own number; let both bounds take \
                   RAILS_MAX_THREADS (or {threads} in a custom command)",
        });
    }
    if let Some(runs_with) = preload.filter(|&preload| preload != asked.preload) {
        mismatches.push(Mismatch {
            knob: "preload".into(),
            asked: asked.preload.to_string(),
            runs_with: runs_with.to_string(),
            hint: "the command or the server's configuration forces it; remove --preload there",
        });
    }
    ReadBack {
        workers,
        max_threads,
        min_threads,
        preload,
        server: effective.as_ref().map(|it| format!("Puma {}", it.puma)),
        front: None,
        mismatches,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{Counters, WorkerStatus};

    fn status(cluster: bool, threads: &[u64]) -> PumaStatus {
        let worker = |&max_threads: &u64| WorkerStatus {
            index: None,
            pid: None,
            booted: true,
            counters: Some(Counters {
                backlog: 0,
                running: 1,
                pool_capacity: 1,
                max_threads,
                requests_count: 0,
                busy_threads: None,
            }),
        };
        PumaStatus {
            cluster,
            workers: threads.iter().map(worker).collect(),
        }
    }

    fn effective(min_threads: u64, preload: bool) -> Option<Effective> {
        Some(Effective {
            min_threads,
            preload,
            fork_worker: false,
            puma: "6.6.0".into(),
            options: BTreeMap::from([
                ("wait_for_less_busy_worker".to_owned(), Value::from(0.005)),
                ("fork_worker".to_owned(), Value::Null),
                ("queue_requests".to_owned(), Value::from(true)),
            ]),
        })
    }

    #[test]
    fn as_asked_is_no_mismatch() {
        let asked = Settings {
            threads: 3,
            workers: 2,
            preload: true,
        };
        let read = compare(asked, &status(true, &[3, 3]), effective(3, true));
        assert_eq!((read.mismatches, read.preload), (vec![], Some(true)));
        // In single mode nothing is forked, so that preload means nothing.
        let asked = Settings {
            threads: 3,
            workers: 0,
            preload: true,
        };
        let read = compare(asked, &status(false, &[3]), effective(3, false));
        assert_eq!((read.mismatches, read.preload), (vec![], None));
    }

    #[test]
    fn a_worker_that_crashed_is_of_no_later_phase() {
        let none_crashed = |workers: &[(u32, u32)]| {
            let seen = workers.iter().map(|&(index, phase)| SeenWorker {
                index,
                pid: 7,
                phase,
            });
            reforks::none_crashed(seen.map(|worker| worker.generation()))
        };
        assert!(none_crashed(&[(0, 0), (1, 0), (2, 0), (1, 1), (2, 1)]));
        assert!(!none_crashed(&[(0, 0), (1, 0), (1, 1), (1, 1)]));
        assert!(
            !none_crashed(&[(0, 0), (1, 0), (0, 1)]),
            "a refork leaves worker 0"
        );
    }

    #[test]
    fn options_of_puma_are_read_back() {
        let effective = effective(1, false).unwrap();
        let not_taken = |name, value| {
            let asked = [PumaStatement { name, value }];
            let mismatches = options_not_taken(&asked, &effective);
            mismatches.first().map(|one| one.runs_with.clone())
        };
        let waits = |seconds| not_taken("wait_for_less_busy_worker", PumaValue::Number(seconds));
        assert_eq!(
            (waits(0.005), waits(0.001)),
            (None, Some("0.005".to_owned()))
        );
        let forks = not_taken("fork_worker", PumaValue::Number(0.0));
        assert_eq!(forks.as_deref(), Some("nothing"));
        let queues = |on| not_taken("queue_requests", PumaValue::Switch(on));
        assert_eq!(
            (queues(true), queues(false)),
            (None, Some("true".to_owned()))
        );
        let unknown = not_taken("max_keep_alive", PumaValue::Number(5.0));
        assert_eq!(unknown.as_deref(), Some("nothing"));
    }

    #[test]
    fn every_setting_that_did_not_take_is_named() {
        let asked = Settings {
            threads: 5,
            workers: 2,
            preload: false,
        };
        let read = compare(asked, &status(true, &[5, 4, 5]), effective(0, true));
        let said: Vec<_> = read
            .mismatches
            .iter()
            .map(|m| (m.knob.as_ref(), m.runs_with.as_str()))
            .collect();
        assert_eq!(
            said,
            [("workers", "3"), ("threads", "0 to 5"), ("preload", "true")]
        );
        let single = compare(asked, &status(false, &[5]), None);
        assert_eq!(single.mismatches[0].runs_with, "0");
    }
}
