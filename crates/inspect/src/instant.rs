//! Instants and names as text.

/// Nanoseconds since 1970 as RFC 3339, to the millisecond; empty beyond the year 9999.
pub fn rfc3339(unix_ns: u64) -> String {
    jiff::Timestamp::from_millisecond((unix_ns / 1_000_000) as i64)
        .map(|at| at.to_string())
        .unwrap_or_default()
}

/// A name without control characters for a terminal: clients may choose it.
pub fn printable(name: &str) -> String {
    name.replace(char::is_control, "\u{FFFD}")
}
