//! Readings that are pushed to a receiver, one at each interval. Nothing is queued: the next reading holds what the one before
//! held, so a receiver that was away misses nothing but the steps between.

use super::receiver::{Receiver, Refused};
use super::source::Source;
use super::wanted::Pushes;
use crate::commands::inspect::now_ns;
use crate::{Failure, output};
use ::metrics::{Push, Reading, Sums};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, UNIX_EPOCH};

const FLAG: &str = "--otlp";

/// Pushes.
pub struct Pushing {
    source: Arc<Source>,
    receiver: Receiver,
    interval: Duration,
    resource: Vec<(String, String)>,
    beginning: Beginning,
    /// That of the newest reading whose live processes agree on it.
    arm: Option<String>,
}

impl Pushing {
    pub fn new(source: Arc<Source>, wanted: &Pushes) -> Result<Pushing, Failure> {
        Ok(Pushing {
            source,
            receiver: Receiver::new(wanted)?,
            interval: wanted.interval,
            resource: wanted.resource.clone(),
            beginning: Beginning::default(),
            arm: None,
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
        self.arm = arm(&reading).or(self.arm.take());
        let mut resource = self.resource.clone();
        if let Some(arm) = &self.arm {
            resource.push(("powerband.arm".to_owned(), arm.clone()));
        }
        let push = Push {
            resource,
            version: env!("CARGO_PKG_VERSION"),
            start_ns,
            now_ns,
        };
        let families = self.source.families(&reading, true);
        self.receiver.take(&push.encoded(&families))
    }

    /// At each interval, until the program ends. Says when pushes begin to fail, and when they succeed again.
    pub fn forever(mut self) {
        let mut fails = false;
        let mut due = Instant::now();
        loop {
            let pushed = self.once();
            let mut wait = self.interval;
            match pushed {
                Ok(()) if fails => {
                    output::say(&format!("powerband: {FLAG}: pushes succeed again"));
                    fails = false;
                }
                Ok(()) => {}
                Err(Refused { why, after }) => {
                    if !fails {
                        output::error(&format!(
                            "{FLAG}: {why}; it is tried again every {}",
                            humantime::format_duration(self.interval)
                        ));
                    }
                    fails = true;
                    wait = wait.max(after.unwrap_or_default());
                }
            }
            due += wait;
            let now = Instant::now();
            // After a push that took longer than the interval.
            due = due.max(now);
            std::thread::sleep(due - now);
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
        let fell = self
            .last
            .as_ref()
            .filter(|(sums, _)| reading.sums.fell_below(sums));
        let start_ns = match (fell, self.start_ns) {
            // Files were removed by hand since then.
            (Some((_, at_ns)), _) => *at_ns,
            (None, Some(start_ns)) if folder_ns == self.folder_ns => start_ns,
            (None, _) => folder_ns.or(reading.oldest_ns).unwrap_or(now_ns),
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

fn arm(reading: &Reading) -> Option<String> {
    let mut arms = reading.gauges.servers.keys().map(|server| &server.arm);
    let first = arms.next().filter(|arm| !arm.is_empty())?;
    arms.all(|arm| arm == first).then(|| first.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::metrics::{ServerInfo, Sizes};

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
        assert_eq!(Beginning::default().of(&empty, None, 9), 9);
        assert_eq!(Beginning::default().of(&empty, Some(11), 9), 9);
        let oldest = full.oldest_ns.unwrap();
        assert_eq!(Beginning::default().of(&full, None, u64::MAX), oldest);
    }

    #[test]
    fn an_arm_is_that_of_all_live_processes() {
        let of = |arms: &[&str]| {
            let mut reading = Reading::default();
            for (number, name) in arms.iter().enumerate() {
                let server = ServerInfo {
                    arm: (*name).to_owned(),
                    version: number.to_string(),
                    ..ServerInfo::default()
                };
                reading.gauges.servers.insert(server, Sizes::default());
            }
            arm(&reading)
        };
        assert_eq!(of(&["a", "a"]).as_deref(), Some("a"));
        assert_eq!(
            [of(&["a", "b"]), of(&["", "a"]), of(&[]), of(&[""])],
            [None, None, None, None]
        );
    }
}
