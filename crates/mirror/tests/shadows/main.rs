//! The shadows' half over real sockets.

mod ends;
mod failures;
mod room;
mod scripted;
mod sending;
mod sessions;
