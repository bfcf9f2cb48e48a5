//! Progress on stderr: on a terminal one line that is updated below the results, elsewhere a line for each result, nothing when
//! quiet.

mod ahead;

use crate::output;
use crate::signals::Signals;
use ahead::Ahead;
use experiment::{Event, Watcher};
use indicatif::{ProgressBar, ProgressStyle};
use run::{CommandRun, RateTrial, Stage, Trial, TrialStatus, validation, without_remedy};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Watches an experiment for a person.
#[derive(Debug)]
pub struct Terminal {
    signals: Signals,
    began: Instant,
    quiet: bool,
    bar: Option<ProgressBar>,
    doing: Mutex<String>,
    ahead: Mutex<Ahead>,
}

impl Terminal {
    /// Progress unless `quiet`.
    pub fn new(signals: Signals, quiet: bool) -> Terminal {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(1);
            let template = "{spinner} {bar:16} {prefix}  {wide_msg}";
            bar.set_style(
                ProgressStyle::with_template(template)
                    .unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        Terminal {
            signals,
            began: Instant::now(),
            quiet,
            bar,
            doing: Mutex::new(String::new()),
            ahead: Mutex::new(Ahead::default()),
        }
    }

    /// Takes the bar away, so that the page stands alone.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None if !self.quiet => output::say(text),
            None => {}
        }
    }

    /// A result; where no bar says it, with what is ahead.
    fn result(&self, text: &str) {
        let ahead = match (&self.bar, self.ahead.lock()) {
            (None, Ok(ahead)) => ahead.words(self.began.elapsed()),
            _ => None,
        };
        match ahead {
            Some(ahead) => self.line(&format!("{text}  [{ahead}]")),
            None => self.line(text),
        }
    }

    fn is_ahead(&self, now: Ahead) {
        if let Some(bar) = &self.bar {
            let (position, length) = now.position();
            bar.set_length(length);
            bar.set_position(position);
        }
        if let Ok(mut ahead) = self.ahead.lock() {
            *ahead = now;
        }
        self.tick();
    }

    /// Says anew how much is left.
    fn tick(&self) {
        if let (Some(bar), Ok(ahead)) = (&self.bar, self.ahead.lock()) {
            bar.set_prefix(ahead.words(self.began.elapsed()).unwrap_or_default());
        }
    }

    fn doing(&self, text: String) {
        if let Some(bar) = &self.bar {
            bar.set_message(text.clone());
        }
        if let Ok(mut doing) = self.doing.lock() {
            *doing = text;
        }
    }
}

impl Watcher for Terminal {
    fn on(&self, event: Event<'_>) {
        match event {
            Event::Preparing(what) => {
                self.doing(what.to_owned());
                if self.bar.is_none() {
                    self.line(what);
                }
            }
            Event::Planned { document, because } => {
                let plan = &document.plan;
                let timing = plan.timing;
                let race = if plan.race_blocks > 0 {
                    format!(
                        "{} of up to {} each, then ",
                        run::counted(plan.race_blocks, "elimination round"),
                        run::counted(plan.arms, "configuration")
                    )
                } else {
                    String::new()
                };
                // What equal arms have shown is how their throughput scatters.
                let can_miss = plan.detectable.can_miss_with_remedy();
                let can_miss = can_miss.filter(|_| document.compares_throughput());
                let found = can_miss.map_or_else(String::new, |it| format!("; such a run {it}"));
                let within = plan.budget_s.map_or_else(String::new, |budget_s| {
                    format!("; budget {}", report::duration(budget_s))
                });
                self.line(&format!(
                    "plan ({because}): {race}{} of the deciding comparison; windows of {:.1} s{within}{found}",
                    run::counted(plan.blocks, "block"),
                    timing.saturation_s
                ));
            }
            Event::Trial {
                stage,
                block,
                blocks,
                called,
                finished,
                expected,
                left_s,
            } => {
                self.is_ahead(Ahead::trial(
                    stage,
                    finished,
                    expected,
                    left_s,
                    self.began.elapsed(),
                ));
                self.doing(format!("{} {block}/{blocks}: {called}", stage.word()));
            }
            Event::Phase(phase) => {
                self.tick();
                if let (Some(bar), Ok(doing)) = (&self.bar, self.doing.lock()) {
                    bar.set_message(format!("{doing}, {phase}"));
                }
            }
            Event::Ended {
                trial,
                called,
                reused,
            } => {
                let said = described(trial, called, reused, self.began.elapsed());
                match reused {
                    true => self.line(&said),
                    false => self.result(&said),
                }
            }
            Event::Ran { run, called } => {
                self.result(&ran(run, called, self.began.elapsed()));
            }
            Event::Offering {
                per_s,
                seconds,
                purpose,
                left_s,
                budget_s,
            } => {
                self.is_ahead(Ahead::search(left_s, budget_s, self.began.elapsed()));
                self.doing(format!(
                    "{}: {per_s:.4} a second for {seconds:.0} s",
                    purpose.word()
                ));
            }
            Event::Offered { trial } => self.result(&offered(trial, self.began.elapsed())),
            Event::Step {
                what,
                number,
                of,
                left_s,
            } => {
                self.is_ahead(Ahead::server(number, of, left_s, self.began.elapsed()));
                self.doing(what.to_owned());
            }
            Event::Scored { trial } => self.result(&scored(trial, self.began.elapsed())),
            Event::Note(note) => self.line(in_short(&note)),
        }
    }

