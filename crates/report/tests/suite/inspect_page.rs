//! The page of `powerband inspect` at the widths of terminals.

use crate::support::{flat, within, without_noise};
use report::{Style, inspect_page};
use run::inspect::{
    Against, Arm, ArmPod, Document, Interval, Memory, MemoryMeasure, NotRead, OverPods,
    ProcessMemory,
};

pub(crate) fn sample() -> Document {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../contract/samples/inspect/wide.json"
    );
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

pub(crate) fn page(document: &Document, width: u16) -> String {
    let style = Style {
        width,
        colour: false,
    };
    let page = inspect_page(document, 20, style);
    within(width, &page);
    without_noise(&page);
    page
}

#[test]
fn every_part_is_there_at_every_width() {
    for width in [60, 80, 100, 120, 160, 200] {
        let page = flat(&page(&sample(), width));
        let parts = [
            "Where a request's time goes",
            "GVL held",
            "lock wait",
            "stopped by the garbage collector",
            "Requests by endpoint",
            "products#index",
            "GVL wait",
            "SQL really",
            "objects",
            "Calls, corrected for GVL wait",
            "The requests kept one by one, by how long they took",
            "Database connection pools",
            "no. 1",
            "Where a job's time goes",
            "from being enqueued to its start",
            "job HardWorker",
            "≤",
        ];
        for part in parts {
            assert!(
                page.contains(part),
                "{part:?} is missing at {width}:\n{page}"
            );
        }
    }
}

/// Words of the tool's own that no reader of Ruby's or Puma's documentation knows.
#[test]
fn the_page_has_no_words_of_its_own() {
    let style = Style {
        width: 200,
        colour: false,
    };
    let page = report::inspect_page_in_full(&sample(), 20, style);
    for words in [
        " no CPU",
        "of the work",
        " had ",
        " dead  ",
        "rings",
        "one more adds (",
        "told apart",
    ] {
        assert!(!page.contains(words), "{words:?}:\n{page}");
    }
}

#[test]
fn processes_with_different_numbers_of_threads_are_not_said_to_have_one() {
    let mut document = sample();
    let running = document.processes[0].clone();
    let of = |pid, threads, state| run::inspect::Process {
        pid,
        threads: Some(threads),
        state,
        ..running.clone()
    };
    use run::inspect::ProcessState::{Closed, Live};
    let said = |document: &Document, words: &str| {
        let page = page(document, 200);
        let page: Vec<&str> = page.split_whitespace().collect();
        assert!(page.join(" ").contains(words), "{page:?}");
    };
    document.processes = vec![of(1, 3, Live), of(2, 9, Closed), of(3, 3, Live)];
    said(&document, "ruby 3.3.8, 3 threads in each process that runs");
    said(&document, "in 3 processes (2 live, 1 ended), ");
    document.processes[2].threads = Some(5);
    said(&document, "3 to 5 threads in each process that runs");
    document.processes.iter_mut().for_each(|p| p.state = Closed);
    said(&document, "3 to 9 threads per process");
    document.processes.truncate(1);
    said(&document, "in 1 process (ended), ");
}

/// One count in plain words; several formulas side by side are for experts.
#[test]
fn one_advice_stands_on_the_page_and_its_rivals_in_the_full_one() {
    let mut document = sample();
    let advice = document.threads.as_mut().unwrap();
    advice.plain = vec!["About 3 threads keep it busy.".to_owned()];
    let short = page(&document, 100);
    assert!(short.contains("- About 3 threads keep it busy."), "{short}");
    let share_of_work = "I/O / (I/O + ";
    for formula in ["T* =", "Amdahl", "Rule of thumb", share_of_work] {
        assert!(!short.contains(formula), "{formula}:\n{short}");
    }
    let style = Style {
        width: 100,
        colour: false,
    };
    let full = report::inspect_page_in_full(&document, 20, style);
    for part in ["About 3 threads", "T*", "Amdahl", "Rule of thumb"] {
        assert!(full.contains(part), "{part}:\n{full}");
    }
    let shares = [
        "I/O / (I/O + held)",
        "of a request's time: I/O / (I/O + GVL held)",
    ];
    for part in shares {
        assert!(flat(&full).contains(part), "{part}:\n{full}");
    }
}

