//! The recording of the requests: in files, or in a topic of Kafka.

use super::notices::{Said, stamped};
use super::resolve::Files;
use crate::commands::topic::{Origin, message};
use crate::output;
use capture::file::{About, Change, Counts, Head, Kind, Limits, Lost, Recorder, State};
use capture::{Exchange, Rules};
use kafka::{Cluster, Writer};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Bytes that wait for the brokers; what finds no room is counted, and the mirror never waits.
const MOST_WAITING: u64 = 64 << 20;
/// Without an acknowledgement for so long at the end, what waits is lost: a service is stopped within 90 s.
const PATIENCE: Duration = Duration::from_secs(15);

/// Where records go.
#[derive(Debug)]
pub enum Recording {
    /// Files of one capture.
    Files(Box<Recorder<Exchange>>),
    /// A topic.
    Topic(Box<Topic>),
}

/// What is sent to a topic.
#[derive(Debug)]
pub struct Topic {
    writer: Writer,
    path: PathBuf,
    origin: Origin,
    rules: Rules,
    unencoded: u64,
    ended: bool,
    /// Of losses.
    said: Said,
}

impl Recording {
    /// Begins it.
    ///
    /// # Errors
    /// The topic can neither be found nor made.
    pub fn start(
        path: &Path,
        files: &Files,
        limits: Limits,
        began_ns: u64,
        about: About,
    ) -> Result<(Recording, Option<Change>), String> {
        let rules = files.rules_of_recording();
        let Some((address, access)) = &files.topic else {
            let (recorder, change) =
                Recorder::start(path, limits, rules, began_ns, about, Instant::now());
            return Ok((Recording::Files(Box::new(recorder)), change));
        };
        let failed = |e: kafka::KafkaError| format!("--record: {e}");
        let cluster = Cluster::connect(address, access).map_err(failed)?;
        let made = cluster.have_topic(&address.topic, address.partitions);
        made.map_err(failed)?;
        // Its name for the capture is drawn as for a file.
        let head = Head::new(Kind::Traffic, began_ns, about);
        let topic = Topic {
            writer: cluster.writer(MOST_WAITING).map_err(failed)?,
            path: PathBuf::from(address.to_string()),
            origin: Origin {
                began_ns,
                capture: head.about.capture,
                unredacted: head.about.unredacted,
            },
            rules,
            unencoded: 0,
            ended: false,
            said: Said::default(),
        };
        Ok((Recording::Topic(Box::new(topic)), None))
    }

    /// Redacts and hands over a record.
    pub fn take(&mut self, record: &mut Exchange) -> Option<Change> {
        match self {
            Self::Files(recorder) => recorder.take(record),
            Self::Topic(topic) => {
                topic.rules.exchange(record);
                match message(&topic.origin, record) {
                    Ok(message) => topic.writer.send(message),
                    Err(_) => topic.unencoded += 1,
                }
                None
            }
        }
    }

    /// To be called about ten times a second.
    pub fn tick(&mut self, now: Instant) -> Option<Change> {
        match self {
            Self::Files(recorder) => recorder.tick(now),
            Self::Topic(topic) => {
                topic.tell(now);
                None
            }
        }
    }

    /// Whether records reach it.
    pub fn state(&self) -> State {
        match self {
            Self::Files(recorder) => recorder.state(),
            Self::Topic(topic) if topic.ended => State::Ended,
            Self::Topic(_) => State::Recording,
        }
    }

    /// What became of the records so far.
    pub fn counts(&self) -> Counts {
        match self {
            Self::Files(recorder) => recorder.counts(),
            Self::Topic(topic) => {
                let sent = topic.writer.sent();
                Counts {
                    state: self.state(),
                    written: sent.written,
                    lost: Lost {
                        failed: sent.failed + topic.unencoded,
                        ..Lost::default()
                    },
                    bytes: sent.bytes,
                    files: 1,
                    path: topic.path.clone(),
                }
            }
        }
    }

    /// Records that found no room while others waited for the brokers.
    pub fn no_room(&self) -> u64 {
        match self {
            Self::Files(_) => 0,
            Self::Topic(topic) => topic.writer.sent().no_room,
        }
    }

    /// Writes what is left.
    pub fn finish(&mut self) -> Option<Change> {
        match self {
            Self::Files(recorder) => recorder.finish(),
            Self::Topic(topic) => {
                topic.writer.finish(PATIENCE);
                topic.ended = true;
                topic.said.at = None;
                topic.tell(Instant::now());
                None
            }
        }
    }
}

impl Topic {
    fn tell(&mut self, now: Instant) {
        let sent = self.writer.sent();
        let lost = sent.failed + sent.no_room + self.unencoded;
        if self.said.due(now, lost).is_some() {
            let are = if lost == 1 { "is" } else { "are" };
            output::error(&stamped(&format!(
                "--record: {} {are} not in {}: {}; check that the brokers run",
                run::counted(lost, "request"),
                self.path.display(),
                sent.reason()
            )));
        }
    }
}
