//! What servers do now: two readings of their flight files in, a window of figures and its picture out.
//!
//! [`Reader`] reads files and `/proc`, [`Window::between`] takes the difference of two readings, [`View::draw`]
//! draws it and says where request time goes, and [`plain()`] makes text of the same picture. The terminal and the
//! clock are the caller's.

mod diagnosis;
mod draw;
mod plain;
mod process_row;
mod reading;
#[cfg(test)]
mod samples;
mod stragglers;
mod table;
mod view;
mod window;

pub use plain::plain;
pub use reading::{Reader, Reading};
pub use view::{Action, View};
pub use window::Window;
