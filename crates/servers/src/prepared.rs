//! What is to be executed for a server of any kind, with its files written.

use std::collections::BTreeMap;

use crate::guard::Remove;
use crate::handle::Handle;

#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) words: Vec<String>,
    /// On top of powerband's own.
    pub(crate) env: BTreeMap<String, String>,
    /// What must not outlive the server.
    pub(crate) remove: Remove,
    pub(crate) handle: Box<dyn Handle>,
}
