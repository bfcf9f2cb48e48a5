//! What the catalogue says of one knob.

use crate::Wrong;
use std::fmt;

/// A setting of a server, of the Ruby that runs it, or of a program next to it.
#[derive(Debug, Clone, Copy)]
pub struct Knob {
    /// As it is typed.
    pub name: &'static str,
    /// Where it is set.
    pub place: Place,
    /// What it sets there: a variable, or a directive of a program's configuration.
    pub variable: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Which Ruby looks at the variable.
    pub versions: Versions,
    /// What holds where it is not set, in words.
    pub default: &'static str,
    /// A value as it is typed.
    pub example: &'static str,
    /// What it does.
    pub about: &'static str,
    /// What to know before believing a result; empty where there is nothing.
    pub caution: &'static str,
}

/// Where a knob is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// In the server's environment.
    Environment,
    /// In the configuration that Powerband writes for this program.
    Configuration(Program),
    /// In the control group that Powerband makes for the server.
    Group,
}

/// A program whose configuration Powerband writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Program {
    Puma,
    Pitchfork,
    Passenger,
    Nginx,
}

impl Program {
    /// As it calls itself.
    pub fn name(self) -> &'static str {
        match self {
            Program::Puma => "Puma",
            Program::Pitchfork => "Pitchfork",
            Program::Passenger => "Passenger",
            Program::Nginx => "nginx",
        }
    }
}

/// What a knob takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// A whole number of something.
    Whole {
        least: u64,
        most: u64,
        of: &'static str,
    },
    /// Whole numbers of something with commas, of which the last may be `false` for no further one; `off` is that alone.
    Counts {
        least: u64,
        most: u64,
        of: &'static str,
    },
    /// Bytes, with their unit.
    Size { least: u64, most: u64 },
    /// Time, with its unit, in whole milliseconds.
    Milliseconds { least: u64, most: u64 },
    /// More than `over` and at most `most`; where `zero` is true, 0 as well.
    Number { over: f64, most: f64, zero: bool },
    /// `on` or `off`.
    Switch,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// Whatever the variable may hold.
    Text,
}

/// `3.3` of Ruby 3.3.8.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32);

impl Version {
    /// Of `3.3.8`; `None` where that is no version.
    pub fn of(text: &str) -> Option<Version> {
        let mut numbers = text.split('.').map(|number| number.parse().ok());
        Some(Version(numbers.next()??, numbers.next()??))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// Which Ruby looks at a variable; outside, it says nothing and ignores it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Versions {
    /// The first that does; `None`: all that Powerband works with.
    pub from: Option<Version>,
    /// The first that no longer does, and the knob to use there instead.
    pub ignored_from: Option<(Version, &'static str)>,
}

impl Versions {
    /// All that Powerband works with.
    pub const ALL: Versions = Versions {
        from: None,
        ignored_from: None,
    };

    pub(crate) const fn since(major: u32, minor: u32) -> Versions {
        Versions {
            from: Some(Version(major, minor)),
            ignored_from: None,
        }
    }
}

impl Knob {
    /// One that every Ruby takes and that needs no word of caution.
    pub(crate) const fn plain(
        name: &'static str,
        (place, variable): (Place, &'static str),
        kind: Kind,
        default: &'static str,
        example: &'static str,
        about: &'static str,
    ) -> Knob {
        Knob {
            name,
            place,
            variable,
            kind,
            versions: Versions::ALL,
            default,
            example,
            about,
            caution: "",
        }
    }

    /// Likewise one of the server's environment.
    pub(crate) const fn variable(
        name: &'static str,
        variable: &'static str,
        kind: Kind,
        default: &'static str,
        example: &'static str,
        about: &'static str,
    ) -> Knob {
        let place = (Place::Environment, variable);
        Knob::plain(name, place, kind, default, example, about)
    }

    /// Whether this Ruby looks at the variable.
    ///
    /// # Errors
    /// It does not: since when it does, or since when it no longer does.
    pub fn works_in(&self, ruby: Version) -> Result<(), Wrong> {
        if let Some(from) = self.versions.from.filter(|from| ruby < *from) {
            return Err(Wrong::new(
                format!(
                    "Ruby {ruby} ignores {}, which there is from {from} on",
                    self.variable
                ),
                format!("leave {} out, or measure with Ruby {from}", self.name),
            ));
        }
        if let Some((since, instead)) = self.versions.ignored_from
            && ruby >= since
        {
            return Err(Wrong::new(
                format!("Ruby ignores {} since {since}", self.variable),
                format!("set {instead} instead"),
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;

    #[test]
    fn versions_are_numbers_and_say_from_when_to_when() {
        let (old, new) = (
            Version::of("3.2.9").unwrap(),
            Version::of("3.10.0").unwrap(),
        );
        assert!(old < Version(3, 3) && Version(3, 3) < new);
        assert_eq!(Version::of("three"), None);
        let told = |name: &str, ruby| {
            find(name)
                .unwrap()
                .works_in(ruby)
                .map_err(|w| w.to_string())
        };
        assert!(told("gc.heap_init_slots", old).is_ok());
        let since = told("gc.heap_init_slots", Version(3, 3)).unwrap_err();
        assert!(
            since.contains("since 3.3") && since.contains("gc.heap_0_init_slots"),
            "{since}"
        );
        let from = told("thread_timeslice", Version(3, 3)).unwrap_err();
        assert!(from.contains("from 3.4 on"), "{from}");
        assert!(told("thread_timeslice", Version(4, 0)).is_ok());
    }
}
