//! The golden samples, inspected: against sums made here from what their descriptions say, and the schema.

use inspect::{Asked, Reading, Selection, document, files, read, unrecorded};
use run::inspect::{CallKind, Document, ProcessState};
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};

/// Long after the samples were made.
pub const NOW: u64 = 1_700_000_100_000_000_000;

pub fn sample(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract/samples/flight");
    folder.join(name)
}

pub fn story(name: &str) -> Value {
    let text = std::fs::read_to_string(sample(&format!("{name}.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub fn inspected(paths: &[PathBuf], selection: Selection) -> Document {
    let asked = Asked {
        version: "0.0.0".to_owned(),
        sources: paths.iter().map(|p| p.display().to_string()).collect(),
        since: Vec::new(),
        now_ns: NOW,
    };
    let made = document(read(paths, selection, NOW), &asked);
    let schemas = run::contracts();
    let schema = schemas.iter().find(|c| c.name == "inspect-v1").unwrap();
    let value = serde_json::to_value(&made).unwrap();
    let broken = testkit::violations(&schema.schema, &value).unwrap();
    assert!(broken.is_empty(), "{broken:?}");
    made
}

fn one(name: &str) -> Document {
    inspected(&[sample(&format!("{name}.flight"))], Selection::default())
}

/// Sums of a field over the records that `of` takes, in ms, and how many there are.
fn sum(story: &Value, field: &str, of: impl Fn(&Value) -> bool) -> (f64, f64) {
    let records = story["records"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|r| of(r));
    let unit = if field.ends_with("_us") { 1e3 } else { 1e6 };
    let values: Vec<f64> = records.map(|r| r[field].as_f64().unwrap() / unit).collect();
    (values.iter().sum(), values.len() as f64)
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!(
        (found - expected).abs() <= 1e-9 * expected.abs().max(1.0),
        "{found} {expected}"
    );
}

fn is_job(record: &Value) -> bool {
    record["flags"].as_u64().unwrap() & 4 != 0
}

#[test]
fn sums_and_percentiles_are_those_of_the_records() {
    let (made, story) = (one("wide"), story("wide"));
    let requests = made.requests.as_ref().unwrap();
    let jobs = made.jobs.as_ref().unwrap();
    assert_eq!(requests.requests + jobs.requests, 40);
    let request = |r: &Value| !is_job(r);
    let mean = |field| {
        let (sum, count) = sum(&story, field, request);
        sum / count
    };
    let split = requests.split.unwrap();
    close(split.held_ms, mean("held_ns"));
    close(split.gvl_wait_ms, mean("gvl_wait_ns"));
    close(split.lock_wait_ms.unwrap(), mean("lock_wait_ns"));
    close(split.io_ms, mean("io_ns"));
    let parts = split.held_ms + split.gvl_wait_ms + split.lock_wait_ms.unwrap() + split.io_ms;
    close(parts, requests.wall.mean_ms);
    let work = split.io_ms / (split.io_ms + split.held_ms);
    close(split.io_share_of_work.unwrap(), work);
    close(
        split.useful_threads.unwrap(),
        1.0 + split.io_ms / split.held_ms,
    );
    let sql = requests
        .calls
        .iter()
        .find(|c| c.kind == CallKind::Sql)
        .unwrap();
    close(sql.really_ms, mean("sql_us") - mean("sql_gvl_us"));
    let gc = requests.gc.unwrap();
    close(gc.others_ms.unwrap(), mean("gc_ns") - mean("gc_own_us"));

    let mut walls: Vec<u64> = story["records"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|r| request(r))
        .map(|r| r["wall_ns"].as_u64().unwrap())
        .collect();
    walls.sort_unstable();
    let rank = (0.9 * walls.len() as f64).ceil() as usize;
    assert!(requests.wall.exact);
    close(requests.wall.p90_ms.unwrap(), walls[rank - 1] as f64 / 1e6);
    close(
        requests.wall.max_ms.unwrap(),
        *walls.last().unwrap() as f64 / 1e6,
    );
    let banded: u64 = requests.bands.iter().map(|b| b.requests).sum();
    assert_eq!(banded, requests.requests);
}

/// No HTTP client and no Redis were there to be looked at; that is not the same as none used.
#[test]
fn what_was_not_measured_is_left_out() {
    let wide = one("wide").requests.unwrap();
    let kinds: Vec<CallKind> = wide.calls.iter().map(|c| c.kind).collect();
    assert_eq!(kinds, [CallKind::Sql, CallKind::Cache, CallKind::Pool]);
    let narrow = one("basic");
    let requests = narrow.requests.unwrap();
    let split = requests.split.unwrap();
    assert!(requests.gc.is_none() && requests.calls.is_empty() && requests.server.is_none());
    assert!(split.lock_wait_ms.is_none() && requests.busy_threads.is_none());
    assert!(split.starved_ms.is_some() && narrow.collector.is_none());
    let advice = narrow.threads.unwrap();
    assert!(advice.sentences.join(" ").contains("upper limit"));
}

/// With RUBY_MN_THREADS a thread's CPU clock is not its own.
#[test]
fn cpu_time_that_was_not_measured_is_left_out() {
    let mut bytes = std::fs::read(sample("wide.flight")).unwrap();
    let name = b"cpu_ns\0";
    let field = bytes.windows(name.len()).position(|w| w == name).unwrap();
    bytes[field + 30] &= !1;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("mn.flight");
    std::fs::write(&path, bytes).unwrap();

    let split = |path| {
        let made = inspected(&[path], Selection::default());
        made.requests.unwrap().split.unwrap()
    };
    let (without, with) = (split(path), split(sample("wide.flight")));
    assert!(with.cpu_ms.is_some() && with.starved_ms.is_some());
    assert!(without.cpu_ms.is_none() && without.starved_ms.is_none());
    assert_eq!(without.held_ms, with.held_ms);
}

#[test]
fn beyond_the_ring_percentiles_are_bounds() {
    let made = one("wide_wrapped");
    assert!(!made.scope.records_are_all);
    let requests = made.requests.unwrap();
    let jobs = made.jobs.unwrap().requests;
    assert_eq!((requests.requests + jobs, made.scope.records), (150, 64));
    assert!(!requests.wall.exact && requests.gvl_wait.unwrap().p99_ms.is_some());
    assert_eq!(made.pools.iter().map(|p| p.samples).sum::<u64>(), 8);
    assert_eq!(made.processes[0].state, ProcessState::Closed);
    assert_eq!(made.collector.unwrap().pauses, 12);
}

#[test]
fn files_of_both_agents_are_counted_together() {
    let folder = sample("");
    let paths = files(&[folder], Path::new("/nowhere"), 0).unwrap();
    let made = inspected(&paths, Selection::default());
    let requests = made.requests.unwrap();
    assert_eq!(made.processes.len(), 12);
    // Lock wait is known of some, so that it is known of no sum.
    assert!(requests.split.unwrap().lock_wait_ms.is_none());
    let partly: Vec<&str> = made.not_read.iter().map(|n| n.reason.as_str()).collect();
    assert_eq!(partly.len(), 2, "{partly:?}");
    assert!(made.not_read.iter().all(|n| n.partly));
}

/// They are counted since the file was made: of requests since an instant they say nothing.
#[test]
fn locks_are_named_unless_a_part_of_the_time_is_asked_for() {
    let path = [sample("contended.flight")];
    let made = inspected(&path, Selection::default());
    let sites: Vec<Option<&str>> = made.locks.iter().map(|lock| lock.site.as_deref()).collect();
    let (cache, keyed) = ("lib/cache.rb:41", "keyed-1.0/lib/keyed.rb:7");
    let queue = "app/größe.rb:3";
    assert_eq!(sites, [Some(cache), Some(keyed), None, Some(queue)]);
    assert_eq!(made.locks[0].held_ms, Some(7.5));
    assert!(made.locks[1].most_per_s.is_none() && made.locks[3].held_ms.is_none());
    let since = Selection {
        since_ns: Some(1),
        ..Selection::default()
    };
    assert_eq!(inspected(&path, since).locks, []);
}

/// A golden file with some bytes of its header changed.
fn changed(folder: &Path, name: &str, changes: &[(usize, &[u8])]) -> PathBuf {
    let mut bytes = std::fs::read(sample(name)).unwrap();
    for (at, value) in changes {
        bytes[*at..at + value.len()].copy_from_slice(value);
    }
    let path = folder.join(name);
    std::fs::write(&path, bytes).unwrap();
    path
}

/// A worker that began after the others has its whole ring, and hides nothing that they still have.
#[test]
fn a_young_process_does_not_shorten_the_reach_of_the_rings() {
    let folder = tempfile::tempdir().unwrap();
    let lost = one("wide_wrapped").scope.records_from;
    let lost: u64 = 1_000_000 * lost.parse::<jiff::Timestamp>().unwrap().as_millisecond() as u64;
    let made = lost + 2_000_000_000;
    let young = changed(folder.path(), "wide.flight", &[(88, &made.to_le_bytes())]);
    let selection = Selection {
        since_ns: Some(lost + 1_000_000),
        ..Selection::default()
    };
    let found = inspected(&[sample("wide_wrapped.flight"), young], selection);
    assert!(found.scope.records_are_all, "{:?}", found.warnings);
}

/// Calls under fibers are unknown; 0 would be a lie.
#[test]
fn under_fibers_the_split_and_calls_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = changed(folder.path(), "wide.flight", &[(124, &3_u32.to_le_bytes())]);
    let found = inspected(&[path], Selection::default());
    let requests = found.requests.unwrap();
    assert!(requests.split.is_none() && requests.calls.is_empty() && requests.gc.is_none());
    assert!(found.threads.is_none() && found.warnings[0].contains("Fibers"));
}

/// Held time that had no processor says little of the application, and T* follows from it.
#[test]
fn starvation_is_said_beside_the_advice() {
    let said = |document: Document| document.threads.unwrap().sentences.join(" ");
    let words = "held the GVL and had no core";
    assert!(!said(one("wide_wrapped")).contains(words));
    let folder = tempfile::tempdir().unwrap();
    let no_cpu: Vec<(usize, &[u8])> = (0..8)
        .map(|entry| (8_192 + 2_048 * entry + 72, &[0; 8][..]))
        .collect();
    let path = changed(folder.path(), "wide_wrapped.flight", &no_cpu);
    let found = inspected(&[path], Selection::default());
    assert!(said(found).contains(words));
}

#[test]
fn only_the_threads_asked_for_count() {
    let with = |threads| Selection {
        threads: Some(threads),
        ..Selection::default()
    };
    let path = [sample("wide.flight")];
    assert!(read(&path, with(4), NOW).is_empty());
    assert!(
        read(&path, with(4), NOW)
            .why_empty()
            .contains("--threads = 4")
    );
    assert!(!read(&path, with(3), NOW).is_empty());
}

#[test]
fn what_cannot_be_read_is_named_and_the_rest_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let foreign = folder.path().join("a.flight");
    std::fs::write(&foreign, b"GIF89a").unwrap();
    let made = inspected(
        &[foreign.clone(), sample("wide.flight")],
        Selection::default(),
    );
    assert_eq!(made.processes.len(), 1);
    assert!(!made.not_read[0].partly && made.not_read[0].reason.contains("not a flight file"));
    let alone = read(&[foreign], Selection::default(), NOW);
    assert!(alone.is_empty() && alone.why_empty().contains("not a flight file"));
}

#[test]
fn what_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let missing = files(&[root.join("no.flight")], root, 7).unwrap_err();
    assert!(missing.is_usage() && missing.to_string().contains("no.flight"));
    let empty = files(&[root.to_owned()], root, 7).unwrap_err();
    assert!(!empty.is_usage() && empty.to_string().contains("no flight file"));
    let never = files(&[], &root.join("none"), 7).unwrap_err();
    assert!(never.to_string().contains("powerband run"));
    std::fs::create_dir(root.join("33")).unwrap();
    std::fs::copy(sample("wide.flight"), root.join("33/1-1-a.flight")).unwrap();
    let others = files(&[], root, 7).unwrap_err().to_string();
    assert!(others.contains("33"), "{others}");
    assert_eq!(files(&[], root, 33).unwrap().len(), 1);
}

