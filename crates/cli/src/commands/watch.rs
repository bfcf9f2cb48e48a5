//! `watch`: reads flight files again and again and shows what servers do now, in the terminal or in a browser.

mod live;
mod readings;
mod serve;

use super::within::within;
use crate::args::WatchArgs;
use crate::{Failure, output};
use ::watch::{Reading, Seen, Subject, Window};
use readings::Readings;
use serve::Wanted;
use std::io::IsTerminal;
use std::ops::RangeInclusive;
use std::time::Duration;

const LENGTHS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(300);
const INTERVALS: RangeInclusive<Duration> = Duration::from_millis(200)..=Duration::from_secs(60);

/// `powerband watch`.
pub fn watch(args: &WatchArgs) -> Result<u8, Failure> {
    let (length, interval) = times(args)?;
    let served = args
        .serve
        .as_ref()
        .map(|text| Wanted::of(text.as_deref(), args.no_open));
    let served = served.transpose()?;
    let mut readings = Readings::of(args);
    let first = readings.read()?;
    let subject = subject(args, &first)?;
    if let Some(wanted) = served {
        return serve::serve(
            readings,
            first,
            subject.as_ref(),
            (length, interval),
            wanted,
        );
    }
    if !args.once && output::is_terminal() && std::io::stdin().is_terminal() {
        return live::show(readings, first, subject, length, interval);
    }
    let mut seen = Seen::new(length);
    seen.push(first);
    std::thread::sleep(length);
    seen.push(readings.read()?);
    let window = seen.window().filter(|window| !window.processes.is_empty());
    let window = window.ok_or_else(|| readings.nothing_runs())?;
    let width = output::style().width;
    let Some(subject) = subject else {
        output::print(&::watch::plain(window, width))?;
        return Ok(0);
    };
    if let Subject::Endpoint(name) = &subject {
        of_endpoint(window, name)?;
    }
    seen.look_at(Some(&subject));
    let page = ::watch::plain_detail(&seen, width);
    let ended = || {
        Failure::no_answer(
            "the process ended meanwhile, or it runs in another container and no request of it ended; powerband inspect shows it",
        )
    };
    output::print(&page.ok_or_else(ended)?)?;
    Ok(0)
}

/// What `--pid` or `--endpoint` asks for.
fn subject(args: &WatchArgs, reading: &Reading) -> Result<Option<Subject>, Failure> {
    let Some(pid) = args.pid else {
        return Ok(args.endpoint.clone().map(Subject::Endpoint));
    };
    let named = reading.processes.iter().filter(|p| p.pid == pid);
    let named: Vec<_> = named.map(|process| process.id).collect();
    match named.as_slice() {
        [one] => Ok(Some(Subject::Process(*one))),
        [] => {
            let running = reading.processes.iter().map(|p| p.pid.to_string());
            Err(Failure::no_answer(format!(
                "--pid = {pid}: no process of that number writes a flight file there (the master of a cluster serves no requests and writes none); those that run are {}",
                running.collect::<Vec<_>>().join(", ")
            )))
        }
        several => Err(Failure::usage(format!(
            "--pid = {pid}: {} processes of different containers have that number; choose one of them in the table with Enter",
            several.len()
        ))),
    }
}

/// Fails where no request of it ended.
fn of_endpoint(window: &Window, name: &str) -> Result<(), Failure> {
    let ended = window.endpoints.iter().filter(|row| row.sums.requests > 0);
    let names: Vec<&str> = ended.map(|row| row.name.as_str()).collect();
    if names.contains(&name) {
        return Ok(());
    }
    let of = match names.as_slice() {
        [] => "nor of any other".to_owned(),
        names => format!("endpoints with requests are {}", run::first_of(names, 5)),
    };
    Err(Failure::no_answer(format!(
        "--endpoint = {name:?}: no request of it ended within {:.1} s; {of}; give another name, or a longer --for",
        window.length.as_secs_f64()
    )))
}

fn times(args: &WatchArgs) -> Result<(Duration, Duration), Failure> {
    let mut problems = Vec::new();
    let mut checked = |text: &str, flag, range: RangeInclusive<Duration>, words| {
        within(text, flag, &range, words).unwrap_or_else(|problem| {
            problems.push(problem);
            *range.start()
        })
    };
    let length = checked(&args.length, "--for", LENGTHS, "1s to 5m");
    let interval = checked(&args.interval, "--interval", INTERVALS, "200ms to 1m");
    if problems.is_empty() {
        return Ok((length, interval));
    }
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Err(Failure::usage(lines.join("\n")))
}
