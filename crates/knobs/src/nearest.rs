//! A name that nobody knows, and the one that was probably meant.

use crate::Wrong;
use crate::catalogue::CATALOGUE;
use crate::overlay::ENV;

/// Knobs that are no variables: they are set elsewhere, and typed beside the others.
pub const SETTINGS: [&str; 3] = ["threads", "workers", "preload"];

/// What to say of a name that is no knob.
pub fn unknown(name: &str) -> Wrong {
    let what = format!("unknown knob {name:?}");
    let remedy = match nearest(name) {
        Some(meant) => format!("did you mean {meant}?"),
        None => "the knobs are threads, workers, preload, those of docs/knobs.md, and env.NAME for any variable"
            .to_owned(),
    };
    Wrong::new(what, remedy)
}

fn nearest(name: &str) -> Option<String> {
    let name = name.replace('-', "_").to_ascii_lowercase();
    let by_variable = CATALOGUE
        .iter()
        .find(|knob| knob.variable.to_ascii_lowercase() == name);
    if let Some(knob) = by_variable {
        return Some(knob.name.to_owned());
    }
    if let Some(variable) = name.strip_prefix("env_") {
        return Some(format!("{ENV}{}", variable.to_ascii_uppercase()));
    }
    let allowed = (name.len() / 3).clamp(1, 5);
    let named = CATALOGUE.iter().map(|knob| knob.name).chain(SETTINGS);
    named
        .map(|known| {
            // Whoever leaves out `gc.` has misspelt nothing else.
            let whole = distance(&name, known);
            let short = known
                .strip_prefix("gc.")
                .map_or(whole, |rest| distance(&name, rest));
            (whole.min(short), known)
        })
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, known)| known.to_owned())
}

/// Letters to change, to add or to take away (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, a) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = line + 1;
        for (column, b) in other.iter().enumerate() {
            let changed = diagonal + usize::from(a != *b);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_are_named() {
        for (typed, meant) in [
            ("gc.malloc-limit", "gc.malloc_limit"),
            ("malloc_limit", "gc.malloc_limit"),
            ("gc.heap_grow_factor", "gc.heap_growth_factor"),
            ("RUBY_GC_OLDMALLOC_LIMIT", "gc.oldmalloc_limit"),
            ("alocator", "allocator"),
            ("worker", "workers"),
        ] {
            let remedy = unknown(typed).remedy;
            assert!(remedy.contains(&format!(" {meant}?")), "{typed}: {remedy}");
        }
        assert!(unknown("turbo").remedy.contains("docs/knobs.md"));
    }

    #[test]
    fn distances_are_levenshteins() {
        for (one, other, expected) in [
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("same", "same", 0),
        ] {
            assert_eq!(distance(one, other), expected);
        }
    }
}
