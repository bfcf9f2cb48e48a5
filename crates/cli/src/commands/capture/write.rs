//! Where the result goes: under another name first, so that the file is there
//! whole or not at all, for its owner alone, and overwrites an existing file
//! only on request.

use crate::args::{KafkaArgs, OutArgs, To};
use crate::commands::{folder_of, topic};
use crate::{Failure, asked, output};
use ::capture::file::{Head, WriteError, Writer};
use ::capture::{Exchange, Export, Exporter};
use kafka::{Access, Address};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;
use std::time::Duration;

/// Bytes that wait for the brokers.
const MOST_WAITING: u64 = 16 << 20;
/// Without an acknowledgement for so long at the end, none comes: longer than a message is offered to the brokers.
const PATIENCE: Duration = Duration::from_secs(65);

/// Whether there can be a result, before anything is read for it.
pub fn possible(out: &OutArgs, to: To) -> Result<(), Failure> {
    if let Some(text) = topic::named(&out.output) {
        addressed(text, &out.kafka)?;
        return match to {
            To::Pbc => Ok(()),
            _ => Err(Failure::usage(
                "a topic holds records of powerband's own format; give --to pbc, or name a file with -o",
            )),
        };
    }
    if is_stdout(out) {
        if to == To::Pbc && output::is_terminal() {
            return Err(Failure::usage(
                "a capture file is no text for a terminal; name a file with -o, or pipe it",
            ));
        }
        return Ok(());
    }
    if !out.force && out.output.symlink_metadata().is_ok() {
        return Err(taken(&out.output));
    }
    Ok(())
}

/// Writes the records, and says so.
pub fn written(
    out: &OutArgs,
    to: To,
    head: &Head,
    records: impl Iterator<Item = io::Result<Exchange>>,
) -> Result<(), Failure> {
    if let Some(text) = topic::named(&out.output) {
        let (address, access) = addressed(text, &out.kafka)?;
        let done = to_topic(&address, &access, head, records)?;
        return told(out, done);
    }
    if is_stdout(out) {
        return match run(output::stream(), to, head, records) {
            // A reader that closes the pipe has what it wants.
            Err(Ended::Writing(e)) if e.kind() == ErrorKind::BrokenPipe => Ok(()),
            ended => told(out, ended.map_err(|e| e.failure(&out.output))?),
        };
    }
    let failed = |e: io::Error| Ended::Writing(e).failure(&out.output);
    // Gone when it is dropped; for its owner alone.
    let file = tempfile::Builder::new()
        .prefix(".writing-")
        .tempfile_in(folder_of(&out.output))
        .map_err(failed)?;
    let done = run(BufWriter::new(file.as_file()), to, head, records)
        .map_err(|e| e.failure(&out.output))?;
    if done.written > 0 {
        let path = &out.output;
        let kept = match out.force {
            true => file.persist(path),
            false => file.persist_noclobber(path),
        };
        kept.map_err(|e| match e.error.kind() {
            ErrorKind::AlreadyExists => taken(path),
            _ => failed(e.error),
        })?;
    }
    told(out, done)
}

fn addressed(text: &str, kafka: &KafkaArgs) -> Result<(Address, Access), Failure> {
    topic::addressed("--output", text, kafka).map_err(|problems| asked::failure(&problems))
}

