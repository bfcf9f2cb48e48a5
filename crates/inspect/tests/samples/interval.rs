//! What was counted between saved counters and a later reading.

use flight::Histogram;
use inspect::{Asked, Baseline, Reading, Selection, document};
use run::counters::{self, Document};
use run::inspect::{Arm, Document as Inspected, NotRead, ProcessChange, ProcessState};
use std::collections::BTreeMap;
use std::path::Path;

const SAVED: u64 = 1_700_000_000_000_000_000;
const SECOND: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;

/// Each request takes so many ms: 40 % held, 10 % GVL wait, the rest I/O.
fn served(requests: u64, ms: u64) -> (BTreeMap<String, u64>, BTreeMap<u16, u64>) {
    let wall = requests * ms * MS;
    let counters = [
        ("requests", requests),
        ("wall_ns", wall),
        ("held_ns", wall / 10 * 4),
        ("gvl_wait_ns", wall / 10),
        ("io_ns", wall / 10 * 5),
    ];
    let bucket = Histogram::bucket_of(ms * MS) as u16;
    (
        counters.map(|(name, n)| (name.to_owned(), n)).into(),
        BTreeMap::from([(bucket, requests)]),
    )
}

fn process(pid: u32, made_ns: u64, state: ProcessState, counted: (u64, u64)) -> counters::Process {
    let (counters, wall) = served(counted.0, counted.1);
    let measured = ["wall_ns", "held_ns", "gvl_wait_ns", "io_ns"];
    counters::Process {
        file: format!("{pid}-7-0badcafe.flight"),
        pid,
        start_ticks: 7,
        pid_namespace: None,
        boot_id: None,
        created_wall_ns: made_ns,
        created_mono_ns: 1,
        last_ended_ns: Some(made_ns),
        state,
        worker: Some(pid % 10),
        workers: Some(2),
        threads: Some(3),
        server: "puma 6.6.0".to_owned(),
        ruby: "3.4.1".to_owned(),
        framework: String::new(),
        agent: "0.2.0".to_owned(),
        app_root: "/srv/shop".to_owned(),
        fibers: false,
        measured: measured.map(str::to_owned).into(),
        counts_further: false,
        counts_statuses: false,
        counts_edges: false,
        arm: String::new(),
        ring: 64,
        in_flight: 0,
        written: counted.0,
        faults: 0,
        clock_skew: 0,
        endpoints_lost: 0,
        collector: None,
        totals: counters.clone(),
        endpoints: vec![counters::Endpoint {
            name: "a#b".to_owned(),
            counters,
            wall,
            gvl_wait: BTreeMap::new(),
            queue: BTreeMap::new(),
        }],
    }
}

fn counters_at(read_at_ns: u64, processes: Vec<counters::Process>) -> Document {
    Document {
        schema: counters::SCHEMA.to_owned(),
        powerband_version: "0.0.0".to_owned(),
        read_at: String::new(),
        read_at_ns,
        sources: Vec::new(),
        processes,
        not_read: Vec::new(),
    }
}

fn between(before: &Document, after: &Document) -> Inspected {
    let mut reading = Reading::since(
        Selection::default(),
        Baseline::of(std::slice::from_ref(before)),
    );
    reading.add_saved(Path::new("after.json"), after);
    document(reading.finished(), &asked(after.read_at_ns))
}

fn asked(now_ns: u64) -> Asked {
    Asked {
        version: "0.0.0".to_owned(),
        sources: Vec::new(),
        since: Vec::new(),
        now_ns,
    }
}

/// Worker 1 goes on, worker 2 is restarted, as pid 12, and its last requests count; 30 had ended before.
fn restarted() -> (Document, Document) {
    use ProcessState::{Closed, Died, Live};
    let made = SAVED - SECOND;
    let before = vec![
        process(11, made, Live, (100, 10)),
        process(22, made, Live, (50, 10)),
        process(30, made, Closed, (9, 10)),
    ];
    let after = vec![
        process(11, made, Live, (160, 10)),
        process(22, made, Died, (70, 10)),
        process(12, SAVED + SECOND, Live, (20, 10)),
        process(30, made, Closed, (9, 10)),
    ];
    (
        counters_at(SAVED, before),
        counters_at(SAVED + 10 * SECOND, after),
    )
}

