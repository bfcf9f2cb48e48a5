//! The detail views of all browsers. One reading serves all; at most `MOST` views are kept up to date, because each reads
//! records.

use crate::look::Look;
use crate::picture::Picture;
use crate::reading::Reading;
use crate::seen::Seen;
use crate::subject::Subject;
use std::time::Duration;

/// Processes and endpoints that are looked at, at once.
const MOST: usize = 4;
/// A look that was not asked for at more readings is left: a browser's interval, with the time of an answer, is a little longer
/// than that of the readings, so that it skips one now and then.
const UNASKED: u64 = 2;

/// What was seen, and the looks at it.
#[derive(Debug)]
pub struct Looks {
    seen: Seen,
    /// Counts readings.
    now: u64,
    /// Made on the first request after a reading.
    all: Option<Picture>,
    looks: Vec<Kept>,
}

#[derive(Debug)]
struct Kept {
    look: Look,
    /// The readings that it was brought up to date at, and last asked for.
    updated: u64,
    asked: u64,
}

/// The limit of detail views is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooMany(pub usize);

impl Looks {
    /// For windows of such a length.
    #[must_use]
    pub fn new(length: Duration) -> Self {
        Self {
            seen: Seen::new(length),
            now: 0,
            all: None,
            looks: Vec::new(),
        }
    }

    /// Takes the next reading; forgets everything where no process runs any more.
    pub fn push(&mut self, reading: Option<Reading>) {
        self.now += 1;
        self.all = None;
        match reading {
            Some(reading) => self.seen.push(reading),
            None => self.seen.clear(),
        }
    }

    /// How many readings there were.
    #[must_use]
    pub fn readings(&self) -> u64 {
        self.now
    }

    /// Everything, made once a reading; `None` before the second one.
    pub fn all(&mut self) -> Option<&Picture> {
        if self.all.is_none() {
            self.all = Picture::of_all(&self.seen);
        }
        self.all.as_ref()
    }

    /// The process that has this name in an address.
    #[must_use]
    pub fn process(&self, id: &str) -> Option<Subject> {
        self.seen.process(id)
    }

    /// One process or endpoint, and the course of one of its requests. Its records are read once after each reading, however
    /// many ask. `None` where the window has nothing of it.
    ///
    /// # Errors
    /// As many others as there may be were asked for lately.
    pub fn one(
        &mut self,
        subject: &Subject,
        request: Option<&str>,
    ) -> Result<Option<Picture>, TooMany> {
        let at = self.kept(subject)?;
        let kept = &mut self.looks[at];
        kept.asked = self.now;
        if kept.updated != self.now {
            self.seen.update(&mut kept.look);
            kept.updated = self.now;
        }
        Ok(Picture::of_look(&self.seen, &mut kept.look, request))
    }

    /// Where a look is; a new one takes the place of one that is no longer requested.
    fn kept(&mut self, subject: &Subject) -> Result<usize, TooMany> {
        let mut looks = self.looks.iter();
        if let Some(at) = looks.position(|kept| kept.look.subject == *subject) {
            return Ok(at);
        }
        let now = self.now;
        if self.looks.len() >= MOST {
            self.looks.retain(|kept| kept.asked + UNASKED >= now);
        }
        if self.looks.len() >= MOST {
            return Err(TooMany(MOST));
        }
        self.looks.push(Kept {
            look: Look::at(subject.clone()),
            updated: 0,
            asked: now,
        });
        Ok(self.looks.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{process, reading, served};

    fn endpoint(name: &str) -> Subject {
        Subject::Endpoint(name.to_owned())
    }

    fn looks() -> Looks {
        let mut looks = Looks::new(Duration::from_secs(5));
        looks.push(Some(reading(0, vec![process(1, 0, &[])])));
        looks.push(Some(at(5)));
        looks
    }

    fn at(s: u64) -> Reading {
        reading(s, vec![process(1, 0, &[("a", served(10 * s, 10, 5))])])
    }

    #[test]
    fn a_look_is_updated_once_a_reading_and_has_the_newest() {
        let mut looks = looks();
        let steps = |looks: &mut Looks| {
            let one = looks.one(&endpoint("a"), None).unwrap();
            serde_json::to_value(one.unwrap()).unwrap()["steps"].to_string()
        };
        let first = steps(&mut looks);
        assert_ne!(first, "[]");
        // An update would bring them back.
        looks.looks[0].look.steps.clear();
        assert_eq!(steps(&mut looks), "[]");
        looks.push(Some(at(6)));
        let newest = steps(&mut looks);
        assert!(newest != first && newest != "[]", "{newest}");
        assert_eq!(looks.looks.len(), 1);
    }

    #[test]
    fn no_more_than_a_few_are_looked_at_until_nobody_asks_for_one() {
        let mut looks = looks();
        for name in ["a", "b", "c", "d"] {
            looks.one(&endpoint(name), None).unwrap();
        }
        assert_eq!(looks.one(&endpoint("e"), None).unwrap_err(), TooMany(4));
        looks.one(&endpoint("a"), None).unwrap();
        for s in [6, 7, 8] {
            assert_eq!(looks.one(&endpoint("e"), None).unwrap_err(), TooMany(4));
            looks.push(Some(at(s)));
            looks.one(&endpoint("a"), None).unwrap();
        }
        looks.one(&endpoint("e"), None).unwrap();
        let kept = looks.looks.iter().map(|kept| &kept.look.subject);
        assert_eq!(kept.collect::<Vec<_>>(), [&endpoint("a"), &endpoint("e")]);
    }

    #[test]
    fn a_process_is_found_by_its_name_until_its_end() {
        let mut looks = looks();
        let found = looks.process("1-1-0").unwrap();
        assert!(looks.one(&found, None).unwrap().is_some());
        assert_eq!(looks.process("1-1-1"), None);
        looks.push(None);
        assert_eq!(looks.process("1-1-0"), None);
        assert!(looks.one(&found, None).unwrap().is_none());
        assert!(looks.all().is_none());
    }
}
