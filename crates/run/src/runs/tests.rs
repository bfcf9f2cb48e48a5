use super::*;
use crate::folder::BETWEEN_TRIES;
use std::fs::{File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

const SAMPLE: &str = include_str!("../../../../contract/samples/run/tune.json");
const VALIDATION: &str = include_str!("../../../../contract/samples/validation/bursts.json");

/// A finished run of this name.
fn run(root: &Path, id: &str, state: &str) -> PathBuf {
    let folder = Folder::create(root, id).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(SAMPLE).unwrap();
    document["id"] = id.into();
    document["state"] = state.into();
    if let Some(started_at) = start_in_name(id) {
        document["started_at"] = started_at.into();
    }
    fs::write(folder.path().join("run.json"), document.to_string()).unwrap();
    folder.path().to_owned()
}

#[test]
fn a_folder_without_a_run_is_answered_with_the_list_of_runs() {
    let dir = tempfile::tempdir().unwrap();
    let why = Folder::open(&dir.path().join("nosuch"))
        .unwrap_err()
        .to_string();
    assert!(
        why.contains("nosuch: it has no run.json; powerband runs lists"),
        "{why}"
    );
    assert!(!why.contains("os error"), "{why}");
}

#[test]
fn what_this_user_may_not_read_is_not_called_missing() {
    let dir = tempfile::tempdir().unwrap();
    let path = run(dir.path(), "20261120-214512-tune-1f3a", "done");
    let (root, named) = (dir.path().to_owned(), path.clone());
    fs::set_permissions(&root, Permissions::from_mode(0o755)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
    let (listed, found, why) = testkit::as_nobody(move || {
        let found = find(Path::new("powerband-runs"), &named);
        let why = Folder::open(&found).unwrap_err().to_string();
        (kept(&root).unwrap().remove(0), found, why)
    });
    assert_eq!((listed.standing, listed.bytes), (Standing::NotReadable, 0));
    assert!(!listed.may_go(true));
    assert_eq!(found, path);
    assert!(
        why.contains("/run.json: Permission denied") && why.contains("chmod"),
        "{why}"
    );
    fs::set_permissions(&path, Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn what_is_certainly_a_run_goes_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path();
    let done = run(root, "20261120-214512-tune-1f3a", "done");
    run(root, "20261120-214513-tune-1f3a", "interrupted");
    let validated = root.join("20261120-214514-validate-1f3a");
    fs::create_dir(&validated).unwrap();
    let under_way = kept(root).unwrap();
    assert_eq!(under_way[2].standing, Standing::Unknown);
    fs::write(validated.join("validation.json"), VALIDATION).unwrap();
    run(root, "before-rails-8", "done");
    let copy = root.join("20261120-214515-tune-1f3a");
    fs::create_dir(&copy).unwrap();
    fs::copy(done.join("run.json"), copy.join("run.json")).unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    run(elsewhere.path(), "20261120-214516-tune-1f3a", "done");
    let link = root.join("20261120-214516-tune-1f3a");
    symlink(elsewhere.path().join("20261120-214516-tune-1f3a"), &link).unwrap();

    let found = kept(root).unwrap();
    let of = |id: &str| found.iter().find(|kept| kept.id == id).unwrap();
    for (id, standing, goes, goes_unfinished) in [
        ("20261120-214512-tune-1f3a", Standing::Done, true, true),
        (
            "20261120-214513-tune-1f3a",
            Standing::Interrupted,
            false,
            true,
        ),
        ("20261120-214514-validate-1f3a", Standing::Done, true, true),
        ("before-rails-8", Standing::Renamed, false, false),
        ("20261120-214515-tune-1f3a", Standing::Renamed, false, false),
    ] {
        let kept = of(id);
        assert_eq!(kept.standing, standing, "{id}");
        assert_eq!(
            (kept.may_go(false), kept.may_go(true)),
            (goes, goes_unfinished),
            "{id}"
        );
    }
    assert_eq!(found.len(), 5);
    let (first, third) = (
        of("20261120-214512-tune-1f3a"),
        of("20261120-214514-validate-1f3a"),
    );
    assert!(first.bytes > 0 && !first.sentence.is_empty());

    // A link inside leads nowhere that is deleted.
    let precious = elsewhere.path().join("precious");
    fs::write(&precious, "kept").unwrap();
    symlink(elsewhere.path(), done.join("trials/link")).unwrap();
    first.delete().unwrap();
    third.delete().unwrap();
    assert!(!done.exists() && !validated.exists() && precious.exists());
    assert!(link.join("run.json").exists() && root.join("before-rails-8").exists());
}

/// "done" without an answer would be read as one.
#[test]
fn a_run_that_allows_no_answer_is_not_done() {
    let dir = tempfile::tempdir().unwrap();
    let path = run(dir.path(), "20261120-214512-tune-1f3a", "done");
    let file = path.join("run.json");
    let mut document: serde_json::Value =
        serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    document["verdict"]["exit_code"] = 3.into();
    fs::write(&file, document.to_string()).unwrap();
    let kept = kept(dir.path()).unwrap().remove(0);
    assert_eq!(kept.standing, Standing::NoAnswer);
    assert!(kept.may_go(false), "it is finished");
}

#[test]
fn a_search_that_found_no_rate_is_not_done() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("20261120-214512-capacity-1f3a");
    fs::create_dir(&path).unwrap();
    let sample = include_str!("../../../../contract/samples/capacity/mixed.json");
    let mut document: serde_json::Value = serde_json::from_str(sample).unwrap();
    for (exit_code, standing) in [
        (0, Standing::Done),
        (1, Standing::Done),
        (3, Standing::NoAnswer),
    ] {
        document["exit_code"] = exit_code.into();
        fs::write(path.join("capacity.json"), document.to_string()).unwrap();
        assert_eq!(kept(dir.path()).unwrap()[0].standing, standing);
    }
}

/// One rule for `--resume` and `--prune`.
#[test]
fn a_run_that_can_be_resumed_goes_only_with_what_is_unfinished() {
    let dir = tempfile::tempdir().unwrap();
    let path = run(dir.path(), "20261120-214512-tune-1f3a", "failed");
    let offered = newest_to_resume(dir.path(), Kind::Tune).unwrap();
    assert_eq!(offered, Some((Kind::Tune, path.clone())));
    let failed = kept(dir.path()).unwrap().remove(0);
    assert!(!failed.may_go(false) && failed.may_go(true));

    let file = path.join("run.json");
    let mut document: serde_json::Value =
        serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    let trials = document["trials"].take();
    document["trials"] = serde_json::json!([]);
    fs::write(&file, document.to_string()).unwrap();
    assert_eq!(newest_to_resume(dir.path(), Kind::Tune).unwrap(), None);
    assert!(
        kept(dir.path()).unwrap()[0].may_go(false),
        "nothing was measured"
    );
    document["trials"] = trials;
    document["command"] = serde_json::json!({
        "command": "bin/rails test", "timeout_s": 60.0, "sample_every_s": 0.5, "measure": "pss", "runs": [], "arms": [],
        "comparisons": []
    });
    fs::write(&file, document.to_string()).unwrap();
    assert_eq!(newest_to_resume(dir.path(), Kind::Tune).unwrap(), None);
    let of_command = kept(dir.path()).unwrap().remove(0);
    assert_eq!(of_command.standing, Standing::Failed);
    assert!(of_command.may_go(false));
}

#[test]
fn what_a_process_works_on_or_has_changed_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = run(dir.path(), "20261120-214512-tune-1f3a", "done");
    let listed = kept(dir.path()).unwrap().remove(0);
    let held = Folder::open(&path).unwrap().lock().unwrap();
    assert!(matches!(listed.delete(), Err(FolderError::Busy { .. })));
    let busy = kept(dir.path()).unwrap().remove(0);
    assert_eq!(busy.worker.unwrap().pid, Some(std::process::id()));
    assert!(!busy.may_go(true));
    drop(held);
    assert_eq!(kept(dir.path()).unwrap()[0].worker, None);
    // An older version holds the lock without its id.
    let lock = File::options().write(true).open(path.join("lock")).unwrap();
    lock.set_len(0).unwrap();
    lock.lock().unwrap();
    let older = kept(dir.path()).unwrap().remove(0);
    assert_eq!(older.worker, Some(Worker { pid: None }));
    assert!(!older.may_go(true));
    drop(lock);
    // As `powerband capacity`, which writes its document at the end.
    let name = "20261121-000000-capacity-1f3b";
    let folder = Folder::create(dir.path(), name).unwrap();
    let held = folder.lock().unwrap();
    let mut all = kept(dir.path()).unwrap().into_iter();
    let begun = all.find(|run| run.id == name).unwrap();
    assert_eq!(begun.worker.unwrap().pid, Some(std::process::id()));
    drop(held);
    // A look at the lock, as `runs` takes it, makes no folder busy.
    let looks = File::open(path.join("lock")).unwrap();
    looks.lock_shared().unwrap();
    let releases = std::thread::spawn(move || {
        std::thread::sleep(BETWEEN_TRIES);
        drop(looks);
    });
    drop(Folder::open(&path).unwrap().lock().unwrap());
    releases.join().unwrap();
    run_again(&path);
    assert!(matches!(listed.delete(), Err(FolderError::Changed(_))));
    assert!(path.exists());
}

#[test]
fn the_newest_run_of_a_kind_is_found_among_others() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(newest_of(dir.path(), Kind::Tune).unwrap(), None);
    run(dir.path(), "20261120-214512-tune-1f3a", "done");
    let tune = run(dir.path(), "20261120-214513-tune-1f3a", "done");
    let other = run(dir.path(), "20261120-214514-compare-1f3a", "done");
    let file = other.join("run.json");
    let text = fs::read_to_string(&file).unwrap();
    let mut document: serde_json::Value = serde_json::from_str(&text).unwrap();
    document["kind"] = "compare".into();
    fs::write(&file, document.to_string()).unwrap();
    // Without a document.
    fs::create_dir(dir.path().join("20261120-214515-tune-1f3a")).unwrap();
    assert_eq!(newest_of(dir.path(), Kind::Tune).unwrap(), Some(tune));
    assert_eq!(newest_of(dir.path(), Kind::Compare).unwrap(), Some(other));
}

