//! A pod's control group on the kernel that is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::Roots;
use host::cgroup::Limits;
use host::pod::{PodGroup, alike};

#[test]
#[allow(clippy::print_stderr, reason = "a test that did nothing says so")]
fn a_process_in_a_pod_is_stopped_by_its_quota() {
    let name = format!("powerband-test-{}", std::process::id());
    let limits = Limits {
        cpu_quota: Some(0.05),
        memory_bytes: None,
    };
    let pod = match PodGroup::make(&Roots::default(), &name, limits) {
        Ok(pod) => pod,
        Err(why) => {
            eprintln!("not tested: {why}");
            return;
        }
    };
    assert!(alike(limits, pod.limits().unwrap()));
    let procs: Vec<PathBuf> = pod.joined_by().collect();
    let script = "echo $$ > \"$1\" && while :; do :; done";
    let mut spinning = std::process::Command::new("sh")
        .args(["-c", script, "sh"])
        .args(&procs)
        .spawn()
        .unwrap();
    let throttled = loop {
        let seen = pod.throttling().unwrap().unwrap();
        if seen.throttled > 2 {
            break seen;
        }
        assert_eq!(spinning.try_wait().unwrap(), None, "it ended");
        std::thread::sleep(Duration::from_millis(20));
    };
    let inside = pod.pids().unwrap();
    spinning.kill().unwrap();
    spinning.wait().unwrap();
    assert!(throttled.stopped.unwrap() > Duration::ZERO);
    assert_eq!(inside, BTreeSet::from([spinning.id()]));
    let folders: Vec<PathBuf> = pod.folders().map(Path::to_owned).collect();
    drop(pod);
    assert!(folders.iter().all(|folder| !folder.exists()), "{folders:?}");
}
