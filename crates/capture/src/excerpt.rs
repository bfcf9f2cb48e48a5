//! A part of what is wrong, for a message.

/// The first 60 characters of the first line.
pub(crate) fn excerpt(text: &[u8]) -> String {
    let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let text = String::from_utf8_lossy(&line[..line.len().min(240)]).into_owned();
    if text.chars().count() > 60 {
        text.chars().take(60).chain(['…']).collect()
    } else {
        text
    }
}
