//! What the threads of several processes did, side by side: events in, a file for Perfetto or a picture out. And which call
//! sites' objects survive: recordings in, flame graphs and advice out.
//!
//! [`timeline`] turns one process's events into slices that nest; [`write_chrome`] and [`picture`] show those of all. [`sites()`]
//! puts recordings of survivors together; [`write_speedscope`] and [`write_folded`] show them, [`advice()`] says what to change.
//! Where events come from is `flight`'s business, where the bytes go `cli`'s.

mod advice;
mod chrome;
mod flame;
mod picture;
mod stack;
mod survivors;
mod timeline;

pub use advice::{Change, advice, is_negligible};
pub use chrome::write_chrome;
pub use flame::{write_folded, write_speedscope};
pub use picture::picture;
pub use stack::{Slice, What};
pub use survivors::{Fate, Line, Sites, sites};
pub use timeline::{Origin, ProcessTimeline, ThreadTimeline, Waiting, timeline};
