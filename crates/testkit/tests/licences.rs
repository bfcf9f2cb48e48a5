//! Every dependency has a licence that deny.toml allows, and packaging/THIRD-PARTY.txt names what is in the program: nothing is
//! missing, nothing is left over. `cargo deny` checks more, but takes minutes to compile.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

/// What the static programs are built for.
const TARGETS: [&str; 2] = ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn text_of(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn cargo(arguments: &[&str]) -> String {
    let ended = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "cargo {arguments:?}: {said}");
    String::from_utf8(ended.stdout).unwrap()
}

/// The list of licences at `path` in a TOML file.
fn licences(name: &str, path: &[&str]) -> BTreeSet<String> {
    let table: toml::Table = text_of(name).parse().unwrap();
    let mut value = &toml::Value::Table(table);
    for key in path {
        value = value
            .get(key)
            .unwrap_or_else(|| panic!("{name} has no {key}"));
    }
    let list = value.as_array().unwrap().iter();
    list.map(|licence| licence.as_str().unwrap().to_owned())
        .collect()
}

fn allowed() -> BTreeSet<String> {
    licences("deny.toml", &["licenses", "allow"])
}

/// What single crates may have in addition, each with its only licence.
fn excepted() -> BTreeSet<(String, String)> {
    let table: toml::Table = text_of("deny.toml").parse().unwrap();
    let exceptions = table["licenses"]["exceptions"].as_array().unwrap().iter();
    let text = |value: &toml::Value| value.as_str().unwrap().to_owned();
    exceptions
        .map(|exception| (text(&exception["crate"]), text(&exception["allow"][0])))
        .collect()
}

fn keeps(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let parsed = spdx::Expression::parse_mode(expression, spdx::ParseMode::LAX);
    parsed.is_ok_and(|parsed| {
        parsed.evaluate(|one| {
            one.license
                .id()
                .is_some_and(|id| one.addition.is_none() && allowed.contains(id.name))
        })
    })
}

#[test]
fn every_dependency_has_an_allowed_licence() {
    let allowed = allowed();
    let metadata = cargo(&["metadata", "--locked", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let excepted = excepted();
    let refused: Vec<String> = packages
        .iter()
        .filter_map(|package| {
            let licence = package["license"].as_str().unwrap_or("no licence");
            let name = package["name"].as_str().unwrap_or_default().to_owned();
            let is_kept =
                keeps(licence, &allowed) || excepted.contains(&(name, licence.to_owned()));
            (!is_kept).then(|| format!("{}: {licence}", package["id"]))
        })
        .collect();
    assert!(packages.len() > 100, "{}", packages.len());
    assert!(
        refused.is_empty(),
        "deny.toml does not allow:\n{}",
        refused.join("\n")
    );
}

#[test]
fn a_licence_that_is_not_listed_is_refused() {
    let allowed = BTreeSet::from(["MIT".to_owned(), "Apache-2.0".to_owned()]);
    for kept in [
        "MIT",
        "GPL-3.0-only OR MIT",
        "MIT/Apache-2.0",
        "MIT AND Apache-2.0",
    ] {
        assert!(keeps(kept, &allowed), "{kept}");
    }
    for refused in [
        "GPL-3.0-only",
        "MIT AND GPL-3.0-only",
        "Apache-2.0 WITH LLVM-exception",
        "no licence",
    ] {
        assert!(!keeps(refused, &allowed), "{refused}");
    }
}

#[test]
fn cargo_about_accepts_what_deny_allows() {
    assert_eq!(
        licences("packaging/licences/about.toml", &["accepted"]),
        allowed()
    );
}

/// `name version` of each crate and npm package that THIRD-PARTY.txt names.
fn named() -> BTreeSet<String> {
    let text = text_of("packaging/THIRD-PARTY.txt");
    let mut lines = text.lines();
    let mut found = BTreeSet::new();
    // A rule, the licence, its users with their indentation, an empty line, the text. A text may have rules, too.
    while lines
        .by_ref()
        .any(|line| line.len() == 80 && line.bytes().all(|byte| byte == b'-'))
    {
        let users = lines.by_ref().skip(1).take_while(|line| !line.is_empty());
        let users = users.filter(|line| line.starts_with("  "));
        found.extend(users.map(|line| {
            let mut words = line.split_whitespace();
            format!("{} {}", words.next().unwrap(), words.next().unwrap())
        }));
    }
    found
}

fn crates_of_the_program() -> BTreeSet<String> {
    let tree = "tree --locked --package powerband-cli --edges normal --prefix none --format {p}";
    let mut arguments: Vec<&str> = tree.split(' ').collect();
    for target in TARGETS {
        arguments.extend(["--target", target]);
    }
    let lines = cargo(&arguments);
    let outside = lines
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with("powerband-"));
    outside
        .map(|line| {
            let mut words = line.split_whitespace();
            let name = words.next().unwrap();
            format!("{name} {}", words.next().unwrap().trim_start_matches('v'))
        })
        .collect()
}

fn npm_packages_of_the_pages() -> BTreeSet<String> {
    let lock: Value = serde_json::from_str(&text_of("web/package-lock.json")).unwrap();
    let packages = lock["packages"].as_object().unwrap().iter();
    packages
        .filter(|(path, package)| !path.is_empty() && package["dev"] != true)
        .map(|(path, package)| {
            let name = path.trim_start_matches("node_modules/");
            format!("{name} {}", package["version"].as_str().unwrap())
        })
        .collect()
}

/// What Cargo.lock has, for other platforms and tests included.
fn locked() -> BTreeSet<String> {
    let lock: toml::Table = text_of("Cargo.lock").parse().unwrap();
    let packages = lock["package"].as_array().unwrap().iter();
    packages
        .map(|package| {
            format!(
                "{} {}",
                package["name"].as_str().unwrap(),
                package["version"].as_str().unwrap()
            )
        })
        .collect()
}

#[test]
fn third_party_names_what_is_in_the_program() {
    let named = named();
    let npm = npm_packages_of_the_pages();
    let inside: BTreeSet<String> = crates_of_the_program().union(&npm).cloned().collect();
    assert!(inside.len() > 100, "{}", inside.len());
    let missing: Vec<&String> = inside.difference(&named).collect();
    let known: BTreeSet<String> = locked().union(&npm).cloned().collect();
    let left_over: Vec<&String> = named.difference(&known).collect();
    assert!(
        missing.is_empty() && left_over.is_empty(),
        "packaging/THIRD-PARTY.txt lacks {missing:?} and has {left_over:?} too many; run script/licences"
    );
}
