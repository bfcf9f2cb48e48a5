//! Prometheus' text format 0.0.4, as it is written: families, samples, labels.
//! What is counted, and under which names, is for others to say.

use std::fmt::{Display, Write as _};

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
        self.name = format!("{}{name}", self.prefix);
        let name = &self.name;
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

    /// Everything that was written.
    #[must_use]
    pub fn finish(self) -> String {
        self.out
    }
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