    fn cancelled(&self) -> bool {
        self.signals.received().is_some()
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }
}

fn ran(run: &CommandRun, called: &str, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let peak = run
        .samples
        .iter()
        .map(|s| s.pss_bytes.unwrap_or(s.rss_bytes));
    let came = match &run.failed {
        Some(why) => format!("failed: {}", in_short(why)),
        None => format!(
            "{:>8.2} s  {:>8.2} s of CPU  at most {} MiB, {}",
            run.wall_s,
            run.cpu_s,
            peak.max().unwrap_or(0) >> 20,
            run::counted(run.samples.len(), "sample")
        ),
    };
    // A comparison has one stage.
    let stage = match run.stage {
        Stage::Compare => String::new(),
        stage => format!("{:<11} ", stage.shown()),
    };
    format!(
        "{:>3}:{:02}  {stage}block {:<2} {called:<28} {came}",
        seconds / 60,
        seconds % 60,
        run.block,
    )
}

/// Nothing of requests too few for it: it would be the slowest one.
fn p99(requests: u64, p99_ms: Option<f64>) -> String {
    match p99_ms {
        _ if requests < run::load::least_values(99.0) => String::new(),
        Some(ms) => format!("  p99 {ms:.0} ms"),
        None => "  p99 ∞".to_owned(),
    }
}

fn offered(trial: &RateTrial, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let share = |count: u64| 100.0 * count as f64 / trial.requests.max(1) as f64;
    let p99 = p99(trial.requests, trial.p99_ms);
    let note = match &trial.refused {
        Some(why) => format!("  does not count: {}", without_remedy(in_short(why))),
        None if !trial.recovered => "  did not recover".to_owned(),
        None => String::new(),
    };
    format!(
        "{:>3}:{:02}  {:<16} {:>8.1}/s for {:>4.1} s  late {:>5.2} %  failed {:>5.2} %{p99}{note}",
        seconds / 60,
        seconds % 60,
        trial.purpose.word(),
        trial.asked_per_s,
        trial.seconds,
        share(trial.late),
        share(trial.failed),
    )
}

fn scored(trial: &validation::Trial, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let what = match (trial.load, trial.rate_per_s) {
        (Some(load), Some(rate)) => format!("{:.0} %, {rate:.1}/s", load * 100.0),
        _ => "closed loop".to_owned(),
    };
    let head = format!(
        "{:>3}:{:02}  block {:<2} {:<28} {what:<16}",
        seconds / 60,
        seconds % 60,
        trial.block,
        trial.settings.to_string(),
    );
    if let Some(why) = &trial.refused {
        return format!("{head}  does not count: {}", without_remedy(in_short(why)));
    }
    let (Some(predicted), Some(measured)) = (trial.predicted, trial.measured) else {
        return head;
    };
    let both = |figure: validation::Scored| {
        let (ours, theirs) = (figure.of(&predicted.figures), figure.of(&measured.figures));
        let error = (ours / theirs - 1.0) * 100.0;
        format!(
            "  {} {ours:.1} / {theirs:.1} ({error:+.1} %)",
            figure.word()
        )
    };
    let figures: String = match trial.load {
        None => both(validation::Scored::Capacity),
        Some(_) => [validation::Scored::Mean, validation::Scored::P99]
            .map(both)
            .concat(),
    };
    let marks = match trial.marks.is_empty() {
        true => String::new(),
        false => format!("  ({})", trial.marks.join("; ")),
    };
    format!("{head}{figures}{marks}")
}