#[test]
fn the_difference_counts_every_process_and_every_request_between() {
    let (before, after) = restarted();
    let made = between(&before, &after);
    let all = made.requests.unwrap();
    assert_eq!((all.requests, all.rate_per_s), (100, Some(10.0)));
    assert_eq!(made.endpoints[0].requests, 100);
    let split = all.split.unwrap();
    assert!((split.held_ms - 4.0).abs() < 1e-9 && (split.io_ms - 5.0).abs() < 1e-9);
    assert!(!all.wall.exact && (10.0..=12.5).contains(&all.wall.p99_ms.unwrap()));
    let interval = made.interval.unwrap();
    assert_eq!(
        (
            interval.continued,
            interval.started,
            interval.ended,
            interval.gone
        ),
        (1, 1, 1, 0)
    );
    let each: Vec<(u32, ProcessChange, u64)> = interval
        .processes
        .iter()
        .map(|p| (p.pid, p.change, p.traffic.requests))
        .collect();
    assert_eq!(
        each,
        [
            (11, ProcessChange::Continued, 60),
            (22, ProcessChange::Continued, 20),
            (12, ProcessChange::Started, 20),
        ]
    );
    assert!(made.not_read.is_empty() && made.scope.span_s == 10.0);
}

#[test]
fn the_percentiles_are_those_of_the_interval() {
    let made = SAVED - SECOND;
    let before = counters_at(
        SAVED,
        vec![process(11, made, ProcessState::Live, (1000, 900))],
    );
    let mut later = process(11, made, ProcessState::Live, (1000, 900));
    let (more, wall) = served(10, 20);
    later.endpoints[0].wall.extend(wall);
    for (name, n) in more {
        *later.totals.entry(name.clone()).or_default() += n;
        *later.endpoints[0].counters.entry(name).or_default() += n;
    }
    let made = between(&before, &counters_at(SAVED + SECOND, vec![later]));
    let wall = made.requests.unwrap().wall;
    assert_eq!(wall.count, 10);
    assert!((20.0..=25.0).contains(&wall.p99_ms.unwrap()), "{wall:?}");
}

#[test]
fn counters_are_never_negative() {
    let (before, after) = restarted();
    let mut reading = Reading::since(Selection::default(), Baseline::of(&[after]));
    reading.add_saved(Path::new("after.json"), &before);
    let reading = reading.finished();
    assert!(reading.is_empty() && reading.why_empty().contains("since 2023-11-14T22:13:30Z"));
}

#[test]
fn a_share_that_is_not_known_is_named() {
    let made = SAVED - SECOND;
    let live = |pid| process(pid, made, ProcessState::Live, (10, 10));
    let before = counters_at(SAVED, vec![live(11), live(12)]);
    let mut later = live(11);
    later.totals.insert("requests".to_owned(), 15);
    later.endpoints[0]
        .counters
        .insert("requests".to_owned(), 15);
    // 12 has left no file, 13 was there and not in the saved counters.
    let after = counters_at(SAVED + SECOND, vec![later, live(13)]);
    let made = between(&before, &after);
    assert_eq!(made.requests.unwrap().requests, 5);
    assert_eq!(made.interval.unwrap().gone, 1);
    let named: Vec<&str> = made.not_read.iter().map(|f| &f.file[..2]).collect();
    assert_eq!(named, ["13", "12"]);
}

#[test]
fn a_file_that_was_being_made_counts_whole() {
    let made = SAVED - SECOND;
    let mut before = counters_at(SAVED, Vec::new());
    let young = process(11, made, ProcessState::Live, (10, 10));
    before.not_read.push(NotRead {
        file: format!("/run/{}", young.file),
        partly: false,
        reason: String::new(),
    });
    let after = counters_at(SAVED + SECOND, vec![young]);
    assert_eq!(between(&before, &after).requests.unwrap().requests, 10);
}

#[test]
fn a_process_that_is_given_twice_counts_once_by_its_later_reading() {
    let made = SAVED - SECOND;
    let at = |seconds: u64, requests| {
        let process = process(11, made, ProcessState::Live, (requests, 10));
        counters_at(SAVED + seconds * SECOND, vec![process])
    };
    let mut reading = Reading::since(Selection::default(), Baseline::of(&[at(0, 100)]));
    reading.add_saved(Path::new("after.json"), &at(10, 160));
    reading.add_saved(Path::new("after.json"), &at(5, 130));
    let found = document(reading.finished(), &asked(SAVED + 10 * SECOND));
    assert_eq!(found.requests.unwrap().requests, 60);
    assert_eq!(found.not_read.len(), 1);
    assert!(found.not_read[0].reason.contains("more than once"));
}

#[test]
fn a_file_that_cannot_be_read_any_more_is_named_once() {
    let made = SAVED - SECOND;
    let live = |pid| process(pid, made, ProcessState::Live, (10, 10));
    let before = counters_at(SAVED, vec![live(11), live(12)]);
    let mut later = live(11);
    later.totals.insert("requests".to_owned(), 15);
    let mut after = counters_at(SAVED + SECOND, vec![later]);
    after.not_read.push(NotRead {
        file: format!("/elsewhere/{}", live(12).file),
        partly: false,
        reason: "Permission denied".to_owned(),
    });
    let mut reading = Reading::since(Selection::default(), Baseline::of(&[before]));
    reading.add_saved(Path::new("after.json"), &after);
    let found = document(reading.finished(), &asked(after.read_at_ns));
    let named: Vec<&str> = found.not_read.iter().map(|f| f.reason.as_str()).collect();
    assert_eq!(named, ["Permission denied"]);
    assert_eq!(found.interval.unwrap().gone, 0);
}

