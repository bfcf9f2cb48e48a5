//! Keeps `docs/configuration.md` true: it names every key that the reader knows and no other, and its examples
//! are taken as they stand. Flags and variables are the command line's to test.

use experiment::Goal;
use experiment::config::{Problem, read_file, resolve};
use std::collections::BTreeSet;
use std::path::Path;

const PAGE: &str = include_str!("../../../../docs/configuration.md");

/// A key that will never exist, so that the reader answers with those that there are.
const UNKNOWN: &str = "no_such_key";

fn refusal(text: &str) -> Vec<String> {
    let problems = read_file(text, Path::new("powerband.toml")).unwrap_err();
    let listed: Vec<&str> = problems
        .iter()
        .filter(|p| p.what.contains(UNKNOWN))
        .filter_map(|p| p.remedy.strip_prefix("the keys there are "))
        .collect();
    assert_eq!(listed.len(), 1, "{problems:?}");
    listed[0].split(", ").map(str::to_owned).collect()
}

/// Every key that the reader takes, such as `tune.budget`.
fn known() -> BTreeSet<String> {
    let mut keys = BTreeSet::new();
    for section in refusal(&format!("{UNKNOWN} = 1")) {
        match section.as_str() {
            // Its knobs are read as `--baseline` is, which names them in a message of its own.
            "baseline" => {
                keys.extend(["threads", "workers", "preload"].map(|k| format!("baseline.{k}")));
            }
            // Its knobs are read likewise.
            "arm" => {
                keys.insert("arm.name".to_owned());
            }
            "service" => keys.extend(refusal(&format!("[[service]]\n{UNKNOWN} = 1"))),
            section => keys.extend(refusal(&format!("[{section}]\n{UNKNOWN} = 1"))),
        }
    }
    keys
}

/// The keys that open the rows of the page's tables.
fn described() -> BTreeSet<String> {
    PAGE.lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(key, _)| key.to_owned())
        .filter(|key| !key.starts_with('-'))
        .collect()
}

fn examples() -> Vec<&'static str> {
    PAGE.split("```toml\n")
        .skip(1)
        .map(|rest| rest.split("```").next().expect("split gives a first part"))
        .collect()
}

#[test]
fn the_page_describes_every_key_and_no_other() {
    let known = known();
    assert!(known.len() > 30, "the reader named only {known:?}");
    assert_eq!(described(), known);
}

#[test]
fn the_examples_are_taken_as_they_stand() {
    let app = tempfile::tempdir().unwrap();
    std::fs::create_dir(app.path().join("config")).unwrap();
    std::fs::write(app.path().join("config/puma.rb"), "").unwrap();
    let examples = examples();
    assert!(!examples.is_empty());
    for example in examples {
        let told = |problems: Vec<Problem>| {
            let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
            format!("{}\nin\n{example}", problems.join("\n"))
        };
        let request = read_file(example, &app.path().join("powerband.toml"))
            .map_err(told)
            .unwrap_or_else(|told| panic!("{told}"));
        resolve(request, Goal::Tune, 1)
            .map_err(told)
            .unwrap_or_else(|told| panic!("{told}"));
    }
}
