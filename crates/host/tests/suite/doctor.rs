//! What the checks are given, collected from folders of text in place of the kernel's.

use std::path::PathBuf;
use std::time::Duration;

use crate::support::Host;
use host::serving::{Filled, OpenFiles};
use host::{
    HostError, MemoryUse, Outcome, ProcessFacts, Roots, ServingFacts, Throttling, checks, facts,
};

fn booted() -> Host {
    Host::new()
        .with("proc/sys/kernel/osrelease", "6.1.0\n")
        .with(
            "proc/meminfo",
            "MemTotal: 1048576 kB\nMemAvailable: 524288 kB\n",
        )
}

#[test]
fn what_a_group_uses_is_that_of_the_process_that_was_asked_about() {
    let me = std::process::id();
    let host = booted()
        .with("proc/self/cgroup", "0::/shell\n")
        .with(&format!("proc/{me}/cgroup"), "0::/app/puma\n")
        .with(
            "proc/pressure/memory",
            "some avg10=0.00 avg60=2.50 avg300=0.00 total=1\n",
        )
        .with("cgroup/cgroup.controllers", "cpu memory\n")
        .with("cgroup/app/memory.max", "1000\n")
        .with("cgroup/app/memory.current", "900\n")
        .with("cgroup/app/memory.stat", "anon 1\ninactive_file 300\n")
        .with("cgroup/app/puma/memory.max", "max\n")
        .with("cgroup/app/puma/cpu.max", "100000 100000\n")
        .with(
            "cgroup/cpu.pressure",
            "some avg10=0.00 avg60=95.00 avg300=0.00 total=1\n",
        )
        .with("cgroup/app/cpu.max", "max 100000\n")
        .with(
            "cgroup/app/cpu.pressure",
            "some avg10=0.00 avg60=90.00 avg300=0.00 total=1\n",
        )
        .with(
            "cgroup/app/puma/cpu.pressure",
            "some avg10=0.00 avg60=12.50 avg300=0.00 total=1\n",
        )
        .with(
            "cgroup/app/puma/cpu.stat",
            "usage_usec 1\nnr_periods 200\nnr_throttled 50\nthrottled_usec 7\n",
        );
    let own = facts::collect_in(&host.roots()).unwrap();
    assert_eq!(
        (own.group_memory, own.throttling, own.cpu_quota),
        (None, None, None)
    );
    assert!((own.memory_pressure.unwrap().some_60s - 0.025).abs() < 1e-12);
    assert_eq!(own.cpu_pressure, None);

    let server = facts::collect_of(&host.roots(), Some(me)).unwrap();
    let used = MemoryUse {
        used_bytes: 600,
        limit_bytes: 1000,
    };
    assert_eq!(server.group_memory, Some(used));
    let stopped = Throttling {
        periods: 200,
        throttled: 50,
        stopped: Some(Duration::from_micros(7)),
    };
    assert_eq!(server.throttling, Some(stopped));
    // Its own group's, not that of the groups above; and the root's is the host's.
    assert!((server.group_cpu_pressure.unwrap().some_60s - 0.125).abs() < 1e-12);
    assert_eq!(own.group_cpu_pressure, None);
    assert_eq!(server.cpu_quota, Some(1.0));
}

#[test]
fn version_1_counts_under_other_names() {
    let host = booted()
        .with("proc/self/cgroup", "5:memory:/app\n4:cpu,cpuacct:/app\n")
        .with("cgroup/memory/app/memory.limit_in_bytes", "1000\n")
        .with("cgroup/memory/app/memory.usage_in_bytes", "950\n")
        .with(
            "cgroup/memory/app/memory.stat",
            "inactive_file 1\ntotal_inactive_file 50\n",
        )
        .with("cgroup/cpu,cpuacct/app/cpu.cfs_quota_us", "50000\n")
        .with("cgroup/cpu,cpuacct/app/cpu.cfs_period_us", "100000\n")
        .with(
            "cgroup/cpu,cpuacct/app/cpu.stat",
            "nr_periods 4\nnr_throttled 3\nthrottled_time 5\n",
        );
    let facts = facts::collect_in(&host.roots()).unwrap();
    assert_eq!(facts.group_memory.unwrap().used_bytes, 900);
    let throttling = facts.throttling.unwrap();
    assert_eq!(throttling.share(), Some(0.75));
    assert_eq!(throttling.stopped, Some(Duration::from_nanos(5)));
    assert_eq!(facts.group_cpu_pressure, None);
}

