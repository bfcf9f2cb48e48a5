//! The tests of `flight` that share one process; those that need a process for themselves are files of `tests/`.

mod bursts_sum_up;
mod changing;
mod files;
mod golden;
mod golden_collections;
mod golden_events;
mod golden_survivors;
mod hostile;
mod hostile_events;
#[path = "../support/mod.rs"]
mod support;
