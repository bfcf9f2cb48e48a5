//! The recorder: files of one capture, one after another, and a disk that is full.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::{field, plain};
use capture::file::{About, Change, Limits, Lost, Reader, Recorder, State};
use capture::{Exchange, Export, Exporter, Rules, Traffic};

fn start(path: &Path, limits: Limits, now: Instant) -> Recorder<Exchange> {
    let (rules, about) = (Rules::default(), About::default());
    let (recorder, change) = Recorder::start(path, limits, rules, 1_000, about, now);
    unchanged(change);
    recorder
}

/// A block by itself, and hard to pack.
fn large(id: u64) -> Exchange {
    let mut state = id;
    let noise = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b'!' + (state >> 33) as u8 % 90)
    });
    let mut large = plain(id);
    let noise: String = noise.take(300 << 10).collect();
    large.headers.push(field("X-Large", &noise));
    large
}

/// Nothing to say.
fn unchanged(change: Option<Change>) {
    assert!(change.is_none(), "{change:?}");
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
    unchanged(recorder.take(&mut secret));
    unchanged(recorder.tick(now + Duration::from_millis(999)));
    assert_eq!((read(&path).2.len(), recorder.counts().written), (0, 0));
    unchanged(recorder.tick(now + Duration::from_millis(1000)));
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
    unchanged(recorder.take(&mut plain(2)));
    unchanged(recorder.finish());
    assert_eq!(read(&path).2.len(), 2);
    assert_eq!(recorder.counts().lost, Lost::default());
}

#[test]
fn files_follow_one_another_by_size_and_by_time_and_replace_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traffic.pbc");
    fs::write(folder.path().join("traffic.1.pbc"), "somebody's").unwrap();
    let limits = Limits {
        bytes: Some(1_000),
        age: Some(Duration::from_secs(60)),
        total: None,
    };
    let now = Instant::now();
    let mut recorder = start(&path, limits, now);
    // A block is what it takes to look at the size.
    unchanged(recorder.take(&mut large(1)));
    unchanged(recorder.take(&mut plain(2)));
    unchanged(recorder.tick(now + Duration::from_secs(61)));
    unchanged(recorder.tick(now + Duration::from_secs(200)));
    unchanged(recorder.take(&mut plain(3)));
    unchanged(recorder.finish());
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
    unchanged(recorder.finish());
    assert!(!elsewhere.exists() && folder.path().join("traffic.1.pbc").exists());
}

/// A capture file is always a new one: what cannot be written is shown by a folder that is gone when the next file begins.
#[test]
fn another_error_than_a_full_disk_ends_the_recording_and_is_said_once() {
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let limits = Limits {
        bytes: Some(1_000),
        ..Limits::default()
    };
    let now = Instant::now();
    let mut recorder = start(&inner.join("traffic.pbc"), limits, now);
    fs::remove_dir_all(&inner).unwrap();
    let said = recorder.take(&mut large(1)).unwrap().to_string();
    assert!(
        said.contains("traffic.pbc") && said.contains("nothing is recorded"),
        "{said}"
    );
    assert_eq!(recorder.counts().state, State::Failed);
    for id in 2..5 {
        unchanged(recorder.take(&mut plain(id)));
    }
    unchanged(recorder.tick(now + Duration::from_secs(9)));
    unchanged(recorder.finish());
    let counts = recorder.counts();
    assert_eq!((counts.written, counts.lost.failed), (1, 3));
}

#[test]
fn at_the_limit_of_all_files_together_recording_ends_with_a_whole_block() {
    let folder = tempfile::tempdir().unwrap();
    let limit = 1 << 20;
    let limits = Limits {
        bytes: Some(500_000),
        total: Some(limit),
        ..Limits::default()
    };
    let now = Instant::now();
    let mut recorder = start(&folder.path().join("traffic.pbc"), limits, now);
    let mut changes = Vec::new();
    for id in 1..8 {
        changes.extend(recorder.take(&mut large(id)));
    }
    changes.extend(recorder.tick(now + Duration::from_secs(9)));
    changes.extend(recorder.finish());
    assert!(
        matches!(changes[..], [Change::LimitReached { limit: said, .. }] if said == limit),
        "{changes:?}"
    );
    let counts = recorder.counts();
    assert_eq!(
        (counts.state, counts.lost),
        (
            State::LimitReached,
            Lost {
                limit: 1,
                ..Lost::default()
            }
        )
    );
    let files = fs::read_dir(folder.path()).unwrap();
    let files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    let bytes: u64 = files
        .iter()
        .map(|path| fs::metadata(path).unwrap().len())
        .sum();
    assert!(
        bytes <= limit && bytes == counts.bytes,
        "{bytes} {counts:?}"
    );
    let records: usize = files.iter().map(|path| read(path).2.len()).sum();
    assert!(records > 1 && records as u64 == counts.written, "{records}");
}

