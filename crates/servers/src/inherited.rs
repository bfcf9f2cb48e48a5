//! The variables of this process, which every process that it starts inherits.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// All of them as text. A byte outside UTF-8 becomes a replacement character: a search for an address or a secret must
/// see the rest of the value.
#[must_use]
pub fn variables() -> BTreeMap<String, String> {
    as_text(std::env::vars_os())
}

pub(crate) fn as_text(
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> BTreeMap<String, String> {
    let text = |of: &OsString| of.to_string_lossy().into_owned();
    let variables = variables.into_iter();
    variables
        .map(|(name, value)| (text(&name), text(&value)))
        .collect()
}
