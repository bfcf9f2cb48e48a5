//! A Puma that was started: whether it is complete, what it runs with against what was asked, its end.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;

use crate::control::{Control, PumaStatus, StatusError};
use crate::guard::Guard;
use crate::handle::{Handle, Progress};
use crate::read_back::{Mismatch, ReadBack};
use crate::spec::{PumaOptions, Settings};

/// A Puma that was started with the generated configuration.
#[derive(Debug)]
pub(crate) struct Puma {
    pub(crate) control: Control,
    /// What Puma writes once it has booted.
    pub(crate) effective: PathBuf,
    pub(crate) asked: PumaOptions,
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
        let status = self.control.status()?;
        Ok(of_puma(asked, self.asked, &status, &self.effective))
    }

    fn workers(&self, _: u32) -> BTreeSet<u32> {
        let workers = self.control.status().map(|status| status.workers);
        let pids = workers.unwrap_or_default().into_iter();
        pids.filter_map(|worker| worker.pid).collect()
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

/// What the generated configuration makes Puma write once it has booted.
#[derive(Debug, Deserialize)]
struct Effective {
    min_threads: u64,
    preload: bool,
    puma: String,
    /// Seconds; 0 where there is none.
    #[serde(default)]
    wait_for_less_busy_worker: f64,
    /// -1 where it is off.
    #[serde(default = "off")]
    fork_worker: i64,
}

fn off() -> i64 {
    -1
}

/// `effective` is the file that Puma writes once it has booted.
fn of_puma(
    asked: Settings,
    options: PumaOptions,
    status: &PumaStatus,
    effective: &Path,
) -> ReadBack {
    let effective = read_effective(effective);
    let not_taken = effective
        .as_ref()
        .map(|effective| options_not_taken(options, effective));
    let mut read = compare(asked, status, effective);
    read.mismatches.extend(not_taken.into_iter().flatten());
    read
}

fn options_not_taken(asked: PumaOptions, effective: &Effective) -> Vec<Mismatch> {
    let hint = "another configuration file sets it after Powerband's; take that out";
    let mut mismatches = Vec::new();
    if let Some(wait) = asked.wait_for_less_busy_worker
        && (wait.as_secs_f64() - effective.wait_for_less_busy_worker).abs() > 1e-5
    {
        mismatches.push(Mismatch {
            knob: "puma.wait_for_less_busy_worker".into(),
            asked: format!("{} ms", wait.as_millis()),
            runs_with: format!("{} ms", effective.wait_for_less_busy_worker * 1e3),
            hint,
        });
    }
    if let Some(requests) = asked.fork_worker
        && i64::from(requests) != effective.fork_worker
    {
        mismatches.push(Mismatch {
            knob: "puma.fork_worker".into(),
            asked: requests.to_string(),
            runs_with: match effective.fork_worker {
                ..0 => "off".to_owned(),
                found => found.to_string(),
            },
            hint,
        });
    }
    mismatches
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
            puma: "6.6.0".into(),
            wait_for_less_busy_worker: 0.005,
            fork_worker: -1,
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
    fn options_of_puma_are_read_back() {
        let effective = effective(1, false).unwrap();
        let told = |wait_ms, fork_worker| {
            let asked = PumaOptions {
                wait_for_less_busy_worker: Some(Duration::from_millis(wait_ms)),
                fork_worker,
            };
            options_not_taken(asked, &effective).len()
        };
        assert_eq!((told(5, None), told(1, None), told(5, Some(0))), (0, 1, 1));
        assert!(options_not_taken(PumaOptions::default(), &effective).is_empty());
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
