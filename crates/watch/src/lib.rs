//! What servers do now: two readings of their flight files in, a window of figures and its picture out.
//!
//! [`Reader`] reads files and `/proc`, [`Window::between`] takes the difference of two readings, and [`Seen`] keeps what
//! the last minutes were like. [`View::draw`] draws it and says where request time goes, [`plain()`] makes text of the same
//! picture. For browsers, [`Looks`] keeps what each looks
//! at and gives it as a [`Picture`]. Terminal, listener and clock are the caller's.

mod course;
mod detail;
mod diagnosis;
mod draw;
mod head;
mod history;
mod look;
mod looks;
mod part;
mod picture;
mod plain;
mod process_row;
mod reading;
#[cfg(test)]
mod samples;
mod seen;
mod slow;
mod stragglers;
mod subject;
mod table;
mod view;
mod window;

pub use looks::{Looks, TooMany};
pub use picture::Picture;
pub use plain::{plain, plain_detail};
pub use reading::{Reader, Reading};
pub use seen::Seen;
pub use subject::Subject;
pub use view::{Action, View};
pub use window::Window;