fn described(trial: &Trial, called: &str, reused: bool, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let head = format!(
        "{:>3}:{:02}  {:<11} block {:<2} {:<12}",
        seconds / 60,
        seconds % 60,
        trial.stage.shown(),
        trial.block,
        called
    );
    let capacity = trial.capacity_per_s().map(|c| format!("{c:>8.1}/s"));
    let measured = trial.objective.as_ref();
    let measured = measured.map(|w| p99(w.requests, w.response.p99_ms));
    // What it is due to, without the figures: they stand on the page.
    let latency = measured.or_else(|| {
        let why = trial.why_no_latency()?;
        let why = why.split_once(':').map_or(why, |(why, _)| why);
        Some(format!("  (no latency: {why})"))
    });
    let foreseen = trial.predicted.map(|p| {
        let p99 = p
            .p99_ms
            .map_or(String::new(), |ms| format!(", p99 {ms:.0} ms"));
        format!("  (predicted {:.1}/s{p99})", p.capacity_per_s)
    });
    let memory = trial
        .memory
        .as_ref()
        .map(|m| format!("  {} MiB", m.compared_bytes().unwrap_or(m.pss_bytes) >> 20));
    let note = match trial.status {
        TrialStatus::Ok => String::new(),
        TrialStatus::NotSteady => "  (not steady)".to_owned(),
        TrialStatus::Failed | TrialStatus::Abandoned => {
            let reason = in_short(trial.reason.as_deref().unwrap_or("no reason was recorded"));
            // It ends the run, and the message at the end has the whole reason.
            let reason = match trial.stage {
                Stage::Pilot => reason.split_once(": ").map_or(reason, |(what, _)| what),
                _ => reason,
            };
            format!("  failed: {reason}")
        }
    };
    let again = if reused { "  (from before)" } else { "" };
    format!(
        "{head}{}{}{}{}{note}{again}",
        capacity.unwrap_or_default(),
        latency.unwrap_or_default(),
        memory.unwrap_or_default(),
        foreseen.unwrap_or_default()
    )
}

/// The first line of a reason; the server's last log lines stand in the final message and in the run document.
fn in_short(reason: &str) -> &str {
    reason.lines().next().unwrap_or(reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_of_too_few_requests_is_not_shown() {
        let shown = |requests| p99(requests, Some(12.0));
        assert_eq!([99, 100].map(shown), ["", "  p99 12 ms"]);
        assert_eq!(p99(100, None), "  p99 ∞");
    }

    fn some_trial() -> Trial {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contract/samples/run");
        let samples = std::fs::read_dir(path).unwrap().filter_map(|entry| {
            let path = entry.unwrap().path();
            let is_run = path.extension().is_some_and(|end| end == "json");
            is_run.then(|| std::fs::read_to_string(path).unwrap())
        });
        let mut documents =
            samples.filter_map(|text| serde_json::from_str::<run::Document>(&text).ok());
        documents
            .find_map(|document| document.trials.into_iter().next())
            .unwrap()
    }

    #[test]
    fn a_pilot_that_fails_leaves_the_reason_to_the_last_message() {
        let mut trial = some_trial();
        trial.status = TrialStatus::Failed;
        trial.reason = Some("broken while warming up: GET /: 6 of 6 requests failed".to_owned());
        let said = |stage| {
            let trial = Trial {
                stage,
                ..trial.clone()
            };
            described(&trial, "today", false, Duration::ZERO)
        };
        let pilot = said(Stage::Pilot);
        assert!(
            pilot.ends_with("failed: broken while warming up"),
            "{pilot}"
        );
        let other = said(Stage::Confirm);
        assert!(other.ends_with("6 of 6 requests failed"), "{other}");
    }

    #[test]
    fn a_trial_without_a_latency_says_why() {
        let mut trial = some_trial();
        trial.objective = None;
        trial.reason = Some(format!(
            "{}the generator started requests late: p99 is 9 ms",
            Trial::NO_LATENCY
        ));
        let said = described(&trial, "arenas-2", false, Duration::ZERO);
        assert!(
            said.contains("(no latency: the generator started requests late)"),
            "{said}"
        );
        assert!(said.contains(" arenas-2 "), "as the user calls it: {said}");
    }
}
