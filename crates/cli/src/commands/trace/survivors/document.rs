//! The survivors document from what was recorded, with the lines of code that advice is about.

use super::Recorded;
use flight::survivors::{Site, Step};
use run::survivors as doc;
use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use trace::{Fate, Line, Sites};

/// No more of a file is read for a line of it.
const MOST_CODE: u64 = 1 << 20;
/// A longer line is cut.
const LONGEST_LINE: usize = 160;

/// The document.
pub fn document(target: &Path, every: u32, recorded: &Recorded, sites: &Sites) -> doc::Document {
    let mut code = Code::default();
    let totals = [Fate::Old, Fate::Young].map(|fate| total(sites, fate));
    let root = recorded.found.first();
    let root = root.map_or("", |(_, snapshot)| snapshot.header.app_root.as_str());
    let (lines, belongs) = sites.lines(root);
    let line = |one: &Line| line(sites, one, every, &totals, root, &mut code);
    doc::Document {
        schema: doc::SCHEMA.to_owned(),
        powerband_version: env!("CARGO_PKG_VERSION").to_owned(),
        read_at: ::inspect::rfc3339(crate::commands::inspect::now_ns()),
        source: target.display().to_string(),
        every,
        processes: recorded.found.iter().map(process).collect(),
        silent: recorded.silent.clone(),
        old: scaled(totals[0], every),
        young: scaled(totals[1], every),
        frames: (sites.frames.iter())
            .map(|frame| doc::Frame {
                label: frame.label.clone(),
                path: frame.path.clone(),
            })
            .collect(),
        lines: lines.iter().map(line).collect(),
        sites: (sites.sites.iter().zip(belongs))
            .map(|(one, line)| site(one, line))
            .collect(),
    }
}

fn process(
    (survivors, snapshot): &(flight::survivors::Survivors, flight::Snapshot),
) -> doc::Process {
    let header = &survivors.header;
    let ns = header.ended_mono_ns.saturating_sub(header.began_mono_ns);
    doc::Process {
        pid: header.pid,
        worker: snapshot.header.server.worker_index,
        seconds: ns as f64 / 1e9,
        collections: header.collections,
        allocated: header.allocated,
        sampled: header.sampled,
        internal: header.internal,
        lost: header.lost,
        undecided: header.undecided,
    }
}

/// Sampled objects and their bytes.
fn total(sites: &Sites, fate: Fate) -> (u64, u64) {
    sites
        .sites
        .iter()
        .fold((0_u64, 0_u64), |(count, bytes), site| {
            (
                count.saturating_add(fate.count(site)),
                bytes.saturating_add(fate.bytes(site)),
            )
        })
}

fn scaled((sampled, bytes): (u64, u64), every: u32) -> doc::Total {
    doc::Total {
        sampled,
        objects: sampled.saturating_mul(u64::from(every)),
        bytes: bytes.saturating_mul(u64::from(every)),
    }
}

fn site(site: &Site, line: usize) -> doc::Site {
    doc::Site {
        line: line as u32,
        sampled: site.sampled,
        old: site.promoted,
        young: site.died,
        stack: (site.steps.iter())
            .map(|step| doc::Step {
                frame: step.frame as u32,
                line: step.line,
            })
            .collect(),
    }
}

fn line(
    sites: &Sites,
    line: &Line,
    every: u32,
    totals: &[(u64, u64); 2],
    root: &str,
    code: &mut Code,
) -> doc::Line {
    let place = |step: Step| format!("{}:{}", sites.frames[step.frame].path, step.line);
    let counts = totals.map(|(count, _)| count);
    let all = &line.all;
    // Files are read only for lines that something may be said of.
    let worth_reading = line.making.filter(|_| !trace::is_negligible(all, counts));
    let text = worth_reading.and_then(|step| {
        let path = Path::new(root).join(&sites.frames[step.frame].path);
        code.line(&path, step.line)
    });
    let changes = trace::advice(sites, all, counts, text.as_deref());
    let advice = changes.into_iter().filter_map(|change| {
        Some(doc::Advice {
            change: worded(change),
            line: place(line.making?),
            code: text.clone(),
        })
    });
    doc::Line {
        class: all.class.clone(),
        made_at: line.making.map(place),
        application_line: line.application.map(place),
        sampled: all.sampled,
        old: fate(all, Fate::Old, counts[0], every),
        young: fate(all, Fate::Young, counts[1], every),
        advice: advice.collect(),
    }
}

fn fate(site: &Site, fate: Fate, total: u64, every: u32) -> doc::Fate {
    let sampled = fate.count(site);
    let share = (total > 0).then(|| stats::share(sampled, total));
    let all = scaled((sampled, fate.bytes(site)), every);
    doc::Fate {
        sampled,
        objects: all.objects,
        bytes: all.bytes,
        share: share.map(|[share, ..]| share),
        share_between: share.map(|[_, low, high]| [low, high]),
    }
}

fn worded(change: trace::Change) -> doc::Change {
    match change {
        trace::Change::Freeze => doc::Change::Freeze,
        trace::Change::Constant => doc::Change::Constant,
        trace::Change::Memoise => doc::Change::Memoise,
        trace::Change::MoveToBoot => doc::Change::MoveToBoot,
        trace::Change::Stream => doc::Change::Stream,
    }
}

/// Files of code as far as they can be read: processes may run in another container or as another user.
#[derive(Default)]
struct Code(HashMap<PathBuf, Vec<String>>);

impl Code {
    fn line(&mut self, path: &Path, number: u32) -> Option<String> {
        let lines = self.0.entry(path.to_owned());
        let lines = lines.or_insert_with(|| lines_of(path));
        let line = lines.get(usize::try_from(number).ok()?.checked_sub(1)?)?;
        Some(line.trim().chars().take(LONGEST_LINE).collect())
    }
}

fn lines_of(path: &Path) -> Vec<String> {
    let regular = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    let file = regular.then(|| File::open(path).ok()).flatten();
    let read = file.map(|file| BufReader::new(file.take(MOST_CODE)).split(b'\n'));
    let lines = read.into_iter().flatten().map_while(Result::ok);
    lines
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .collect()
}
