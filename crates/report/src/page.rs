//! The page that a run ends with: the answer first, then why, then what to change.

use crate::Style;
use crate::figures::{bytes, change, duration, rate};
use crate::tables;
use run::{Document, Kind, SdSource, State, TrialStatus};
use std::fmt::Write;

/// The whole page.
pub fn page(document: &Document, style: Style) -> String {
    let mut page = Page {
        text: String::new(),
        style,
    };
    page.answer(document);
    page.heading("What was measured");
    page.text.push_str(&tables::arms(document, style));
    page.how(document);
    if !document.comparisons.is_empty() {
        page.heading("Compared, block by block");
        page.text.push_str(&tables::comparisons(document, style));
    }
    if let Some(profile) = &document.profile {
        page.heading("Where the baseline's time goes, at saturation");
        page.text.push_str(&tables::profile(profile, style));
        page.line(&format!(
            "T* = 1 + I/O / GVL held = {:.1} threads keep one GVL busy, if I/O neither queues nor locks.",
            profile.useful_threads
        ));
    }
    if document
        .verdict
        .as_ref()
        .is_some_and(|v| !v.path.is_empty())
    {
        page.heading("From the baseline to there, one variable at a time");
        page.text.push_str(&tables::path(document, style));
    }
    page.headroom(document);
    page.changes(document);
    if !document.warnings.is_empty() {
        page.heading("Before you believe it");
        for warning in &document.warnings {
            page.line(&format!("- {warning}"));
        }
    }
    page.text
}

struct Page {
    text: String,
    style: Style,
}

impl Page {
    fn line(&mut self, text: &str) {
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn heading(&mut self, text: &str) {
        let (on, off) = if self.style.colour {
            ("\x1b[1m", "\x1b[0m")
        } else {
            ("", "")
        };
        let _ = write!(self.text, "\n{on}{text}{off}\n");
    }

    fn answer(&mut self, document: &Document) {
        let (on, off) = if self.style.colour {
            ("\x1b[1m", "\x1b[0m")
        } else {
            ("", "")
        };
        match (&document.verdict, document.state) {
            (Some(verdict), _) => self.line(&format!("{on}{}{off}", verdict.sentence)),
            (None, State::Running) => self.line(&format!("{on}This run has no verdict yet.{off}")),
            (None, State::Interrupted) => {
                self.line(&format!(
                    "{on}This run was interrupted; powerband {} --resume {} goes on.{off}",
                    document.kind.verb(),
                    document.id
                ));
            }
            (None, _) => self.line(&format!("{on}This run ended without a verdict.{off}")),
        }
    }

    fn how(&mut self, document: &Document) {
        let plan = &document.plan;
        let counted = document.trials.iter().filter(|t| t.counts()).count();
        let unsteady = document
            .trials
            .iter()
            .filter(|t| t.status == TrialStatus::NotSteady)
            .count();
        let failed = document
            .trials
            .iter()
            .filter(|t| t.status == TrialStatus::Failed)
            .count();
        let mut line = format!("{counted} trials in {}", duration(document.elapsed_s));
        if unsteady > 0 {
            let _ = write!(line, ", {unsteady} of them not steady");
        }
        if failed > 0 {
            let _ = write!(line, ", and {failed} that failed");
        }
        let _ = write!(
            line,
            "; capacity: closed loop of {} connections",
            plan.connections
        );
        if let Some(asked) = plan.rate_per_s {
            let _ = write!(
                line,
                "; latency: Poisson arrivals, {} a second",
                rate(asked)
            );
        }
        self.line(&(line + "."));
        let detectable = &plan.detectable;
        let source = match detectable.source {
            SdSource::Default => "assumed",
            SdSource::Pilot => "seen between two runs of the baseline",
            SdSource::Data => "seen in the blocks themselves",
        };
        self.line(&format!(
            "With {} blocks and the noise {source} ({:.1} % a block), a difference of {} is found four times in five.",
            plan.blocks,
            detectable.sd_log_ratio * 100.0,
            change(1.0 + detectable.effect)
        ));
    }

    fn headroom(&mut self, document: &Document) {
        let Some(room) = document.verdict.as_ref().and_then(|v| v.headroom.as_ref()) else {
            return;
        };
        self.heading("Headroom");
        if let Some(asked) = document.plan.rate_per_s {
            self.line(&format!(
                "At {} requests a second it is {:.0} % utilised.",
                rate(asked),
                room.utilisation_at_rate * 100.0
            ));
        }
        self.line(&format!(
            "Add capacity when traffic reaches {} a second (80 % of what it carries).",
            rate(room.add_capacity_at_per_s)
        ));
        self.line(&format!(
            "It takes {:.1} s to start; while two deploys overlap it needs up to {}.",
            room.boot_s,
            bytes(room.deploy_overlap_bytes)
        ));
    }

    fn changes(&mut self, document: &Document) {
        let Some(verdict) = &document.verdict else {
            return;
        };
        if document.kind != Kind::Tune || verdict.changes.is_empty() {
            return;
        }
        self.heading("What to change");
        for change in &verdict.changes {
            for line in change.diff.lines() {
                let (on, off) = match line.as_bytes().first() {
                    Some(b'+') if self.style.colour => ("\x1b[32m", "\x1b[0m"),
                    Some(b'-') if self.style.colour => ("\x1b[31m", "\x1b[0m"),
                    _ => ("", ""),
                };
                self.line(&format!("{on}{line}{off}"));
            }
        }
    }
}
