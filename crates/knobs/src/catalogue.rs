//! The knobs that there are.

mod allocators;
mod process;
mod programs;
mod ruby;

use crate::knob::{Kind, Knob};
pub use process::SETUP;
use std::sync::LazyLock;

/// All of them, in the order in which the page shows them.
pub static CATALOGUE: LazyLock<Vec<Knob>> = LazyLock::new(|| {
    [
        allocators::KNOBS,
        ruby::KNOBS,
        process::KNOBS,
        programs::KNOBS,
    ]
    .concat()
});

/// The knob of that name.
pub fn find(name: &str) -> Option<&'static Knob> {
    CATALOGUE.iter().find(|knob| knob.name == name)
}

/// Whether a knob's value is free text, so that it may be a secret.
pub(crate) fn is_free(name: &str) -> bool {
    find(name).is_none_or(|knob| knob.kind == Kind::Text)
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
