//! Prometheus' text format 0.0.4, as it is written: families, samples, labels.
//! What is counted, and under which names, is for others to say.

use std::fmt::{Display, Write as _};
use std::ops::Range;

/// Bounds of histograms of durations: 2 to these powers of a microsecond, 256 µs to 33.6 s.
pub const EXPONENTS: Range<u32> = 8..26;

const SECOND: u64 = 1_000_000_000;

/// What is written, and the head of a family of which no sample was.
#[derive(Debug)]
pub struct Text {
    prefix: &'static str,
    out: String,
    name: String,
    head: Option<String>,
}

impl Text {
    /// Every family's name begins with `prefix`.
    #[must_use]
    pub fn new(prefix: &'static str) -> Self {
        Self {
            prefix,
            out: String::new(),
            name: String::new(),
            head: None,
        }
    }

    /// The family that the samples from here on belong to; without any, nothing of it is written.
    pub fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.family_of_others(&format!("{}{name}", self.prefix), kind, help);
    }

    /// The same of a family whose whole name others have given, without the prefix.
    pub fn family_of_others(&mut self, name: &str, kind: &str, help: &str) {
        self.name = name.to_owned();
        self.head = Some(format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    /// One sample; `labels` as [`label`] and [`join`] make them.
    pub fn sample(&mut self, labels: &str, value: impl Display) {
        self.sample_of("", labels, value);
    }

    /// One of a family whose samples have names of their own, such as a histogram's buckets.
    pub fn sample_of(&mut self, suffix: &str, labels: &str, value: impl Display) {
        if let Some(head) = self.head.take() {
            self.out.push_str(&head);
        }
        let name = &self.name;
        // Writing to a string cannot fail.
        let _ = if labels.is_empty() {
            writeln!(self.out, "{name}{suffix} {value}")
        } else {
            writeln!(self.out, "{name}{suffix}{{{labels}}} {value}")
        };
    }

    /// A histogram of durations. `up_to`: how many there are up to 2 to that power of a microsecond.
    pub fn histogram(&mut self, labels: &str, up_to: impl Fn(u32) -> u64, count: u64, sum_ns: u64) {
        let bounds = EXPONENTS.map(|exponent| (bound_ns(exponent), up_to(exponent)));
        self.histogram_at(labels, bounds, count, sum_ns);
    }

    /// A histogram of durations with other bounds: each in nanoseconds, and how many there are up to it.
    pub fn histogram_at(
        &mut self,
        labels: &str,
        bounds: impl IntoIterator<Item = (u64, u64)>,
        count: u64,
        sum_ns: u64,
    ) {
        for (bound_ns, up_to) in bounds {
            let le = label("le", &seconds(bound_ns));
            self.sample_of("_bucket", &join(labels, &le), up_to);
        }
        self.sample_of("_bucket", &join(labels, &label("le", "+Inf")), count);
        self.sample_of("_sum", labels, seconds(sum_ns));
        self.sample_of("_count", labels, count);
    }

    /// Everything that was written.
    #[must_use]
    pub fn finish(self) -> String {
        self.out
    }
}

/// 2 to this power of a microsecond, in nanoseconds.
#[must_use]
pub const fn bound_ns(exponent: u32) -> u64 {
    (1 << exponent) * 1_000
}

/// A label with its value escaped; without a name, none.
#[must_use]
pub fn label(name: &str, value: &str) -> String {
    if name.is_empty() {
        return String::new();
    }
    let value = value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n");
    format!("{name}=\"{value}\"")
}

/// Nanoseconds as seconds: exact, and without zeros at the end.
#[must_use]
pub fn seconds(ns: u64) -> String {
    let (whole, rest) = (ns / SECOND, ns % SECOND);
    if rest == 0 {
        return whole.to_string();
    }
    format!("{whole}.{rest:09}")
        .trim_end_matches('0')
        .to_owned()
}

/// Labels and one more.
#[must_use]
pub fn join(labels: &str, more: &str) -> String {
    if labels.is_empty() {
        return more.to_owned();
    }
    format!("{labels},{more}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_without_samples_is_not_there() {
        let mut text = Text::new("powerband_");
        text.family("nothing", "gauge", "Nobody.");
        text.family("requests_total", "counter", "All.");
        text.sample("", 3);
        text.family("seconds", "histogram", "Long.");
        text.sample_of(
            "_count",
            &join(&join("", &label("by", "a \"b\"\\\n")), "le=\"1\""),
            1.5,
        );
        assert_eq!(
            text.finish(),
            "# HELP powerband_requests_total All.\n# TYPE powerband_requests_total counter\npowerband_requests_total 3\n\
             # HELP powerband_seconds Long.\n# TYPE powerband_seconds histogram\n\
             powerband_seconds_count{by=\"a \\\"b\\\"\\\\\\n\",le=\"1\"} 1.5\n"
        );
    }
}
