use super::*;
use crate::request::Arm;
use crate::sample_repository::Repository;
use run::Settings;

/// What is made of these flags, or all that is said of them.
fn resolved(app: &Path, flags: &[(&str, &str)]) -> Result<(Vec<RatioLimit>, Revisions), String> {
    let arms = vec![Arm::of(Settings::PUMA_DEFAULT)];
    let kind = Kind::Check;
    let given = |flag: &str| {
        let mut found = flags.iter().filter(move |(name, _)| *name == flag);
        found.next().map(|(name, text)| Asked::new(*text, *name))
    };
    let request = Request {
        against: given("--against"),
        revision: given("--revision"),
        assertions: given("--assert").into_iter().collect(),
        workload_command: given("--workload-command"),
        ..Request::default()
    };
    let mut problems = Vec::new();
    let found = resolve(&request, &Goal::Arms { kind, arms }, app, &mut problems);
    match problems.is_empty() {
        true => Ok(found),
        false => {
            let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
            Err(said.join("\n"))
        }
    }
}

#[test]
fn head_is_checked_below_the_top_of_the_repository() {
    let repository = Repository::with("app/config.ru");
    repository.git(&["branch", "old"]);
    repository.commit("app/config.ru", "second");
    let (limits, found) = resolved(&repository.app(), &[("--against", "old")]).unwrap();
    let texts: Vec<&str> = limits.iter().map(|limit| limit.text.as_str()).collect();
    assert_eq!(texts, [USUAL]);
    assert_eq!(found.repository, repository.top());
    assert_eq!(found.within, Path::new("app/"));
    let commit = |named: &str| repository.git(&["rev-parse", named]);
    let commits = found
        .all
        .iter()
        .map(|r| (r.named.clone(), r.commit.clone()));
    let expected = ["old", "HEAD"].map(|named| (named.to_owned(), commit(named)));
    assert!(commits.eq(expected));
    assert!(!found.are_one());
    let (_, same) = resolved(&repository.app(), &[("--against", "main")]).unwrap();
    assert!(same.are_one() && same.all.len() == 2);
}

#[test]
fn every_mistake_is_reported_at_once_with_its_value_and_a_remedy() {
    let repository = Repository::with("app/config.ru");
    let said = resolved(
        &repository.app(),
        &[
            ("--against", "nowhere"),
            ("--revision", "--help"),
            ("--assert", "throughput >= -3%, p99 <= 5%"),
            ("--workload-command", "rake test"),
        ],
    );
    let said = said.unwrap_err();
    for part in [
        "--against = \"nowhere\": this clone has no such revision; name a branch",
        "fetch-depth: 0",
        "--revision = \"--help\": this clone has no such revision",
        "--assert = \"p99 <= 5%\": ",
        "--workload-command = \"rake test\": check compares servers",
    ] {
        assert!(said.contains(part), "{part} is missing in {said}");
    }
    assert_eq!(said.lines().count(), 4, "{said}");
    let said = resolved(&repository.app(), &[]).unwrap_err();
    assert!(said.contains("--against main"), "{said}");
}

/// A clone in CI has the branches of its origin, and no local one but its own.
#[test]
fn a_branch_that_only_the_origin_has_is_named() {
    let repository = Repository::with("app/config.ru");
    repository.git(&["update-ref", "refs/remotes/origin/stable", "HEAD"]);
    let said = resolved(&repository.app(), &[("--against", "stable")]).unwrap_err();
    assert!(said.ends_with("it has origin/stable: name that"), "{said}");
}

#[test]
fn a_tag_is_the_commit_that_it_names() {
    let repository = Repository::with("app/config.ru");
    repository.git(&["tag", "--annotate", "--message", "one", "v1"]);
    let (_, found) = resolved(&repository.app(), &[("--against", "v1")]).unwrap();
    assert_eq!(found.all[0].commit, repository.git(&["rev-parse", "HEAD"]));
}

#[test]
fn changes_that_are_in_no_commit_are_refused_unless_head_is_named() {
    let repository = Repository::with("app/config.ru");
    repository.write("app/new", "nobody tracks it");
    assert!(resolved(&repository.app(), &[("--against", "main")]).is_ok());
    for number in 1..=5 {
        repository.commit(&format!("app/{number}.rb"), "one");
    }
    for number in 1..=5 {
        repository.write(&format!("app/{number}.rb"), "changed");
    }
    let said = resolved(&repository.app(), &[("--against", "main")]).unwrap_err();
    assert!(
        said.contains("(app/1.rb, app/2.rb, app/3.rb and 2 more)")
            && said.ends_with("or pass --revision HEAD to leave them out"),
        "{said}"
    );
    let named = [("--against", "main"), ("--revision", "HEAD")];
    assert!(resolved(&repository.app(), &named).is_ok());
}

#[test]
fn a_folder_in_no_repository_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let said = resolved(folder.path(), &[("--against", "main")]).unwrap_err();
    assert!(
        said.contains("is in no git repository that can be read") && said.contains("--app DIR"),
        "{said}"
    );
}

#[test]
fn another_verb_looks_up_nothing() {
    let request = Request::default();
    let mut problems = Vec::new();
    let nowhere = Path::new("/nowhere");
    let (limits, revisions) = resolve(&request, &Goal::Tune, nowhere, &mut problems);
    assert!(limits.is_empty() && revisions.all.is_empty() && problems.is_empty());
}
