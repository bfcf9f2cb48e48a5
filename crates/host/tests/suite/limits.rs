//! Limits and facts read from folders of text in place of the kernel's.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::support::Host;
use host::facts::Activity;
use host::procfs::CpuTimes;
use host::{HostFacts, Roots, cgroup, cores, facts, warnings};

const SECOND: Duration = Duration::from_secs(1);

fn limits(host: &Host) -> cgroup::Limits {
    cgroup::limits(&host.roots()).unwrap()
}

#[test]
fn no_cgroups_are_no_limits() {
    assert_eq!(limits(&Host::new()), cgroup::Limits::default());
}

#[test]
fn version_2_takes_the_tightest_on_the_way_up() {
    let host = Host::new()
        .with("proc/self/cgroup", "0::/app.slice/puma.service\n")
        .with("cgroup/cgroup.controllers", "cpu memory\n")
        .with("cgroup/app.slice/cpu.max", "150000 100000\n")
        .with("cgroup/app.slice/memory.max", "max\n")
        .with("cgroup/app.slice/puma.service/cpu.max", "max 100000\n")
        .with("cgroup/app.slice/puma.service/memory.max", "1073741824\n");
    let limits = limits(&host);
    assert_eq!(limits.cpu_quota, Some(1.5));
    assert_eq!(limits.memory_bytes, Some(1 << 30));
}

#[test]
fn a_path_outside_the_mount_ends_at_the_mount() {
    let host = Host::new()
        .with("proc/self/cgroup", "0::/../../docker/abc\n")
        .with("cgroup/cgroup.controllers", "cpu memory\n")
        .with("cgroup/cpu.max", "50000 100000\n")
        .with("cpu.max", "10000 100000\n");
    assert_eq!(limits(&host).cpu_quota, Some(0.5));
}

