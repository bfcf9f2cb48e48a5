//! Files that others change while they are read, and folders of very many.

use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use flight::{FlightFile, read_dir_counters};

fn sample() -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../contract/samples/flight");
    fs::read(folder.join("wide.flight")).expect("the golden samples are part of the repository")
}

/// Whatever was there at that instant: an error, or records that are all accounted for.
#[test]
fn a_file_that_is_cut_and_grows_while_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1-1-aa.flight");
    let whole = sample();
    fs::write(&path, &whole).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let file = OpenOptions::new().write(true).open(&path).unwrap();
            let mut length = 0_u64;
            while !done.load(Ordering::Relaxed) {
                length = (length + 7_919) % whole.len() as u64;
                file.set_len(length).unwrap();
                fs::write(&path, &whole).unwrap();
            }
        });
        for _ in 0..500 {
            if let Ok(snapshot) = FlightFile::open(&path).and_then(|file| file.snapshot()) {
                let skipped = snapshot.skipped;
                let found = snapshot.records.len() as u64;
                let asked = snapshot.header.written;
                let capacity = u64::from(snapshot.header.ring_capacity());
                assert_eq!(
                    found + skipped.torn + skipped.unwritten + skipped.missing,
                    asked.min(capacity)
                );
            }
            let _ = FlightFile::open(&path).and_then(|file| file.counters());
        }
        done.store(true, Ordering::Relaxed);
    });
    let snapshot = FlightFile::open(&path).unwrap().snapshot().unwrap();
    assert!(snapshot.skipped.is_nothing());
}

/// An open file is read as it is at each reading.
#[test]
fn an_open_file_that_is_cut_to_nothing_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("1-1-aa.flight");
    fs::write(&path, sample()).unwrap();
    let file = FlightFile::open(&path).unwrap();
    let writer = OpenOptions::new().write(true).open(&path).unwrap();
    for length in [0, 7, 511, 4_096] {
        writer.set_len(length).unwrap();
        assert!(file.snapshot().is_err(), "{length}");
        assert!(file.counters().is_err(), "{length}");
    }
    fs::write(&path, sample()).unwrap();
    assert!(file.snapshot().is_ok());
}

#[test]
fn ten_thousand_files_are_read() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("1000");
    fs::create_dir(&folder).unwrap();
    let first = folder.join("0.flight");
    fs::write(&first, sample()).unwrap();
    for number in 1..10_000 {
        fs::hard_link(&first, folder.join(format!("{number}.flight"))).unwrap();
    }
    let found = read_dir_counters(root.path()).unwrap();
    assert_eq!(found.len(), 10_000);
    assert!(found.iter().all(|(_, result)| result.is_ok()));
}
