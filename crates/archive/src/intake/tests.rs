use super::*;
use crate::column::{Table, Value};
use crate::counters::COUNTED;
use crate::requests::REQUESTS;
use std::fs;

const ALWAYS: RangeInclusive<i64> = i64::MIN..=i64::MAX;
const ENDED: Living<'static> = &|_, _| None;

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract/samples/flight")
}

fn wanted(folder: &Path) -> Wanted {
    Wanted {
        folder: folder.to_owned(),
        application: None,
        sample: 1,
        writer: Arc::default(),
    }
}

fn copy(name: &str, folder: &Path) {
    let name = format!("{name}.flight");
    fs::copy(samples().join(&name), folder.join(&name)).unwrap();
}

/// The integers of a column.
fn integers<R>(table: &Table<R>, name: &str, rows: &[R]) -> Vec<Option<i64>> {
    let column = table.all().find(|column| column.name == name).unwrap();
    match column.value {
        Value::Integer(of) => rows.iter().map(of).collect(),
        _ => panic!("{name} has no integers"),
    }
}

#[test]
fn each_row_is_read_once_also_by_the_next_exporter() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for name in ["wide", "collected"] {
        copy(name, folder);
    }
    let mut batch = Batch::default();
    let mut intake = Intake::new(wanted(folder), Positions::new(), 0);
    assert!(intake.look(&ALWAYS, &mut batch).unwrap());
    intake.minute(0, &ALWAYS, ENDED, &mut batch).unwrap();
    let whole = |name: &str| {
        let path = folder.join(format!("{name}.flight"));
        FlightFile::open(path).unwrap().snapshot().unwrap()
    };
    let expected = whole("wide").records.len() + whole("collected").records.len();
    assert!(expected > 0);
    assert_eq!(batch.requests.len(), expected);
    let collections = whole("collected").log.unwrap().collections;
    let ended = collections
        .iter()
        .filter(|c| c.over || c.index < collections.len() as u64 - 1);
    assert_eq!(batch.collections.len(), ended.count());
    assert!(!batch.collections.is_empty());
    let mut again = Batch::default();
    intake.look(&ALWAYS, &mut again).unwrap();
    intake.minute(0, &ALWAYS, ENDED, &mut again).unwrap();
    assert!(again.is_empty(), "{again:?}");
    let mut next = Intake::new(wanted(folder), intake.positions().clone(), 0);
    next.look(&ALWAYS, &mut again).unwrap();
    next.minute(0, &ALWAYS, ENDED, &mut again).unwrap();
    assert!(again.is_empty(), "{again:?}");
    // A file that was removed is forgotten.
    fs::remove_file(folder.join("wide.flight")).unwrap();
    next.look(&ALWAYS, &mut again).unwrap();
    assert_eq!(
        next.positions().keys().collect::<Vec<_>>(),
        ["collected.flight"]
    );
}

#[test]
fn a_file_that_comes_later_counts_from_its_beginning_and_one_that_is_there_from_now_on() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    copy("basic", folder);
    let mut intake = Intake::new(wanted(folder), Positions::new(), 0);
    copy("wide", folder);
    let mut batch = Batch::default();
    intake
        .minute(90_000_000_000, &ALWAYS, ENDED, &mut batch)
        .unwrap();
    let tally = FlightFile::open(folder.join("wide.flight"))
        .unwrap()
        .tally()
        .unwrap();
    let used = tally.endpoints.iter().filter(|e| e.totals.requests > 0);
    assert_eq!(batch.counted.len(), used.count());
    let requests: i64 = integers(&COUNTED, "requests", &batch.counted)
        .into_iter()
        .flatten()
        .sum();
    let of_endpoints: u64 = tally.endpoints.iter().map(|e| e.totals.requests).sum();
    assert_eq!(requests.unsigned_abs(), of_endpoints);
    assert!(
        batch
            .counted
            .iter()
            .all(|row| row.from_us == 0 && row.seconds == 90.0)
    );
}

#[test]
fn what_a_process_does_not_measure_is_null() {
    let of = |name: &str, column: &str| {
        let folder = tempfile::tempdir().unwrap();
        copy(name, folder.path());
        let mut batch = Batch::default();
        let mut intake = Intake::new(wanted(folder.path()), Positions::new(), 0);
        intake.look(&ALWAYS, &mut batch).unwrap();
        integers(&REQUESTS, column, &batch.requests)
    };
    let known = |name, column| of(name, column).iter().any(Option::is_some);
    // An older agent's, which measures neither.
    assert!(!known("basic", "lock_wait_us") && !known("basic", "sql_us"));
    assert!(known("basic", "held_us"));
    assert!(known("wide", "lock_wait_us") && known("wide", "sql_us"));
}

