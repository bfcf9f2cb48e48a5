//! What goes wrong while a mirror serves: a line of each kind at once, and from then on at most one in some time, with the
//! count since. Whatever happens, the log does not fill up.

use jiff::Timestamp;
use mirror::http1::Tolerated;
use mirror::{Cause, Counts, Effect, OpenFiles};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// Between two lines of a kind.
const EVERY: Duration = Duration::from_secs(10);

/// What was said last of each kind.
#[derive(Debug, Default)]
pub struct Notices {
    full: Said,
    backlog: Said,
    causes: [Said; Cause::ALL.len()],
    tolerated: [Said; Tolerated::ALL.len()],
}

/// What was said last of one kind.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Said {
    /// When; where it is `None`, more is said at once.
    pub(super) at: Option<Instant>,
    count: u64,
}

impl Said {
    /// How many there are more, where it is time to say so.
    pub(super) fn due(&mut self, now: Instant, count: u64) -> Option<u64> {
        let waits = |at: Instant| now.saturating_duration_since(at) < EVERY;
        if count == self.count || self.at.is_some_and(waits) {
            return None;
        }
        let more = count - self.count;
        *self = Said {
            at: Some(now),
            count,
        };
        Some(more)
    }
}

impl Notices {
    /// What there is to say now. `limit`: of clients, in words; `backlog`: records that the disk was too slow for.
    pub fn due(&mut self, now: Instant, counts: &Counts, limit: &str, backlog: u64) -> Vec<String> {
        let client = &counts.client;
        let mut lines = Vec::new();
        let full = (client.idle_closed.get(), client.waited.get());
        if self.full.due(now, full.0 + full.1).is_some() {
            lines.push(format!(
                "there is room for {limit}: {} idle connections were closed for new clients so far, and {} times a new \
                 client had to wait",
                full.0, full.1
            ));
        }
        for cause in Cause::ALL.into_iter().filter(|cause| cause.is_logged()) {
            let count = client.causes.of(cause);
            if let Some(more) = self.causes[cause as usize].due(now, count) {
                let example = client.causes.take_example(cause);
                lines.push(line(cause, more, count, example));
            }
        }
        for cause in Tolerated::ALL {
            let count = client.tolerated[cause as usize].get();
            if let Some(more) = self.tolerated[cause as usize].due(now, count) {
                let so_far = so_far(more, count);
                let word = cause.word();
                lines.push(format!(
                    "passed ({word}): --strictness enforce would refuse it: {so_far}"
                ));
            }
        }
        if let Some(more) = self.backlog.due(now, backlog) {
            lines.push(format!(
                "recording: the disk is slower than the traffic, records are lost: {}",
                so_far(more, backlog)
            ));
        }
        lines
    }
}

fn line(cause: Cause, more: u64, count: u64, example: Option<String>) -> String {
    let effect = match cause.effect() {
        Effect::Refused => "refused",
        Effect::Failed => "failed",
        Effect::Aborted => "aborted",
        Effect::Retried => "retried",
    };
    let mut line = format!(
        "{effect} ({}): {}: {}",
        cause.word(),
        cause.sentence(),
        so_far(more, count)
    );
    if let Some(example) = example.filter(|example| !example.is_empty()) {
        // Writing to a string cannot fail.
        let _ = write!(line, "; for example {example}");
    }
    line
}

fn so_far(more: u64, count: u64) -> String {
    match more == count {
        true => format!("{count} so far"),
        false => format!("{more} more, {count} so far"),
    }
}

/// An event with its time in UTC.
pub fn stamped(text: &str) -> String {
    format!("{:.0} {text}", Timestamp::now())
}

/// How many clients there is room for, and which limit that is.
pub fn limit(most: u64, connections: usize, files: &OpenFiles) -> String {
    if most < connections as u64 {
        format!("{most} clients at once ({files})")
    } else {
        format!("{most} clients at once (--connections)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_said_once_in_a_while_and_with_its_latest_counts() {
        let (counts, mut notices) = (Counts::default(), Notices::default());
        let began = Instant::now();
        let mut at = |after: Duration| notices.due(began + after, &counts, "5 clients at once", 0);
        assert_eq!(at(Duration::ZERO), [""; 0]);
        counts.client.idle_closed.add(1);
        assert!(at(Duration::ZERO)[0].contains(" 1 idle"));
        counts.client.idle_closed.add(1);
        assert_eq!(at(EVERY / 2), [""; 0]);
        counts.client.waited.add(7);
        let said = at(EVERY);
        assert!(
            said[0].contains(" 2 idle") && said[0].contains(" 7 times"),
            "{said:?}"
        );
        assert_eq!(at(EVERY * 2), [""; 0]);
        counts.client.tolerated[Tolerated::NoHost as usize].add(3);
        counts.client.tolerated[Tolerated::HeadBytes as usize].add(1);
        assert_eq!(
            at(EVERY * 2),
            [
                "passed (head_bytes): --strictness enforce would refuse it: 1 so far",
                "passed (no_host): --strictness enforce would refuse it: 3 so far"
            ]
        );
        assert_eq!(at(EVERY * 3), [""; 0]);
    }

    #[test]
    fn each_cause_has_a_line_of_its_own_with_an_example() {
        let (counts, mut notices) = (Counts::default(), Notices::default());
        let began = Instant::now();
        let mut at = |after: Duration| notices.due(began + after, &counts, "", 0);
        let causes = &counts.client.causes;
        causes.add_with(Cause::Unreachable, "127.0.0.1:3000: refused");
        assert_eq!(
            at(Duration::ZERO),
            [
                "failed (unreachable): the primary cannot be reached: 1 so far; for example 127.0.0.1:3000: refused"
            ]
        );
        causes.add_with(Cause::Unreachable, "127.0.0.1:3001: refused");
        causes.add_with(Cause::Unreachable, "127.0.0.1:3002: refused");
        causes.add(Cause::HeadTimeout);
        causes.add(Cause::ClientLeft);
        // One kind does not hold up another, and what clients do every day is not said.
        assert_eq!(
            at(EVERY / 2),
            ["refused (head_timeout): the head came too slowly: 1 so far"]
        );
        assert_eq!(
            at(EVERY),
            [
                "failed (unreachable): the primary cannot be reached: 2 more, 3 so far; for example 127.0.0.1:3001: refused"
            ]
        );
        assert_eq!(at(EVERY * 9), [""; 0]);
    }

    #[test]
    fn records_that_a_slow_disk_loses_are_said() {
        let (counts, mut notices) = (Counts::default(), Notices::default());
        let now = Instant::now();
        let said = notices.due(now, &counts, "", 3);
        assert!(said[0].contains("3 so far"), "{said:?}");
        assert_eq!(notices.due(now, &counts, "", 4), [""; 0]);
    }

    #[test]
    fn an_event_begins_with_its_time_in_utc() {
        let line = stamped("x");
        let (time, text) = line.split_once(' ').unwrap();
        assert!(time.parse::<Timestamp>().is_ok() && time.ends_with('Z') && time.len() == 20);
        assert_eq!(text, "x");
    }
}