#[test]
fn processes_without_a_flight_file_are_named_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let user = root.join("33");
    std::fs::create_dir(&user).unwrap();
    let marker = File::create(user.join("4711-9-00000001.unrecorded-ENOSPC")).unwrap();
    marker.lock().unwrap();
    let empty = files(&[], root, 33).unwrap_err();
    let said = empty.to_string();
    assert!(!empty.is_usage());
    for part in [
        "no flight file",
        "Process 4711 records nothing",
        "ENOSPC",
        "POWERBAND_DIR",
    ] {
        assert!(said.contains(part), "{said}");
    }

    let path = changed(&user, "wide.flight", &[]);
    let asked = Asked {
        version: String::new(),
        sources: Vec::new(),
        since: Vec::new(),
        now_ns: NOW,
    };
    let warned = |named: &[PathBuf]| {
        let mut reading = Reading::of(Selection::default());
        reading.add_files(std::slice::from_ref(&path), NOW);
        reading.add_unrecorded(unrecorded(named, root, 33));
        let document = document(reading.finished(), &asked);
        document
            .warnings
            .iter()
            .filter(|w| w.contains("4711"))
            .count()
    };
    assert_eq!(warned(&[]), 1);
    assert_eq!(warned(&[user.clone(), root.to_owned()]), 1);
    assert_eq!(
        warned(std::slice::from_ref(&path)),
        0,
        "only one file was asked for"
    );
    drop(marker);
    assert_eq!(warned(&[]), 0);
}