#[test]
fn a_sample_has_its_share_and_its_weight_and_is_always_the_same() {
    let of = |sample| {
        let wanted = Wanted {
            sample,
            ..wanted(&samples())
        };
        let mut batch = Batch::default();
        let mut intake = Intake::new(wanted, Positions::new(), 0);
        intake.look(&ALWAYS, &mut batch).unwrap();
        assert!(batch.requests.iter().all(|row| row.weight == sample));
        batch
            .requests
            .iter()
            .map(|row| (row.process.pid, row.record.index))
            .collect::<Vec<_>>()
    };
    let (all, some) = (of(1), of(4));
    assert!(
        some.len() * 6 > all.len() && some.len() * 3 < all.len(),
        "{} of {}",
        some.len(),
        all.len()
    );
    assert_eq!(some, of(4));
}

#[test]
fn rows_of_other_days_and_of_other_applications_are_left_out() {
    let mut batch = Batch::default();
    let mut intake = Intake::new(wanted(&samples()), Positions::new(), 0);
    intake.look(&(0..=1), &mut batch).unwrap();
    intake.minute(0, &(0..=1), ENDED, &mut batch).unwrap();
    assert!(batch.requests.is_empty() && batch.collections.is_empty());
    let wanted = Wanted {
        application: Some("/none".to_owned()),
        ..wanted(&samples())
    };
    let mut intake = Intake::new(wanted, Positions::new(), 0);
    intake.look(&ALWAYS, &mut batch).unwrap();
    assert!(batch.is_empty());
}

#[test]
fn a_folder_that_is_not_there_is_an_error() {
    let mut intake = Intake::new(wanted(Path::new("/nowhere")), Positions::new(), 0);
    let mut batch = Batch::default();
    assert!(intake.look(&ALWAYS, &mut batch).is_err());
}

/// A file that has a folder in its place cannot be opened, for root neither.
fn hidden(path: &Path, during: impl FnOnce()) {
    let aside = path.with_extension("aside");
    fs::rename(path, &aside).unwrap();
    fs::create_dir(path).unwrap();
    during();
    fs::remove_dir(path).unwrap();
    fs::rename(&aside, path).unwrap();
}

#[test]
fn a_file_that_cannot_be_opened_for_one_look_is_read_and_counted_once() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    copy("wide", folder);
    let path = folder.join("wide.flight");
    let (header, _) = FlightFile::open(&path).unwrap().totals().unwrap();
    let own = flight::application_of(&header.app_root).to_owned();
    for application in [None, Some(own)] {
        let wanted = Wanted {
            application,
            ..wanted(folder)
        };
        let mut intake = Intake::new(wanted, Positions::new(), 0);
        let mut batch = Batch::default();
        intake.look(&ALWAYS, &mut batch).unwrap();
        intake.minute(0, &ALWAYS, ENDED, &mut batch).unwrap();
        assert!(!batch.requests.is_empty());
        let mut again = Batch::default();
        hidden(&path, || {
            assert!(intake.look(&ALWAYS, &mut again).unwrap());
            intake.minute(0, &ALWAYS, ENDED, &mut again).unwrap();
        });
        intake.look(&ALWAYS, &mut again).unwrap();
        intake.minute(0, &ALWAYS, ENDED, &mut again).unwrap();
        assert!(again.is_empty(), "{again:?}");
    }
}

#[test]
fn a_file_that_cannot_be_read_at_the_beginning_counts_from_its_first_reading() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    copy("wide", folder);
    let path = folder.join("wide.flight");
    let (header, _) = FlightFile::open(&path).unwrap().totals().unwrap();
    let now_ns = header.created_wall_ns + 1;
    let mut intake = None;
    hidden(&path, || {
        intake = Some(Intake::new(wanted(folder), Positions::new(), now_ns));
    });
    let mut batch = Batch::default();
    let mut intake = intake.unwrap();
    intake.minute(now_ns, &ALWAYS, ENDED, &mut batch).unwrap();
    assert!(batch.counted.is_empty(), "{batch:?}");
}

#[test]
fn nothing_is_forgotten_while_the_folder_of_a_user_cannot_be_listed() {
    use std::os::unix::fs::PermissionsExt;
    let allow = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let root = tempfile::tempdir().unwrap();
    allow(root.path(), 0o755);
    let folder = root.path().join("1000");
    fs::create_dir(&folder).unwrap();
    copy("wide", &folder);
    let mut intake = Intake::new(wanted(root.path()), Positions::new(), 0);
    let mut batch = Batch::default();
    intake.look(&ALWAYS, &mut batch).unwrap();
    let positions = intake.positions().clone();
    assert_eq!(positions.len(), 1);
    allow(&folder, 0o000);
    testkit::as_nobody(|| intake.look(&ALWAYS, &mut batch).unwrap());
    allow(&folder, 0o700);
    assert_eq!(*intake.positions(), positions);
}
