//! The tests of `host` that share one process; those that need a process for themselves are files of `tests/`.

mod doctor;
mod limits;
mod parsers;
mod pod;
#[path = "../support/mod.rs"]
mod support;
mod trees;