#[test]
fn version_1_and_the_two_together() {
    let host = Host::new()
        .with(
            "proc/self/cgroup",
            "5:memory:/docker/abc\n4:cpu,cpuacct:/docker/abc\n0::/\n",
        )
        .with("cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n")
        .with("cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
        .with("cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "200000\n")
        .with("cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n")
        .with(
            "cgroup/memory/memory.limit_in_bytes",
            "9223372036854771712\n",
        )
        .with(
            "cgroup/memory/docker/abc/memory.limit_in_bytes",
            "536870912\n",
        )
        .with("cgroup/unified/cgroup.controllers", "\n")
        .with("cgroup/unified/memory.max", "805306368\n");
    let limits = limits(&host);
    assert_eq!(limits.cpu_quota, Some(2.0));
    assert_eq!(limits.memory_bytes, Some(512 << 20));
}

#[test]
fn a_quota_below_the_affinity_is_what_is_effective() {
    let host = Host::new()
        .with("proc/self/cgroup", "0::/\n")
        .with("cgroup/cgroup.controllers", "cpu\n")
        .with("cgroup/cpu.max", "25000 100000\n");
    let cores = cores::available_in(&host.roots()).unwrap();
    assert!(!cores.affinity.is_empty());
    assert_eq!(cores.quota, Some(0.25));
    assert_eq!(cores.effective, 0.25);

    let free = cores::available_in(&Host::new().roots()).unwrap();
    assert_eq!(free.effective, free.affinity.len() as f64);
}

fn laptop() -> Host {
    Host::new()
        .with("proc/cpuinfo", "processor : 0\nmodel name : Some CPU\n")
        .with("proc/sys/kernel/osrelease", "6.1.0-18-amd64\n")
        .with("proc/loadavg", "0.00 0.00 0.00 1/90 5\n")
        .with(
            "proc/meminfo",
            "MemTotal: 1048576 kB\nMemAvailable: 524288 kB\nSwapTotal: 102400 kB\n\
             SwapFree: 102400 kB\n",
        )
        .with(
            "sys/devices/system/clocksource/clocksource0/current_clocksource",
            "tsc\n",
        )
        .with(
            "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "performance\n",
        )
}

fn facts_of(host: &Host) -> HostFacts {
    facts::collect_in(&host.roots()).unwrap()
}

#[test]
fn facts_survive_json() {
    let facts = facts_of(&laptop());
    assert_eq!(facts.cpu_model.as_deref(), Some("Some CPU"));
    assert_eq!(facts.kernel, "6.1.0-18-amd64");
    assert_eq!(facts.governor.as_deref(), Some("performance"));
    assert_eq!(facts.memory_total_bytes, 1 << 30);
    assert_eq!(facts.swap_used_bytes, 0);
    let json = serde_json::to_string(&facts).unwrap();
    let back: HostFacts = serde_json::from_str(&json).unwrap();
    assert_eq!(back, facts);
}

#[test]
fn a_quiet_host_has_no_warnings() {
    assert_eq!(warnings(&facts_of(&laptop())), []);
}

#[test]
fn each_spoiler_is_named_with_its_evidence() {
    let quiet = facts_of(&laptop());
    let calm = Activity {
        cpu: CpuTimes {
            total_ticks: 1000,
            steal_ticks: 10,
            ..CpuTimes::default()
        },
        swapped_pages: Some(5),
    };
    let stolen = Activity {
        cpu: CpuTimes {
            total_ticks: 2000,
            steal_ticks: 135,
            ..CpuTimes::default()
        },
        swapped_pages: Some(5),
    };
    let swapped = Activity {
        swapped_pages: Some(47),
        ..calm
    };
    let cases = [
        (quiet.clone().observe(&calm, &stolen, SECOND), "12.5 %"),
        (quiet.clone().observe(&calm, &swapped, SECOND), "42 pages"),
        (
            HostFacts {
                swap_used_bytes: 64 << 20,
                ..quiet.clone()
            },
            "64 MiB",
        ),
        (
            HostFacts {
                load_average_1m: Some(quiet.effective_cores),
                ..quiet.clone()
            },
            "load average",
        ),
        (
            HostFacts {
                governor: Some("powersave".to_owned()),
                ..quiet.clone()
            },
            "powersave",
        ),
        (
            HostFacts {
                clocksource: Some("hpet".to_owned()),
                ..quiet.clone()
            },
            "hpet",
        ),
    ];
    for (facts, evidence) in cases {
        let found = warnings(&facts);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].evidence.contains(evidence), "{found:?}");
        assert!(!found[0].remedy.is_empty());
    }
}

#[test]
fn what_only_some_hosts_have_may_be_missing() {
    let host = laptop();
    for path in ["sys", "proc/cpuinfo", "proc/loadavg"] {
        let path = host.at(path);
        let removed = if path.is_dir() {
            fs::remove_dir_all(&path)
        } else {
            fs::remove_file(&path)
        };
        removed.unwrap();
    }
    let facts = facts_of(&host);
    assert_eq!(facts.governor, None);
    assert_eq!(facts.cpu_model, None);
    assert_eq!(warnings(&facts), []);
}

#[test]
fn a_missing_meminfo_is_named() {
    let error = cores::memory_in(&Host::new().roots()).unwrap_err();
    assert!(error.to_string().contains("proc/meminfo"), "{error}");
}

#[test]
fn this_host_has_facts() {
    let facts = facts::collect().unwrap();
    assert!(facts.cores >= 1);
    assert!(facts.effective_cores > 0.0 && facts.effective_cores <= facts.cores as f64);
    assert!(facts.memory_available_bytes <= facts.memory_total_bytes);
    assert!(Path::new("/proc").exists() && !facts.kernel.is_empty());
    let activity = Activity::read(&Roots::default()).unwrap();
    let observed = facts.observe(&activity, &activity, SECOND);
    assert_eq!(observed.steal_share, None, "no time has passed");
}
