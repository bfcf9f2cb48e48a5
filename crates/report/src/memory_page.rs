//! The page of `powerband memory`: the verdict, the memory of each process, what it consists of, and when the limit is reached.

mod answer;
mod consists;

use crate::Style;
use crate::figures::{bytes, counted, duration, grouped, plain, small_bytes};
use crate::sheet::Sheet;
use crate::tables::{NONE, table};
pub(crate) use consists::{PARTS, UNCLEAR, part_name, part_sum};
use run::memory::{Container, Course, Document, Ending, Growth, Pace, Process, Sample};

/// More processes than these are not listed one by one.
const LISTED: usize = 40;

pub(crate) fn sheet(document: &Document, style: Style) -> Sheet {
    let mut sheet = Sheet::new(style);
    sheet.bold(&answer::answer(document));
    if let Some(reached) = document
        .container
        .and_then(|container| container.limit_reached)
    {
        sheet.prose(&format!(
            "At this growth the limit of the control group is reached in {} ({} to {}).",
            long(reached.in_s),
            long(reached.soonest_s),
            long(reached.latest_s)
        ));
    }
    sheet.labelled("Read  ", &read(document));
    if let Some(pace) = document.growth.per_thousand_requests {
        sheet.labelled("By requests  ", &by_requests(&pace, &document.samples));
    }
    processes(&mut sheet, document);
    consists::write(&mut sheet, document);
    if let Some(container) = &document.container {
        sheet.heading("Control group");
        sheet.prose(&group(container));
    }
    sheet.listed("Not known", &document.not_known);
    sheet
}

/// Requests between the first reading with a count and the last; `None` for fewer than two.
fn served(samples: &[Sample]) -> Option<u64> {
    let mut counts = samples.iter().filter_map(|sample| sample.requests);
    let first = counts.next()?;
    Some(counts.next_back()?.saturating_sub(first))
}

fn by_requests(pace: &Pace, samples: &[Sample]) -> String {
    let includes_none = pace.low_bytes <= 0.0 && pace.high_bytes >= 0.0;
    format!(
        "{} a thousand requests, over {} requests{}.",
        answer::pace(pace),
        grouped(served(samples).unwrap_or(0)),
        if includes_none {
            "; no change is among the possible values"
        } else {
            ""
        }
    )
}

fn read(document: &Document) -> String {
    let ending = match document.ending {
        Ending::TimeOver => "",
        Ending::Interrupted => ", until it was interrupted",
        Ending::ProcessesEnded => ", until the processes ended",
    };
    let exact = document
        .samples
        .iter()
        .filter(|sample| sample.pss_bytes.is_some())
        .count();
    format!(
        "{} from {}: {} in {}{ending}; PSS {}.",
        counted(document.processes.len(), "process"),
        plain(&document.sources.join(", ")),
        counted(document.samples.len(), "reading"),
        duration(document.length_s),
        match exact {
            0 => "was not read".to_owned(),
            all if all == document.samples.len() => "in each".to_owned(),
            some => format!("in {some} of them"),
        }
    )
}

fn processes(sheet: &mut Sheet, document: &Document) {
    sheet.heading("Memory of each process at its last reading");
    let head = [
        "process",
        "PSS",
        "USS",
        "RSS",
        "swap",
        "change an hour",
        "verdict",
    ];
    let mut rows = table(sheet.style(), &head, 1);
    let all = document.processes.len() > 1;
    for process in document.processes.iter().take(LISTED) {
        rows.add_row(row(
            &process_name(process),
            &process.samples,
            &process.growth,
        ));
    }
    if all {
        rows.add_row(row("all", &document.samples, &document.growth));
    }
    sheet.table(rows);
    if let Some(more @ 1..) = document.processes.len().checked_sub(LISTED) {
        sheet.prose(&format!(
            "{} more are in the JSON document.",
            counted(more, "process")
        ));
    }
    sheet.prose(
        "PSS divides a page among the processes that share it, so that it adds up; RSS counts it in each; USS counts the pages that no \
         other process has. The change an hour is of the whole time, in the measure that the verdict names.",
    );
    let changed =
        |which: fn(&Process) -> bool| document.processes.iter().filter(|p| which(p)).count();
    let (began, ended) = (changed(|p| p.began), changed(|p| p.ended));
    if began + ended > 0 {
        sheet.prose(&format!(
            "{} began and {} ended in the time: the sum over all processes includes this change.",
            counted(began, "process"),
            ended
        ));
    }
}

fn row(name: &str, samples: &[Sample], growth: &Growth) -> Vec<String> {
    let last = samples.last();
    let exact = samples
        .iter()
        .rev()
        .find(|sample| sample.pss_bytes.is_some());
    let known = |value: Option<u64>| value.map_or_else(|| NONE.to_owned(), bytes);
    vec![
        name.to_owned(),
        known(exact.and_then(|sample| sample.pss_bytes)),
        known(exact.and_then(|sample| sample.uss_bytes)),
        known(last.map(|sample| sample.rss_bytes)),
        known(last.and_then(|sample| sample.swap_bytes)),
        growth
            .per_hour
            .map_or_else(|| NONE.to_owned(), |pace| small_bytes(pace.bytes)),
        match growth.course {
            Course::TooShort => answer::word(growth.course).to_owned(),
            course => format!("{} ({})", answer::word(course), growth.measure.word()),
        },
    ]
}

/// `worker 0 (pid 4711)`, `ruby (pid 4700, ended)`.
pub(crate) fn process_name(process: &Process) -> String {
    let name = match process.worker {
        Some(worker) => format!("worker {worker}"),
        None => plain(&process.name),
    };
    let state = match (process.began, process.ended) {
        (_, true) => ", ended",
        (true, _) => ", began",
        _ => "",
    };
    format!("{name} (pid {}{state})", process.pid)
}

fn group(container: &Container) -> String {
    let size =
        |label: &str, value: Option<u64>| value.map(|value| format!("{label} {}", bytes(value)));
    let used = container.used_bytes.map(|used| {
        format!(
            "{} without idle file cache (which the kernel frees when it needs memory)",
            bytes(used)
        )
    });
    let sizes = [
        size("uses", container.current_bytes),
        used,
        size("peak", container.peak_bytes),
        Some(size("limit", container.limit_bytes).unwrap_or_else(|| "no limit".to_owned())),
    ];
    let shortages = [
        container
            .oom_events
            .map(|count| format!("ran out of memory {}", counted(count, "time"))),
        container.oom_kills.map(|killed| {
            let meanwhile = container.oom_kills_meanwhile.filter(|count| *count > 0);
            let meanwhile = meanwhile.map(|count| format!(", {count} of them during this reading"));
            format!(
                "the kernel killed {} for lack of memory{}",
                counted(killed, "process"),
                meanwhile.unwrap_or_default()
            )
        }),
    ];
    let shortages: Vec<String> = shortages.into_iter().flatten().collect();
    let since = match shortages.is_empty() {
        true => String::new(),
        false => format!(". Since the group was made: {}", shortages.join("; ")),
    };
    let sizes: Vec<String> = sizes.into_iter().flatten().collect();
    sizes.join(", ") + &since + "."
}

/// Days where there are many hours.
fn long(seconds: f64) -> String {
    match seconds {
        s if s >= 3.0 * 86_400.0 => format!("{:.0} days", s / 86_400.0),
        s => duration(s),
    }
}
