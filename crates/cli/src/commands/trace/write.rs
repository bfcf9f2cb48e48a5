//! The file for Perfetto, the picture, and what is said about them.

use super::ask::Recordings;
use super::{Wanted, unreadable};
use crate::Failure;
use flight::events::Events;
use run::trace::{Document, Process, SCHEMA};
use run::{counted, grouped};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use trace::{ProcessTimeline, What, picture, timeline, write_chrome};

/// Writes what was wanted, and returns the document about it.
pub fn trace(wanted: &Wanted, recordings: Recordings) -> Result<Document, Failure> {
    let mut processes = Vec::new();
    let mut timelines = Vec::new();
    for (events, origin) in recordings.found {
        let timeline = timeline(&events, origin);
        processes.push(process(&events, &timeline));
        timelines.push(timeline);
    }
    let about =
        serde_json::json!({"written by": format!("powerband {}", env!("CARGO_PKG_VERSION"))});
    whole(&wanted.output, |file| {
        write_chrome(file, &timelines, &about)
    })?;
    if let Some(path) = &wanted.svg {
        let drawn = picture(&timelines).map_err(Failure::no_answer)?;
        whole(path, |file| file.write_all(drawn.as_bytes()))?;
    }
    let begin = timelines.iter().map(|c| c.begin_ns).min().unwrap_or(0);
    let end = timelines.iter().map(|c| c.end_ns).max().unwrap_or(begin);
    Ok(Document {
        schema: SCHEMA.to_owned(),
        powerband_version: env!("CARGO_PKG_VERSION").to_owned(),
        output: wanted.output.display().to_string(),
        picture: wanted.svg.as_ref().map(|path| path.display().to_string()),
        seconds: end.saturating_sub(begin) as f64 / 1e9,
        processes,
        silent: recordings.silent,
    })
}

fn process(events: &Events, timeline: &ProcessTimeline) -> Process {
    let slices = timeline.threads.iter().flat_map(|t| &t.slices);
    let requests = slices.filter(|s| matches!(s.what, What::Request { .. }));
    Process {
        pid: timeline.pid,
        name: timeline.origin.name.clone(),
        threads: timeline.threads.len() as u64,
        requests: requests.count() as u64,
        collections: timeline.collections.len() as u64,
        events: events.events.len() as u64,
        lost: events.header.lost(),
        torn: events.skipped.torn.len() as u64,
    }
}

/// Whether what will be recorded can be kept: a recording that is there is not made again.
pub fn possible<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<(), Failure> {
    for path in paths {
        let writing = writing(path);
        File::create(&writing)
            .and_then(|_| std::fs::remove_file(&writing))
            .map_err(|e| unreadable(path, format!("{e}; name a file that can be written")))?;
    }
    Ok(())
}

fn writing(path: &Path) -> PathBuf {
    let mut writing = path.as_os_str().to_owned();
    writing.push(".writing");
    writing.into()
}

/// Under another name first, so that the file is there whole or not at all.
pub fn whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let writing = writing(path);
    let written = File::create(&writing)
        .map(BufWriter::new)
        .and_then(|mut file| {
            write(&mut file)?;
            file.flush()
        });
    written
        .and_then(|()| std::fs::rename(&writing, path))
        .map_err(|e| {
            let _ = std::fs::remove_file(&writing);
            unreadable(path, format!("{e}; name a file that can be written"))
        })
}

/// The document in words.
pub fn page(document: &Document) -> String {
    let mut page = format!(
        "{:.1} s in {}: open it at https://ui.perfetto.dev\n",
        document.seconds, document.output
    );
    for p in &document.processes {
        page += &format!(
            "  {} (process {}): {} on {}, {} of the collector, {}\n",
            p.name,
            p.pid,
            counted(p.requests, "request"),
            counted(p.threads, "thread"),
            counted(p.collections, "pause"),
            counted(p.events, "event")
        );
        if p.lost > 0 {
            page += &format!(
                "    its file was full: {} later events are lost; give it more with --buffer, or ask for less time\n",
                grouped(p.lost)
            );
        }
        if p.torn > 0 {
            page += &format!(
                "    {} events were being written when they were read, and are missing\n",
                grouped(p.torn)
            );
        }
    }
    for silent in &document.silent {
        page += &format!(
            "  process {}: nothing, because {}\n",
            silent.pid, silent.reason
        );
    }
    page
}