/// A process of a pod, by its arm.
fn armed(pid: u32, arm: &str, namespace: u64, counted: (u64, u64)) -> counters::Process {
    let process = process(pid, SAVED - SECOND, ProcessState::Live, counted);
    counters::Process {
        arm: arm.to_owned(),
        pid_namespace: Some(namespace),
        boot_id: Some("0123456789abcdef0123456789abcdef".to_owned()),
        ..process
    }
}

fn arms_of(processes: &[counters::Process]) -> Vec<Arm> {
    // Each pod was saved by itself, the last one first.
    let before: Vec<Document> = (0..)
        .zip(processes)
        .map(|(index, process)| {
            let mut process = process.clone();
            (process.totals, process.endpoints[0].wall) = served(0, 1);
            process.endpoints[0].counters = process.totals.clone();
            counters_at(SAVED - index, vec![process])
        })
        .collect();
    let after = counters_at(SAVED + SECOND, processes.to_vec());
    let mut reading = Reading::since(Selection::default(), Baseline::of(&before));
    reading.add_saved(Path::new("after.json"), &after);
    let found = document(reading.finished(), &asked(after.read_at_ns));
    let interval = found.interval.unwrap();
    assert_eq!(
        (interval.continued, interval.gone),
        (processes.len() as u64, 0)
    );
    interval.arms
}

#[test]
fn arms_are_compared_pod_by_pod() {
    let arms = arms_of(&[
        // Two workers of one pod, of which one serves nearly everything.
        armed(11, "stable", 1, (990, 10)),
        armed(12, "stable", 1, (10, 10)),
        armed(13, "stable", 2, (10, 20)),
        armed(14, "stable", 3, (10, 40)),
        armed(15, "canary", 4, (500, 5)),
        armed(16, "canary", 5, (5, 10)),
    ]);
    let names: Vec<(&str, usize, u64)> = arms
        .iter()
        .map(|arm| (arm.arm.as_str(), arm.pods.len(), arm.requests))
        .collect();
    assert_eq!(names, [("stable", 3, 1_020), ("canary", 2, 505)]);
    assert_eq!(arms[0].pods[0].pids, [11, 12]);
    // Pods count the same: (10 x 20 x 40)^(1/3), within t of two degrees of freedom, 4.303.
    let stable = arms[0].wall_ms;
    let half = 4.302_653 * 2_f64.ln() / 3_f64.sqrt();
    assert!((stable.estimate - 20.0).abs() < 1e-9, "{stable:?}");
    assert!(
        (stable.high.unwrap() / 20.0 / half.exp() - 1.0).abs() < 1e-5,
        "{stable:?}"
    );
    let against = arms[1].against.as_ref().unwrap();
    assert_eq!((against.arm.as_str(), &against.why_not), ("stable", &None));
    // ln 2 between neighbours: variances ln2^2 / 3 and ln2^2 / 4, Welch's degrees of freedom 2.9, taken for 2.
    let ratio = against.ratio;
    let half = 4.302_653 * 2_f64.ln() * (1_f64 / 3.0 + 1.0 / 4.0).sqrt();
    assert!(
        (ratio.estimate / (50_f64.sqrt() / 20.0) - 1.0).abs() < 1e-9,
        "{ratio:?}"
    );
    assert!(
        (ratio.low.unwrap() * half.exp() / ratio.estimate - 1.0).abs() < 1e-5,
        "{ratio:?}"
    );
    assert!(arms[0].against.is_none());
}

