//! The recorder: files of one capture, one after another, and a disk that is full.

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use capture::file::{About, Limits, Reader, Recorder};
use capture::{Exchange, Rules};
use support::{field, plain};

fn start(path: &Path, limits: Limits, now: Instant) -> Recorder<Exchange> {
    Recorder::start(path, limits, Rules::default(), 1_000, About::default(), now).unwrap()
}

fn read(path: &Path) -> (u32, String, Vec<Exchange>) {
    let mut reader = Reader::<_, Exchange>::new(fs::File::open(path).unwrap()).unwrap();
    let about = reader.head().about.clone();
    assert_eq!(reader.head().began_ns, 1_000);
    let records = reader.by_ref().map(Result::unwrap).collect();
    assert_eq!(reader.damaged().count, 0);
    (about.part, about.capture, records)
}

#[test]
fn what_has_waited_for_a_second_is_in_the_file_redacted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traffic.pbc");
    let now = Instant::now();
    let mut recorder = start(&path, Limits::default(), now);
    let mut secret = plain(1);
    secret.headers.push(field("Authorization", "Bearer s3cret"));
    recorder.take(&mut secret).unwrap();
    recorder.tick(now + Duration::from_millis(999)).unwrap();
    assert_eq!((read(&path).2.len(), recorder.counts().written), (0, 0));
    recorder.tick(now + Duration::from_millis(1000)).unwrap();
    // Read as another process would after a kill.
    let (part, _, records) = read(&path);
    assert_eq!((part, records.len(), recorder.counts().written), (0, 1, 1));
    assert_eq!(
        records[0].headers.last(),
        Some(&field("Authorization", "REDACTED"))
    );
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o600
    );
    recorder.take(&mut plain(2)).unwrap();
    recorder.finish().unwrap();
    assert_eq!(read(&path).2.len(), 2);
    assert_eq!(recorder.counts().lost, 0);
}

#[test]
fn files_follow_one_another_by_size_and_by_time_and_replace_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traffic.pbc");
    fs::write(folder.path().join("traffic.1.pbc"), "somebody's").unwrap();
    let limits = Limits {
        bytes: Some(1_000),
        age: Some(Duration::from_secs(60)),
    };
    let now = Instant::now();
    let mut recorder = start(&path, limits, now);
    // A block is what it takes to look at the size.
    let mut large = plain(1);
    large.headers.push(field("X-Large", &"x".repeat(300 << 10)));
    recorder.take(&mut large).unwrap();
    recorder.take(&mut plain(2)).unwrap();
    recorder.tick(now + Duration::from_secs(61)).unwrap();
    recorder.tick(now + Duration::from_secs(200)).unwrap();
    recorder.take(&mut plain(3)).unwrap();
    recorder.finish().unwrap();
    let counts = recorder.counts();
    assert_eq!(
        (counts.written, counts.files),
        (3, 3),
        "an idle minute makes no file"
    );
    let files =
        ["traffic.pbc", "traffic.2.pbc", "traffic.3.pbc"].map(|n| read(&folder.path().join(n)));
    let ids: Vec<Vec<u64>> = files
        .iter()
        .map(|f| f.2.iter().map(|e| e.id).collect())
        .collect();
    assert_eq!(ids, [[1], [2], [3]]);
    assert_eq!(files.each_ref().map(|f| f.0), [0, 1, 2]);
    assert!(
        files.iter().all(|f| f.1 == files[0].1 && !f.1.is_empty()),
        "one capture"
    );
    assert_eq!(
        fs::read(folder.path().join("traffic.1.pbc")).unwrap(),
        b"somebody's"
    );
}

#[test]
fn a_link_in_its_place_is_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traffic.pbc");
    let elsewhere = folder.path().join("elsewhere");
    symlink(&elsewhere, &path).unwrap();
    let mut recorder = start(&path, Limits::default(), Instant::now());
    recorder.finish().unwrap();
    assert!(!elsewhere.exists() && folder.path().join("traffic.1.pbc").exists());
}

/// `/dev/full` takes nothing; the recorder is given a folder in which the next file cannot be made instead, because a
/// capture file is always a new one.
#[test]
fn when_nothing_can_be_written_it_says_so_once_and_counts() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let limits = Limits {
        bytes: Some(1_000),
        age: None,
    };
    let now = Instant::now();
    let mut recorder = start(&inner.join("traffic.pbc"), limits, now);
    fs::remove_dir_all(&inner).unwrap();
    let mut large = plain(1);
    large.headers.push(field("X-Large", &"x".repeat(300 << 10)));
    let stopped = recorder.take(&mut large).unwrap_err().to_string();
    assert!(
        stopped.contains("traffic.pbc") && stopped.contains("nothing is recorded"),
        "{stopped}"
    );
    assert!(!recorder.is_recording());
    for id in 2..5 {
        recorder.take(&mut plain(id)).unwrap();
    }
    recorder.tick(now + Duration::from_secs(9)).unwrap();
    recorder.finish().unwrap();
    assert_eq!((recorder.counts().written, recorder.counts().lost), (1, 3));
}
