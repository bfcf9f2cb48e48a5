//! The tests of `knobs` that share one process; those that need a process for themselves are files of `tests/`.

mod any_value;
mod page;
mod ruby;
