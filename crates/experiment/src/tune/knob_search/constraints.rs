//! Which values mean nothing with which others, and which give others their meaning.

use crate::arm_environment::RejectedValue;
use crate::request::SearchKnob;
use crate::server_kind::ServerKind;
use knobs::{Allocator, Overlay};
use search::Forbidden;

/// The settings are the first factors, in this order.
pub const WORKERS: usize = 0;
pub const THREADS: usize = 1;
pub const PRELOAD: usize = 2;
pub const SETTINGS: usize = 3;

/// Whether it is the allocator, of which some are the options, or the Ruby, which may not take all of the others.
pub fn gives_others_their_meaning(knob: &str) -> bool {
    ["allocator", knobs::RUBY].contains(&knob)
}

/// Single mode has nothing to preload, and some values mean nothing with others, or are not taken by every Ruby.
pub fn forbidden(
    workers: &[u16],
    knobs: &[SearchKnob],
    apart: &[RejectedValue],
    todays: Option<Allocator>,
) -> Vec<Forbidden> {
    let single = workers.iter().position(|workers| *workers == 0);
    let single = single.map(|single| Forbidden(vec![(WORKERS, single), (PRELOAD, 1)]));
    let mut forbidden: Vec<Forbidden> = single.into_iter().collect();
    forbidden.extend(without_their_allocator(knobs, todays));
    forbidden.extend(apart.iter().filter_map(|apart| not_in_a_ruby(knobs, apart)));
    for (one, first) in knobs.iter().enumerate() {
        for (other, second) in knobs.iter().enumerate().skip(one + 1) {
            for (i, a) in first.values.iter().enumerate() {
                for (j, b) in second.values.iter().enumerate() {
                    let both = Overlay::of(&[(&first.name, a), (&second.name, b)]);
                    if both.is_ok_and(|both| both.contradictions().is_empty()) {
                        continue;
                    }
                    forbidden.push(Forbidden(vec![
                        (SETTINGS + one, i + 1),
                        (SETTINGS + other, j + 1),
                    ]));
                }
            }
        }
    }
    forbidden
}

/// The value of preloading that a server never has, where it leaves no choice.
pub fn without_choice(kind: ServerKind) -> Option<Forbidden> {
    let always = kind.preloads()?;
    Some(Forbidden(vec![(PRELOAD, usize::from(!always))]))
}

/// The knobs without the values that no Ruby of the search takes.
pub fn taken_by_a_ruby(mut knobs: Vec<SearchKnob>, apart: &[RejectedValue]) -> Vec<SearchKnob> {
    let named = knobs.iter().find(|knob| knob.name == knobs::RUBY);
    let rubies = 1 + named.map_or(0, |knob| knob.values.len());
    for knob in &mut knobs {
        let rejected = |value: &String| {
            let by = |apart: &&RejectedValue| apart.knob == knob.name && apart.value == *value;
            apart.iter().filter(by).count() == rubies
        };
        knob.values.retain(|value| !rejected(value));
    }
    knobs.retain(|knob| !knob.values.is_empty());
    knobs
}

/// The value with the Ruby that does not take it.
fn not_in_a_ruby(knobs: &[SearchKnob], apart: &RejectedValue) -> Option<Forbidden> {
    let factor = |name: &str| knobs.iter().position(|knob| knob.name == name);
    let level = |at: usize, value: &String| knobs[at].values.iter().position(|v| v == value);
    let (ruby, knob) = (factor(knobs::RUBY)?, factor(&apart.knob)?);
    let runs = match &apart.ruby {
        None => 0,
        Some(named) => level(ruby, named)? + 1,
    };
    let value = level(knob, &apart.value)? + 1;
    Some(Forbidden(vec![
        (SETTINGS + ruby, runs),
        (SETTINGS + knob, value),
    ]))
}

/// Options of an allocator that does not run today mean nothing where none is chosen. `todays`: the one that the baseline names.
fn without_their_allocator(knobs: &[SearchKnob], todays: Option<Allocator>) -> Vec<Forbidden> {
    let allocator = knobs.iter().position(|knob| knob.name == "allocator");
    let needs = |name: &str, value: &str| {
        let alone = Overlay::of(&[(name, value)]).ok()?;
        alone
            .needs()
            .filter(|(_, whose)| *whose != Allocator::Glibc && Some(*whose) != todays)
    };
    let mut forbidden = Vec::new();
    for (at, knob) in knobs.iter().enumerate() {
        for (level, value) in knob.values.iter().enumerate() {
            if knob.name == "allocator" || needs(&knob.name, value).is_none() {
                continue;
            }
            let mut together = vec![(SETTINGS + at, level + 1)];
            together.extend(allocator.map(|at| (SETTINGS + at, 0)));
            forbidden.push(Forbidden(together));
        }
    }
    forbidden
}
