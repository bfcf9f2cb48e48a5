//! The page that a run ends with: the answer first, then why, then what to change.

use crate::figures::{bytes, change_with_interval, duration, rate, rounded_change};
use crate::reading::{advised, advises_change, baseline_word, called, decides};
use crate::sheet::{Sheet, first_line};
use crate::{Style, answer, command_page, fleet, predicted, rates, tables, tried};
use run::{Calibration, Document, Fitness, Kind, Least, Profile, State, TrialStatus};
use std::fmt::Write;

/// An effect of the order inside blocks is worth a sentence from this p on.
const ORDER_MATTERS: f64 = 0.05;

/// The whole page.
pub fn page(document: &Document, style: Style) -> String {
    let mut sheet = Sheet::new(style);
    answer::write(&mut sheet, document);
    if let Some(command) = &document.command {
        command_page::write(&mut sheet, document, command);
        warnings(&mut sheet, document);
        return sheet.into_text();
    }
    if !document.arms.is_empty() {
        sheet.heading("What was tried");
        sheet.block(&tried::tried(document, style));
    }
    let told = |arm: &run::ArmSummary| arm.label.is_some() || !arm.environment.is_empty();
    if document.arms.iter().any(told) {
        sheet.heading("What each configuration sets");
        sheet.block(&tables::environments(document, style));
    }
    if !document.trials.is_empty() {
        how(&mut sheet, document);
    }
    deciding(&mut sheet, document);
    if let Some(calibration) = &document.calibration {
        identical(&mut sheet, document, calibration);
    }
    if let Some(profile) = &document.profile {
        time(&mut sheet, profile, document);
    }
    searched(&mut sheet, document);
    path(&mut sheet, document);
    rates::write(&mut sheet, document);
    fleet::write(&mut sheet, document);
    headroom(&mut sheet, document);
    changes(&mut sheet, document);
    warnings(&mut sheet, document);
    predicted::write(&mut sheet, document);
    details(&mut sheet, document);
    sheet.into_text()
}

fn how(sheet: &mut Sheet, document: &Document) {
    let plan = &document.plan;
    let with = |status| {
        document
            .trials
            .iter()
            .filter(|t| t.status == status)
            .count()
    };
    let counted = document.trials.iter().filter(|t| t.counts()).count();
    let (unsteady, failed) = (with(TrialStatus::NotSteady), with(TrialStatus::Failed));
    let mut text = format!(
        "{counted} trials, each a fresh start of the server, in {}",
        duration(document.elapsed_s)
    );
    if unsteady > 0 {
        let _ = write!(
            text,
            "; {unsteady} of them were not steady after warming up"
        );
    }
    if failed > 0 {
        let _ = write!(text, "; {failed} more failed");
    }
    let _ = write!(
        text,
        ". Throughput: {} clients that ask again as soon as they are answered, one connection a request.",
        plan.connections
    );
    if let Some(asked) = plan.rate_per_s {
        let _ = write!(
            text,
            " Latency: {} requests a second at random moments (Poisson).",
            rate(asked)
        );
    }
    // Processes are counted, and do not scatter.
    let scatters = plan.objective.least != Some(Least::Processes);
    let effect = plan.detectable.effect.filter(|_| scatters);
    let effect = effect.map(|effect| effect * 100.0);
    if let (true, Some(effect)) = (document.comparisons.iter().any(decides), effect) {
        let _ = write!(
            text,
            " This run would notice a difference of {effect:.1} % or more four times in five; a smaller one may \
             have been missed."
        );
    }
    sheet.heading("How it was measured");
    sheet.prose(&text);
}

fn deciding(sheet: &mut Sheet, document: &Document) {
    let title = match document.comparisons.iter().filter(|c| decides(c)).count() {
        0 => return,
        1 => "The deciding comparison",
        _ => "The deciding comparisons",
    };
    sheet.heading(title);
    sheet.block(&tables::deciding(document, sheet.style()));
}

/// The baseline against itself: what a reader may take from it about this host.
fn identical(sheet: &mut Sheet, document: &Document, calibration: &Calibration) {
    sheet.heading("Identical configurations");
    let found = change_with_interval(
        calibration.ratio,
        Some(calibration.low),
        Some(calibration.high),
    );
    let mut text = format!(
        "{} was first compared with itself: {found}, {} blocks. {} of {} runs of six blocks called the two different",
        run::called(calibration.settings, &document.plan.baseline_environment),
        calibration.blocks,
        calibration.false_positives,
        calibration.runs
    );
    let _ = match calibration.fitness {
        Fitness::Sound => write!(text, ", no more than chance explains."),
        Fitness::Widened => write!(
            text,
            ", more than chance explains: every interval here is widened by {:.1} % on both sides.",
            calibration.allowance * 100.0
        ),
        Fitness::Refused => write!(
            text,
            ", more than chance explains, and by more than the margin: nothing was compared."
        ),
    };
    let _ = write!(
        text,
        " Within a block throughput scatters by {:.1} %, from block to block by {:.1} %.",
        calibration.sd_log_ratio / std::f64::consts::SQRT_2 * 100.0,
        calibration.sd_log_level * 100.0
    );
    if calibration.p_order <= ORDER_MATTERS {
        let _ = write!(
            text,
            " Whoever came second in a block did {}; random order keeps that out of the answer.",
            rounded_change(calibration.second_over_first)
        );
    }
    sheet.prose(&text);
}

