//! Values of an experiment file: durations, shares, instants, numbers.

use super::reader::{Reader, Value};
use jiff::Timestamp;

impl Reader<'_> {
    /// `6h`, in whole seconds.
    pub(super) fn duration(&mut self, value: &Value) -> Option<i64> {
        let remedy = "give whole seconds or more with a unit, such as 30s, 5m, 6h or 14d";
        if value.text.trim().parse::<f64>().is_ok() {
            self.wrong(value, "a time without a unit", remedy);
            return None;
        }
        match humantime::parse_duration(value.text.trim()) {
            Ok(time) if time.subsec_nanos() == 0 && (1..=MOST_S).contains(&time.as_secs()) => {
                Some(time.as_secs() as i64)
            }
            Ok(_) => {
                self.wrong(
                    value,
                    "not from one second to a year in whole seconds",
                    remedy,
                );
                None
            }
            Err(error) => {
                self.wrong(value, error.to_string(), remedy);
                None
            }
        }
    }

    /// `20%` as 0.2, between two limits in per cent; an increase has the sign `+` before it.
    pub(super) fn percentage(
        &mut self,
        value: &Value,
        sign: &str,
        (least, most): (f64, f64),
    ) -> Option<f64> {
        let remedy = format!(
            "give {sign}{least}% to {sign}{most}%, such as {sign}{}%",
            (least.max(1.0) * 2.0).min(most)
        );
        let text = value.text.trim().strip_prefix(sign);
        let number = text
            .and_then(|text| text.strip_suffix('%'))
            .map(|text| text.trim().parse::<f64>());
        let Some(Ok(number)) = number else {
            let what = if sign.is_empty() {
                "no share in per cent"
            } else {
                "no increase in per cent"
            };
            self.wrong(value, what, remedy);
            return None;
        };
        if (least..=most).contains(&number) {
            // A hundredth of a per cent is fine enough, and the same number on every machine.
            return Some((number * 100.0).round() / 10_000.0);
        }
        self.wrong(value, "out of range", remedy);
        None
    }

    /// An instant with its offset, in whole seconds.
    pub(super) fn instant(&mut self, value: &Value) -> Option<i64> {
        let parsed: Result<Timestamp, _> = value.text.trim().parse();
        match parsed {
            Ok(at) if at.subsec_nanosecond() == 0 => Some(at.as_second()),
            Ok(_) | Err(_) => {
                let remedy = "give a date, a time in whole seconds and the offset from UTC, such as 2026-12-01T00:00:00Z";
                self.wrong(value, "no instant", remedy);
                None
            }
        }
    }

    /// A number in a range.
    pub(super) fn number(&mut self, value: &Value, (least, most): (f64, f64)) -> Option<f64> {
        let number = value.text.trim().parse::<f64>().ok();
        let number = number.filter(|number| (least..=most).contains(number));
        if number.is_none() {
            let remedy =
                format!("give a number from {least} to {most}, without quotation marks or a unit");
            self.wrong(value, "no number in this range", remedy);
        }
        number
    }

    /// A whole number in a range.
    pub(super) fn whole(&mut self, value: &Value, least: u32, most: u32) -> Option<u32> {
        let number = value.text.trim().parse().ok();
        let number = number.filter(|number| (least..=most).contains(number));
        if number.is_none() {
            let remedy = format!("give a whole number from {least} to {most}");
            self.wrong(value, "out of range", remedy);
        }
        number
    }
}

/// The longest time that makes sense: a year.
const MOST_S: u64 = 366 * 86_400;
