//! The owner of the next request.

/// Of whom an arrival is the next request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Turn {
    Request(usize),
    User(usize),
    /// A recorded connection's, and which request it is.
    Lane(u32, usize),
}
