//! The memory of servers over a time: process trees and flight files in, a memory document out.
//!
//! [`Reader`] reads `/proc` and flight files again and again, [`Recorded`] keeps what it read, [`document`] makes the document of it,
//! and [`compared`] compares two. All but the reader and [`Watched`] is pure. Clock, sleeping and words for people are the caller's.

mod compare;
mod document;
mod judged;
mod make_up;
mod pace;
mod reader;
mod recorded;
mod watched;

pub use compare::{Incomparable, compared};
pub use document::{Asked, document};
pub use reader::{ProcessReading, Reader, Reading};
pub use recorded::Recorded;
pub use watched::{NothingWatched, Watched};
