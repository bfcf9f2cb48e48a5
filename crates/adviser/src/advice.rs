//! The checks in their order, and what came of each.

use crate::looked::{Change, Checked, Looked};
use crate::rules::{boot, growth, majors, malloc, processes};
use crate::seen::Seen;
use knobs::Overlay;
use run::advise::{Left, NotKnown, Suggestion};

/// What all checks say.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Advice {
    pub suggestions: Vec<Suggestion>,
    pub left: Vec<Left>,
    pub not_known: Vec<NotKnown>,
}

type Check = fn(&Seen) -> Checked;

/// docs/advise.md describes each.
const CHECKS: [(&str, Check); 13] = [
    ("malloc limit", malloc::young),
    ("oldmalloc limit", malloc::old),
    ("old objects", majors::old_objects),
    ("write barriers", majors::write_barriers),
    ("out of band", majors::out_of_band),
    ("heap at boot", boot::heap_at_boot),
    ("heap growth", growth::heap_growth),
    ("preloading", processes::preloading),
    ("warm-up before fork", processes::warm_up),
    ("reforking", processes::reforking),
    ("malloc arenas", processes::arenas),
    ("allocator", processes::allocator),
    ("YJIT", processes::yjit),
];

/// The names of all checks, in their order.
pub fn checks() -> impl Iterator<Item = &'static str> {
    CHECKS.iter().map(|(name, _)| *name)
}

/// Makes these checks, or all where none is named.
#[must_use]
pub fn advise(seen: &Seen, only: &[String]) -> Advice {
    let mut advice = Advice::default();
    let named = |name: &str| only.is_empty() || only.iter().any(|one| one == name);
    for (name, check) in CHECKS.into_iter().filter(|(name, _)| named(name)) {
        let check_name = name.to_owned();
        match check(seen) {
            Ok(Looked::Suggest(change)) => advice.suggestions.push(suggestion(check_name, change)),
            Ok(Looked::Leave(evidence)) => advice.left.push(Left {
                check: check_name,
                evidence,
            }),
            Err(why) => advice.not_known.push(NotKnown {
                check: check_name,
                why,
            }),
        }
    }
    advice
}

fn suggestion(check: String, change: Change) -> Suggestion {
    // `preload` is no knob of the catalogue, and no variable.
    let of_catalogue = change
        .settings
        .iter()
        .filter(|(name, _)| knobs::find(name).is_some());
    let of_catalogue: Vec<(&str, &str)> = of_catalogue.map(|(k, v)| (*k, v.as_str())).collect();
    let variables = Overlay::of(&of_catalogue).map(|overlay| overlay.variables());
    Suggestion {
        check,
        variables: variables.unwrap_or_default(),
        settings: change
            .settings
            .into_iter()
            .map(|(knob, value)| (knob.to_owned(), value))
            .collect(),
        evidence: change.evidence,
        effect: change.effect,
        cost: change.cost.to_owned(),
    }
}