#[test]
fn a_file_that_is_named_twice_is_read_once() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let path = changed(root, "wide.flight", &[]);
    std::fs::hard_link(&path, root.join("again.flight")).unwrap();
    let around = root.join("../").join(root.file_name().unwrap());
    let found = files(&[root.to_owned(), path, around], root, 7).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
}

proptest::proptest! {
    /// Whatever a file holds, something is said of it and nothing panics.
    #[test]
    fn any_damage_is_safe(
        words in proptest::collection::vec((1_usize..5_000, proptest::prelude::any::<u64>()), 0..12),
        cut in 0_usize..40_000,
    ) {
        let mut bytes = std::fs::read(sample("wide_wrapped.flight")).unwrap();
        for (word, value) in words {
            if let Some(place) = bytes.get_mut(4 * word..4 * word + 8) {
                place.copy_from_slice(&value.to_le_bytes());
            }
        }
        bytes.truncate(cut.max(9));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.flight");
        std::fs::write(&path, bytes).unwrap();
        for since_ns in [None, Some(1)] {
            let reading = read(std::slice::from_ref(&path), Selection { since_ns, ..Selection::default() }, NOW);
            if reading.is_empty() {
                assert!(!reading.why_empty().is_empty());
            } else {
                let asked = Asked { version: String::new(), sources: Vec::new(), since: Vec::new(), now_ns: NOW };
                let text = serde_json::to_string(&document(reading, &asked)).unwrap();
                assert!(!text.contains("NaN"));
            }
        }
    }
}

