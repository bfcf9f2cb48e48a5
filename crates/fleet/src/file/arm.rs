//! The `[[arm]]` tables of an experiment file.

use super::reader::{Reader, Value};
use crate::experiment::Arm;
use knobs::{Overlay, PRELOAD, Place};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// The most arms after the first. All comparisons share one error rate.
const MOST_OTHERS: usize = 4;
/// A label with two names fits into the flight file.
const LONGEST_NAME: usize = 20;
/// The smallest share of an arm.
const LEAST_SHARE: f64 = 0.05;

/// The variables that load the agent.
const OF_AGENT: [&str; 2] = ["RUBYOPT", "RUBYLIB"];

/// All arms. The first one has the rest of the shares.
pub(super) fn arms<'t>(reader: &mut Reader<'t>, table: &DeTable<'t>) -> Option<Vec<Arm>> {
    let tables = reader.list(table, "arm");
    let others = tables.len().saturating_sub(1);
    if reader.problems.iter().all(|problem| problem.key != "arm")
        && !(1..=MOST_OTHERS).contains(&others)
    {
        let line = tables.last().map_or(1, |(line, _)| *line);
        let remedy = format!(
            "give two to {} [[arm]] tables, the first for today's settings",
            MOST_OTHERS + 1
        );
        reader.problem(line, "arm", None, format!("{} arms", tables.len()), remedy);
    }
    let mut arms = Vec::new();
    let mut complete = true;
    for (place, &(line, table)) in tables.iter().enumerate() {
        match arm(reader, table, line, place == 0) {
            Some(arm) if arms.iter().any(|other: &Arm| other.name == arm.name) => {
                let what = format!("{} is there twice", arm.name);
                reader.problem(
                    line,
                    "arm.name",
                    None,
                    what,
                    "give each arm a name of its own",
                );
            }
            Some(arm) => arms.push(arm),
            None => complete = false,
        }
    }
    let rest = 1.0 - arms.iter().skip(1).map(|arm| arm.share).sum::<f64>();
    if complete && rest < LEAST_SHARE - 1e-9 {
        let line = tables.last().map_or(1, |(line, _)| *line);
        let left = (rest * 10_000.0).round() / 100.0;
        let what = format!("the first arm has {left} % left");
        reader.problem(line, "arm.share", None, what, "leave it 5 % or more");
    }
    if let Some(first) = arms.first_mut() {
        first.share = rest;
    }
    if let [first, others @ ..] = arms.as_mut_slice() {
        for holdout in others.iter_mut().filter(|arm| arm.is_holdout) {
            holdout.environment = first.environment.clone();
            holdout.knobs = first.knobs.clone();
        }
    }
    if arms.iter().filter(|arm| arm.is_holdout).count() > 1 {
        let line = tables.last().map_or(1, |(line, _)| *line);
        let remedy = "keep one of them";
        reader.problem(
            line,
            "arm.holdout",
            None,
            "two arms have holdout = true",
            remedy,
        );
    }
    (complete && arms.len() >= 2).then_some(arms)
}

fn arm<'t>(
    reader: &mut Reader<'t>,
    table: &DeTable<'t>,
    line: usize,
    is_first: bool,
) -> Option<Arm> {
    let section = "arm.";
    let known = ["name", "share", "holdout", "environment", "set"];
    reader.only(table, section, &known);
    let name = reader.needed(table, (section, line), "name", "give the arm a name");
    let name = name.and_then(|name| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
        let fits = (1..=LONGEST_NAME).contains(&name.text.len()) && name.text.chars().all(plain);
        if !fits {
            let remedy = format!("give up to {LONGEST_NAME} letters, digits, _, . or -");
            reader.wrong(&name, "no name of an arm", remedy);
        }
        fits.then_some(name.text)
    });
    let share = match is_first {
        true => {
            if let Some(share) = reader.text(table, section, "share") {
                reader.wrong(
                    &share,
                    "the first arm has what the others leave",
                    "leave it out",
                );
            }
            Some(0.0)
        }
        false => {
            let share = reader.needed(table, (section, line), "share", "give its share, 5% to 50%");
            share.and_then(|share| reader.percentage(&share, "", (LEAST_SHARE * 100.0, 50.0)))
        }
    };
    let environment = environment(reader, table);
    let knobs = set(reader, table);
    let of_knobs = knobs.variables();
    let twice = environment.keys().find(|variable| {
        // The caller sets it for an allocator.
        let preloads = knobs.allocator().is_some() && *variable == PRELOAD;
        preloads || of_knobs.contains_key(*variable)
    });
    if let Some(variable) = twice {
        let what = format!("{variable} is also what a knob of arm.set sets");
        reader.problem(line, "arm.environment", None, what, "give one of them");
    }
    let is_holdout = holdout(reader, table, is_first);
    let differs = !environment.is_empty() || !knobs.is_empty();
    if is_holdout == Some(true) && differs {
        let what = "a holdout has the settings of the first arm";
        let remedy = "leave out its environment and set";
        reader.problem(line, "arm.holdout", None, what, remedy);
    }
    if !is_first && is_holdout == Some(false) && !differs {
        let remedy =
            "give [arm.environment] or set, or holdout = true for a group that must not differ";
        reader.problem(
            line,
            "arm",
            None,
            "the arm differs in nothing from the first",
            remedy,
        );
    }
    Some(Arm {
        name: name?,
        share: share?,
        environment,
        knobs,
        is_holdout: is_holdout?,
    })
}

