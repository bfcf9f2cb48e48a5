//! The knobs that there are.

mod allocators;
mod pod;
mod process;
mod programs;
mod ruby;

use crate::knob::{Kind, Knob};
use crate::names::{ENV, GEM, PUMA, RUBY, VALUE};
pub use process::SETUP;
use std::sync::LazyLock;

/// All of them, in the order in which the page shows them.
pub static CATALOGUE: LazyLock<Vec<Knob>> = LazyLock::new(|| {
    [
        allocators::KNOBS,
        ruby::KNOBS,
        process::KNOBS,
        programs::KNOBS,
        pod::KNOBS,
    ]
    .concat()
});

/// The knob of that name.
pub fn find(name: &str) -> Option<&'static Knob> {
    CATALOGUE.iter().find(|knob| knob.name == name)
}

/// Whether there is a knob of that name: of the catalogue, or one with a name after a prefix.
pub fn is_known(name: &str) -> bool {
    let prefixes = [ENV, VALUE, GEM];
    name == PUMA || prefixes.iter().any(|prefix| name.starts_with(prefix)) || find(name).is_some()
}

/// Whether what a knob takes is, or can be, a version.
pub fn is_version(name: &str) -> bool {
    name == RUBY || name == PUMA || name.starts_with(GEM)
}

/// Whether a knob takes several numbers.
pub(crate) fn is_list(name: &str) -> bool {
    find(name).is_some_and(|knob| matches!(knob.kind, Kind::Counts { .. }))
}

/// Whether a knob's value is free text, so that it may be a secret.
pub(crate) fn is_free(name: &str) -> bool {
    match find(name) {
        Some(knob) => knob.kind == Kind::Text,
        None => name != PUMA && !name.starts_with(GEM),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, Value};

    #[test]
    fn names_and_variables_are_there_once() {
        for (index, knob) in CATALOGUE.iter().enumerate() {
            let before = &CATALOGUE[..index];
            assert!(
                before
                    .iter()
                    .all(|k| k.name != knob.name && k.variable != knob.variable),
                "{}",
                knob.name
            );
        }
    }

    #[test]
    fn every_allocator_that_can_be_named_is_one() {
        let Kind::OneOf(names) = find("allocator").unwrap().kind else {
            panic!("another kind of knob");
        };
        for name in names {
            assert!(crate::Allocator::named(name).is_some(), "{name}");
        }
    }

    #[test]
    fn every_example_is_taken_and_comes_back_as_it_was_typed() {
        for knob in CATALOGUE.iter() {
            let value = Value::parse(knob, knob.example).unwrap();
            assert_eq!(value.typed, knob.example, "{}", knob.name);
        }
    }
}
