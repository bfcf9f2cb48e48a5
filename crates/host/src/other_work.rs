//! Which processes outside a tree used the CPU between two readings of `/proc`. Processes that began and ended in between are not seen.

use small_sort::SmallSort;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use crate::cores::affinity_of;
use crate::cpu::from_ticks;
use crate::procfs::parse_stat;
use crate::roots::Roots;
use crate::tree::Tree;

/// Share of a core below which a program is not named: over a window, and over a whole run.
const LEAST_OF_A_WINDOW: f64 = 0.01;
const LEAST_OF_A_RUN: f64 = 0.05;
/// Programs that are named.
const MOST_NAMED: usize = 3;

/// CPU times of all processes outside a tree, at one instant.
#[derive(Debug, Clone, Default)]
pub struct OtherWork {
    /// By pid and start, which together identify a process.
    processes: BTreeMap<(u32, u64), Process>,
}

#[derive(Debug, Clone)]
struct Process {
    name: String,
    ticks: u64,
}

impl OtherWork {
    /// Reads it now. Processes that cannot be read are left out.
    #[must_use]
    pub fn read(roots: &Roots, except: &Tree) -> Self {
        let except: BTreeSet<u32> = except.pids().unwrap_or_default().into_iter().collect();
        let entries = fs::read_dir(&roots.proc).into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let processes = pids.filter(|pid| !except.contains(pid)).filter_map(|pid| {
            let text = fs::read(roots.of(Some(pid)).join("stat")).ok()?;
            let stat = parse_stat(&String::from_utf8_lossy(&text))?;
            let process = Process {
                ticks: stat.user_ticks.saturating_add(stat.system_ticks),
                name: stat.name,
            };
            Some(((pid, stat.start_ticks), process))
        });
        Self {
            processes: processes.collect(),
        }
    }

    /// Leaves out another tree of processes, such as that of the server under test.
    #[must_use]
    pub fn without(mut self, tree: &Tree) -> Self {
        let pids: BTreeSet<u32> = tree.pids().unwrap_or_default().into_iter().collect();
        self.processes.retain(|(pid, _), _| !pids.contains(pid));
        self
    }

    /// The programs that used most CPU time since `before`, each with its share of a core over `span`, such as
    /// `postgres (2 processes) 43 % of a core`. Only processes that may run on one of these cores; none given: on any.
    #[must_use]
    pub fn since(&self, before: &Self, span: Duration, cores: &[u32]) -> Vec<String> {
        let mut programs = Programs::default();
        programs.add(self, before, cores);
        programs.named(span, LEAST_OF_A_WINDOW)
    }
}

/// The same over several readings in a row: processes that began after one and ended after another are seen too.
#[derive(Debug)]
pub struct OtherWorkSoFar {
    last: OtherWork,
    programs: Programs,
}

impl OtherWorkSoFar {
    /// From this reading on.
    #[must_use]
    pub fn from(first: OtherWork) -> Self {
        Self {
            last: first,
            programs: Programs::default(),
        }
    }

    /// Adds what was used until this reading.
    pub fn add(&mut self, now: OtherWork) {
        self.programs.add(&now, &self.last, &[]);
        self.last = now;
    }

    /// As [`OtherWork::since`], from the first reading to the last.
    #[must_use]
    pub fn named(&self, span: Duration) -> Vec<String> {
        self.programs.named(span, LEAST_OF_A_RUN)
    }

    /// CPU time of all of these programs.
    #[must_use]
    pub fn cpu(&self) -> Duration {
        let each = self.programs.0.values();
        Duration::from_secs_f64(each.map(|program| program.cpu_s).sum())
    }
}

/// CPU time by the name of the program.
#[derive(Debug, Default)]
struct Programs(BTreeMap<String, Program>);

#[derive(Debug, Default)]
struct Program {
    pids: BTreeSet<u32>,
    cpu_s: f64,
}

impl Programs {
    fn add(&mut self, now: &OtherWork, before: &OtherWork, cores: &[u32]) {
        let has_one =
            |allowed: Vec<usize>| cores.iter().any(|core| allowed.contains(&(*core as usize)));
        // A process whose cores cannot be read may run on any.
        let may_run = |pid| cores.is_empty() || affinity_of(Some(pid)).map_or(true, has_one);
        let per_second = rustix::param::clock_ticks_per_second();
        for (key, process) in &now.processes {
            let earlier = before.processes.get(key).map_or(0, |earlier| earlier.ticks);
            let ticks = process.ticks.saturating_sub(earlier);
            if ticks > 0 && may_run(key.0) {
                let program = self.0.entry(process.name.clone()).or_default();
                program.pids.insert(key.0);
                program.cpu_s += from_ticks(ticks, per_second).as_secs_f64();
            }
        }
    }

