//! `--hdr-log`: the histograms of each interval in HdrHistogram's log format, written on a thread of its own, because
//! serialising takes longer than a request may wait.

use crate::commands::untouched_file::{emptied, open};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::fs::File;
use std::io::LineWriter;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

/// Values are µs; the log's column for people is in ms.
const US_PER_MS: f64 = 1000.0;

/// How the comment begins that says what the values are.
pub const WRITTEN_BY: &str = "powerband ";

/// The tag of service times.
pub const SERVICE: &str = "service";

/// One interval.
#[derive(Debug)]
pub struct Entry {
    /// When the window began.
    pub began: SystemTime,
    /// From there.
    pub start: Duration,
    /// Its length.
    pub length: Duration,
    /// See [`load::Interval`].
    pub response: Histogram<u64>,
    /// See [`load::Interval`].
    pub service: Histogram<u64>,
}

/// A log that is being written.
#[derive(Debug)]
pub struct HdrLog {
    thread: JoinHandle<Result<(), String>>,
}

impl HdrLog {
    /// Opens the file, whose content stands until the first interval; later write errors are reported at the end.
    pub fn create(path: &Path) -> Result<(Sender<Entry>, HdrLog), String> {
        let file = open(path).map_err(|e| told(path, &e))?;
        let (to, from) = channel();
        let path = PathBuf::from(path);
        let thread = std::thread::spawn(move || follow(file, &from).map_err(|e| told(&path, &e)));
        Ok((to, HdrLog { thread }))
    }

    /// Waits until everything is written; the sender must be gone by then.
    pub fn finish(self) -> Result<(), String> {
        let joined = self.thread.join();
        joined.unwrap_or_else(|_| Err("--hdr-log: its writer failed".to_owned()))
    }
}

fn follow(file: File, from: &Receiver<Entry>) -> Result<(), String> {
    let Ok(first) = from.recv() else {
        // The run was refused, and an older file is none of its business.
        return Ok(());
    };
    emptied(&file).map_err(|e| e.to_string())?;
    write(LineWriter::new(file), first, from)
}

/// Writes a log of intervals that are there already.
pub fn written(path: &Path, entries: impl IntoIterator<Item = Entry>) -> Result<(), String> {
    let mut entries = entries.into_iter();
    let Some(first) = entries.next() else {
        return Ok(());
    };
    let file = open(path).and_then(|file| emptied(&file).map(|()| file));
    let file = file.map_err(|e| told(path, &e))?;
    write(LineWriter::new(file), first, entries).map_err(|e| told(path, &e))
}

fn write(
    mut file: impl std::io::Write,
    first: Entry,
    rest: impl IntoIterator<Item = Entry>,
) -> Result<(), String> {
    let began = first.began;
    let mut serializer = V2DeflateSerializer::new();
    let mut log = IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .add_comment(&format!(
            "{WRITTEN_BY}{}: µs; untagged: response time, failed requests at 3600000000; Tag={SERVICE}: service time",
            env!("CARGO_PKG_VERSION")
        ))
        .with_start_time(began)
        .with_base_time(began)
        .with_max_value_divisor(US_PER_MS)
        .begin_log_with(&mut file, &mut serializer)
        .map_err(|e| e.to_string())?;
    for entry in std::iter::once(first).chain(rest) {
        let tagged = [(&entry.response, None), (&entry.service, Tag::new(SERVICE))];
        for (histogram, tag) in tagged {
            log.write_histogram(histogram, entry.start, entry.length, tag)
                .map_err(|e| e.to_string())?;
        }
    }
    Ok(())
}

fn told(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!(
        "--hdr-log = {:?}: {error}; name a file that can be written",
        path.display().to_string()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use hdrhistogram::serialization::Deserializer;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
    use load::{HIGHEST_US, new_histogram};

    fn entry(second: u64, response_us: &[u64]) -> Entry {
        let (mut response, mut service) = (new_histogram(), new_histogram());
        for us in response_us {
            response.record(*us).unwrap();
            service.record(us / 2).unwrap();
        }
        Entry {
            began: SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000),
            start: Duration::from_secs(second),
            length: Duration::from_secs(1),
            response,
            service,
        }
    }

    /// What the crate's own reader finds in a log: the merged histogram of a tag.
    fn merged(log: &[u8], tag: Option<&str>) -> Histogram<u64> {
        let mut sum = new_histogram();
        for found in IntervalLogIterator::new(log) {
            let LogEntry::Interval(interval) = found.unwrap() else {
                continue;
            };
            if interval.tag().map(|t| t.as_str()) == tag {
                let bytes = STANDARD.decode(interval.encoded_histogram()).unwrap();
                let one: Histogram<u64> = Deserializer::new().deserialize(&mut &bytes[..]).unwrap();
                sum.add(one).unwrap();
            }
        }
        sum
    }

    #[test]
    fn the_log_holds_every_value_of_every_interval() {
        let (to, from) = channel();
        let seconds = [vec![1_000, 2_000, HIGHEST_US], vec![], vec![70_000; 40]];
        for (second, values) in seconds.iter().enumerate() {
            to.send(entry(second as u64, values)).unwrap();
        }
        drop(to);
        let mut log = Vec::new();
        write(&mut log, from.recv().unwrap(), &from).unwrap();
        let all: Vec<u64> = seconds.concat();
        let mut expected = new_histogram();
        for us in &all {
            expected.record(*us).unwrap();
        }
        assert_eq!(merged(&log, None), expected);
        assert_eq!(merged(&log, Some("service")).len(), all.len() as u64);
        let text = String::from_utf8(log).unwrap();
        assert!(text.contains("#[BaseTime: 1800000000.000"), "{text}");
        assert!(text.contains("\n2.000,1.000,"), "{text}");
    }

    #[test]
    fn a_run_that_is_refused_leaves_an_older_log_as_it_is() {
        let path = std::env::temp_dir().join(format!("powerband-hdr-{}", std::process::id()));
        std::fs::write(&path, "older").unwrap();
        let (to, log) = HdrLog::create(&path).unwrap();
        drop(to);
        log.finish().unwrap();
        let refused = std::fs::read_to_string(&path).unwrap();
        let (to, log) = HdrLog::create(&path).unwrap();
        to.send(entry(0, &[1_000])).unwrap();
        drop(to);
        log.finish().unwrap();
        let written = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(refused, "older");
        assert!(written.starts_with("#[Histogram log format"), "{written}");
    }
}
