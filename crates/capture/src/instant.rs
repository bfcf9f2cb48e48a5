//! Points in time as logs write them -> nanoseconds since 1970.

use jiff::Timestamp;
use jiff::fmt::strtime;

/// `21/Nov/2026:12:45:58 +0100`: nginx's `$time_local` and Apache's `%t`.
pub(crate) fn of_log(text: &str) -> Option<i128> {
    strtime::parse("%d/%b/%Y:%H:%M:%S %z", text)
        .and_then(|parsed| parsed.to_timestamp())
        .ok()
        .map(Timestamp::as_nanosecond)
}

/// RFC 3339 and what else of ISO 8601 names an instant.
pub(crate) fn of_iso(text: &str) -> Option<i128> {
    text.parse::<Timestamp>().ok().map(Timestamp::as_nanosecond)
}

/// Unix time in seconds, ms, µs or ns, distinguished by size, which is certain
/// from 1973 to 5138. A float holds today's seconds to the microsecond.
pub(crate) fn of_number(number: f64) -> Option<i128> {
    let to_us = match number.abs() {
        size if size < 1e11 => 1e6,
        size if size < 1e14 => 1e3,
        size if size < 1e17 => 1.0,
        size if size < 9e18 => 1e-3,
        _ => return None,
    };
    #[allow(clippy::cast_possible_truncation)]
    Some((number * to_us).round() as i128 * 1_000)
}

/// Any of these.
pub(crate) fn of_text(text: &str) -> Option<i128> {
    match text.parse::<f64>() {
        Ok(number) => of_number(number),
        Err(_) => of_iso(text).or_else(|| of_log(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_instant_in_every_notation() {
        let instant = 1_795_265_158_250_000_000;
        for text in [
            "2026-11-21T12:45:58.250Z",
            "2026-11-21T13:45:58.25+01:00",
            "2026-11-21T13:45:58.25+0100",
            "2026-11-21 12:45:58.250Z",
            "1795265158.250",
            "1795265158250",
            "1795265158250000",
            "1795265158250000000",
        ] {
            assert_eq!(of_text(text), Some(instant), "{text}");
        }
        let second = Some(1_795_265_158_000_000_000);
        assert_eq!(of_text("21/Nov/2026:13:45:58 +0100"), second);
        assert_eq!(of_text("2026-11-21T12:45:58Z"), second);
    }

    #[test]
    fn what_names_no_instant_is_none() {
        for text in [
            "",
            "-",
            "yesterday",
            "nan",
            "inf",
            "1e300",
            "12:45:58",
            "2026-11-21T12:45:58",
        ] {
            assert_eq!(of_text(text), None, "{text}");
        }
    }
}