/// Adds the records to a topic, which is made where there is none.
fn to_topic(
    address: &Address,
    access: &Access,
    head: &Head,
    records: impl Iterator<Item = io::Result<Exchange>>,
) -> Result<Done, Failure> {
    let failed = |e: &kafka::KafkaError| topic::failure(e);
    let cluster = topic::connected(address, access)?;
    let made = cluster.have_topic(&address.topic, address.partitions);
    made.map_err(|e| failed(&e))?;
    let mut writer = cluster.writer(MOST_WAITING).map_err(|e| failed(&e))?;
    let origin = topic::Origin {
        began_ns: head.began_ns,
        capture: head.about.capture.clone(),
        unredacted: head.about.unredacted.clone(),
    };
    let (mut all, mut unencoded) = (0_u64, 0_u64);
    let mut records = records;
    for record in records.by_ref() {
        let record = record.map_err(|e| Ended::Reading(e).failure(Path::new("")))?;
        all += 1;
        match topic::message(&origin, &record) {
            Ok(message) => writer.send_when_there_is_room(message),
            Err(_) => unencoded += 1,
        }
        if writer.sent().failed > 0 {
            break;
        }
    }
    writer.finish(PATIENCE);
    let sent = writer.sent();
    if sent.written < all {
        let lost = all - sent.written + records.count() as u64;
        let why = match unencoded == lost {
            true => "they cannot be encoded",
            false => sent.reason(),
        };
        return Err(Failure::no_answer(format!(
            "{address}: {} requests are written and {lost} are not: {why}; check that the brokers run, and give a new topic",
            sent.written
        )));
    }
    Ok(Done {
        written: sent.written,
        skipped: None,
    })
}

struct Done {
    written: u64,
    /// What the format could not hold, in words.
    skipped: Option<String>,
}

enum Ended {
    Reading(io::Error),
    Writing(io::Error),
}

impl Ended {
    fn failure(self, output: &Path) -> Failure {
        match self {
            Self::Reading(e) => {
                Failure::no_answer(format!("the input ends with an error: {e}; copy it anew"))
            }
            Self::Writing(e) => Failure::usage(format!(
                "{}: {e}; name a file that can be written, where there is room",
                output.display()
            )),
        }
    }
}

fn run(
    out: impl Write,
    to: To,
    head: &Head,
    records: impl Iterator<Item = io::Result<Exchange>>,
) -> Result<Done, Ended> {
    let export = match to {
        To::Pbc => return ours(out, head, records),
        To::Gor => Export::Gor,
        To::Har => Export::Har,
        To::Vegeta => Export::VegetaJson,
        To::H2load => Export::H2load,
    };
    let mut exporter = Exporter::new(export, out, head.began_ns).map_err(Ended::Writing)?;
    for record in records {
        let record = record.map_err(Ended::Reading)?;
        exporter.put(&record).map_err(Ended::Writing)?;
    }
    let (_, written, skipped) = exporter.finish().map_err(Ended::Writing)?;
    let skipped = (skipped.count > 0).then(|| skipped.to_string());
    Ok(Done { written, skipped })
}

fn ours(
    out: impl Write,
    head: &Head,
    records: impl Iterator<Item = io::Result<Exchange>>,
) -> Result<Done, Ended> {
    let other = |e: ::capture::file::FileError| Ended::Writing(io::Error::other(e));
    let mut writer = Writer::new(out, head).map_err(other)?;
    let mut too_large = 0_u64;
    for record in records {
        match writer.push(&record.map_err(Ended::Reading)?) {
            Ok(()) => {}
            Err(WriteError::Io(e)) => return Err(Ended::Writing(e)),
            Err(WriteError::TooLarge { .. } | WriteError::Encoding(_)) => too_large += 1,
        }
    }
    writer.flush().map_err(Ended::Writing)?;
    Ok(Done {
        written: writer.flushed(),
        skipped: (too_large > 0).then(|| format!("{too_large} skipped: too large for a block")),
    })
}

fn told(out: &OutArgs, done: Done) -> Result<(), Failure> {
    let skipped = done
        .skipped
        .map_or_else(String::new, |skipped| format!("; {skipped}"));
    if done.written == 0 {
        return Err(Failure::no_answer(format!(
            "no request is left to write{skipped}: nothing was written"
        )));
    }
    if !out.quiet {
        let requests = if done.written == 1 {
            "request"
        } else {
            "requests"
        };
        let to = if is_stdout(out) {
            "standard output".into()
        } else {
            out.output.display().to_string()
        };
        output::say(&format!(
            "{} {requests} written to {to}{skipped}",
            done.written
        ));
    }
    Ok(())
}

fn is_stdout(out: &OutArgs) -> bool {
    out.output == Path::new("-")
}

fn taken(path: &Path) -> Failure {
    Failure::usage(format!(
        "{} is there already; name another file, or pass --force",
        path.display()
    ))
}
