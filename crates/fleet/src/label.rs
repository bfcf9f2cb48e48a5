//! The text that names the arm of a process: the value of `POWERBAND_ARM`, and so the label `arm` of its metrics.
//!
//! `ARM:DIGEST:PERIOD`, with `:DRAWN` at its end if another arm was drawn and is halted. The digest identifies the experiment, the period
//! the draw: the verdict permutes draws, so it has to know which there were. A process is drawn at each start, so its label has a number of
//! the start in place of the period.

use std::fmt;

/// The parts of a label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label {
    /// The arm that runs.
    pub arm: String,
    /// The first digits of the experiment's digest.
    pub digest: String,
    /// The period of the draw; for a process, a number of its start.
    pub period: u64,
    /// The halted arm that was drawn, if there is one.
    pub halted: Option<String>,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.arm, self.digest, self.period)?;
        match &self.halted {
            Some(drawn) => write!(f, ":{drawn}"),
            None => Ok(()),
        }
    }
}

impl Label {
    /// Reads a label; `None` if the text is not one.
    pub fn parse(text: &str) -> Option<Label> {
        let mut parts = text.split(':');
        let label = Label {
            arm: parts.next()?.to_owned(),
            digest: parts.next()?.to_owned(),
            period: parts.next()?.parse().ok()?,
            halted: parts.next().map(str::to_owned),
        };
        parts.next().is_none().then_some(label)
    }

    /// The arm that was drawn.
    pub fn drawn(&self) -> &str {
        self.halted.as_deref().unwrap_or(&self.arm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_comes_back_as_it_was_written() {
        for text in ["five:1f3a9c2e:42", "today:1f3a9c2e:0:five"] {
            assert_eq!(Label::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(
            Label::parse("today:1f3a9c2e:0:five").unwrap().drawn(),
            "five"
        );
        for other in ["", "canary", "a:b", "a:b:c", "a:b:1:c:d"] {
            assert_eq!(Label::parse(other), None, "{other}");
        }
    }
}
