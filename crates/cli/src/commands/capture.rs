//! `capture`: looks into files of recorded traffic and makes others of them.

mod filter;
mod info;
mod merge;
mod write;

use crate::args::{Captured, ConvertArgs, FilterArgs, KafkaArgs, OutArgs, RedactArgs, To};
use crate::commands::topic;
use crate::{Failure, asked, output};
use ::capture::file::{About, Head};
use ::capture::{Source, SourceError, unredacted};
use std::fs::File;
use std::io::Read;
use std::path::Path;
use write::written;

/// `powerband capture`.
pub fn capture(command: Captured) -> Result<u8, Failure> {
    match command {
        Captured::Info(args) => info::info(&args),
        Captured::Convert(args) => convert(&args),
        Captured::Filter(args) => filter(&args),
        Captured::Redact(args) => redact(&args),
        Captured::Merge(args) => merge::merge(&args),
    }
}

fn convert(args: &ConvertArgs) -> Result<u8, Failure> {
    write::possible(&args.out, args.to)?;
    let mut source = open(&args.file, &args.out.kafka)?;
    if !source.timed() && !args.out.quiet && args.to != To::Vegeta {
        output::say(&format!(
            "{} does not say when its requests came: all of them stand at one instant",
            name(&args.file)
        ));
    }
    let head = source.head(&written_by());
    written(&args.out, args.to, &head, source.by_ref())?;
    tell_unredacted(&args.out, &head);
    tell_damage(&args.file, &source, args.out.quiet);
    Ok(0)
}

fn filter(args: &FilterArgs) -> Result<u8, Failure> {
    let mut wanted = filter::Wanted::resolve(args)?;
    write::possible(&args.out, To::Pbc)?;
    let mut source = open(&args.file, &args.out.kafka)?;
    let head = source.head(&written_by());
    let records = source.by_ref();
    let records = records.filter(|record| record.as_ref().map_or(true, |e| wanted.takes(e)));
    written(&args.out, To::Pbc, &head, records)?;
    tell_unredacted(&args.out, &head);
    tell_damage(&args.file, &source, args.out.quiet);
    Ok(0)
}

fn redact(args: &RedactArgs) -> Result<u8, Failure> {
    write::possible(&args.out, To::Pbc)?;
    let mut source = open(&args.file, &args.out.kafka)?;
    let mut head = source.head(&written_by());
    let rules = args.rules.rules()?;
    let unredacted = &mut head.about.unredacted;
    unredacted.retain(|name| rules.keeps_header(name));
    let records = source.by_ref().map(|record| {
        record.map(|mut exchange| {
            rules.exchange(&mut exchange);
            exchange
        })
    });
    written(&args.out, To::Pbc, &head, records)?;
    tell_unredacted(&args.out, &head);
    tell_damage(&args.file, &source, args.out.quiet);
    Ok(0)
}

/// What wrote a file.
fn written_by() -> String {
    format!("powerband {}", env!("CARGO_PKG_VERSION"))
}

/// What a file is called in messages.
fn name(file: &Path) -> String {
    if file == Path::new("-") {
        "standard input".to_owned()
    } else {
        file.display().to_string()
    }
}

/// A file of any format, or a topic.
fn open(file: &Path, kafka: &KafkaArgs) -> Result<Source, Failure> {
    if let Some(text) = topic::named(file) {
        return from_topic(text, kafka);
    }
    let input: Box<dyn Read> = if file == Path::new("-") {
        Box::new(std::io::stdin().lock())
    } else {
        let opened = File::open(file).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => {
                Failure::usage(format!("{}: {e}; name a file that is there", name(file)))
            }
            _ => Failure::no_answer(format!("{}: {e}; name a file that can be read", name(file))),
        })?;
        Box::new(opened)
    };
    Source::open(input).map_err(|e| unreadable(file, &e))
}

/// All records that a topic has now.
fn from_topic(text: &str, kafka: &KafkaArgs) -> Result<Source, Failure> {
    let (address, access) =
        topic::addressed("FILE", text, kafka).map_err(|e| asked::failure(&e))?;
    let records = topic::read_whole(&address, &access)?;
    if let Some(said) = records.skipped() {
        output::error(&format!("{address}: {said}"));
    }
    let about = About {
        unredacted: records.unredacted(),
        ..About::default()
    };
    let (began_ns, records) = records.into_capture();
    Ok(Source::of_records(records, began_ns, about))
}

fn unreadable(file: &Path, error: &SourceError) -> Failure {
    let remedy = match error {
        SourceError::Io(_) => "; name a file that can be read",
        SourceError::File(_) => "",
        SourceError::Other(_) => "; docs/traffic.md lists the formats",
    };
    Failure::no_answer(format!("{}: {error}{remedy}", name(file)))
}

/// What the output holds that usual ones do not.
fn tell_unredacted(out: &OutArgs, head: &Head) {
    let said = unredacted(&head.about.unredacted).filter(|_| !out.quiet);
    if let Some(said) = said {
        output::say(&format!("{}: {said}", name(&out.output)));
    }
}

/// What of the input is missing in the output.
fn tell_damage(file: &Path, source: &Source, quiet: bool) {
    if quiet {
        return;
    }
    for damage in &source.damaged().first {
        output::say(&format!("{}: {damage}", name(file)));
    }
    if source.skipped().count > 0 {
        output::say(&format!("{}: {}", name(file), source.skipped()));
    }
}
