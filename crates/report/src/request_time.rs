//! Where a request spends its time with the baseline, and how many threads that keeps busy.

use crate::figures::{change_with_interval, counted, milliseconds};
use crate::reading::{advised, baseline, baseline_word, called, decides};
use crate::sheet::Sheet;
use crate::tables;
use run::{Document, EndpointProfile, LockProfile, Profile};
use std::fmt::Write;

/// Lock wait is worth a sentence from this share of a request's time on.
const MUCH_LOCK_WAIT: f64 = 0.05;

/// The GVL is held for so many times the CPU time of a request: worth a sentence.
const MUCH_WITHOUT_CPU: f64 = 1.2;

/// The section.
pub fn write(sheet: &mut Sheet, profile: &Profile, document: &Document) {
    sheet.heading(&match baseline_word(document) {
        "today" => "Where a request spends its time today, at full load".to_owned(),
        other => format!("Where a request spends its time with the {other}, at full load"),
    });
    sheet.table(tables::profile(profile, sheet.style()));
    sheet.prose(
        "From one trial of the pilot. The wait for a thread in front of the application is in the response times above, and not in this \
         total.",
    );
    // As `inspect` says it.
    let threads = run::whole_threads(profile.useful_threads);
    let mut settings = document.arms.iter().map(|arm| arm.settings);
    let one_request_each =
        !document.arms.is_empty() && settings.all(|s| s.threads == 1 && s.workers > 0);
    let unless_locks = match profile.lock_wait_ms {
        Some(_) => "",
        None => "; fewer if that waiting is for a lock",
    };
    let (one, what) = match one_request_each {
        true => ("process", "one core"),
        false => ("thread", "one process"),
    };
    let busy = run::keep_busy(profile.useful_threads, one, what);
    let others = threads - 1.0;
    sheet.prose(&match others {
        0.0 => format!("A request hardly waits for anything but Ruby, so {busy}."),
        1.0 => format!("A request waits for a part of its time, so {busy}{unless_locks}."),
        others => format!(
            "While one {one} runs Ruby, about {others:.0} others can be waiting, so {busy}{unless_locks}."
        ),
    });
    if let Some(said) = more_threads(document, profile, threads).filter(|_| !one_request_each) {
        sheet.prose(&said);
    }
    if let Some(lock_wait_ms) = profile
        .lock_wait_ms
        .filter(|ms| *ms >= MUCH_LOCK_WAIT * profile.wall_ms)
    {
        sheet.prose(&format!(
            "A request waits {} for a lock. That wait is not in this number: with more threads it becomes longer.{}",
            milliseconds(Some(lock_wait_ms)),
            profile.lock.as_ref().map_or(String::new(), named)
        ));
    }
    if let Some(said) = held_beyond_cpu(document, profile) {
        sheet.prose(&said);
    }
}

/// Which lock, and what it lets pass.
fn named(lock: &LockProfile) -> String {
    let mut text = format!(
        " Requests wait most at {}: {} a request",
        lock.site,
        milliseconds(Some(lock.wait_ms))
    );
    if let Some(held_ms) = lock.held_ms.filter(|_| lock.holds_per_request > 0.0) {
        let per_s = 1e3 / (held_ms * lock.holds_per_request);
        let _ = write!(
            text,
            ". A thread holds this lock for {} at a time: it lets {per_s:.0} requests a second of one process pass, however many threads the \
             process has. Hold it for a shorter time, or run more processes, each of which has its own",
            milliseconds(Some(held_ms))
        );
    }
    text + "."
}

/// Why a request runs Ruby for longer than it takes CPU time, where that shows.
fn held_beyond_cpu(document: &Document, profile: &Profile) -> Option<String> {
    let cpu_ms = baseline(document)?.cpu_ms_per_request?;
    (profile.held_ms > MUCH_WITHOUT_CPU * cpu_ms).then(|| {
        format!(
            "Running Ruby is the time for which a request holds the GVL, {} on average. That is more than its CPU time, {}: the rest \
             are waits for a core, and calls that do not release the GVL.",
            milliseconds(Some(profile.held_ms)),
            milliseconds(Some(cpu_ms))
        )
    })
}

/// Why the answer has more threads than so many keep a process busy.
fn more_threads(document: &Document, profile: &Profile, threads: f64) -> Option<String> {
    let arm = advised(document)?;
    let has = f64::from(arm.settings.threads);
    let mut comparisons = document.comparisons.iter();
    let measured = comparisons.find(|c| decides(c) && c.candidate == arm.name);
    if has < threads {
        let more = document
            .arms
            .iter()
            .any(|other| other.settings.threads > arm.settings.threads);
        let why = match more {
            true => "each further thread adds less than the one before it",
            false => "no configuration with more was tried",
        };
        return measured.map(|_| {
            format!(
                "{} has fewer threads than that: {why}; powerband calc threads --held {:.2}ms --io {:.2}ms --cores {} --processes {} shows \
                 what each further thread adds.",
                called(document, arm),
                profile.held_ms,
                profile.io_ms,
                document.server_cores(),
                arm.settings.workers.max(1)
            )
        });
    }
    if has <= threads {
        return None;
    }
    let mut text = format!(
        "{} has more threads than that: the number is a mean over all requests, at full load.",
        called(document, arm)
    );
    let useful = |endpoint: &EndpointProfile| 1.0 + endpoint.io_ms / endpoint.held_ms;
    let slow = profile.endpoints.iter().filter(|e| e.held_ms > 0.0);
    if let Some(slow) = slow.max_by(|a, b| useful(a).total_cmp(&useful(b)))
        && run::whole_threads(useful(slow)) > threads
    {
        let _ = write!(
            text,
            " {} alone would keep about {:.0} threads busy.",
            slow.name,
            run::whole_threads(useful(slow))
        );
    }
    let _ = match measured {
        Some(c) => write!(
            text,
            " The measurement decides, not this number: {} {} in {}.",
            c.metric.words(),
            change_with_interval(c.ratio, c.low, c.high),
            counted(c.blocks, "block")
        ),
        None => write!(
            text,
            " The measurement decides, not this number: nothing that was tried was better."
        ),
    };
    Some(text)
}