#[test]
fn limits_of_a_server_are_read_from_its_own_entry() {
    let host = booted()
        .with(
            "proc/7/limits",
            "Max open files            1024                 4096                 files\n",
        )
        .with("proc/7/fd/0", "")
        .with("proc/7/fd/1", "")
        .with("proc/7/status", "Name:\truby\nTHP_enabled:\t1\n")
        .with(
            "proc/7/net/tcp",
            "0: 0100007F:03E8 0100007F:1538 06\n1: 0100007F:0BB8 0100007F:9C40 06\n",
        )
        .linked("proc/7/ns/net", "net:[1]")
        .linked("proc/self/ns/net", "net:[1]")
        .with("proc/sys/net/netfilter/nf_conntrack_count", "5\n")
        .with("proc/sys/net/netfilter/nf_conntrack_max", "10\n")
        .with("proc/sys/net/ipv4/ip_local_port_range", "1000\t1999\n")
        .with("proc/sys/net/core/somaxconn", "128\n")
        .with("proc/sys/fs/file-nr", "10 0 100\n")
        .with(
            "sys/kernel/mm/transparent_hugepage/enabled",
            "[always] madvise never\n",
        );
    let facts = ServingFacts::collect(&host.roots(), Some(7));
    assert_eq!(facts.conntrack, Ok(Filled { used: 5, most: 10 }));
    let files = OpenFiles {
        soft: Some(1024),
        hard: Some(4096),
        used: Ok(2),
    };
    assert_eq!(facts.open_files, Ok(files));
    assert_eq!(facts.time_wait, Ok(1), "port 1000 alone is of the range");
    assert_eq!(facts.process_takes_huge_pages, Ok(true));
    assert!(facts.syn_backlog.unwrap_err().contains("there is no"));
}

#[test]
fn the_settings_of_another_network_are_not_taken_for_the_servers() {
    let host = booted()
        .linked("proc/7/ns/net", "net:[2]")
        .linked("proc/self/ns/net", "net:[1]")
        .with("proc/sys/net/core/somaxconn", "128\n")
        .with(
            "proc/7/net/tcp",
            "0: 0100007F:03E8 0100007F:1538 06\n1: 0100007F:0BB8 0100007F:9C40 06\n",
        );
    let facts = ServingFacts::collect(&host.roots(), Some(7));
    assert!(facts.somaxconn.unwrap_err().contains("network of its own"));
    let time_wait = facts.time_wait.unwrap_err();
    assert!(time_wait.contains("network of its own"), "{time_wait}");
    let own = ServingFacts::collect(&host.roots(), None);
    assert_eq!(own.somaxconn, Ok(128));
}

#[test]
fn what_is_not_there_is_said_by_every_check() {
    let checked = checks::of_serving(&ServingFacts::collect(&Host::new().roots(), None));
    for one in checked {
        let Outcome::NotKnown(why) = &one.outcome else {
            panic!("{one:?}");
        };
        assert!(why.contains("there is no"), "{one:?}");
    }
}

