//! Progress on stderr: a bar with an ETA on a terminal, plain lines elsewhere, nothing when quiet.

use crate::output;
use crate::signals::Signals;
use experiment::{Event, Watcher};
use indicatif::{ProgressBar, ProgressStyle};
use run::{CommandRun, RateTrial, Trial, TrialStatus, validation};
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
}

impl Terminal {
    /// Progress unless `quiet`.
    pub fn new(signals: Signals, quiet: bool) -> Terminal {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new(1);
            let template =
                "{spinner} {bar:24} {pos}/{len}  {elapsed} elapsed, {eta} left  {wide_msg}";
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
            Event::Planned { plan, because } => {
                let timing = plan.timing;
                let race = if plan.race_blocks > 0 {
                    format!(
                        "up to {} arms in {} race blocks, then ",
                        plan.arms, plan.race_blocks
                    )
                } else {
                    String::new()
                };
                // What equal arms have shown is how their throughput scatters.
                let effect = plan.detectable.effect;
                let effect = effect.filter(|_| plan.objective.least.is_none());
                let found = effect.map_or_else(String::new, |effect| {
                    format!("; a difference of {:.1} % can be found", effect * 100.0)
                });
                self.line(&format!(
                    "plan ({because}): {race}{} deciding blocks; windows of {:.1} s{found}",
                    plan.blocks, timing.saturation_s
                ));
            }
            Event::Trial {
                stage,
                block,
                blocks,
                arm,
                finished,
                expected,
            } => {
                if let Some(bar) = &self.bar {
                    bar.set_length(u64::from(expected));
                    bar.set_position(u64::from(finished));
                }
                self.doing(format!("{} {block}/{blocks}: {arm}", stage.word()));
            }
            Event::Phase(phase) => {
                if let (Some(bar), Ok(doing)) = (&self.bar, self.doing.lock()) {
                    bar.set_message(format!("{doing}, {phase}"));
                }
            }
            Event::Ended { trial, reused } => {
                if let Some(bar) = &self.bar {
                    bar.inc(1);
                }
                self.line(&described(trial, reused, self.began.elapsed()));
            }
            Event::Ran { run, called } => {
                if let Some(bar) = &self.bar {
                    bar.inc(1);
                }
                self.line(&ran(run, called, self.began.elapsed()));
            }
            Event::Offering {
                per_s,
                seconds,
                purpose,
                left_s,
                budget_s,
            } => {
                if let Some(bar) = &self.bar {
                    bar.set_length(budget_s as u64);
                    bar.set_position((budget_s - left_s) as u64);
                }
                self.doing(format!(
                    "{}: {per_s:.4} a second for {seconds:.0} s",
                    purpose.word()
                ));
            }
            Event::Offered { trial } => self.line(&offered(trial, self.began.elapsed())),
            Event::Step {
                what,
                done_s,
                expected_s,
            } => {
                if let Some(bar) = &self.bar {
                    bar.set_length(expected_s as u64);
                    bar.set_position(done_s as u64);
                }
                self.doing(what.to_owned());
            }
            Event::Scored { trial } => self.line(&scored(trial, self.began.elapsed())),
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
            "{:>8.2} s  {:>8.2} s of CPU  at most {} MiB, {} samples",
            run.wall_s,
            run.cpu_s,
            peak.max().unwrap_or(0) >> 20,
            run.samples.len()
        ),
    };
    format!(
        "{:>3}:{:02}  block {:<2} {called:<28} {came}",
        seconds / 60,
        seconds % 60,
        run.block,
    )
}

fn offered(trial: &RateTrial, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let share = |count: u64| 100.0 * count as f64 / trial.requests.max(1) as f64;
    let p99 = trial
        .p99_ms
        .map_or_else(|| "∞".to_owned(), |ms| format!("{ms:.0} ms"));
    let note = match &trial.refused {
        Some(why) => format!("  does not count: {why}"),
        None if !trial.recovered => "  did not recover".to_owned(),
        None => String::new(),
    };
    format!(
        "{:>3}:{:02}  {:<7} {:>8.1}/s for {:>4.1} s  late {:>5.2} %  failed {:>5.2} %  p99 {p99}{note}",
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
        return format!("{head}  does not count: {}", in_short(why));
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

fn described(trial: &Trial, reused: bool, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    let head = format!(
        "{:>3}:{:02}  {:<9} block {:<2} {:<12}",
        seconds / 60,
        seconds % 60,
        trial.stage.word(),
        trial.block,
        run::called(trial.settings, &trial.environment)
    );
    let capacity = trial.capacity_per_s().map(|c| format!("{c:>8.1}/s"));
    let p99 = trial.objective.as_ref().map(|w| match w.response.p99_ms {
        Some(ms) => format!("  p99 {ms:.0} ms"),
        None => "  p99 ∞".to_owned(),
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
        .map(|m| format!("  {} MiB", m.pss_bytes >> 20));
    let note = match trial.status {
        TrialStatus::Ok => String::new(),
        TrialStatus::NotSteady => "  (not steady)".to_owned(),
        TrialStatus::Failed | TrialStatus::Abandoned => format!(
            "  failed: {}",
            in_short(trial.reason.as_deref().unwrap_or("no reason was recorded"))
        ),
    };
    let again = if reused { "  (from before)" } else { "" };
    format!(
        "{head}{}{}{}{}{note}{again}",
        capacity.unwrap_or_default(),
        p99.unwrap_or_default(),
        memory.unwrap_or_default(),
        foreseen.unwrap_or_default()
    )
}

/// The first line of a reason; the server's last log lines stand in the final message and in the run document.
fn in_short(reason: &str) -> &str {
    reason.lines().next().unwrap_or(reason)
}
