//! What a mirror says on stderr: a line that follows it on a terminal, a line every ten seconds elsewhere, counts at the end.

use super::kept::Kept;
use super::notices::stamped;
use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use mirror::proxy::Drained;
use mirror::{Destination, Sample, Shadow, Snapshot, Upstream};
use run::duplex::Document;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

/// Endpoints of the page at the end.
pub const ENDPOINTS: usize = 20;
/// Between two lines.
const ON_TERMINAL: Duration = Duration::from_secs(1);
const ELSEWHERE: Duration = Duration::from_secs(10);

/// Shows a mirror that runs.
#[derive(Debug)]
pub struct View {
    quiet: bool,
    bar: Option<ProgressBar>,
    next: Duration,
    before: (Duration, u64),
}

impl View {
    /// Nothing when quiet.
    pub fn new(quiet: bool) -> View {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template("{spinner} {elapsed} {wide_msg}");
            let bar = ProgressBar::new_spinner();
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
            bar.enable_steady_tick(Duration::from_millis(200));
            bar
        });
        View {
            quiet,
            next: if bar.is_some() {
                ON_TERMINAL
            } else {
                ELSEWHERE
            },
            bar,
            before: (Duration::ZERO, 0),
        }
    }

    /// It serves.
    pub fn begun(&self, lines: &[String]) {
        lines
            .iter()
            .for_each(|line| self.line(&format!("powerband mirror: {line}")));
    }

    /// What there is to say when it is time for it.
    pub fn show(&mut self, elapsed: Duration, counts: &Snapshot, kept: impl FnOnce() -> Arc<Kept>) {
        if self.quiet || elapsed < self.next {
            return;
        }
        self.next = elapsed
            + if self.bar.is_some() {
                ON_TERMINAL
            } else {
                ELSEWHERE
            };
        let (then, received) = std::mem::replace(&mut self.before, (elapsed, counts.received));
        let seconds = elapsed.saturating_sub(then).as_secs_f64().max(1e-3);
        let per_s = counts.received.saturating_sub(received) as f64 / seconds;
        let mut text = format!(
            "{} requests, {per_s:.0} a second",
            run::grouped(counts.received)
        );
        text.extend((counts.failed > 0).then(|| format!(", {} failed", counts.failed)));
        let kept = kept();
        let recorded = kept.recorded();
        text.extend((recorded > 0).then(|| format!(", {recorded} recorded")));
        let dropped: u64 = counts
            .shadows
            .iter()
            .flat_map(|shadow| shadow.dropped.values())
            .sum();
        text.extend((dropped > 0).then(|| format!(", {dropped} copies dropped")));
        if let Some(sentence) = kept.comparison.as_ref().and_then(first_sentence) {
            text = format!("{text}; {sentence}");
        }
        match &self.bar {
            Some(bar) => bar.set_message(text),
            None => self.line(&format!("{:.0} s: {text}", elapsed.as_secs_f64())),
        }
    }

    /// Clients are served as before for so long.
    pub fn lame_duck(&self, length: Duration) {
        self.line(&format!(
            "ending in {}: /readyz answers 503, clients are served; a second signal ends at once",
            humantime::format_duration(length)
        ));
    }

    /// It takes no connection any more.
    pub fn ending(&self, counts: &Snapshot) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        if counts.open > 0 {
            self.line(&format!(
                "ending: {} connections are open; a second signal does not wait for them",
                counts.open
            ));
        }
    }

    /// Every request in its place.
    pub fn ended(&self, counts: &Snapshot, kept: &Kept) {
        self.line(&format!(
            "since the start: {} requests: {} answered, {} failed by the primary, {} left by their clients; {} refused because they are not HTTP",
            run::grouped(counts.received),
            run::grouped(counts.answered),
            run::grouped(counts.failed),
            run::grouped(counts.aborted),
            run::grouped(counts.refused)
        ));
        for shadow in &counts.shadows {
            self.line(&format!(
                "since the start: {}: {} copies, {} answered; failed: {}; dropped: {}",
                shadow.name,
                run::grouped(shadow.sampled),
                run::grouped(shadow.answered),
                causes(&shadow.failed),
                causes(&shadow.dropped)
            ));
        }
        kept.files
            .iter()
            .for_each(|file| self.line(&format!("written: {}", file.display())));
        for (what, written) in &kept.written {
            let lost: u64 = written.lost.values().sum();
            if lost > 0 {
                output::error(&format!(
                    "{what}: {} records were not written: {}",
                    run::grouped(lost),
                    causes(&written.lost)
                ));
            }
        }
    }

    /// What was cut.
    pub fn drained(&self, drained: &Drained) {
        if drained.requests > 0 {
            output::error(&format!(
                "{} requests were cut when the time to drain was over",
                drained.requests
            ));
        }
    }

    /// Something went wrong: said when quiet as well.
    pub fn warn(&self, text: &str) {
        let text = stamped(text);
        match &self.bar {
            Some(bar) if !bar.is_finished() => bar.println(format!("powerband: {text}")),
            _ => output::error(&text),
        }
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) if !bar.is_finished() => bar.println(text),
            _ if !self.quiet => output::say(text),
            _ => {}
        }
    }
}

/// Those that happened.
fn causes(counts: &BTreeMap<&'static str, u64>) -> String {
    let happened = counts.iter().filter(|(_, count)| **count > 0);
    let causes: Vec<String> = happened
        .map(|(cause, count)| format!("{count} {cause}"))
        .collect();
    if causes.is_empty() {
        "none".to_owned()
    } else {
        causes.join(", ")
    }
}

fn first_sentence(document: &Document) -> Option<&str> {
    let text = document.sentence.split_inclusive(". ").next()?.trim();
    (!text.is_empty()).then_some(text)
}

/// An upstream as a URL.
pub fn url(upstream: &Upstream) -> String {
    match &upstream.at {
        Destination::Tcp { .. } if upstream.tls => format!("https://{}", upstream.at),
        Destination::Tcp { .. } => format!("http://{}", upstream.at),
        Destination::Unix(_) => upstream.at.to_string(),
    }
}

/// A shadow in a line.
pub fn shadow(shadow: &Shadow) -> String {
    let share = match &shadow.sample {
        Sample::Requests(share) => format!("{:.3} % of the requests", share * 100.0),
        Sample::Sessions { share, cookie } => {
            format!("{:.3} % of the users by {cookie}", share * 100.0)
        }
    };
    let share = share.replace(".000 %", " %");
    let methods = match shadow.filter.methods.as_slice() {
        [] => "only GET, HEAD, OPTIONS and TRACE".to_owned(),
        methods => methods.join(", "),
    };
    let twin = if shadow.twin {
        " (twin of the primary)"
    } else {
        ""
    };
    let copies = if shadow.copies > 1 {
        format!(", {} times each", shadow.copies)
    } else {
        String::new()
    };
    format!(
        "{}{twin} at {} gets {share}{copies}: {methods}",
        shadow.name,
        url(&shadow.upstream)
    )
}
