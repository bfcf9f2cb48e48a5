//! The catalogue against the Ruby that is installed: what it should have is taken without a word of refusal, what it
//! should not have is reported.

use knobs::{CATALOGUE, Kind, Knob, Value, Version, refusals};
use std::collections::BTreeMap;
use std::process::Command;

fn ruby(env: &BTreeMap<String, String>, words: &[&str]) -> (String, String) {
    let output = Command::new("ruby")
        .args(words)
        .env_remove("RUBYOPT")
        .envs(env)
        .output()
        .expect("a Ruby is installed");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn version() -> Version {
    let (printed, _) = ruby(&BTreeMap::new(), &["-e", "puts RUBY_VERSION"]);
    Version::of(&printed).expect("it says its version")
}

fn collectors() -> impl Iterator<Item = &'static Knob> {
    CATALOGUE.iter().filter(|knob| knob.name.starts_with("gc."))
}

fn said_of(knob: &Knob, text: &str) -> Vec<String> {
    let value = Value::parse(knob, text).unwrap();
    let env = BTreeMap::from([(knob.variable.to_owned(), value.set)]);
    let (_, stderr) = ruby(&env, &["-w", "-e", "nil"]);
    refusals(&stderr, &env)
}

#[test]
fn what_this_ruby_should_have_is_taken_and_what_it_should_not_have_is_reported() {
    let version = version();
    for knob in collectors() {
        let refused = said_of(knob, knob.example);
        match knob.works_in(version) {
            Ok(()) => assert!(refused.is_empty(), "{}: {refused:?}", knob.name),
            Err(_) => assert_eq!(refused.len(), 1, "{} was taken by {version}", knob.name),
        }
    }
}

#[test]
fn the_bounds_of_the_catalogue_are_not_wider_than_rubys_own() {
    let version = version();
    for knob in collectors().filter(|knob| knob.works_in(version).is_ok()) {
        let bounds = match knob.kind {
            Kind::Whole { least, .. } => vec![least.to_string()],
            Kind::Size { least, most } => vec![format!("{least}B"), format!("{most}B")],
            Kind::Number { over, most, zero } => {
                let mut bounds = vec![most.to_string(), (over + 0.001).to_string()];
                bounds.extend(zero.then(|| "0".to_owned()));
                bounds
            }
            _ => Vec::new(),
        };
        for bound in bounds {
            // These three bound one another, and the others stay at their defaults here.
            let ratio = knob.name.contains("_slots_") && knob.name.ends_with("_ratio");
            let refused = said_of(knob, &bound);
            let other = |line: &String| {
                ratio && line.contains("must be") && !line.contains("than 0.000000")
            };
            assert!(
                refused.iter().all(other),
                "{}={bound}: {refused:?}",
                knob.name
            );
        }
    }
}

#[test]
fn defaults_are_those_that_ruby_names() {
    let version = version();
    for knob in collectors().filter(|knob| knob.works_in(version).is_ok()) {
        let Ok(default) = Value::parse(knob, knob.default) else {
            continue;
        };
        let value = Value::parse(knob, knob.example).unwrap();
        let env = BTreeMap::from([(knob.variable.to_owned(), value.set)]);
        let (_, stderr) = ruby(&env, &["-w", "-e", "nil"]);
        let named = stderr
            .lines()
            .find_map(|line| line.split_once("(default value: ")?.1.split_once(')'))
            .map(|(number, _)| number.parse::<f64>().unwrap());
        assert_eq!(named, default.set.parse().ok(), "{}", knob.name);
    }
}
