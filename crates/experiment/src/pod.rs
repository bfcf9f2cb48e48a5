//! The pod of a trial's server: limits of an arm, the control group that has them, and what they came to.

use host::cgroup::Limits;
use host::{PodGroup, Roots, Throttling};
use knobs::{Overlay, POD_CPUS, POD_MEMORY};
use run::Throttled;
use servers::Mismatch;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What to do where no control group can be made.
const REMEDY: &str = "run powerband as root, or where systemd gives it a group (systemd-run --user --scope -p Delegate=yes powerband …), in a \
                      container with control groups that are mounted writable, or leave pod.cpus and pod.memory out";

/// A server's control group; dropping it removes it.
#[derive(Debug)]
pub struct Pod {
    group: PodGroup,
    asked: Limits,
}

impl Pod {
    /// An empty group with the limits of these knobs; `None` where they set none.
    ///
    /// # Errors
    /// Why none can be made, and what to do.
    pub fn of(overlay: &Overlay) -> Result<Option<Pod>, String> {
        Pod::below(&Roots::default(), overlay)
    }

    fn below(roots: &Roots, overlay: &Overlay) -> Result<Option<Pod>, String> {
        let asked = Limits {
            cpu_quota: overlay.pod_cpus(),
            memory_bytes: overlay.pod_memory(),
        };
        if asked == Limits::default() {
            return Ok(None);
        }
        let name = format!("powerband-{}", std::process::id());
        match PodGroup::make(roots, &name, asked) {
            Ok(group) => Ok(Some(Pod { group, asked })),
            Err(error) => Err(format!(
                "no control group can be made for {POD_CPUS} and {POD_MEMORY}: {error}; {REMEDY}"
            )),
        }
    }

    /// The folders of the group, for whoever starts the server.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.group.folders().map(PathBuf::from).collect()
    }

    /// What of the limits did not take for these processes of the server.
    pub fn not_taken(&self, pids: &BTreeSet<u32>) -> Option<Mismatch> {
        let found = self.group.limits().unwrap_or_default();
        if !host::pod::alike(self.asked, found) {
            return Some(Mismatch {
                knob: "pod".into(),
                asked: said(self.asked),
                runs_with: said(found),
                hint: "something else changes this control group; let it leave groups named powerband-PID alone",
            });
        }
        let inside = self.group.pids().unwrap_or_default();
        let outside = pids.iter().find(|pid| !inside.contains(pid))?;
        Some(Mismatch {
            knob: "pod".into(),
            asked: said(self.asked),
            runs_with: format!("process {outside} outside the control group"),
            hint: "the start command moves it to another group; take that out",
        })
    }

    /// How often the quota stopped the server so far; `None` without a quota.
    pub fn throttling(&self) -> Option<Throttling> {
        self.group.throttling().ok().flatten()
    }

    /// As the document has it, without the windows.
    pub fn seen(&self) -> run::Pod {
        let limits = self.group.limits().unwrap_or_default();
        let memory = self.group.memory().ok().flatten();
        let memory = memory.filter(|_| limits.memory_bytes.is_some());
        run::Pod {
            cpus: limits.cpu_quota,
            memory_bytes: limits.memory_bytes,
            saturation: None,
            objective: None,
            peak_bytes: memory.and_then(|memory| memory.peak_bytes),
            oom_kills: memory.and_then(|memory| memory.oom_kills),
        }
    }

    /// That the kernel killed processes of the server for their memory, where it did.
    pub fn killed(&self) -> Option<String> {
        let kills = self.seen().oom_kills.filter(|kills| *kills > 0)?;
        Some(format!(
            "the kernel killed {} of the server at {}; allow more memory, or run fewer workers or threads",
            run::counted(kills, "process"),
            said(Limits {
                cpu_quota: None,
                ..self.asked
            })
        ))
    }
}

/// What the quota did between two readings.
pub fn between(before: Option<Throttling>, after: Option<Throttling>) -> Option<Throttled> {
    let (before, after) = (before?, after?);
    let stopped = |throttling: Throttling| throttling.stopped.map(|time| time.as_secs_f64() * 1e3);
    let stopped_ms = stopped(after).zip(stopped(before));
    Some(Throttled {
        periods: after.periods.saturating_sub(before.periods),
        throttled: after.throttled.saturating_sub(before.throttled),
        stopped_ms: stopped_ms.map(|(after, before)| (after - before).max(0.0)),
    })
}

fn said(limits: Limits) -> String {
    let cpus = limits.cpu_quota.map(|cores| format!("{POD_CPUS}={cores}"));
    let memory = limits
        .memory_bytes
        .map(|bytes| format!("{POD_MEMORY}={}", knobs::size(bytes)));
    let all: Vec<String> = cpus.into_iter().chain(memory).collect();
    match all.is_empty() {
        true => "no limit".to_owned(),
        false => all.join(", "),
    }
}
