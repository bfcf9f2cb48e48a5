//! What servers do now: two readings of their flight files in, a window of figures and its picture out.
//!
//! [`Reader`] reads files and `/proc`, [`Window::between`] takes the difference of two readings, [`diagnosis`] says
//! where request time goes. [`View::draw`] draws it all and [`plain`] makes text of the same picture. The terminal and the
//! clock are the caller's.

mod diagnosis;
mod draw;
mod plain;
mod reading;
#[cfg(test)]
mod samples;
mod stragglers;
mod table;
mod view;
mod window;

pub use diagnosis::diagnosis;
pub use plain::plain;
pub use reading::{Process, Reader, Reading};
pub use stragglers::stragglers;
pub use view::{Action, Tab, View};
pub use window::{EndpointRow, ProcessRow, Window};