/// The document as it is published: `contract/samples/inspect/wide.json`, which `report` renders in its tests.
#[test]
fn the_golden_document_is_what_is_made() {
    let golden =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract/samples/inspect/wide.json");
    let path = sample("wide_wrapped.flight");
    let mut made = inspected(&[sample("wide.flight"), path], Selection::default());
    made.sources = vec!["contract/samples/flight".to_owned()];
    for process in &mut made.processes {
        let name = process.file.rsplit('/').next().unwrap_or_default();
        process.file = format!("contract/samples/flight/{name}");
    }
    let text = serde_json::to_string_pretty(&made).unwrap() + "\n";
    if std::env::var_os("POWERBAND_BLESS").is_some() {
        std::fs::write(&golden, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(&golden).unwrap() == text,
        "the document changed: look at what POWERBAND_BLESS=1 makes of {}, and commit it",
        golden.display()
    );
}

/// What is saved says the same as the files, save what only their rings hold.
#[test]
fn saved_counters_are_those_of_the_files() {
    let paths = ["wide.flight", "basic.flight"].map(sample);
    let asked = Asked {
        version: "0.0.0".to_owned(),
        sources: Vec::new(),
        since: Vec::new(),
        now_ns: NOW,
    };
    let saved = inspect::saved(&paths, &asked);
    let value = serde_json::to_value(&saved).unwrap();
    let schemas = run::contracts();
    let schema = schemas.iter().find(|c| c.name == "counters-v1").unwrap();
    let broken = testkit::violations(&schema.schema, &value).unwrap();
    assert!(broken.is_empty(), "{broken:?}");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("saved.json");
    std::fs::write(&file, value.to_string()).unwrap();
    let mut reading = inspect::Reading::of(Selection::default());
    reading.add_saved(&file, &inspect::read_saved(&file).unwrap());
    let (again, files) = (
        document(reading.finished(), &asked),
        inspected(&paths, Selection::default()),
    );
    let (mine, theirs) = (again.requests.unwrap(), files.requests.unwrap());
    assert_eq!(
        (mine.requests, mine.errors),
        (theirs.requests, theirs.errors)
    );
    assert_eq!((mine.split, mine.gc), (theirs.split, theirs.gc));
    assert_eq!((mine.calls, mine.server), (theirs.calls, theirs.server));
    assert_eq!(again.collector, files.collector);
    assert!(!mine.wall.exact && mine.wall.count == theirs.wall.count);

    std::fs::write(&file, r#"{"schema":"powerband/counters/2"}"#).unwrap();
    let refused = inspect::read_saved(&file).unwrap_err().to_string();
    assert!(refused.contains("powerband/counters/2"), "{refused}");
}

#[test]
fn saved_counters_keep_the_arm_and_say_what_was_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let armed = sample("armed.flight");
    let cut = folder.path().join("cut.flight");
    let bytes = std::fs::read(sample("wide.flight")).unwrap();
    // Within the endpoint table.
    std::fs::write(&cut, &bytes[..8_192 + 2_048 + 100]).unwrap();
    let asked = Asked {
        version: "0.0.0".to_owned(),
        sources: Vec::new(),
        since: Vec::new(),
        now_ns: NOW,
    };
    let saved = inspect::saved(&[armed.clone(), cut], &asked);
    let header = flight::FlightFile::open(&armed)
        .unwrap()
        .snapshot()
        .unwrap()
        .header;
    assert!(header.counts_statuses && !header.about.arm.is_empty());
    let first = &saved.processes[0];
    assert_eq!(
        (first.counts_statuses, &first.arm),
        (true, &header.about.arm)
    );
    let partly: Vec<bool> = saved.not_read.iter().map(|file| file.partly).collect();
    assert_eq!(partly, [true], "{:?}", saved.not_read);
    assert!(saved.not_read[0].reason.contains("endpoint table"));
}
