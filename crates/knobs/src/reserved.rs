//! Variables that `env.NAME` may not set, and what does instead.

use crate::Wrong;
use crate::catalogue::CATALOGUE;
use crate::knob::Place;

/// Those that Powerband or the way in which it starts the server sets itself.
const OURS: [(&str, &str); 9] = [
    ("PORT", "give --port"),
    ("RAILS_MAX_THREADS", "set the knob threads"),
    ("RAILS_MIN_THREADS", "set the knob threads"),
    ("WEB_CONCURRENCY", "set the knob workers"),
    ("RAILS_ENV", "give --environment"),
    ("RACK_ENV", "give --environment"),
    (
        "RUBYOPT",
        "leave it out: the agent comes into the server by it",
    ),
    (
        "RUBYLIB",
        "leave it out: the agent comes into the server by it",
    ),
    ("PATH", "set it for the whole run with --env"),
];

/// Whether every shell takes this as the name of a variable.
pub fn names_a_variable(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether `env.NAME` may set the variable.
pub(crate) fn allowed(variable: &str) -> Result<(), Wrong> {
    if !names_a_variable(variable) {
        return Err(Wrong::new(
            format!("{variable:?} is no name of a variable"),
            "write env.NAME=value, with letters, digits and _ in the name",
        ));
    }
    if let Some((name, remedy)) = OURS.iter().find(|(name, _)| *name == variable) {
        return Err(Wrong::new(format!("Powerband sets {name} itself"), *remedy));
    }
    if variable.starts_with("POWERBAND_") {
        return Err(Wrong::new(
            format!("{variable} is Powerband's own"),
            "set it for the whole run with --env, if it is the agent's",
        ));
    }
    // Checked values, their units and what Ruby makes of them are worth having.
    let knob = CATALOGUE.iter().find(|knob| {
        let there = knob.place == Place::Environment && knob.variable == variable;
        there && knob.name != "allocator"
    });
    match knob {
        Some(knob) => Err(Wrong::new(
            format!("{variable} has a knob of its own"),
            format!("set {}, to {}", knob.name, knob.takes()),
        )),
        None => Ok(()),
    }
}

/// Placeholders that have a meaning of their own.
const FILLED: [&str; 6] = ["port", "threads", "workers", "config", "template", "dir"];

/// Whether `value.NAME` may fill the placeholder `{NAME}`.
pub(crate) fn placeholder(name: &str) -> Result<(), Wrong> {
    let spelt = !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    if !spelt {
        return Err(Wrong::new(
            format!("{name:?} is no name of a placeholder"),
            "write value.NAME=text and {NAME} where it goes, with small letters, digits and _ in the name",
        ));
    }
    if FILLED.contains(&name) {
        return Err(Wrong::new(
            format!("Powerband fills {{{name}}} itself"),
            "take another name",
        ));
    }
    Ok(())
}

/// Whether `gem.NAME` may set the version of that gem.
pub(crate) fn gem(name: &str) -> Result<(), Wrong> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
    if !begins || !name.chars().all(plain) {
        return Err(Wrong::new(
            format!("{name:?} is no name of a gem"),
            "write gem.NAME=VERSION, such as gem.rack=3.1",
        ));
    }
    if name == "powerband" {
        return Err(Wrong::new(
            "the agent is the one of this powerband in every configuration",
            "leave it out",
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_spelt_like_variables_of_ruby() {
        assert!(placeholder("shared_buffers").is_ok());
        for (name, said) in [("port", "itself"), ("", "letters"), ("A}", "letters")] {
            let message = placeholder(name).unwrap_err().to_string();
            assert!(message.contains(said), "{name}: {message}");
        }
    }

    #[test]
    fn what_is_not_the_users_to_set_is_reported_with_what_is() {
        for (name, said) in [
            ("PORT", "--port"),
            ("WEB_CONCURRENCY", "workers"),
            ("RUBYOPT", "agent"),
            ("POWERBAND_DIR", "own"),
            ("RUBY_GC_MALLOC_LIMIT", "gc.malloc_limit"),
            ("A-B", "letters"),
            ("", "letters"),
        ] {
            let message = allowed(name).unwrap_err().to_string();
            assert!(message.contains(said), "{name}: {message}");
        }
        for name in [
            "DATABASE_URL",
            "RUBY_GC_HEAP_7_INIT_SLOTS",
            "LD_PRELOAD",
            "keepalive",
        ] {
            assert!(allowed(name).is_ok(), "{name}");
        }
    }
}
