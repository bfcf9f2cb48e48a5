//! The tests of `capture` that share one process; those that need a process for themselves are files of `tests/`.

mod any_bytes;
mod capture_file;
mod formats;
mod full_disk;
mod golden;
#[path = "../support/planted.rs"]
mod planted;
mod planted_secrets;
mod recorder;
mod redaction_work;
mod round_trips;
mod secrets;
#[path = "../support/mod.rs"]
mod support;