#[test]
fn what_was_not_measured_has_no_line() {
    let mut document = sample();
    let requests = document.requests.as_mut().unwrap();
    requests.gc = None;
    requests.split.as_mut().unwrap().lock_wait_ms = None;
    requests.calls.clear();
    document.jobs = None;
    document.job_classes.clear();
    document.pools.clear();
    let page = flat(&page(&document, 100));
    for part in [
        "mutexes, queues, connection pools",
        "garbage collector ·",
        "Calls,",
        "pools",
        "a job",
    ] {
        assert!(!page.contains(part), "{part:?}:\n{page}");
    }
    assert!(
        page.contains("which were not measured separately"),
        "{page}"
    );
}

#[test]
fn more_endpoints_than_asked_for_and_files_not_read_are_said() {
    let mut document = sample();
    document.not_read.push(NotRead {
        file: "a.flight".to_owned(),
        partly: true,
        reason: "3 records that were never finished".to_owned(),
    });
    let style = Style {
        width: 80,
        colour: false,
    };
    let page = inspect_page(&document, 1, style);
    assert!(page.contains("more: --limit N"), "{page}");
    assert!(page.contains("- a.flight: in part: 3 records"), "{page}");
}

#[test]
fn the_largest_part_is_said_in_plain_words() {
    let cases = [
        (
            [0.6, 0.2, 0.1, 0.1],
            "Most of its time, 60.0 %, it runs Ruby",
        ),
        (
            [0.2, 0.4, 0.1, 0.3],
            "The largest part of its time, 40.0 %, it waits while other threads",
        ),
        ([0.1, 0.1, 0.7, 0.1], "it waits for locks"),
        ([0.1, 0.1, 0.1, 0.7], "it waits for databases"),
    ];
    for ([held, wait, lock, io], words) in cases {
        let mut document = sample();
        document.jobs = None;
        let split = document.requests.as_mut().unwrap().split.as_mut().unwrap();
        (split.held_share, split.gvl_wait_share) = (held, wait);
        (split.lock_wait_share, split.io_share) = (Some(lock), io);
        let page = flat(&page(&document, 80));
        assert!(page.contains(words), "{words}:\n{page}");
    }
}

/// The files of another, an old server may be read without a word.
#[test]
fn the_folder_and_the_age_of_the_last_request_are_in_the_first_lines() {
    let mut document = sample();
    document.sources = vec!["/tmp/powerband/0".to_owned()];
    document.scope.last_ended_before_s = Some(3_360.0);
    let old = flat(&page(&document, 80));
    for words in [
        "Read from /tmp/powerband/0: 20",
        "The last request ended 56 min 00 s ago.",
    ] {
        assert!(old.contains(words), "{words}:\n{old}");
    }
    document.scope.last_ended_before_s = Some(59.0);
    assert!(!flat(&page(&document, 80)).contains("The last request ended"));
}

#[test]
fn the_collector_of_the_processes_is_distinguished_from_that_of_a_request() {
    let mut document = sample();
    document.collector = Some(run::inspect::Collector {
        pauses: 3,
        pause_ms: 60.0,
        cpu_ms: 60.0,
        share_of_time: Some(0.5057),
    });
    let page = flat(&page(&document, 100));
    assert!(
        page.contains("stopped the processes, between requests too, 3 times, for 60.0 ms in total, 50.57 % of the time that they ran."),
        "{page}"
    );
}

#[test]
fn what_a_query_really_took_is_there_at_every_width() {
    let document = sample();
    let sql = document.endpoints[0]
        .calls
        .iter()
        .find(|c| c.kind == run::inspect::CallKind::Sql);
    assert!(sql.is_some_and(|sql| sql.really_ms > 0.0));
    for width in [60, 80, 100, 120, 160] {
        let page = page(&document, width);
        // Each table begins with the names, and none of the 18 columns is left out or broken.
        let names = page
            .lines()
            .filter(|line| line.starts_with(&document.endpoints[0].name));
        assert!(names.count() >= if width < 160 { 2 } else { 1 }, "{page}");
        for column in [
            "SQL seen",
            "SQL really",
            "queries",
            "failed",
            "ms really per call",
            "busy mean",
        ] {
            assert!(page.contains(column), "{column} at {width}:\n{page}");
        }
    }
}