/// `None` for a wrong value.
fn holdout<'t>(reader: &mut Reader<'t>, table: &DeTable<'t>, is_first: bool) -> Option<bool> {
    let Some(value) = reader.text(table, "arm.", "holdout") else {
        return Some(false);
    };
    let (what, remedy) = match value.text.as_str() {
        "true" if is_first => (
            "the first arm is what a holdout is compared with",
            "give it to another arm",
        ),
        "true" => return Some(true),
        "false" => return Some(false),
        _ => ("neither true nor false", "give true or false"),
    };
    reader.wrong(&value, what, remedy);
    None
}

fn environment<'t>(reader: &mut Reader<'t>, table: &DeTable<'t>) -> BTreeMap<String, String> {
    let mut environment = BTreeMap::new();
    let Some(section) = reader.table(table, "arm.", "environment") else {
        return environment;
    };
    for (name, value) in section {
        let line = reader.line(&name.span());
        let name = name.get_ref().as_ref();
        let key = format!("arm.environment.{name}");
        let Some(value) = reader.plain(value.get_ref(), line, &key) else {
            continue;
        };
        let (what, remedy) = if !knobs::names_a_variable(name) {
            ("no name of a variable", "use letters, digits and _")
        } else if name.starts_with("POWERBAND_") || OF_AGENT.contains(&name) {
            (
                "the agent needs it",
                "leave it out, or set it for all arms outside of the experiment",
            )
        } else if value.text.contains('\0') {
            ("holds a zero byte", "leave that out")
        } else {
            environment.insert(name.to_owned(), value.text);
            continue;
        };
        reader.problem(line, &key, None, what, remedy);
    }
    environment
}

fn set<'t>(reader: &mut Reader<'t>, table: &DeTable<'t>) -> Overlay {
    let mut overlay = Overlay::default();
    let Some((line, value)) = reader.found(table, "set") else {
        return overlay;
    };
    let DeValue::Array(entries) = value else {
        let remedy = "give a list of texts, such as [\"allocator=jemalloc\"]";
        reader.problem(line, "arm.set", None, "no list", remedy);
        return overlay;
    };
    for entry in entries {
        let line = reader.line(&entry.span());
        let Some(text) = reader.plain(entry.get_ref(), line, "arm.set") else {
            continue;
        };
        knob(reader, &text, &mut overlay);
    }
    for wrong in overlay.contradictions() {
        reader.problem(line, "arm.set", None, wrong.what, wrong.remedy);
    }
    overlay
}

/// Adds a knob of the environment. Those that need a template, another gem or another Ruby are refused.
fn knob(reader: &mut Reader<'_>, text: &Value, overlay: &mut Overlay) {
    let Some((name, value)) = text.text.split_once('=') else {
        reader.wrong(
            text,
            "no knob",
            "write KNOB=VALUE, as powerband compare takes it",
        );
        return;
    };
    let (name, value) = (name.trim(), value.trim());
    let of_environment = knobs::CATALOGUE
        .iter()
        .any(|knob| knob.name == name && knob.place == Place::Environment);
    let composed = [knobs::RUBY, knobs::POOL, "gemfile"].contains(&name);
    if knobs::is_known(name) && (!of_environment || composed) {
        let remedy = "leave it out; variables go into [arm.environment]";
        reader.problem(
            text.line,
            "arm.set",
            Some(name.to_owned()),
            "no knob of the environment",
            remedy,
        );
        return;
    }
    if let Err(wrong) = overlay.set(name, value) {
        reader.wrong(text, wrong.what, wrong.remedy);
    }
}
