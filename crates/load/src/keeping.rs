//! An answer that is kept: its head and the beginning of its body.

/// Most bytes that are kept of one body.
pub const KEEP_LIMIT: usize = 1024 * 1024;

/// Where an answer is kept.
#[derive(Debug, Default)]
pub(crate) struct Keeping {
    pub(crate) head: Vec<u8>,
    /// `None`: the head alone is wanted.
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) cut: bool,
}

impl Keeping {
    pub(crate) fn body(&mut self, bytes: &[u8]) {
        if let Some(body) = &mut self.body {
            let take = bytes.len().min(KEEP_LIMIT - body.len());
            body.extend_from_slice(&bytes[..take]);
            self.cut |= take < bytes.len();
        }
    }
}
