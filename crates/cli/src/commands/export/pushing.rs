//! Readings that are pushed to a receiver, one at each interval. Nothing is queued: the next reading holds what the one before
//! held, so a receiver that was away misses nothing but the steps between.

use super::background::Background;
use super::receiver::{Receiver, Refused};
use super::reports::Reports;
use super::source::Source;
use super::wanted::Pushes;
use crate::commands::inspect::now_ns;
use crate::{Failure, output};
use ::metrics::{Push, Reading, Sums};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver as Ends, RecvTimeoutError};
use std::time::{Duration, Instant, UNIX_EPOCH};

const FLAG: &str = "--otlp";
/// How long the end waits for the last push. Docker kills a container 10 s after SIGTERM, Kubernetes after 30 s.
const LAST: Duration = Duration::from_secs(5);

/// Pushes.
pub struct Pushing {
    source: Arc<Source>,
    receiver: Receiver,
    interval: Duration,
    resource: Vec<(String, String)>,
    opentelemetry: bool,
    beginning: Beginning,
}

impl Pushing {
    pub fn new(
        source: Arc<Source>,
        wanted: &Pushes,
        opentelemetry: bool,
    ) -> Result<Pushing, Failure> {
        Ok(Pushing {
            source,
            receiver: Receiver::new(wanted)?,
            interval: wanted.interval,
            resource: wanted.resource.clone(),
            opentelemetry,
            beginning: Beginning::default(),
        })
    }

    /// One push.
    pub fn once(&mut self) -> Result<(), Refused> {
        let reading = self.source.read().map_err(|failure| Refused {
            why: failure.message.clone(),
            after: None,
        })?;
        let now_ns = now_ns();
        let start_ns = self
            .beginning
            .of(&reading, made_ns(&self.source.folder()), now_ns);
        let push = Push {
            resource: self.resource.clone(),
            version: env!("CARGO_PKG_VERSION"),
            start_ns,
            now_ns,
        };
        let families = self.source.families(&reading, self.opentelemetry);
        self.receiver.take(&push.encoded(&families))
    }

    /// Pushes at each interval, in a separate thread: a receiver that does not answer delays no scrape.
    pub fn started(self) -> Result<Background, Failure> {
        let given_up = format!(
            "{FLAG}: a push is not answered within {} s, and is given up; it was the last one",
            LAST.as_secs()
        );
        Background::started("pushing", LAST, given_up, move |end| self.until(end))
    }

    fn until(mut self, end: &Ends<()>) {
        let mut reports = Reports::new(FLAG, "pushes succeed again");
        let mut due = Instant::now();
        loop {
            let pushed = self.once();
            let after = pushed.as_ref().err().and_then(|refused| refused.after);
            let wait = self.interval.max(after.unwrap_or_default());
            let why = pushed.err().map(|refused| refused.why);
            if let Some(line) = reports.line(why, wait) {
                output::error(&line);
            }
            due += wait;
            let now = Instant::now();
            // After a push that took longer than the interval.
            due = due.max(now);
            if end.recv_timeout(due - now) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        }
        // What the servers counted since the one before. If they have ended, it is everything.
        if let Err(refused) = self.once() {
            output::error(&format!("{FLAG}: {}; it was the last push", refused.why));
        }
    }
}

/// The instant from which counters count: when the folder was made, because it is removed as a whole. Where a file system does
/// not know that, it is when the oldest file was made.
#[derive(Debug, Default)]
struct Beginning {
    start_ns: Option<u64>,
    folder_ns: Option<u64>,
    last: Option<(Sums, u64)>,
}

impl Beginning {
    fn of(&mut self, reading: &Reading, folder_ns: Option<u64>, now_ns: u64) -> u64 {
        // Sums of another folder say nothing of this one's.
        let same = folder_ns == self.folder_ns;
        let start_ns = match (&self.last, self.start_ns) {
            // Files were removed by hand since then.
            (Some((sums, at_ns)), _) if same && reading.sums.fell_below(sums) => *at_ns,
            (_, Some(start_ns)) if same => start_ns,
            _ => folder_ns.or(reading.oldest_ns).unwrap_or(now_ns),
        };
        // A clock that was set back must not make a beginning that is still to come.
        let start_ns = start_ns.min(now_ns);
        self.start_ns = Some(start_ns);
        self.folder_ns = folder_ns;
        self.last = Some((reading.sums.clone(), now_ns));
        start_ns
    }
}

fn made_ns(folder: &Path) -> Option<u64> {
    let made = std::fs::metadata(folder).and_then(|of| of.created()).ok()?;
    let since_1970 = made.duration_since(UNIX_EPOCH).ok()?;
    u64::try_from(since_1970.as_nanos()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading() -> Reading {
        let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contract/samples/flight");
        ::metrics::read(Path::new(samples), None, |_, _| true).unwrap()
    }

    #[test]
    fn counters_begin_with_the_folder_until_they_fall() {
        let full = reading();
        let empty = Reading::default();
        let mut beginning = Beginning::default();
        assert_eq!(beginning.of(&full, Some(5), 10), 5);
        assert_eq!(beginning.of(&full, Some(5), 20), 5, "it does not move");
        assert_eq!(beginning.of(&empty, Some(5), 30), 20, "the last reading");
        assert_eq!(beginning.of(&full, Some(5), 40), 20);
        assert_eq!(beginning.of(&full, Some(45), 50), 45, "another folder");
        let lower = beginning.of(&empty, Some(55), 60);
        assert_eq!(lower, 55, "another folder with lower sums");
        assert_eq!(Beginning::default().of(&empty, None, 9), 9);
        assert_eq!(Beginning::default().of(&empty, Some(11), 9), 9);
        let oldest = full.oldest_ns.unwrap();
        assert_eq!(Beginning::default().of(&full, None, u64::MAX), oldest);
    }
}