fn time(sheet: &mut Sheet, profile: &Profile, document: &Document) {
    sheet.heading(&match baseline_word(document) {
        "today" => "Where a request spends its time today, at full load".to_owned(),
        other => format!("Where a request spends its time with the {other}, at full load"),
    });
    sheet.block(&tables::profile(profile, sheet.style()));
    let threads = profile.useful_threads.round();
    let mut settings = document.arms.iter().map(|arm| arm.settings);
    let one_request_each =
        !document.arms.is_empty() && settings.all(|s| s.threads == 1 && s.workers > 0);
    sheet.prose(&if threads > 1.0 && one_request_each {
        format!(
            "While one process runs Ruby, about {:.0} {} be waiting, so about {threads:.0} processes keep one core \
             busy; fewer if that waiting is for a lock.",
            threads - 1.0,
            if threads > 2.0 { "others can" } else { "other can" }
        )
    } else if threads > 1.0 {
        format!(
            "While one thread runs Ruby, about {:.0} {} be waiting, so about {threads:.0} threads keep one process \
             busy; fewer if that waiting is for a lock.",
            threads - 1.0,
            if threads > 2.0 { "others can" } else { "other can" }
        )
    } else {
        "A request hardly waits for anything but Ruby, so one thread keeps one process busy.".to_owned()
    });
}

/// What the screen saw of each knob, and where the trials went.
fn searched(sheet: &mut Sheet, document: &Document) {
    let Some(search) = &document.search else {
        return;
    };
    if !search.effects.is_empty() {
        sheet.heading("What each knob does, on average over the others");
        let of_latency = document.plan.objective.least == Some(run::Least::Latency);
        sheet.block(&tables::effects(search, of_latency, sheet.style()));
    }
    if !search.stages.is_empty() {
        let stages: Vec<String> = search
            .stages
            .iter()
            .map(|stage| format!("{} {}", stage.trials, stage.stage))
            .collect();
        let mut text = format!("The search took these trials: {}.", stages.join(", "));
        if !search.left_out.is_empty() {
            let _ = write!(
                text,
                " For {} there was no time left.",
                search.left_out.join(" and ")
            );
        }
        sheet.prose(&text);
    }
}

fn path(sheet: &mut Sheet, document: &Document) {
    let Some(verdict) = document.verdict.as_ref().filter(|v| !v.path.is_empty()) else {
        return;
    };
    sheet.heading(&if advises_change(verdict) {
        format!(
            "From today's settings to {}, one change at a time",
            advised(document)
                .map_or_else(|| verdict.settings.to_string(), |arm| called(document, arm))
        )
    } else {
        "What the best other would have changed".to_owned()
    });
    sheet.block(&tables::path(document, sheet.style()));
}

fn headroom(sheet: &mut Sheet, document: &Document) {
    let Some(room) = document.verdict.as_ref().and_then(|v| v.headroom.as_ref()) else {
        return;
    };
    sheet.heading("Headroom");
    if advised(document).is_some() {
        if let Some(asked) = document.plan.rate_per_s {
            let asked = rate(asked);
            sheet.prose(&format!(
                "At {asked} requests a second it is {:.0} % busy (latency was checked at {asked}/s only).",
                room.utilisation_at_rate * 100.0
            ));
        }
        sheet.prose(&format!(
            "Add capacity when traffic reaches {} a second, 80 % of what it carries: beyond 80 % queues grow fast.",
            rate(room.add_capacity_at_per_s)
        ));
    }
    sheet.prose(&format!(
        "It takes {:.1} s to start; while two deploys overlap it needs up to {}.",
        room.boot_s,
        bytes(room.deploy_overlap_bytes)
    ));
}

fn changes(sheet: &mut Sheet, document: &Document) {
    let Some(verdict) = &document.verdict else {
        return;
    };
    if document.kind != Kind::Tune || verdict.changes.is_empty() {
        return;
    }
    sheet.heading("What to change");
    for change in &verdict.changes {
        for line in change.diff.lines() {
            sheet.diff_line(line);
        }
    }
}

fn warnings(sheet: &mut Sheet, document: &Document) {
    let mut warnings = document.warnings.as_slice();
    // The last warning of a run that failed is why, and stands at the top already.
    if let (State::Failed, None, [rest @ .., _]) = (document.state, &document.verdict, warnings) {
        warnings = rest;
    }
    if warnings.is_empty() {
        return;
    }
    sheet.heading("Before you believe it");
    for warning in warnings {
        sheet.labelled("- ", first_line(warning));
    }
}

fn details(sheet: &mut Sheet, document: &Document) {
    if document.arms.is_empty() {
        return;
    }
    sheet.heading("Details");
    sheet.block(&tables::details(document, sheet.style()));
    if document.comparisons.iter().any(|c| !decides(c)) {
        sheet.line("");
        sheet.block(&tables::screening(document, sheet.style()));
    }
}
