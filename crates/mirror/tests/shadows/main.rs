//! The shadows' half over real sockets.

mod behind_proxy;
mod ends;
mod failures;
mod room;
mod scripted;
mod sending;
mod sessions;
#[path = "../support/mod.rs"]
mod support;