#[test]
fn a_run_under_another_name_keeps_its_place_in_time() {
    let dir = tempfile::tempdir().unwrap();
    let older = run(dir.path(), "20261120-214512-tune-1f3a", "done");
    let newest_run = run(dir.path(), "20261120-214513-tune-1f3a", "done");
    fs::rename(&older, dir.path().join("before-rails-8")).unwrap();
    fs::create_dir(dir.path().join("zeitwerk")).unwrap();
    assert_eq!(newest(dir.path()).unwrap(), Some(newest_run));
    let found = kept(dir.path()).unwrap();
    let listed: Vec<(&str, Standing)> = found.iter().map(|k| (k.id.as_str(), k.standing)).collect();
    let expected = [
        ("before-rails-8", Standing::Renamed),
        ("20261120-214513-tune-1f3a", Standing::Done),
    ];
    assert_eq!(listed, expected);
}

#[test]
fn what_cannot_be_read_says_so_has_an_age_and_goes_with_what_is_unfinished() {
    let dir = tempfile::tempdir().unwrap();
    for (id, document) in [
        ("20261120-214512-tune-1f3a", "run.json"),
        ("20261120-214513-capacity-1f3a", "capacity.json"),
    ] {
        let folder = Folder::create(dir.path(), id).unwrap();
        fs::write(folder.path().join(document), r#"{"schema": "older"}"#).unwrap();
        let found = kept(dir.path()).unwrap().remove(0);
        assert_eq!(found.standing, Standing::Unreadable);
        assert!(found.unreadable.as_ref().unwrap().contains(document));
        assert!(found.started_at.starts_with("2026-11-20T21:45:1"));
        assert!(!found.may_go(false) && found.may_go(true));
        found.delete().unwrap();
        assert!(!folder.path().exists());
    }
}

fn run_again(path: &Path) {
    let document = fs::read_to_string(path.join("run.json")).unwrap();
    let resumed = document.replace("\"state\":\"done\"", "\"state\":\"running\"");
    assert_ne!(resumed, document);
    fs::write(path.join("run.json"), resumed).unwrap();
}
