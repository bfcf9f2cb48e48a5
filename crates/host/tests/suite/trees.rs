//! Real processes: trees, their memory and CPU, and the monitor.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use host::cpu::tree_cpu;
use host::memory::{rss_tree, sample, sample_tree};
use host::{HostError, Monitor, Tree};

/// A shell that says a line when it is ready and ends when its input does.
struct Shell {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Shell {
    fn new(script: &str) -> Self {
        let mut child = Command::new("sh")
            .args(["-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            child,
            input,
            output,
        }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// Answers its next `read`.
    fn say(&mut self) {
        self.input.as_mut().unwrap().write_all(b"\n").unwrap();
    }
}

impl Drop for Shell {
    /// Its input ends, and with it every `read` and `cat` below it.
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// The root and a descendant in a session of its own, both alive until the input ends.
const FAMILY: &str = "exec 3<&0; setsid sh -c 'echo $$; read x' <&3 & read x <&3; wait";

#[test]
fn a_tree_has_the_root_and_its_descendants() {
    let mut shell = Shell::new(FAMILY);
    let descendant: u32 = shell.line().parse().unwrap();
    let pids = Tree::from(shell.pid()).pids().unwrap();
    assert_eq!(pids[0], shell.pid());
    assert!(pids.contains(&descendant), "{pids:?} {descendant}");
    let without = Tree::from(shell.pid()).without_root().pids().unwrap();
    assert_eq!(without, pids[1..]);
    shell.say();
}

#[test]
fn the_tree_of_a_service_is_left_out_with_its_memory_and_cpu() {
    let mut shell = Shell::new(
        "exec 3<&0; sh -c 'sh -c \"echo \\$\\$ \\$PPID; read x\"; read x' <&3 & \
         sh -c 'sh -c \"echo \\$\\$ \\$PPID; read x\"; read x' <&3 & wait",
    );
    let mut side = || {
        let line = shell.line();
        let pids = line.split(' ').map(|pid| pid.parse::<u32>().unwrap());
        pids.collect::<Vec<_>>()
    };
    let (one, other) = (side(), side());
    let whole = Tree::from(shell.pid());
    let [inner, outer] = one[..] else {
        panic!("{one:?}");
    };
    let left = whole.clone().without([outer]).without_root();
    let mut pids = left.pids().unwrap();
    pids.sort_unstable();
    let mut expected = other.clone();
    expected.sort_unstable();
    assert_eq!(pids, expected, "all but {inner} and {outer}");
    let memory = sample_tree(left.clone()).unwrap();
    assert_eq!(memory.processes.len(), 2);
    assert!(rss_tree(left.clone()).unwrap() < rss_tree(whole.clone()).unwrap());
    assert!(tree_cpu(left).unwrap().total() <= tree_cpu(whole).unwrap().total());
    let inner_alone = Tree::from(shell.pid()).without([inner]).pids().unwrap();
    assert!(inner_alone.contains(&outer) && !inner_alone.contains(&inner));
}

#[test]
fn a_process_that_is_gone_is_said() {
    let mut shell = Shell::new("read x");
    let pid = shell.pid();
    shell.say();
    shell.child.wait().unwrap();
    assert!(matches!(Tree::from(pid).pids(), Err(HostError::Gone { pid: p }) if p == pid));
    assert!(matches!(tree_cpu(pid), Err(HostError::Gone { .. })));
    let start = Monitor::start(pid, Duration::from_millis(10));
    assert!(matches!(start, Err(HostError::Gone { .. })));
    let memory = sample(&[pid]).unwrap();
    assert!(memory.processes.is_empty());
    assert!(memory.unreadable.is_empty());
}

#[test]
fn a_zombie_has_cpu_time_and_no_memory() {
    let mut shell = Shell::new("echo ready; read x");
    shell.line();
    drop(shell.input.take());
    // The output ends when the process has; it is a zombie until it is waited for.
    assert_eq!(shell.line(), "");
    let tree = Tree::from(shell.pid());
    while !tree.root_stat().unwrap().ended {
        std::thread::yield_now();
    }
    assert_eq!(sample_tree(tree.clone()).unwrap().processes, []);
    assert_eq!(rss_tree(tree.clone()).unwrap(), 0);
    tree_cpu(tree).unwrap();
}

#[test]
fn memory_is_that_of_every_process_and_ordered_uss_pss_rss() {
    let mut shell = Shell::new(FAMILY);
    shell.line();
    let memory = sample_tree(shell.pid()).unwrap();
    assert!(memory.processes.len() >= 2, "{memory:?}");
    assert!(memory.unreadable.is_empty());
    assert!(memory.processes.iter().any(|p| p.name == "sh"));
    for process in &memory.processes {
        assert!(process.uss_bytes <= process.pss_bytes, "{process:?}");
        assert!(process.pss_bytes <= process.rss_bytes, "{process:?}");
    }
    let sum: u64 = memory.processes.iter().map(|p| p.pss_bytes).sum();
    assert_eq!(memory.pss_bytes, sum);
    assert!(rss_tree(shell.pid()).unwrap() >= memory.uss_bytes);
    let one = sample(&[shell.pid()]).unwrap();
    assert_eq!(one.processes.len(), 1);
    shell.say();
}

#[test]
fn touched_memory_shows() {
    let mut shell =
        Shell::new("echo; read x; v=$(head -c 8000000 /dev/zero | tr '\\0' a); echo; read y");
    shell.line();
    let before = sample_tree(shell.pid()).unwrap();
    shell.say();
    shell.line();
    let after = sample_tree(shell.pid()).unwrap();
    assert!(after.uss_bytes >= before.uss_bytes + 8_000_000, "{after:?}");
    shell.say();
}

#[test]
fn the_cpu_of_a_dead_child_is_not_lost() {
    // The child burns until it has used 30 ticks by its own account, then ends and is waited for.
    let burn = "while :; do i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; \
                set -- $(cat /proc/$$/stat); [ ${14} -ge 30 ] && exit; done";
    let script = format!("echo; read x; sh -c '{burn}'; echo; read y");
    let mut shell = Shell::new(&script);
    shell.line();
    let before = tree_cpu(shell.pid()).unwrap();
    shell.say();
    shell.line();
    let all = tree_cpu(shell.pid()).unwrap().since(&before);
    let ticks = |n: u64| Duration::from_millis(1000 * n / rustix::param::clock_ticks_per_second());
    assert!(all.user >= ticks(29), "{all:?}");
    assert!(all.total() >= all.user);
    // Left out, the root still answers for its dead.
    let dead = tree_cpu(Tree::from(shell.pid()).without_root()).unwrap();
    assert!(dead.user >= ticks(29), "{dead:?}");
    shell.say();
}

#[test]
fn processes_that_come_and_go_during_the_walk_are_no_error() {
    let mut shell = Shell::new("(while :; do /bin/true; done) & echo $!; read x; kill $!; wait");
    shell.line();
    for _ in 0..200 {
        let tree = Tree::from(shell.pid());
        assert_eq!(tree.pids().unwrap()[0], shell.pid());
        sample_tree(tree.clone()).unwrap();
        rss_tree(tree.clone()).unwrap();
        tree_cpu(tree).unwrap();
    }
    shell.say();
}

#[test]
fn the_monitor_samples_until_it_is_stopped() {
    let mut shell = Shell::new("echo; read x");
    shell.line();
    let monitor = Monitor::start_with(shell.pid(), Duration::from_millis(10), 2).unwrap();
    // Its first sample is taken whatever happens, and its last one when it is stopped.
    let samples = monitor.stop();
    assert!(samples.len() >= 2, "{samples:?}");
    assert!(samples.first().unwrap().pss_bytes.is_some());
    assert!(samples.last().unwrap().pss_bytes.is_some());
    for pair in samples.windows(2) {
        assert!(pair[0].at_mono_ns < pair[1].at_mono_ns);
    }
    assert!(samples.iter().all(|s| s.rss_bytes > 0 && s.unreadable == 0));
    shell.say();
}

#[test]
fn the_monitor_stops_at_once_however_long_its_interval() {
    let mut shell = Shell::new("echo; read x");
    shell.line();
    let hour = Duration::from_secs(3600);
    drop(Monitor::start(shell.pid(), hour).unwrap());
    assert_eq!(Monitor::start(shell.pid(), hour).unwrap().stop().len(), 2);
    shell.say();
}

#[test]
fn the_monitor_ends_with_its_root() {
    let mut shell = Shell::new("echo; read x");
    shell.line();
    let monitor = Monitor::start(shell.pid(), Duration::from_millis(10)).unwrap();
    while monitor.samples_taken() < 2 {
        std::thread::yield_now();
    }
    let taken = monitor.samples_taken();
    shell.say();
    shell.child.wait().unwrap();
    let samples = monitor.stop();
    // The last ones may have met the process as it let go of its memory, which it does once.
    let (alive, ending) = samples.split_at(taken);
    assert!(alive.iter().all(|s| s.rss_bytes > 0), "{samples:?}");
    let let_go: Vec<bool> = ending.iter().map(|s| s.rss_bytes == 0).collect();
    assert!(let_go.is_sorted(), "{samples:?}");
}
