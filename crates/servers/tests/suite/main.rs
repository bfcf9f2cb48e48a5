//! The tests of `servers` that share one process; those that need a process for themselves are files of `tests/`.

mod custom;
mod falcon;
mod lost_ports;
mod nginx;
mod nothing_left;
mod passenger;
mod pitchfork;
mod processes;
mod puma;
#[path = "../support/mod.rs"]
mod support;
mod unicorn;
