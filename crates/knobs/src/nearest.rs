//! An unknown name, and the one that was probably meant.

use crate::Wrong;
use crate::catalogue::CATALOGUE;
use crate::names::ENV;

/// Knobs that are no variables: they are set elsewhere, and typed along with the others.
pub const SETTINGS: [&str; 3] = ["threads", "workers", "preload"];

/// What to say of a name that is no knob.
pub fn unknown(name: &str) -> Wrong {
    let what = format!("unknown knob {name:?}");
    let remedy = match nearest(name) {
        Some(meant) => format!("did you mean {meant}?"),
        None => "the knobs are threads, workers, preload, those of docs/knobs.md, env.NAME for any variable, and gem.NAME for a gem's \
                 version"
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
    // A name without its `gc.` is complete otherwise.
    let without_section = |known: &'static str| known.strip_prefix("gc.").map(|rest| (rest, known));
    let knobs = CATALOGUE.iter().map(|knob| knob.name).chain(SETTINGS);
    let spelled =
        knobs.flat_map(|known| std::iter::once((known, known)).chain(without_section(known)));
    nearest_of(&name, spelled).map(str::to_owned)
}

/// The known name that was probably meant by one that is not known: the closest that differs from it in at most a third of its
/// letters. Each candidate is a spelling with the name that it stands for.
pub fn nearest_of<'a, T>(
    typed: &str,
    candidates: impl IntoIterator<Item = (&'a str, T)>,
) -> Option<T> {
    let allowed = (typed.len() / 3).clamp(1, 5);
    candidates
        .into_iter()
        .map(|(spelling, name)| (strsim::osa_distance(typed, spelling), name))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
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
}