#[test]
fn kept_headers_are_recorded_as_they_are_and_named_in_the_head() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traffic.pbc");
    let kept = ["Cookie".to_owned()];
    let about = About {
        unredacted: kept.to_vec(),
        ..About::default()
    };
    let rules = Rules::default().keeping_headers(&kept);
    let now = Instant::now();
    let (mut recorder, change) =
        Recorder::start(&path, Limits::default(), rules, 1_000, about, now);
    unchanged(change);
    let mut request = plain(1);
    request.headers = vec![
        field("cookie", "session=s3cret"),
        field("Authorization", "Bearer s3cret"),
    ];
    request.target = "/?cookie=s3cret".into();
    request.body.clear();
    request.body_bytes = 0;
    unchanged(recorder.take(&mut request));
    unchanged(recorder.finish());
    let records = read(&path).2;
    assert_eq!(records[0].headers[0], field("cookie", "session=s3cret"));
    assert_eq!(records[0].headers[1], field("Authorization", "REDACTED"));
    assert_eq!(records[0].target, "/?cookie=REDACTED");
    let traffic = Traffic::read_from(fs::File::open(&path).unwrap()).unwrap();
    assert_eq!(traffic.unredacted, kept);
    assert_eq!(traffic.requests[0].headers[0].1, "session=s3cret");
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// The mirror passes such targets as they are; what is sent again is percent-encoded.
#[test]
fn utf_8_in_a_target_is_recorded_as_it_came_and_read_percent_encoded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traffic.pbc");
    let mut recorder = start(&path, Limits::default(), Instant::now());
    let sent = "/st\u{e4}dte/\u{65e5}?gr\u{f6}\u{df}e=10&token=gehe\u{ed}m";
    let mut request = plain(1);
    sent.clone_into(&mut request.target);
    unchanged(recorder.take(&mut request));
    unchanged(recorder.finish());
    let recorded = read(&path).2.remove(0);
    assert_eq!(
        recorded.target,
        "/st\u{e4}dte/\u{65e5}?gr\u{f6}\u{df}e=10&token=REDACTED"
    );
    let traffic = Traffic::read_from(fs::File::open(&path).unwrap()).unwrap();
    assert_eq!(traffic.skipped.count, 0);
    assert_eq!(
        traffic.requests[0].path,
        "/st%C3%A4dte/%E6%97%A5?gr%C3%B6%C3%9Fe=10&token=REDACTED"
    );
    let mut exporter = Exporter::new(Export::H2load, Vec::new(), 1_000).unwrap();
    exporter.put(&recorded).unwrap();
    let (script, written, _) = exporter.finish().unwrap();
    let script = String::from_utf8(script).unwrap();
    let path = "/st%C3%A4dte/%E6%97%A5?gr%C3%B6%C3%9Fe=10&token=REDACTED\n";
    assert!(script.ends_with(path), "{script}");
    assert_eq!(written, 1);
}

#[test]
fn a_recording_whose_first_file_cannot_be_made_has_failed_and_counts_what_it_loses() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("missing/traffic.pbc");
    let (rules, about) = (Rules::default(), About::default());
    let now = Instant::now();
    let (mut recorder, change) =
        Recorder::<Exchange>::start(&path, Limits::default(), rules, 1_000, about, now);
    assert!(matches!(change, Some(Change::Failed { .. })), "{change:?}");
    unchanged(recorder.take(&mut plain(1)));
    unchanged(recorder.finish());
    let counts = recorder.counts();
    assert_eq!((counts.state, counts.lost.failed), (State::Failed, 1));
}

#[test]
fn a_recording_without_room_for_a_file_below_its_limit_begins_none() {
    let folder = tempfile::tempdir().unwrap();
    let limits = Limits {
        total: Some(1_000),
        ..Limits::default()
    };
    let (rules, about) = (Rules::default(), About::default());
    let path = folder.path().join("traffic.pbc");
    let (recorder, change) =
        Recorder::<Exchange>::start(&path, limits, rules, 1_000, about, Instant::now());
    assert!(
        matches!(change, Some(Change::LimitReached { .. })),
        "{change:?}"
    );
    assert_eq!(recorder.counts().state, State::LimitReached);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_finished_recording_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traffic.pbc");
    let mut recorder = start(&path, Limits::default(), Instant::now());
    unchanged(recorder.finish());
    assert_eq!(recorder.counts().state, State::Ended);
}

#[test]
fn files_that_an_earlier_recorder_left_count_for_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traffic.pbc");
    fs::write(&path, vec![0; 500_000]).unwrap();
    fs::write(folder.path().join("traffic.1.pbc"), vec![0; 400_000]).unwrap();
    let limits = Limits {
        total: Some(1 << 20),
        ..Limits::default()
    };
    let mut recorder = start(&path, limits, Instant::now());
    let change = recorder.take(&mut large(1));
    assert!(
        matches!(change, Some(Change::LimitReached { .. })),
        "{change:?}"
    );
    fs::write(&path, vec![0; 1 << 20]).unwrap();
    let (rules, about) = (Rules::default(), About::default());
    let (_, change) =
        Recorder::<Exchange>::start(&path, limits, rules, 1_000, about, Instant::now());
    assert!(
        matches!(change, Some(Change::LimitReached { .. })),
        "{change:?}"
    );
    assert!(!folder.path().join("traffic.3.pbc").exists());
}
