//! The tests of `mirror` that share one process; those that need a process for themselves are files of `tests/`.

mod addresses;
mod any;
mod causes;
mod drains;
mod ends;
mod late;
mod raw_bytes;
mod refused;
mod relays;
mod room;
mod splits;
mod streams;
#[path = "../support/mod.rs"]
mod support;
mod tls;
mod unix;
