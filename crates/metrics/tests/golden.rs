//! The texts that the gem is tested against too, made by a script that shares nothing with either.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use flight::{FlightFile, Header};
use metrics::{Carried, MetricsError, Reading, Shown, families, read};
use serde_json::Value;

const ALL: Shown = Shown {
    endpoints: 50,
    opentelemetry: false,
};

fn text(reading: &Reading, shown: Shown) -> String {
    metrics::text(&families(&reading.sums, &reading.gauges, shown))
}

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract/samples")
}

fn cases() -> BTreeMap<String, Value> {
    let text = fs::read_to_string(samples().join("metrics/cases.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn golden(name: &str) -> String {
    fs::read_to_string(samples().join(format!("metrics/{name}.prom"))).unwrap()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect()
}

/// The samples all name the same process; here each is another one, whose pid is its place in the case.
fn folder_of(wanted: &Value) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (pid, name) in (1_u32..).zip(names(&wanted["samples"])) {
        let mut bytes = fs::read(samples().join(format!("flight/{name}.flight"))).unwrap();
        bytes[72..76].copy_from_slice(&pid.to_le_bytes());
        // Which of them live is the case's to say.
        bytes[68..72].copy_from_slice(&1_u32.to_le_bytes());
        fs::write(folder.path().join(format!("{name}.flight")), bytes).unwrap();
    }
    // Left by a process that was killed.
    marker(folder.path(), 9, "EIO");
    folder
}

fn marker(folder: &Path, number: usize, reason: &str) -> File {
    File::create(folder.join(format!("1-{number}-00000001.unrecorded-{reason}"))).unwrap()
}

fn written(folder: &Path, wanted: &Value) -> String {
    let samples = names(&wanted["samples"]);
    let live = names(&wanted["live"]);
    let lives = |_: &Path, header: &Header| live.contains(&samples[header.pid as usize - 1]);
    let unrecorded = wanted.get("unrecorded").map(names).unwrap_or_default();
    let held: Vec<File> = (0..)
        .zip(unrecorded)
        .map(|(number, reason)| marker(folder, number, reason))
        .collect();
    held.iter().for_each(|file| file.lock().unwrap());
    let reading = read(folder, None, lives).unwrap();
    text(
        &reading,
        Shown {
            endpoints: wanted["endpoints"].as_u64().unwrap() as usize,
            opentelemetry: wanted["opentelemetry"] == true,
        },
    )
}

#[test]
fn every_case_is_written_as_the_contract_says() {
    let cases = cases();
    assert!(cases.len() >= 4);
    for (name, wanted) in cases {
        let folder = folder_of(&wanted);
        assert_eq!(written(folder.path(), &wanted), golden(&name), "{name}");
    }
}

#[test]
fn promtool_finds_nothing_wrong() {
    for (name, wanted) in cases() {
        let folder = folder_of(&wanted);
        let found = testkit::promtool(&written(folder.path(), &wanted));
        assert_eq!(found.unwrap_or_default(), "", "{name}");
    }
}

/// Under fibers a thread's times belong to no request, and calls are not observed: 0 would be a lie.
#[test]
fn under_fibers_only_what_is_true_of_requests_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut bytes = fs::read(samples().join("flight/wide.flight")).unwrap();
    bytes[124..128].copy_from_slice(&3_u32.to_le_bytes());
    fs::write(folder.path().join("a.flight"), bytes).unwrap();
    let reading = read(folder.path(), None, |_, _| true).unwrap();
    let text = text(&reading, ALL);
    for name in [
        "client=",
        "pool_wait_seconds",
        "server_",
        "gc_",
        "state=\"io\"",
        "cpu",
    ] {
        let of_errors =
            |line: &&str| !line.contains("server_errors") && !line.contains("server_info");
        let line = text.lines().filter(of_errors).find(|l| l.contains(name));
        assert_eq!(line, None, "{name}");
    }
    for name in ["requests_total", "request_duration", "request_queue"] {
        assert!(text.contains(&format!("powerband_{name}")), "{name}");
    }
}

/// A text as the gem writes it, with a file that it has taken in and not yet removed.
const CARRIED: &str = "powerband-carried 1\n\
    generation 7\n\
    file wrapped.flight\n\
    application /srv/storefront\n\
    process faults=2 clock_skew=1 endpoints_lost=0 starts=5\n\
    totals requests=3 wall_ns=5000\n\
    later something=1\n\
    request requests=3 server_errors=1 wall_ns=5000 wall=0:1,1:2 gvl_wait= name=a b\\\\\\nc\n\
    application /srv/other\n\
    job requests=9 name=HardWorker\n";

#[test]
fn what_removed_files_had_counted_is_added_and_not_counted_twice() {
    let wanted = &cases()["narrow"];
    let folder = folder_of(wanted);
    let requests = |application: Option<&str>| {
        let reading = read(folder.path(), application, |_, _| false).unwrap();
        let text = text(&reading, ALL);
        let line = text
            .lines()
            .find(|line| line.starts_with("powerband_requests_total "));
        (line.unwrap_or("").to_owned(), text)
    };
    assert_eq!(requests(None).0, "powerband_requests_total 270");
    fs::write(folder.path().join("carried"), CARRIED).unwrap();
    let (all, text) = requests(None);
    assert_eq!(
        all, "powerband_requests_total 123",
        "3 samples of 40, and 3"
    );
    assert!(text.contains("powerband_endpoint_requests_total{endpoint=\"a b\\\\\\nc\"} 3\n"));
    assert!(text.contains("powerband_jobs_total 9\n"));
    assert!(text.contains("powerband_process_starts_total 8\n"));
    assert_eq!(
        requests(Some("/srv/storefront")).0,
        "powerband_requests_total 123"
    );
    assert!(
        !requests(Some("/srv/storefront"))
            .1
            .contains("powerband_jobs_total")
    );
    assert_eq!(requests(Some("/srv/none")).0, "");
}

