//! The tests of `experiment` that share one process; those that need a process for themselves are files of `tests/`.

mod configuration_page;
mod editor_schema;
mod recordings;
