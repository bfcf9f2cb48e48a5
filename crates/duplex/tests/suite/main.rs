//! The tests of `duplex` that share one process; those that need a process for themselves are files of `tests/`.

mod answers;
mod core_wait;
mod coverage;
mod properties;
mod sample;
#[path = "../support/mod.rs"]
mod support;
mod verdicts;
