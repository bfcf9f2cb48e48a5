//! `watch`: reads flight files again and again and shows what servers do now.

mod live;
mod readings;

use crate::args::WatchArgs;
use crate::{Failure, output};
use ::watch::Window;
use experiment::config::{Asked, Problem, parse_duration};
use readings::Readings;
use std::io::IsTerminal;
use std::ops::RangeInclusive;
use std::time::Duration;

const LENGTHS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(300);
const INTERVALS: RangeInclusive<Duration> = Duration::from_millis(200)..=Duration::from_secs(60);

/// `powerband watch`.
pub fn watch(args: &WatchArgs) -> Result<u8, Failure> {
    let (length, interval) = times(args)?;
    let mut readings = Readings::of(args);
    let first = readings.read()?;
    if !args.once && output::is_terminal() && std::io::stdin().is_terminal() {
        return live::show(readings, first, length, interval);
    }
    std::thread::sleep(length);
    let window = Window::between(&first, &readings.read()?);
    if window.processes.is_empty() {
        return Err(readings.nothing_runs());
    }
    let width = output::style().width;
    output::print(&::watch::plain(&window, width))?;
    Ok(0)
}

fn times(args: &WatchArgs) -> Result<(Duration, Duration), Failure> {
    let mut problems = Vec::new();
    let mut checked = |text: &str, flag, range: RangeInclusive<Duration>, remedy| {
        let asked = Asked::new(text.to_owned(), flag);
        let parsed = parse_duration(&asked).and_then(|time| match range.contains(&time) {
            true => Ok(time),
            false => Err(Problem::of(&asked, "out of range", remedy)),
        });
        parsed.unwrap_or_else(|problem| {
            problems.push(problem);
            *range.start()
        })
    };
    let length = checked(&args.length, "--for", LENGTHS, "give a time from 1s to 5m");
    let remedy = "give a time from 200ms to 1m";
    let interval = checked(&args.interval, "--interval", INTERVALS, remedy);
    if problems.is_empty() {
        return Ok((length, interval));
    }
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    Err(Failure::usage(lines.join("\n")))
}
