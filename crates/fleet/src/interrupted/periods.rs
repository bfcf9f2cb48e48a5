//! The two periods: text in, instants or what is wrong out.

use crate::instant;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

pub(super) const HOUR_S: i64 = 3_600;
const DAY_S: i64 = 86_400;
const WEEK_S: i64 = 7 * DAY_S;
/// The least number of days with an answer: one or two do not show how much days differ from one another.
pub(super) const LEAST_DAYS: u32 = 3;
/// The longest period: a longer one holds more than one change.
const MOST_DAYS: i64 = 28;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    Before,
    After,
}

impl Side {
    /// Both, in the order of time.
    pub const BOTH: [Side; 2] = [Side::Before, Side::After];
}

/// A period in seconds of Unix time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Period {
    pub from_s: i64,
    pub to_s: i64,
}

/// Two periods of as many whole days each, which begin at the same time of the day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Periods {
    pub before: Period,
    pub after: Period,
}

impl Periods {
    /// Reads `FROM/TO` of both. FROM and TO are dates in UTC, or instants with their offset.
    ///
    /// # Errors
    /// The flag, its value, what is wrong and the remedy.
    pub fn parse(before: &str, after: &str) -> Result<Periods, String> {
        let periods = Periods {
            before: period("--before", before)?,
            after: period("--after", after)?,
        };
        let wrong =
            |what: &str, remedy: &str| Err(format!("--after = {after:?}: {what}; {remedy}"));
        let (first, second) = (periods.before, periods.after);
        if second.from_s < first.to_s {
            return wrong(
                "it begins before the end of --before",
                "give a period that begins after the change, and for --before one that ends before it",
            );
        }
        if second.to_s - second.from_s != first.to_s - first.from_s {
            let remedy = format!("give {}", run::counted(periods.days(), "day"));
            return wrong("it is not as long as --before", &remedy);
        }
        if (second.from_s - first.from_s) % DAY_S != 0 {
            let at = instant(first.from_s);
            return wrong(
                "it begins at another time of the day than --before",
                &format!("begin both at the time of {at}, since the same hours are compared"),
            );
        }
        Ok(periods)
    }

    pub fn of(&self, side: Side) -> Period {
        match side {
            Side::Before => self.before,
            Side::After => self.after,
        }
    }

    /// Of each.
    pub fn days(&self) -> u32 {
        ((self.before.to_s - self.before.from_s) / DAY_S) as u32
    }

    /// Of each.
    pub fn hours(&self) -> usize {
        self.days() as usize * 24
    }

    /// Whether each hour is compared with one of the same weekday.
    pub(super) fn same_weekdays(&self) -> bool {
        (self.after.from_s - self.before.from_s) % WEEK_S == 0
    }
}

fn period(flag: &str, text: &str) -> Result<Period, String> {
    let wrong = |what: &str, remedy: &str| format!("{flag} = {text:?}: {what}; {remedy}");
    let form = "give FROM/TO as dates in UTC, such as 2026-11-20/2026-11-21, or as instants with their offset";
    let (from, to) = text
        .split_once('/')
        .ok_or_else(|| wrong("no period", form))?;
    let read = |part: &str| {
        at(part).ok_or_else(|| wrong(&format!("{part:?} is no date or instant"), form))
    };
    let period = Period {
        from_s: read(from)?,
        to_s: read(to)?,
    };
    let long_s = period.to_s - period.from_s;
    if long_s < DAY_S || long_s % DAY_S != 0 || long_s > MOST_DAYS * DAY_S {
        return Err(wrong(
            &format!("not from one to {MOST_DAYS} whole days"),
            &format!("give {LEAST_DAYS} to {MOST_DAYS} whole days; seven are best"),
        ));
    }
    Ok(period)
}

/// A date in UTC, or an instant in whole seconds.
fn at(text: &str) -> Option<i64> {
    let text = text.trim();
    if let Ok(date) = Date::strptime("%Y-%m-%d", text) {
        return Some(date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_second());
    }
    let at: Timestamp = text.parse().ok()?;
    (at.subsec_nanosecond() == 0).then(|| at.as_second())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_and_instants() {
        let days = Periods::parse("2026-11-20/2026-11-21", "2026-11-21/2026-11-22").unwrap();
        assert_eq!((days.days(), days.hours()), (1, 24));
        assert_eq!(days.after.from_s, days.before.to_s);
        assert!(!days.same_weekdays());
        let instants = Periods::parse(
            "2026-11-13T10:00:00+01:00/2026-11-20T10:00:00+01:00",
            "2026-11-20T09:00:00Z/2026-11-27T09:00:00Z",
        );
        let instants = instants.unwrap();
        assert_eq!(instants.days(), 7);
        assert!(instants.same_weekdays());
    }

    #[test]
    fn each_problem_has_its_remedy() {
        let day = "2026-11-20/2026-11-21";
        for (before, after, said) in [
            (
                "yesterday",
                day,
                "--before = \"yesterday\": no period; give FROM/TO",
            ),
            (day, "2026-11-22/soon", "\"soon\" is no date or instant"),
            (
                day,
                "2026-11-22T00:00:00/2026-11-23",
                "is no date or instant",
            ),
            (
                day,
                "2026-11-22/2026-11-22",
                "not from one to 28 whole days",
            ),
            (
                day,
                "2026-11-22/2026-12-22",
                "not from one to 28 whole days",
            ),
            (
                day,
                "2026-11-22T00:00:00Z/2026-11-22T06:00:00Z",
                "give 3 to 28 whole days; seven are best",
            ),
            (
                day,
                "2026-11-20/2026-11-21",
                "it begins before the end of --before",
            ),
            (
                day,
                "2026-11-22/2026-11-24",
                "it is not as long as --before; give 1 day",
            ),
            (
                day,
                "2026-11-22T06:00:00Z/2026-11-23T06:00:00Z",
                "begin both at the time of 2026-11-20T00:00:00Z",
            ),
        ] {
            let error = Periods::parse(before, after).unwrap_err();
            assert!(error.contains(said), "{said}: {error}");
        }
    }
}
