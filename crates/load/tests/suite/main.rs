//! The tests of `load` that share one process; those that need a process for themselves are files of `tests/`.

mod connections;
mod failures;
mod https;
mod loops;
#[path = "../support/measured.rs"]
mod measured;
mod measures;
mod parser;
mod recorded;
mod recorded_statuses;
mod schedules;
mod sessions;
mod stalls;
mod sum;
#[path = "../support/mod.rs"]
mod support;
mod tls;
mod unix;
mod workload;
mod wrong_user;