    fn named(&self, span: Duration, least: f64) -> Vec<String> {
        let span_s = span.as_secs_f64().max(1e-9);
        let mut programs: Vec<_> = self.0.iter().collect();
        programs.retain(|(_, program)| program.cpu_s > least * span_s);
        programs.small_sort_by(|(_, a), (_, b)| b.cpu_s.total_cmp(&a.cpu_s));
        programs.truncate(MOST_NAMED);
        let said = programs.iter().map(|(name, program)| {
            let share = 100.0 * program.cpu_s / span_s;
            match program.pids.first() {
                Some(pid) if program.pids.len() == 1 => {
                    format!("{name} (PID {pid}) {share:.0} % of a core")
                }
                _ => format!(
                    "{name} ({} processes) {share:.0} % of a core",
                    program.pids.len()
                ),
            }
        });
        said.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `/proc` with one process for each pid, name and ticks.
    fn proc(processes: &[(u32, &str, u64)]) -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        for (pid, name, ticks) in processes {
            let folder = dir.path().join(pid.to_string());
            let task = folder.join("task").join(pid.to_string());
            fs::create_dir_all(&task).unwrap();
            fs::write(task.join("children"), "").unwrap();
            let stat =
                format!("{pid} ({name}) R 1 1 1 0 -1 0 0 0 0 0 {ticks} 0 0 0 20 0 1 0 77 0 0");
            fs::write(folder.join("stat"), stat).unwrap();
        }
        let roots = Roots {
            proc: dir.path().into(),
            ..Roots::default()
        };
        (dir, roots)
    }

    #[test]
    fn programs_are_named_by_the_cpu_that_they_used_in_between() {
        // No process has such a number, so that none has an affinity.
        let own = 1_900_000_001;
        let read = |processes: &[(u32, &str, u64)]| {
            let (_dir, roots) = proc(processes);
            OtherWork::read(&roots, &Tree::from(own).at(&roots.proc))
        };
        let before = read(&[
            (own, "powerband", 0),
            (1_900_000_002, "postgres", 500),
            (1_900_000_003, "postgres", 500),
            (1_900_000_004, "sshd", 9_000),
            (1_900_000_005, "ended", 10),
        ]);
        let after = read(&[
            (own, "powerband", 900),
            (1_900_000_002, "postgres", 520),
            (1_900_000_003, "postgres", 510),
            (1_900_000_004, "sshd", 9_000),
            (1_900_000_006, "cc1", 100),
        ]);
        let per_second = rustix::param::clock_ticks_per_second();
        let span = Duration::from_secs_f64(200.0 / per_second as f64);
        assert_eq!(
            after.since(&before, span, &[0]),
            [
                "cc1 (PID 1900000006) 50 % of a core",
                "postgres (2 processes) 15 % of a core"
            ]
        );
        assert_eq!(after.since(&after, span, &[0]), [""; 0]);
        let (_dir, roots) = proc(&[(1_900_000_006, "cc1", 100)]);
        let cc1 = Tree::from(1_900_000_006).at(&roots.proc);
        assert_eq!(
            after.clone().without(&cc1).since(&before, span, &[0]),
            ["postgres (2 processes) 15 % of a core"]
        );

        let mut so_far = OtherWorkSoFar::from(before);
        so_far.add(after);
        so_far.add(read(&[(1_900_000_007, "cc1", 40)]));
        assert_eq!(
            so_far.named(span),
            [
                "cc1 (2 processes) 70 % of a core",
                "postgres (2 processes) 15 % of a core"
            ]
        );
    }

    #[test]
    fn a_process_that_may_not_run_on_these_cores_is_not_named() {
        let roots = Roots::default();
        // The tree of a process that does not exist: this one counts as another.
        let nobody = Tree::from(u32::MAX);
        let now = OtherWork::read(&roots, &nobody);
        let own: Vec<u32> = affinity_of(None)
            .unwrap()
            .iter()
            .map(|c| *c as u32)
            .collect();
        let none = OtherWork::default();
        let said = |cores: &[u32]| now.since(&none, Duration::from_millis(1), cores).len();
        assert!(said(&own) > 0);
        assert_eq!(said(&[1_000_000]), 0);
    }
}