/// Containers of one pod have a PID namespace each, also after a restart.
#[test]
fn each_of_several_saved_files_is_of_one_pod() {
    let files = |names: [&str; 4]| {
        let pods = [
            armed(11, "stable", 1, (990, 10)),
            armed(12, "stable", 2, (10, 10)),
            armed(13, "stable", 3, (10, 20)),
            armed(15, "canary", 4, (500, 5)),
        ];
        let mut reading = Reading::since(
            Selection::default(),
            Baseline::of(&[counters_at(SAVED - 2 * SECOND, Vec::new())]),
        );
        for (name, process) in names.into_iter().zip(pods) {
            let after = counters_at(SAVED + SECOND, vec![process]);
            reading.add_saved(Path::new(name), &after);
        }
        let found = document(reading.finished(), &asked(SAVED + SECOND));
        let arms = found.interval.unwrap().arms;
        let pods = arms.into_iter().flat_map(|arm| arm.pods);
        pods.map(|pod| (pod.file, pod.pid_namespace, pod.pids))
            .collect::<Vec<_>>()
    };
    let file = |name: &str| Some(name.to_owned());
    assert_eq!(
        files(["a.json", "a.json", "b.json", "c.json"]),
        [
            (file("a.json"), None, vec![11, 12]),
            (file("b.json"), Some(3), vec![13]),
            (file("c.json"), Some(4), vec![15]),
        ]
    );
    // One file may be of many pods.
    let of_one = files(["all.json"; 4]);
    let namespaces: Vec<_> = of_one.iter().map(|pod| pod.1).collect();
    assert_eq!(namespaces, [Some(1), Some(2), Some(3), Some(4)]);
    assert!(of_one.iter().all(|pod| pod.0.is_none()), "{of_one:?}");
}

#[test]
fn files_that_were_saved_far_apart_make_rates_too_low() {
    let warned = |apart_ns: u64| {
        let pods = [armed(11, "a", 1, (10, 10)), armed(12, "b", 2, (10, 10))];
        let before = [
            counters_at(SAVED, vec![pods[0].clone()]),
            counters_at(SAVED + apart_ns, vec![pods[1].clone()]),
        ];
        let after = counters_at(SAVED + 100 * SECOND, pods.to_vec());
        let mut reading = Reading::since(Selection::default(), Baseline::of(&before));
        reading.add_saved(Path::new("after.json"), &after);
        let found = document(reading.finished(), &asked(after.read_at_ns));
        let apart = found.warnings.iter().find(|w| w.contains("apart"));
        apart.cloned()
    };
    assert_eq!(warned(SECOND / 2), None);
    let said = warned(50 * SECOND).unwrap();
    assert!(
        said.contains("saved 50 s apart") && said.contains("50 % too low"),
        "{said}"
    );
}

#[test]
fn an_arm_of_one_pod_cannot_be_judged() {
    let arms = arms_of(&[
        armed(11, "", 1, (10, 10)),
        armed(13, "", 2, (10, 20)),
        armed(15, "canary", 4, (1_000_000, 1)),
        armed(16, "canary", 4, (1_000_000, 1)),
    ]);
    let canary = arms.iter().find(|arm| arm.arm == "canary").unwrap();
    assert_eq!((canary.wall_ms.low, canary.pods.len()), (None, 1));
    let against = canary.against.as_ref().unwrap();
    assert_eq!((against.ratio.low, against.ratio.high), (None, None));
    let why = against.why_not.as_ref().unwrap();
    assert!(why.contains("canary has one pod"), "{why}");
    // Requests of two applications are not compared.
    let mut admin = armed(21, "admin", 6, (10, 10));
    admin.app_root = "/srv/admin".to_owned();
    assert!(arms_of(&[armed(11, "", 1, (10, 10)), admin]).is_empty());
    let without = arms_of(&[armed(11, "", 1, (10, 10)), armed(13, "", 2, (10, 20))]);
    assert!(without.is_empty());
}

#[test]
fn several_applications_come_with_the_command_for_one() {
    let of = |pid, root: &str| counters::Process {
        app_root: root.to_owned(),
        ..process(pid, SAVED, ProcessState::Live, (10, 10))
    };
    let all = counters_at(
        SAVED + SECOND,
        vec![
            of(11, "/srv/my shop/releases/1"),
            of(12, "/srv/my shop/releases/2"),
            of(13, "/srv/wiki"),
        ],
    );
    let found = |application: Option<&str>| {
        let mut reading = Reading::of(Selection {
            application: application.map(str::to_owned),
            ..Selection::default()
        });
        reading.add_saved(Path::new("after.json"), &all);
        let asked = Asked {
            sources: vec!["after.json".to_owned()],
            since: vec!["before.json".to_owned()],
            ..asked(SAVED + SECOND)
        };
        document(reading.finished(), &asked)
    };
    let warning = &found(None).warnings[0];
    let command = "powerband inspect --application '/srv/my shop' --since before.json after.json";
    assert!(
        warning.contains("2 applications") && warning.ends_with(command),
        "{warning}"
    );
    let shop = found(Some("/srv/my shop"));
    assert_eq!(
        (shop.processes.len(), shop.warnings.len()),
        (2, 0),
        "{:?}",
        shop.warnings
    );
    let mut none = Reading::of(Selection {
        application: Some("/srv".to_owned()),
        ..Selection::default()
    });
    none.add_saved(Path::new("after.json"), &all);
    let why = none.finished().why_empty();
    assert!(
        why.contains("--application = \"/srv\": none of the 3 processes"),
        "{why}"
    );
}
