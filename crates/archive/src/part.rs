//! A file before it has its name.

use jiff::civil::Date;
use jiff::{Timestamp, tz::TimeZone};

/// A file to be.
#[derive(Debug)]
pub struct Part {
    pub table: &'static str,
    pub day: Date,
    pub bytes: Vec<u8>,
}

/// The day in UTC of a Unix time in microseconds.
pub(crate) fn day_of(at_us: i64) -> Date {
    let at = Timestamp::from_microsecond(at_us).unwrap_or(Timestamp::UNIX_EPOCH);
    at.to_zoned(TimeZone::UTC).date()
}
