//! What on this host spoils a measurement, said before the first one: something can still be done about it then.

use crate::progress::{Event, Watcher};
use host::cpu::{computed_since, tree_cpu};
use host::facts::Activity;
use host::procfs::CpuTimes;
use host::{HostFacts, OtherWork, OtherWorkSoFar, Roots, Tree};
use run::{Folder, LOCK, OTHER_PROGRAMS};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Long enough to see whether the load average is of work that has ended, and which programs use the cores.
const MOMENT: Duration = Duration::from_millis(300);
/// From this part of a core on, used by other programs, a page names them.
const MUCH_OTHERS: f64 = 0.25;

/// Warns of it, and returns it for the document.
pub fn tell(watcher: &dyn Watcher) -> Vec<String> {
    let found = host::facts::collect().map(|facts| host::warnings(&a_moment_later(facts)));
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
    found.extend(afterwards(&others));
    found
}

/// Other runs that a warning names.
const MOST_NAMED: usize = 3;

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
}

/// For the document: by the time it is read, other processes may have their numbers.
fn afterwards(runs: &[OtherRun]) -> Option<String> {
    let folders: Vec<String> = runs
        .iter()
        .map(|run| run.folder.display().to_string())
        .collect();
    let (these, them) = match folders.as_slice() {
        [] => return None,
        [one] => (format!("another run of powerband ({one}) was"), "it"),
        several => {
            let named = run::first_of(several, MOST_NAMED);
            (
                format!("{} other runs of powerband ({named}) were", several.len()),
                "them",
            )
        }
    };
    Some(format!(
        "{these} under way on this host at the same time, and each took the other's cores; measure again without {them}"
    ))
}

