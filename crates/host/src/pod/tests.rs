use super::*;

const BOTH: Limits = Limits {
    cpu_quota: Some(1.5),
    memory_bytes: Some(1 << 30),
};

/// A host of folders and files; its groups' files appear as they are written, and stay.
struct Host {
    roots: Roots,
    _folder: tempfile::TempDir,
}

impl Host {
    fn with(memberships: &str) -> Host {
        let folder = tempfile::tempdir().unwrap();
        let roots = Roots {
            proc: folder.path().join("proc"),
            cgroup: folder.path().join("cgroup"),
            ..Roots::default()
        };
        let host = Host {
            roots,
            _folder: folder,
        };
        fs::create_dir_all(host.roots.of(None)).unwrap();
        fs::write(host.roots.of(None).join("cgroup"), memberships).unwrap();
        host
    }

    fn group(&self, path: &str, files: &[(&str, &str)]) {
        let folder = self.roots.cgroup.join(path);
        fs::create_dir_all(&folder).unwrap();
        for (name, text) in [(PROCESSES, "")].iter().chain(files) {
            fs::write(folder.join(name), text).unwrap();
        }
    }

    fn reads(&self, path: &str) -> String {
        fs::read_to_string(self.roots.cgroup.join(path)).unwrap()
    }
}

fn version_2() -> Host {
    let host = Host::with("0::/app.slice/shell.scope\n");
    let handed = ("cgroup.subtree_control", "cpu memory pids\n");
    host.group("", &[("cgroup.controllers", "cpu memory\n"), handed]);
    host.group("app.slice", &[handed]);
    host.group("app.slice/shell.scope", &[("cgroup.subtree_control", "")]);
    host
}

#[test]
fn version_2_has_one_group_below_the_nearest_that_hands_its_controllers_down() {
    let host = version_2();
    let pod = PodGroup::make(&host.roots, "pod-7", BOTH).unwrap();
    let folders: Vec<&Path> = pod.folders().collect();
    assert_eq!(folders, [host.roots.cgroup.join("app.slice/pod-7")]);
    assert_eq!(host.reads("app.slice/pod-7/cpu.max"), "150000 100000");
    assert_eq!(host.reads("app.slice/pod-7/memory.max"), "1073741824");
    assert!(!folders[0].join("memory.swap.max").exists());
    assert!(alike(BOTH, pod.limits().unwrap()));

    host.group(
        "app.slice/pod-7",
        &[
            (
                "cpu.stat",
                "usage_usec 9\nnr_periods 10\nnr_throttled 4\nthrottled_usec 250000\n",
            ),
            ("memory.current", "500\n"),
            ("memory.events", "oom 1\noom_kill 2\n"),
        ],
    );
    fs::write(pod.joined_by().next().unwrap(), "11\n12\n").unwrap();
    assert_eq!(pod.pids().unwrap(), BTreeSet::from([11, 12]));
    let throttling = pod.throttling().unwrap().unwrap();
    assert_eq!((throttling.periods, throttling.throttled), (10, 4));
    assert_eq!(pod.memory().unwrap().unwrap().oom_kills, Some(2));
}

#[test]
fn without_a_group_that_hands_the_controller_down_there_is_none() {
    let host = version_2();
    for group in ["", "app.slice"] {
        host.group(group, &[("cgroup.subtree_control", "memory\n")]);
    }
    let of_memory = Limits {
        cpu_quota: None,
        ..BOTH
    };
    assert!(PodGroup::make(&host.roots, "pod-7", of_memory).is_ok());
    let refused = PodGroup::make(&host.roots, "pod-8", BOTH).unwrap_err();
    assert!(refused.to_string().contains("cpu and memory"), "{refused}");
    assert!(!host.roots.cgroup.join("pod-8").exists());
}

#[test]
fn version_1_has_a_group_for_each_controller_where_that_is_mounted() {
    let host = Host::with("2:memory:/not/mounted\n1:cpu,cpuacct:/app\n0::/\n");
    host.group("cpu/app", &[]);
    host.group("cpu", &[]);
    host.group("memory", &[]);
    let pod = PodGroup::make(&host.roots, "pod-7", BOTH).unwrap();
    let found: Vec<(String, &str)> = vec![
        (host.reads("cpu/app/pod-7/cpu.cfs_period_us"), "100000"),
        (host.reads("cpu/app/pod-7/cpu.cfs_quota_us"), "150000"),
        (
            host.reads("memory/pod-7/memory.limit_in_bytes"),
            "1073741824",
        ),
    ];
    for (found, expected) in found {
        assert_eq!(found, expected);
    }
    assert!(alike(BOTH, pod.limits().unwrap()));
    // A process is in the pod when it is in both.
    for (file, text) in pod.joined_by().zip(["1\n2\n", "2\n3\n"]) {
        fs::write(file, text).unwrap();
    }
    assert_eq!(pod.pids().unwrap(), BTreeSet::from([2]));
}

#[test]
fn a_group_that_was_made_goes_when_the_next_cannot_be_made() {
    let host = Host::with("1:memory:/app\n");
    host.group("memory/app", &[]);
    let of_memory = Limits {
        cpu_quota: None,
        ..BOTH
    };
    assert!(PodGroup::make(&host.roots, "pod-8", of_memory).is_ok());
    let refused = PodGroup::make(&host.roots, "pod-7", BOTH).unwrap_err();
    assert!(refused.to_string().contains("enables cpu for"), "{refused}");
    assert!(!host.roots.cgroup.join("memory/app/pod-7").exists());
}

#[test]
fn an_empty_group_goes_with_its_value() {
    let host = version_2();
    let folder = host.roots.cgroup.join("app.slice/pod-7");
    // The kernel's files do not keep a folder, those of a file system do.
    let groups = vec![Group {
        folder: folder.clone(),
        controller: None,
    }];
    fs::create_dir(&folder).unwrap();
    drop(PodGroup { groups });
    assert!(!folder.exists());
}

#[test]
fn the_kernel_rounds_limits() {
    let limits = |cpu_quota, memory_bytes| Limits {
        cpu_quota: Some(cpu_quota),
        memory_bytes: Some(memory_bytes),
    };
    let page = rustix::param::page_size() as u64;
    assert!(alike(
        limits(1.0 / 3.0, 10 * page + 1),
        limits(0.33333, 10 * page)
    ));
    assert!(!alike(limits(0.5, 10 * page), limits(0.51, 10 * page)));
    assert!(!alike(limits(0.5, 10 * page), limits(0.5, 9 * page)));
    assert!(!alike(limits(0.5, 10 * page), Limits::default()));
}