#[test]
fn a_long_name_wraps_and_takes_no_column_away() {
    let mut document = sample();
    document.endpoints[0].name =
        "GET /api/v1/organizations/:id/projects/:id/issues/:id/comments".to_owned();
    let page = page(&document, 60);
    assert!(
        page.contains("SQL really") && flat(&page).contains("GET"),
        "{page}"
    );
}

#[test]
fn memory_is_listed_and_added_up_under_its_name() {
    let process = |worker: Option<u32>, mib: u64| ProcessMemory {
        pid: 70 + worker.unwrap_or(9),
        worker,
        is_master: worker.is_none(),
        bytes: mib << 20,
    };
    let mut document = sample();
    document.memory = Some(Memory {
        measure: MemoryMeasure::Pss,
        total_bytes: 300 << 20,
        processes: vec![
            process(None, 40),
            process(Some(0), 120),
            process(Some(1), 140),
        ],
    });
    let listed = flat(&page(&document, 60));
    let words = "Memory 300 MiB PSS now: master (pid 79) 40 MiB, worker 0 (pid 70) 120 MiB, worker 1 (pid 71) 140 MiB";
    assert!(listed.contains(words), "{listed}");
    let memory = document.memory.as_mut().unwrap();
    memory.measure = MemoryMeasure::Rss;
    memory.processes = (0..9)
        .map(|n| process(Some(n), 100 + u64::from(n)))
        .collect();
    let many = flat(&page(&document, 60));
    assert!(
        many.contains("MiB RSS now: 9 processes of 100 MiB to 108 MiB (PSS may not be read"),
        "{many}"
    );
}

#[test]
fn arms_have_their_pods_and_an_arm_of_one_pod_is_not_judged() {
    let over_pods = |estimate, spread: Option<f64>| OverPods {
        estimate,
        low: spread.map(|spread| estimate / spread),
        high: spread.map(|spread| estimate * spread),
    };
    let pod = |namespace, wall_ms| ArmPod {
        file: None,
        pid_namespace: Some(namespace),
        pids: vec![7, 8],
        requests: 1_000,
        errors: 2,
        wall_ms,
    };
    let arm = |name: &str, pods: Vec<ArmPod>, wall_ms, against| Arm {
        arm: name.to_owned(),
        requests: 1_000 * pods.len() as u64,
        errors: 2,
        wall_ms,
        pods,
        against,
    };
    let against = |ratio, why_not: Option<&str>| {
        Some(Against {
            arm: "stable".to_owned(),
            ratio,
            why_not: why_not.map(str::to_owned),
        })
    };
    let mut two = vec![pod(4_026_532_501, 20.0), pod(4_026_532_502, 22.0)];
    two[1].file = Some("after-web-1.json".to_owned());
    let mut document = sample();
    document.interval = Some(Interval {
        since: "2026-11-24T00:00:00Z".to_owned(),
        continued: 5,
        started: 0,
        ended: 0,
        gone: 0,
        arms: vec![
            arm("stable", two.clone(), over_pods(21.0, Some(1.1)), None),
            arm(
                "canary",
                two,
                over_pods(19.0, Some(1.1)),
                against(over_pods(0.9, Some(1.2)), None),
            ),
            arm(
                "",
                vec![pod(4_026_532_503, 18.5)],
                over_pods(18.5, None),
                against(over_pods(0.88, None), Some("(no arm) has one pod")),
            ),
        ],
        processes: Vec::new(),
    });
    for width in [60, 80, 100, 160] {
        let page = flat(&page(&document, width));
        for part in [
            "Requests by arm (POWERBAND_ARM; each pod counts the same)",
            "21.0 (19.1 to 23.1)",
            "-10.0 % (-25.0 to +8.0)",
            "(no arm) cannot be judged: (no arm) has one pod.",
            "namespace 4026532503",
            "2 processes of after-web-1.json",
        ] {
            assert!(
                page.contains(part),
                "{part:?} is missing at {width}:\n{page}"
            );
        }
        assert!(
            !page.contains("-12.0 %"),
            "without an interval nothing is claimed:\n{page}"
        );
    }
}
