//! The tests of `advice` that share one process; those that need a process for themselves are files of `tests/`.

mod any_file;
mod programs;
#[path = "../support/mod.rs"]
mod support;
