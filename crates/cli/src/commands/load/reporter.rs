//! What a run says while it goes on: progress on stderr, rows of CSV. On a thread of its own.

use super::csv_file::CsvFile;
use super::interval::Interval;
use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use load::INFINITE_FROM_US;
use run::load::least_values;
use std::io::IsTerminal;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How far there is to go.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// Requests, where their number ends the run.
    pub requests: Option<u64>,
    /// Time, where it does.
    pub length: Option<Duration>,
}

/// Reports what happens until the sender is dropped.
#[derive(Debug)]
pub struct Reporter {
    thread: JoinHandle<Result<(), String>>,
}

impl Reporter {
    /// `what` names the phase. Nothing is said when `quiet`; rows are written all the same.
    pub fn start(
        what: &'static str,
        extent: Extent,
        quiet: bool,
        csv: Option<CsvFile>,
    ) -> (Sender<Interval>, Reporter) {
        let (to, from) = channel();
        let thread = std::thread::spawn(move || {
            let speech = (!quiet).then(|| Speech::new(what, extent));
            report(&from, speech, csv)
        });
        (to, Reporter { thread })
    }

    /// Waits until everything was reported; the sender must be gone by then.
    pub fn finish(self) -> Result<(), String> {
        self.thread
            .join()
            .unwrap_or_else(|_| Err("the reporter failed".to_owned()))
    }
}

fn report(
    from: &Receiver<Interval>,
    mut speech: Option<Speech>,
    mut csv: Option<CsvFile>,
) -> Result<(), String> {
    let mut result = Ok(());
    for interval in from {
        if let Some(speech) = &mut speech {
            speech.tell(&interval);
        }
        if let Some(file) = &mut csv
            && let Err(failure) = file.row(&interval)
        {
            // The run goes on, and the file's error is reported at its end: the figures are
            // worth more.
            result = Err(failure);
            csv = None;
        }
    }
    if let Some(bar) = speech.and_then(|speech| speech.bar) {
        bar.finish_and_clear();
    }
    result
}

/// A bar on a terminal, a line now and then elsewhere.
struct Speech {
    what: &'static str,
    extent: Extent,
    bar: Option<ProgressBar>,
    every: Duration,
    next: Duration,
}

impl Speech {
    fn new(what: &'static str, extent: Extent) -> Speech {
        let bar = std::io::stderr().is_terminal().then(|| bar(extent));
        // A long run is reported in some twenty lines.
        let every = extent.length.map_or(Duration::from_secs(10), |l| l / 20);
        let every = every.max(Duration::from_secs(1));
        Speech {
            what,
            extent,
            bar,
            every,
            next: Duration::ZERO,
        }
    }

    fn tell(&mut self, interval: &Interval) {
        let words = format!("{}  {}", self.what, described(interval));
        match &self.bar {
            Some(bar) => {
                let done = match self.extent {
                    Extent {
                        requests: Some(_), ..
                    } => interval.requests,
                    _ => interval.elapsed.as_millis() as u64,
                };
                bar.set_position(done.min(bar.length().unwrap_or(u64::MAX)));
                bar.set_message(words);
            }
            None if interval.elapsed >= self.next => {
                let seconds = interval.elapsed.as_secs();
                output::say(&format!("{:>3}:{:02}  {words}", seconds / 60, seconds % 60));
                self.next = interval.elapsed + self.every - Duration::from_millis(500);
            }
            None => {}
        }
    }
}

fn bar(extent: Extent) -> ProgressBar {
    let (length, template) = match extent {
        Extent {
            requests: Some(n), ..
        } => (
            n,
            "{spinner} {bar:20} {pos}/{len} requests, {eta} left  {wide_msg}",
        ),
        Extent {
            length: Some(time), ..
        } => (
            time.as_millis() as u64,
            "{spinner} {bar:20} {elapsed}, {eta} left  {wide_msg}",
        ),
        _ => (0, "{spinner} {elapsed}  {wide_msg}"),
    };
    let bar = ProgressBar::new(length);
    let style = ProgressStyle::with_template(template);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

fn described(interval: &Interval) -> String {
    let slice = &interval.slice;
    let seconds = (slice.length_ns as f64 / 1e9).max(1e-9);
    let rate = |count: u64| format!("{:.1}/s", count as f64 / seconds);
    let latency = |us: u64| match us {
        _ if slice.ok + slice.errors == 0 => "-".to_owned(),
        us if us >= INFINITE_FROM_US => "failed".to_owned(),
        us => format!("{:.1} ms", us as f64 / 1e3),
    };
    let tail = match slice.ok + slice.errors >= least_values(99.0) {
        true => format!("p99 {}", latency(slice.p99_us)),
        false => format!("max {}", latency(interval.max_us)),
    };
    let mut words = format!(
        "due {}, sent {}, ok {}, p50 {}, {tail}, failed {}",
        rate(slice.due),
        rate(slice.sent),
        rate(slice.ok),
        latency(slice.p50_us),
        slice.errors,
    );
    if interval.draining {
        words.push_str("; waiting for the last answers");
    } else if interval.behind > Duration::from_secs(1) {
        words.push_str(&format!(
            "; requests wait {:.1} s for a connection",
            interval.behind.as_secs_f64()
        ));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::Slice;

    fn told(ok: u64, errors: u64) -> String {
        described(&Interval {
            elapsed: Duration::from_secs(1),
            slice: Slice {
                start_ns: 0,
                length_ns: 1_000_000_000,
                due: ok,
                sent: ok,
                ok,
                errors,
                mean_us: 1e3,
                p50_us: 1_000,
                p99_us: 3_000,
            },
            p90_us: 2_000,
            max_us: 4_000,
            requests: ok + errors,
            behind: Duration::ZERO,
            draining: false,
        })
    }

    /// As the other figures of the line.
    #[test]
    fn failures_are_those_of_the_interval() {
        let said = told(100, 2);
        assert!(said.ends_with("failed 2"), "{said}");
    }

    #[test]
    fn a_percentile_of_too_few_requests_is_not_shown() {
        let few = told(99, 0);
        assert!(few.contains("p50 1.0 ms, max 4.0 ms, failed 0"), "{few}");
        let enough = told(100, 0);
        assert!(
            enough.contains("p50 1.0 ms, p99 3.0 ms, failed 0"),
            "{enough}"
        );
    }
}
