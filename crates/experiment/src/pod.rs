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
                "no control group can be made for {}: {error}; {REMEDY}",
                said(asked)
            )),
        }
    }

    /// The folders of the group, to start the server in.
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
        // A worker may have ended since it was found.
        let runs = |pid: u32| host::memory::rss(pid).is_some();
        let outside = pids
            .iter()
            .find(|pid| !inside.contains(pid) && runs(**pid))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;
    use std::time::Duration;

    /// A host whose control groups are folders: one that hands down what a pod needs.
    fn roots(folder: &Path, handed: &str) -> Roots {
        let roots = Roots {
            proc: folder.join("proc"),
            cgroup: folder.join("cgroup"),
            ..Roots::default()
        };
        fs::create_dir_all(roots.of(None)).unwrap();
        fs::write(roots.of(None).join("cgroup"), "0::/\n").unwrap();
        fs::create_dir(&roots.cgroup).unwrap();
        for (file, text) in [
            ("cgroup.controllers", "cpu memory\n"),
            ("cgroup.subtree_control", handed),
            ("cgroup.procs", ""),
        ] {
            fs::write(roots.cgroup.join(file), text).unwrap();
        }
        roots
    }

    fn overlay(settings: &[(&str, &str)]) -> Overlay {
        Overlay::of(settings).unwrap()
    }

    #[test]
    fn a_server_outside_or_a_changed_limit_is_a_mismatch() {
        let folder = tempfile::tempdir().unwrap();
        let roots = roots(folder.path(), "cpu memory");
        let limits = overlay(&[(POD_CPUS, "0.5"), (POD_MEMORY, "1GiB")]);
        let pod = Pod::below(&roots, &limits).unwrap().unwrap();
        let group = &pod.folders()[0];
        fs::write(group.join("cgroup.procs"), "7\n8\n").unwrap();
        let mismatch = |pids: &[u32]| {
            let found = pod.not_taken(&pids.iter().copied().collect());
            found.map(|found| found.to_string())
        };
        let (here, ended) = (std::process::id(), u32::MAX >> 1);
        assert_eq!(mismatch(&[7, 8, ended]), None);
        let outside = mismatch(&[7, ended, here]).unwrap();
        assert!(
            outside.contains("pod.cpus=0.5, pod.memory=1GiB")
                && outside.contains(&format!("process {here} outside")),
            "{outside}"
        );
        fs::write(group.join("cpu.max"), "max 100000\n").unwrap();
        let changed = mismatch(&[7]).unwrap();
        assert!(changed.contains("runs with pod.memory=1GiB"), "{changed}");
    }

    #[test]
    fn a_kill_is_named_with_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let roots = roots(folder.path(), "cpu memory");
        let limits = overlay(&[(POD_CPUS, "2"), (POD_MEMORY, "256MiB")]);
        let pod = Pod::below(&roots, &limits).unwrap().unwrap();
        let group = &pod.folders()[0];
        fs::write(group.join("memory.current"), "1\n").unwrap();
        fs::write(group.join("memory.events"), "oom_kill 0\n").unwrap();
        assert_eq!(pod.killed(), None);
        fs::write(group.join("memory.events"), "oom_kill 2\n").unwrap();
        let killed = pod.killed().unwrap();
        assert!(
            killed.starts_with("the kernel killed 2 processes of the server at pod.memory=256MiB;"),
            "{killed}"
        );
    }

    #[test]
    fn without_limits_there_is_no_group_and_without_a_place_there_is_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let roots = roots(folder.path(), "pids");
        for none in [&[][..], &[(POD_CPUS, "default")]] {
            assert!(Pod::below(&roots, &overlay(none)).unwrap().is_none());
        }
        let refused = Pod::below(&roots, &overlay(&[(POD_CPUS, "1")])).unwrap_err();
        assert!(
            refused.starts_with("no control group can be made for pod.cpus=1: ")
                && refused.contains("enables cpu for its children")
                && refused.contains("systemd-run"),
            "{refused}"
        );
    }

    #[test]
    fn a_window_s_throttling_is_what_was_added_in_it() {
        let read = |periods, throttled, stopped_ms| Throttling {
            periods,
            throttled,
            stopped: Some(Duration::from_millis(stopped_ms)),
        };
        let expected = Throttled {
            periods: 20,
            throttled: 5,
            stopped_ms: Some(250.0),
        };
        let seen = between(Some(read(10, 1, 50)), Some(read(30, 6, 300)));
        assert_eq!(seen, Some(expected));
        assert_eq!(between(None, Some(read(1, 1, 1))), None);
    }
}