#[test]
fn a_server_is_seen_with_its_workers_and_threads() {
    let thread = |name: &str| format!("proc/8/task/{name}/comm");
    let host = Host::new()
        .with(
            "proc/7/cmdline",
            "puma 6.6.0 (tcp://127.0.0.1:3000) [shop]\0",
        )
        .with(
            "proc/7/environ",
            "RAILS_ENV=production\0EMPTY=\0WITH=a=b\0nonsense\0",
        )
        .with("proc/7/task/7/children", "8 9")
        .with("proc/8/cmdline", "puma: cluster worker 0: 7 [shop]\0")
        .with("proc/9/cmdline", "sh\0-c\0puma: cluster worker\0")
        .with("proc/9/task/9/children", "")
        .with("proc/8/task/8/children", "")
        .with("proc/8/task/80/children", "")
        .with("proc/8/task/81/children", "")
        .with(&thread("8"), "ruby\n")
        .with(&thread("80"), "puma srv tp 001\n")
        .with(&thread("81"), "puma srv tp 002\n")
        .with(&thread("82"), "puma srv tp tri\n")
        .with("proc/8/task/82/children", "")
        .with("proc/7/exe", "#!/bin/sh\n")
        .linked("proc/7/cwd", "/srv/shop")
        .linked("proc/7/root", "/")
        .linked("proc/7/ns/mnt", "mnt:[2]")
        .linked("proc/self/ns/mnt", "mnt:[1]");
    let facts = ProcessFacts::collect(&host.roots(), 7).unwrap();
    assert_eq!((facts.puma_workers, facts.puma_threads), (Ok(1), Ok(2)));
    assert_eq!(facts.puma_serves, Ok(true));
    let environment = facts.environment.unwrap();
    let pairs: Vec<(&str, &str)> = environment
        .iter()
        .map(|(k, v)| (k.as_str(), v.as_str()))
        .collect();
    assert_eq!(
        pairs,
        [("EMPTY", ""), ("RAILS_ENV", "production"), ("WITH", "a=b")]
    );
    assert_eq!(facts.folder, Ok(PathBuf::from("/srv/shop")));
    assert_eq!(facts.elsewhere, Ok(true));
    assert!(facts.interpreter.unwrap_err().contains("names no loader"));
    let gone = ProcessFacts::collect(&host.roots(), 6).unwrap_err();
    assert!(matches!(gone, HostError::Gone { pid: 6 }), "{gone}");
}

#[test]
fn a_process_that_its_parent_has_not_waited_for_is_gone() {
    let mut ended = std::process::Command::new("true").spawn().unwrap();
    let pid = ended.id();
    let roots = Roots::default();
    let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    while !host::procfs::parse_stat(&stat()).unwrap().ended {
        std::thread::yield_now();
    }
    let facts = ProcessFacts::collect(&roots, pid);
    assert!(matches!(facts, Err(HostError::Gone { pid: gone }) if gone == pid));
    ended.wait().unwrap();
}

#[test]
fn a_puma_serves_once_its_server_thread_is_there() {
    for (name, serves) in [
        ("ruby\n", false),
        ("puma\n", false),
        ("puma wrkr check\n", false),
        ("puma srv\n", true),
        ("puma server\n", true),
    ] {
        let host = Host::new()
            .with("proc/7/cmdline", "puma 6.6.0 (tcp://127.0.0.1:3000)\0")
            .with("proc/7/task/7/children", "")
            .with("proc/7/task/7/comm", name);
        let facts = ProcessFacts::collect(&host.roots(), 7).unwrap();
        assert_eq!(facts.puma_serves, Ok(serves), "{name}");
    }
}

#[test]
fn this_machine_and_this_process_can_be_looked_at() {
    let roots = Roots::default();
    let me = std::process::id();
    let process = ProcessFacts::collect(&roots, me).unwrap();
    assert!(process.environment.is_ok() && process.folder.is_ok());
    assert_eq!(process.elsewhere, Ok(false));
    let serving = checks::of_serving(&ServingFacts::collect(&roots, Some(me)));
    let host = checks::of_host(&facts::collect_of(&roots, Some(me)).unwrap());
    let mut names: Vec<&str> = serving.iter().chain(&host).map(|one| one.check).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "each check has a name of its own");
}