/// Of an agent that counts 75 and 250 ms, of an older one, and both as a still older one adds them up.
#[test]
fn carried_times_of_those_that_count_the_edges_stay_apart() {
    let older = "request requests=3 wall_ns=40 wall=60:3 gvl_wait= name=GET /x";
    let newer = "request requests=2 wall_ns=30 wall_up_to_75ms=1 wall_up_to_250ms=2 wall=60:1,62:1 edged_ns=30 edged=60:1,62:1 name=GET /x";
    let both = "request requests=5 wall_ns=70 wall_up_to_75ms=1 wall_up_to_250ms=2 wall=60:4,62:1 edged_ns=30 edged=60:1,62:1 name=GET /x";
    let shown = Shown {
        opentelemetry: true,
        ..ALL
    };
    for lines in [vec![older, newer], vec![newer, older], vec![both]] {
        let folder = tempfile::tempdir().unwrap();
        let lines = lines.join("\n");
        let carried = format!("powerband-carried 1\ngeneration 3\napplication a\n{lines}\n");
        fs::write(folder.path().join("carried"), carried).unwrap();
        let reading = read(folder.path(), None, |_, _| false).unwrap();
        let text = text(&reading, shown);
        let route = "http_request_method=\"GET\",http_route=\"/x\"";
        for sample in [
            format!("http_server_request_duration_seconds_count{{{route}}} 2\n"),
            format!("http_server_request_duration_seconds_sum{{{route}}} 0.00000003\n"),
            format!("http_server_request_duration_seconds_bucket{{{route},le=\"0.075\"}} 1\n"),
            "powerband_endpoint_duration_seconds_count{endpoint=\"GET /x\"} 5\n".to_owned(),
        ] {
            assert!(text.contains(&sample), "{sample}{text}");
        }
    }
}

#[test]
fn a_damaged_carried_text_is_named() {
    let head = "powerband-carried 1\ngeneration 3\n";
    assert_eq!(Carried::parse(head).unwrap().generation, 3);
    let lines = [
        "totals requests=-1",
        "totals requests",
        "request requests=1",
        "request wall=128:1 name=x",
        "request wall=1 name=x",
        "request wall_ns=2 wall=1:1 edged_ns=3 edged=1:1 name=x",
        "request wall_ns=2 wall=1:1 edged_ns=2 edged=2:1 name=x",
    ];
    for line in lines {
        let text = format!("{head}application a\n{line}\n");
        assert!(Carried::parse(&text).is_err(), "{line}");
    }
    for text in [
        "",
        "x",
        head.trim_end(),
        "powerband-carried 1\n",
        &format!("{head}totals requests=1\n"),
    ] {
        assert!(Carried::parse(text).is_err(), "{text:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("carried"), "not ours\n").unwrap();
    let error = read(folder.path(), None, |_, _| false).unwrap_err();
    assert!(matches!(error, MetricsError::Carried { .. }));
    assert!(error.to_string().contains("not ours"), "{error}");
}

#[test]
fn releases_of_an_application_are_one() {
    for (root, application) in [
        ("/srv/shop", "/srv/shop"),
        ("/srv/shop/releases/20260101120000", "/srv/shop"),
        ("/srv/shop/releases", "/srv/shop/releases"),
        ("/srv/shop/releases/", "/srv/shop/releases/"),
        ("/releases/1", "/releases/1"),
        ("", ""),
    ] {
        assert_eq!(flight::application_of(root), application);
    }
}

#[test]
fn of_a_process_with_two_files_the_younger_lives() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = fs::read(samples().join("flight/basic.flight")).unwrap();
    for (name, created) in [("a", 2_u64), ("b", 1)] {
        let mut file = bytes.clone();
        file[96..104].copy_from_slice(&created.to_le_bytes());
        file[416..424].copy_from_slice(&(10 * created).to_le_bytes());
        fs::write(folder.path().join(format!("{name}.flight")), file).unwrap();
    }
    let gauges = read(folder.path(), None, |_, _| true).unwrap().gauges;
    assert_eq!((gauges.processes, gauges.in_flight), (1, 20));
}

#[test]
fn what_cannot_be_read_is_counted_and_left_out() {
    let folder = folder_of(&cases()["wide"]);
    let at = |name: &str| folder.path().join(name);
    fs::write(at("foreign.flight"), "GIF89a").unwrap();
    fs::write(at("made.flight"), [0; 4096]).unwrap();
    fs::create_dir(at("folder.flight")).unwrap();
    std::os::unix::fs::symlink(at("wide.flight"), at("link.flight")).unwrap();
    let reading = read(folder.path(), None, |_, _| false).unwrap();
    assert_eq!(reading.gauges.unreadable, 3);
    assert_eq!(
        reading.sums,
        read(folder_of(&cases()["wide"]).path(), None, |_, _| false)
            .unwrap()
            .sums
    );
    assert!(FlightFile::open(at("wide.flight")).is_ok());
}
