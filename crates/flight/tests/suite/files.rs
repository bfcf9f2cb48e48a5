//! Folders of flight files, files that change while they are read, and windows between two readings.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use flight::{FlightError, FlightFile, Snapshot, Window, parse, read_dir, read_dir_counters};

fn sample(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../contract/samples/flight");
    fs::read(folder.join(name)).expect("the golden samples are part of the repository")
}

fn write(path: &Path, bytes: &[u8]) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn files_of_all_users_are_found_in_order() {
    let root = tempfile::tempdir().unwrap();
    let at = |path: &str| root.path().join(path);
    write(&at("33/7-1-aa.flight"), &sample("basic.flight"));
    write(&at("1000/9-1-bb.flight"), &sample("wrapped.flight"));
    write(&at("1000/8-1-cc.flight"), b"not one");
    write(&at("loose.flight"), &sample("torn.flight"));
    write(&at("1000/notes.txt"), b"");
    write(&at("other/5-1-dd.flight"), &sample("basic.flight"));
    fs::create_dir(at("1000/folder.flight")).unwrap();

    let found = read_dir(root.path()).unwrap();
    let names: Vec<_> = found
        .iter()
        .map(|(path, result)| {
            let name = path.strip_prefix(root.path()).unwrap().to_str().unwrap();
            (name.to_owned(), result.is_ok())
        })
        .collect();
    let expected = [
        ("1000/8-1-cc.flight", false),
        ("1000/9-1-bb.flight", true),
        ("1000/folder.flight", false),
        ("33/7-1-aa.flight", true),
        ("loose.flight", true),
    ];
    assert_eq!(names, expected.map(|(name, ok)| (name.to_owned(), ok)));
    assert!(matches!(found[2].1, Err(FlightError::NotAFile { .. })));

    let counters = read_dir_counters(root.path()).unwrap();
    assert_eq!(counters.len(), found.len());
    let records = counters.iter().flat_map(|(_, result)| result);
    assert!(
        records
            .into_iter()
            .all(|snapshot| snapshot.records.is_empty())
    );
}

#[test]
fn a_root_that_is_not_there_is_an_error_that_names_it() {
    let root = tempfile::tempdir().unwrap();
    let missing = root.path().join("nothing");
    let error = read_dir(&missing).unwrap_err();
    assert!(error.to_string().contains("nothing"), "{error}");
    assert!(read_dir(root.path()).unwrap().is_empty());
}

#[test]
fn a_file_that_may_not_be_read_is_said() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("a.flight");
    write(&path, &sample("basic.flight"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    let readable_anyway = fs::read(&path).is_ok();
    let result = FlightFile::open(&path);
    assert_eq!(result.is_ok(), readable_anyway, "root reads everything");
}

fn process(name: &str, pid: u32) -> Snapshot {
    let mut snapshot = parse(&sample(name)).unwrap();
    snapshot.header.pid = pid;
    snapshot
}

#[test]
fn a_window_is_what_was_added_over_all_processes() {
    let before = [
        process("basic.flight", 1),
        process("basic.flight", 2),
        process("basic.flight", 3),
    ];
    let mut grown = process("basic.flight", 1);
    grown.totals.requests += 5;
    grown.totals.io_ns += 700;
    grown.header.faults += 1;
    let busy = grown
        .endpoints
        .iter_mut()
        .find(|e| e.name == "products#index")
        .unwrap();
    busy.totals.requests += 5;
    for _ in 0..5 {
        busy.wall.record(9_000);
    }
    // 2 died and its file stayed as it was; 3 is gone with its file; 4 is new.
    let dead = process("basic.flight", 2);
    let new = process("basic.flight", 4);
    let whole = new.clone();
    let window = Window::between(&before, &[grown, dead, new]);

    assert_eq!(
        (window.processes, window.started, window.vanished),
        (3, 1, 1)
    );
    assert_eq!(window.totals.requests, 5 + whole.totals.requests);
    assert_eq!(window.totals.io_ns, 700 + whole.totals.io_ns);
    assert_eq!(window.faults, 1 + whole.header.faults);
    let index = &window.endpoints["products#index"];
    let own = whole
        .endpoints
        .iter()
        .find(|e| e.name == "products#index")
        .unwrap();
    assert_eq!(index.totals.requests, 5 + own.totals.requests);
    assert_eq!(index.wall.count(), 5 + own.wall.count());
    assert_eq!(index.gvl_wait, own.gvl_wait);
    assert!(
        !window.endpoints.contains_key("(other)"),
        "nothing was booked there"
    );
    assert_eq!(window.wall().count(), 5 + whole.totals.requests);
    assert_eq!(window.gvl_wait().count(), whole.totals.requests);
}

#[test]
fn nothing_between_two_equal_readings() {
    let snapshots = [process("wrapped.flight", 1)];
    let window = Window::between(&snapshots, &snapshots);
    assert_eq!(window.totals, flight::Totals::default());
    assert!(window.endpoints.is_empty());
    assert_eq!(window.totals.mean_queue_ns(), None);
}

/// Puma's USR2 restart keeps the pid and its start time, and opens a new file.
#[test]
fn a_restarted_process_is_another_one() {
    let old = process("basic.flight", 1);
    let mut restarted = old.clone();
    restarted.header.created_mono_ns += 1;
    let window = Window::between(
        std::slice::from_ref(&old),
        &[old.clone(), restarted.clone()],
    );
    assert_eq!(window.started, 1);
    assert_eq!(window.totals, restarted.totals);
}

/// None of them is waited for, and no link is followed out of the folder.
#[test]
fn what_is_no_regular_file_is_refused_without_being_waited_for() {
    let root = tempfile::tempdir().unwrap();
    let path = |name: &str| root.path().join(name);
    let file = path("file.flight");
    write(&file, &sample("basic.flight"));
    std::os::unix::fs::symlink(&file, path("link.flight")).unwrap();
    fs::create_dir(path("folder.flight")).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(path("socket.flight")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, path("pipe.flight"), 0o600.into()).unwrap();
    assert!(FlightFile::open(&file).is_ok());
    for name in ["link", "folder", "socket", "pipe"] {
        let opened = FlightFile::open(path(&format!("{name}.flight")));
        assert!(
            matches!(opened, Err(FlightError::NotAFile { .. })),
            "{name}"
        );
    }
}
