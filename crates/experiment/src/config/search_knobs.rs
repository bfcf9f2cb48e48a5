//! The knobs that `tune` searches in addition to workers, threads and preloading: `KNOB=V1,V2,…`, or
//! `usual`.

use super::{Asked, Problem};
use crate::request::{Goal, SearchKnob};
use knobs::{Allocator, Overlay};

/// The word for those that are worth a try on most applications.
const USUAL: &str = "usual";

/// What `usual` stands for, in addition to every installed allocator.
const USUALLY: [(&str, &str); 5] = [
    ("malloc_arena_max", "2"),
    ("gc.malloc_limit_max", "128MiB"),
    ("gc.oldmalloc_limit_max", "256MiB"),
    ("gc.heap_free_slots_goal_ratio", "0.6"),
    ("warmup", "on"),
];

/// The knobs with their values, each knob once.
pub fn resolve(asked: &[Asked], goal: &Goal) -> Result<Vec<SearchKnob>, Vec<Problem>> {
    let (mut knobs, mut problems) = (Vec::<SearchKnob>::new(), Vec::new());
    let mut named = Vec::new();
    if let (Some(first), Goal::Arms { .. }) = (asked.first(), goal) {
        problems.push(Problem::of(
            first,
            "compare and sweep search nothing",
            "leave it out, or run powerband tune",
        ));
    }
    for one in asked {
        if one.text.trim() == USUAL {
            let others = usual().into_iter();
            let others: Vec<SearchKnob> = others.filter(|k| !named.contains(&k.name)).collect();
            knobs.retain(|k| !others.iter().any(|other| other.name == k.name));
            knobs.extend(others);
            continue;
        }
        match knob(one) {
            Ok(knob) if named.contains(&knob.name) => problems.push(Problem::of(
                &Asked::new(knobs::masked(&one.text), one.origin.clone()),
                format_args!("{} is named twice", knob.name),
                "give all of its values at once",
            )),
            Ok(knob) => {
                // What was named wins over what is usual.
                knobs.retain(|k| k.name != knob.name);
                named.push(knob.name.clone());
                knobs.push(knob);
            }
            Err(found) => problems.extend(found),
        }
    }
    if problems.is_empty() {
        Ok(knobs)
    } else {
        Err(problems)
    }
}

fn knob(asked: &Asked) -> Result<SearchKnob, Vec<Problem>> {
    let shown = Asked::new(knobs::masked(&asked.text), asked.origin.clone());
    let problem = |what: &str, remedy: &str| vec![Problem::of(&shown, what, remedy)];
    let Some((name, values)) = asked.text.split_once('=') else {
        return Err(problem(
            "no values",
            "write KNOB=VALUE, such as malloc_arena_max=2, or usual",
        ));
    };
    let name = name.trim();
    if knobs::SETTINGS.contains(&name) {
        return Err(problem(
            "it is searched in any case",
            "give its values with --threads or --workers",
        ));
    }
    let mut wrong = Vec::new();
    let values = knobs::values(values);
    let mut seen = Vec::new();
    for value in &values {
        match Overlay::of(&[(name, value)]) {
            Err(found) => wrong.push(Problem::of(&shown, found.what, found.remedy)),
            Ok(alone) if seen.contains(&alone) => wrong.push(Problem::of(
                &shown,
                "one of its values is there twice",
                "give each value once",
            )),
            Ok(alone) => seen.push(alone),
        }
    }
    if values.is_empty() {
        return Err(problem(
            "no values",
            "write KNOB=VALUE, such as malloc_arena_max=2",
        ));
    }
    match wrong.is_empty() {
        true => Ok(SearchKnob {
            name: name.to_owned(),
            values,
            usual: false,
        }),
        false => Err(wrong),
    }
}

fn usual() -> Vec<SearchKnob> {
    let installed = Allocator::ALL
        .into_iter()
        .filter(|a| *a != Allocator::Glibc && servers::library(a.libraries()).is_some())
        .map(|a| a.name().to_owned())
        .collect::<Vec<_>>();
    let knob = |name: &str, values| SearchKnob {
        name: name.to_owned(),
        values,
        usual: true,
    };
    let fixed = USUALLY.map(|(name, value)| knob(name, vec![value.to_owned()]));
    let allocators = (!installed.is_empty()).then(|| knob("allocator", installed));
    fixed.into_iter().chain(allocators).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(texts: &[&str]) -> Result<Vec<SearchKnob>, String> {
        let asked: Vec<Asked> = texts.iter().map(|t| Asked::new(*t, "--knobs")).collect();
        resolve(&asked, &Goal::Tune).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            lines.join("\n")
        })
    }

    #[test]
    fn what_was_named_wins_over_what_is_usual() {
        let knobs = resolved(&["usual", "malloc_arena_max=1,2", "yjit=on"]).unwrap();
        let arenas = knobs.iter().find(|k| k.name == "malloc_arena_max").unwrap();
        assert_eq!(arenas.values, ["1", "2"]);
        assert!(knobs.iter().any(|k| k.name == "warmup"));
        assert_eq!(knobs.last().unwrap().name, "yjit");
        for twice in [&["yjit=on,true"][..], &["pool=1", "pool=2"]] {
            assert!(resolved(twice).unwrap_err().contains("twice"), "{twice:?}");
        }
    }

    #[test]
    fn every_usual_knob_takes_its_value() {
        for knob in usual() {
            for value in knob.values {
                Overlay::of(&[(&knob.name, &value)]).unwrap();
            }
        }
    }

    #[test]
    fn everything_wrong_is_reported_without_secrets() {
        let said = resolved(&[
            "threads=2",
            "yjit",
            "gc.malloc_limt=1MiB",
            "env.API_KEY2=x,env.PORT",
        ])
        .unwrap_err();
        for words in ["--threads", "no values", "did you mean gc.malloc_limit?"] {
            assert!(said.contains(words), "{words} is missing in {said}");
        }
        let said = resolved(&["env.PORT_TOKEN_=hunter2", "env.PORT=hunter2"]).unwrap_err();
        assert!(!said.contains("TOKEN_=hunter2"), "{said}");
    }
}