/// With how busy the cores are now, and by which programs: the load average is of the last minute.
fn a_moment_later(facts: HostFacts) -> HostFacts {
    let read = || Activity::read(&Roots::default());
    let (began, before, others) = (Instant::now(), read(), other_work());
    std::thread::sleep(MOMENT);
    let busiest_programs = other_work().since(&others, began.elapsed(), &[]);
    let busy_cores = match (before, read()) {
        (Ok(before), Ok(after)) => host::facts::busy_cores(&before, &after, began.elapsed()),
        _ => None,
    };
    HostFacts {
        busy_cores,
        busiest_programs,
        ..facts
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
    began: Instant,
    /// What the host had done at that moment; `None` where it cannot be read.
    before: Option<Activity>,
    /// What this run had computed.
    own_before: Duration,
    since: Mutex<Since>,
}

#[derive(Debug)]
struct Since {
    /// What other processes of powerband measured.
    runs: Vec<OtherRun>,
    /// What other programs computed.
    work: OtherWorkSoFar,
}

impl HostWatch {
    /// From now on.
    pub fn begin() -> HostWatch {
        HostWatch {
            began: Instant::now(),
            before: Activity::read(&Roots::default()).ok(),
            own_before: own_cpu().unwrap_or_default(),
            since: Mutex::new(Since {
                runs: other_runs(),
                work: OtherWorkSoFar::from(other_work()),
            }),
        }
    }

    /// Notes what other programs have done since the last look, and says which runs began.
    pub fn look(&self, watcher: &dyn Watcher) {
        let mut since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        since.work.add(other_work());
        for run in other_runs() {
            // A run has several processes.
            if since.runs.iter().all(|known| known.folder != run.folder) {
                watcher.on(Event::Note(format!("spoils measurements: {}", run.now())));
                since.runs.push(run);
            }
        }
    }

    /// Stolen time, swapping and other programs since, and other runs.
    pub fn warnings(&self, watcher: &dyn Watcher) -> Vec<String> {
        self.look(watcher);
        let since = self.since.lock().unwrap_or_else(PoisonError::into_inner);
        let span = self.began.elapsed();
        let mut said = Vec::new();
        let mut took = since.work.cpu();
        if let Ok(facts) = host::facts::collect() {
            let facts = match (&self.before, Activity::read(&Roots::default())) {
                (Some(before), Ok(now)) => {
                    let own = own_cpu().map(|cpu| cpu.saturating_sub(self.own_before));
                    let all = own.and_then(|own| others_cpu(&before.cpu, &now.cpu, own, &facts));
                    took = took.max(all.unwrap_or_default());
                    facts.observe(before, &now, span)
                }
                _ => facts,
            };
            let warnings = host::warnings(&host::HostFacts {
                // Load and waiting are mostly this run's own; what other programs took is measured.
                load_average_1m: None,
                cpu_pressure: None,
                group_cpu_pressure: None,
                ..facts
            });
            said.extend(warnings.iter().map(ToString::to_string));
        }
        let seen = since.work.cpu();
        said.extend(others(took, seen, span, &since.work.named(span)));
        said.extend(afterwards(&since.runs));
        said
    }
}

/// CPU time of the host's processes without this run's; `None` where this run has only some of the host's CPUs, because work on the
/// other CPUs does not slow it.
fn others_cpu(
    before: &CpuTimes,
    now: &CpuTimes,
    own: Duration,
    facts: &HostFacts,
) -> Option<Duration> {
    let has_all = facts.cores == now.cpus && facts.limiting_quota().is_none();
    // Where the kernel samples the host's time at each tick but measures that of a process, the two differ by up to a few percent.
    let own = own + own / 50;
    has_all.then(|| computed_since(before, now).saturating_sub(own))
}

/// How a warning of an earlier sitting about the machine begins.
const EARLIER: &str = "in an earlier sitting: ";

/// Leaves warnings about the machine for the next sitting, which keeps the trials that depend on it.
pub fn keep(warnings: &mut Vec<String>, of_host: Vec<String>) {
    let load = warnings
        .iter()
        .filter(|w| w.starts_with(host::checks::LOAD));
    let all: Vec<String> = load.cloned().chain(of_host).collect();
    for warning in all {
        let kept = format!("{EARLIER}{warning}");
        if !warnings.contains(&kept) {
            warnings.push(kept);
        }
    }
}

/// What earlier sittings left.
pub fn of_earlier_sittings(warnings: &[String]) -> Vec<String> {
    let kept = warnings.iter().filter(|w| w.starts_with(EARLIER));
    kept.cloned().collect()
}

/// What other programs took of the cores, where it is much; of it, `seen` was of processes that can be named. Interrupts, which work
/// for the run as well, are not in it.
fn others(took: Duration, seen: Duration, span: Duration, named: &[String]) -> Option<String> {
    let of_a_core = |time: Duration| time.as_secs_f64() / span.as_secs_f64().max(1e-9);
    let (cores, unseen) = (of_a_core(took), of_a_core(took.saturating_sub(seen)));
    let unseen = (unseen >= MUCH_OTHERS).then(|| {
        format!(
            "{:.0} % of a core by processes that could not be seen, such as those of a build, of other users or containers",
            unseen * 100.0
        )
    });
    let parts: Vec<String> = unseen.into_iter().chain(named.iter().cloned()).collect();
    let most = match parts.as_slice() {
        [] => String::new(),
        parts => format!(" (most: {})", parts.join(", ")),
    };
    (cores >= MUCH_OTHERS).then(|| {
        format!(
            "{OTHER_PROGRAMS} {:.0} % of a core during the run{most}, none of which this run started: end them, except what the \
             application needs, such as its database, and measure again",
            cores * 100.0
        )
    })
}

/// Of this process and all that descend from it.
fn own_cpu() -> Option<Duration> {
    tree_cpu(std::process::id()).ok().map(|cpu| cpu.total())
}

/// Guards, servers and services descend from this process.
fn other_work() -> OtherWork {
    OtherWork::read(&Roots::default(), &Tree::from(std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resumed_run_keeps_what_is_known_of_the_machine() {
        let load = format!("{}: 4 on 2 cores", host::checks::LOAD);
        let mut warnings = vec!["3 of 4 trials failed".to_owned(), load.clone()];
        let stolen = || vec!["the hypervisor took 20 %".to_owned()];
        keep(&mut warnings, stolen());
        let kept = of_earlier_sittings(&warnings);
        let expected = [load.as_str(), "the hypervisor took 20 %"];
        assert_eq!(kept, expected.map(|warning| format!("{EARLIER}{warning}")));
        let mut again = kept.clone();
        keep(&mut again, stolen());
        assert_eq!(of_earlier_sittings(&again), kept, "each once");
    }

    #[test]
    fn other_programs_are_named_where_they_took_much() {
        let of = |took_s, seen_s, named: &[String]| {
            let [took, seen, span] = [took_s, seen_s, 100].map(Duration::from_secs);
            others(took, seen, span, named)
        };
        let said = |took_s, named: &[String]| of(took_s, took_s, named);
        let named = ["rustc (12 processes) 80 % of a core".to_owned()];
        assert_eq!(
            said(90, &named).unwrap(),
            "other programs took 90 % of a core during the run (most: rustc (12 processes) 80 % of a core), none of which \
             this run started: end them, except what the application needs, such as its database, and measure again"
        );
        assert!(said(90, &[]).unwrap().contains("during the run, none"));
        assert_eq!(said(24, &named), None);
        let build = of(90, 20, &[]).unwrap();
        let unseen = "90 % of a core during the run (most: 70 % of a core by processes that could not be seen, such";
        assert!(build.contains(unseen), "{build}");
    }

    #[test]
    fn processes_that_no_look_saw_are_counted_by_the_hosts_total() {
        let mut facts = host::facts::collect().unwrap();
        (facts.cores, facts.cpu_quota) = (4, None);
        let ticks = |ticks| CpuTimes {
            process_ticks: ticks,
            cpus: 4,
            ..CpuTimes::default()
        };
        let (before, own) = (ticks(0), Duration::from_secs(50));
        let all = computed_since(&before, &ticks(10_000));
        let of = |now: CpuTimes, facts: &HostFacts| others_cpu(&before, &now, own, facts);
        assert_eq!(
            of(ticks(10_000), &facts),
            Some(all - Duration::from_secs(51))
        );
        assert_eq!(of(ticks(10), &facts), Some(Duration::ZERO));
        facts.cpu_quota = Some(2.0);
        assert_eq!(of(ticks(10_000), &facts), None, "a quota");
        (facts.cores, facts.cpu_quota) = (2, None);
        assert_eq!(of(ticks(10_000), &facts), None, "a part of the CPUs");
    }

    #[test]
    fn a_run_is_named_with_its_process_and_folder() {
        let run = OtherRun {
            pid: 7,
            folder: PathBuf::from("/runs/20261120-214512-tune-1f3a"),
        };
        for part in ["PID 7", "-tune-1f3a", "kill 7", " is under way"] {
            assert!(run.now().contains(part), "{}", run.now());
        }
        let one = afterwards(std::slice::from_ref(&run)).unwrap();
        assert!(one.contains("-tune-1f3a) was under way"), "{one}");
        assert!(!one.contains("kill"), "{one}");
        let other = OtherRun {
            pid: 8,
            folder: PathBuf::from("/runs/20261120-214513-load-1f3a"),
        };
        let both = afterwards(&[run, other]).unwrap();
        assert!(
            both.starts_with("2 other runs of powerband (/runs/20261120-214512-tune-1f3a, /runs/20261120-214513-load-1f3a) were under way"),
            "{both}"
        );
        assert_eq!(afterwards(&[]), None);
        let many: Vec<OtherRun> = (0..5)
            .map(|n| OtherRun {
                pid: n,
                folder: PathBuf::from(format!("/runs/{n}")),
            })
            .collect();
        let named = afterwards(&many).unwrap();
        let begin =
            "5 other runs of powerband (/runs/0, /runs/1, /runs/2 and 2 more) were under way";
        assert!(named.starts_with(begin), "{named}");
    }
}
