//! The page that a run ends with: the answer first, then why, then what to change.

use crate::figures::{
    bytes, change_with_interval, clients_without_a_pause, counted, duration, rate, rounded_change,
};
use crate::reading::{baseline_word, called, decides};
use crate::sheet::{Sheet, first_line};
use crate::{
    Style, aged, answer, beyond_cores, command_page, fleet, growth, headroom, no_latency, pages,
    pod, predicted, proof, rates, request_time, since, smallest, so_far, steps, tables, tried,
    why_not, windows, worth,
};
use run::{Calibration, Document, Fitness, Kind, Outcome, Stage, TrialStatus, Worker};
use std::fmt::Write;

/// An effect of the order inside blocks is worth a sentence from this p on.
const ORDER_MATTERS: f64 = 0.05;

/// The page, without the parts that only experts want.
pub fn page(document: &Document, style: Style) -> String {
    written(document, Sheet::new(style), None)
}

/// The page of a run that a process works on: no advice to resume it.
pub fn page_while_running(document: &Document, worker: Worker, style: Style) -> String {
    written(document, Sheet::new(style), Some(worker))
}

/// The whole page.
pub fn page_in_full(document: &Document, style: Style) -> String {
    written(document, Sheet::in_full(style), None)
}

/// The page, to be read in pieces.
pub(crate) fn sheet_in_short(document: &Document, style: Style) -> Sheet {
    sheet(document, Sheet::new(style), None)
}

/// The same with the parts that experts want.
pub(crate) fn sheet_in_full(document: &Document, style: Style) -> Sheet {
    sheet(document, Sheet::in_full(style), None)
}

fn written(document: &Document, empty: Sheet, worker: Option<Worker>) -> String {
    sheet(document, empty, worker).into_text()
}

fn sheet(document: &Document, mut sheet: Sheet, worker: Option<Worker>) -> Sheet {
    let style = sheet.style();
    growth::write(&mut sheet, document);
    answer::write(&mut sheet, document, worker);
    if let Some(command) = &document.command {
        command_page::write(&mut sheet, document, command);
        warnings(&mut sheet, document);
        return sheet;
    }
    since::write(&mut sheet, document);
    smallest::write(&mut sheet, document);
    proof::write(&mut sheet, document);
    if !document.arms.is_empty() {
        sheet.heading("What was tried");
        sheet.tables(tried::tried(document, style));
        if let Some(of_blocks) = tried::changes_are_of_blocks(document) {
            sheet.prose(&of_blocks);
        }
        if let Some(too_few) = tried::not_proven(document) {
            sheet.prose(&too_few);
        }
        limit_of_cgroup(&mut sheet, document);
        why_not::write_broken(&mut sheet, document);
        no_latency::write(&mut sheet, document);
        why_not::write(&mut sheet, document);
        failed(&mut sheet, document);
        beyond_cores::write(&mut sheet, document);
        pod::write(&mut sheet, document);
        aged::write(&mut sheet, document);
    }
    so_far::write(&mut sheet, document);
    // Of revisions the label is all that there is to say.
    let labels = document.assertions.is_empty();
    let told = |arm: &run::ArmSummary| labels && arm.label.is_some() || !arm.environment.is_empty();
    if document.arms.iter().any(told) {
        sheet.heading("What each configuration sets");
        sheet.table(tables::environments(document, style));
    }
    if !document.trials.is_empty() {
        how(&mut sheet, document);
    }
    deciding(&mut sheet, document);
    worth::worth(&mut sheet, document);
    pages::write(&mut sheet, document);
    if let Some(calibration) = &document.calibration {
        identical(&mut sheet, document, calibration);
    }
    if let Some(profile) = &document.profile {
        request_time::write(&mut sheet, profile, document);
    }
    searched(&mut sheet, document);
    steps::write(&mut sheet, document);
    rates::write(&mut sheet, document);
    fleet::write(&mut sheet, document);
    headroom::write(&mut sheet, document);
    changes(&mut sheet, document);
    warnings(&mut sheet, document);
    predicted::write(&mut sheet, document);
    if sheet.is_full() {
        details(&mut sheet, document);
    }
    sheet
}

/// Why configurations failed; the other ways to leave are for experts.
fn failed(sheet: &mut Sheet, document: &Document) {
    let why = |arm: &run::ArmSummary| {
        let fate = first_line(&arm.fate);
        let at = fate.find("failed")?;
        Some(format!("{}: {}", called(document, arm), &fate[at..]))
    };
    let failed: Vec<String> = document.arms.iter().filter_map(why).collect();
    sheet.listed("What failed", &failed);
}

/// The windows of the search for the highest rate, which take their part of the run.
fn searches(document: &Document) -> String {
    let windows: usize = document.rates.iter().map(|of| of.search.trials.len()).sum();
    match windows {
        0 => String::new(),
        windows => format!(
            ", and the {} of the search for the highest rate",
            counted(windows as u64, "window")
        ),
    }
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
    let valid = document.trials.iter().filter(|t| t.counts()).count();
    let pilot = document
        .trials
        .iter()
        .filter(|t| t.counts() && t.stage == Stage::Pilot)
        .count();
    let (unsteady, failed) = (with(TrialStatus::NotSteady), with(TrialStatus::Failed));
    let mut text = format!(
        "{}{}, each a fresh start of the server{}, in {}",
        counted(valid, "trial"),
        match pilot {
            0 => String::new(),
            1 => " (1 of them a pilot trial)".to_owned(),
            pilot => format!(" ({pilot} of them pilot trials)"),
        },
        searches(document),
        duration(document.elapsed_s)
    );
    if let Some(resumed_at_s) = document.resumed_at_s {
        let before = |t: &&run::Trial| t.counts() && t.started_s < resumed_at_s;
        let _ = write!(
            text,
            " over more than one sitting ({} and {} before the run was resumed)",
            counted(document.trials.iter().filter(before).count(), "trial"),
            duration(resumed_at_s)
        );
    }
    if let Some(over_s) = plan.budget_s.map(|budget_s| document.elapsed_s - budget_s)
        && over_s >= 1.0
    {
        let _ = write!(text, " ({} more than the budget)", duration(over_s));
    }
    if unsteady > 0 {
        let were = if unsteady == 1 { "was" } else { "were" };
        let _ = write!(
            text,
            "; {unsteady} of them {were} not steady after the warm-up"
        );
    }
    if failed > 0 {
        let _ = write!(text, "; {failed} more failed");
    }
    text.push_str(&windows::sentences(document));
    let _ = write!(
        text,
        ". Throughput: {}.",
        clients_without_a_pause(plan.connections)
    );
    if let Some(sending) = &plan.sending {
        let _ = write!(text, " {}.", sending.sentence(plan.connections.into()));
    }
    let (ours, servers) = (
        plan.pinning.generator_cores.len(),
        plan.pinning.server_cores.len(),
    );
    if ours > 0 {
        let _ = write!(
            text,
            " Cores: {servers} for the server and {ours} for the generator ({}). A server that has all cores in production may need \
             other settings: --generator-core false gives it all.",
            plan.pinning.reason
        );
    }
    if let Some(asked) = plan.rate_per_s {
        let from = plan.rate_from_per_s.map_or_else(String::new, |capacity| {
            format!(
                ", {:.0} % of {} a second, the least that {} answered at full load in the first trials (the pilot)",
                100.0 * asked / capacity,
                rate(capacity),
                match baseline_word(document) {
                    "today" => "today's settings".to_owned(),
                    other => format!("the {other} configuration"),
                }
            )
        });
        let _ = write!(
            text,
            " Latency: {} requests a second at random moments (Poisson){from}.",
            rate(asked)
        );
    }
    if !document.comparisons.is_empty() {
        text.push_str(" A block is one trial of each configuration, close together in time.");
    }
    let can_miss = plan.detectable.can_miss();
    let can_miss = can_miss.filter(|_| document.compares_throughput());
    let mut deciding = document
        .comparisons
        .iter()
        .filter(|c| decides(c))
        .peekable();
    let decided = deciding.peek().is_some();
    // What was found was not missed.
    let open = deciding.find(|c| c.outcome == Outcome::Undecided);
    match (can_miss, open) {
        (Some(can_miss), open) if open.is_some() || decided && sheet.is_full() => {
            let blocks = counted(plan.blocks, "block");
            let _ = write!(text, " A run of {blocks} {can_miss}.");
            if sheet.is_full() {
                text.push_str(" (It finds four in five differences of that size.)");
            }
        }
        (None, Some(open)) if document.compares_throughput() => {
            let _ = write!(
                text,
                " How large a difference this run can miss is not known: {} too few to show how much equal trials differ.",
                match open.blocks {
                    1 => "1 block is".to_owned(),
                    blocks => format!("{} are", counted(blocks, "block")),
                }
            );
        }
        _ => {}
    }
    sheet.heading("How it was measured");
    sheet.prose(&text);
}

fn deciding(sheet: &mut Sheet, document: &Document) {
    let (title, several) = match document.comparisons.iter().filter(|c| decides(c)).count() {
        0 => return,
        1 => ("The deciding comparison", false),
        _ => ("The deciding comparisons", true),
    };
    sheet.heading(title);
    sheet.table(tables::deciding(document, sheet.style()));
    sheet.prose(&format!(
        "In parentheses: the 95 % interval of the change. p-value: how often two equal configurations would differ this clearly by \
         chance. If the two were equal, at most {:.0} % of runs would claim a difference{}.",
        document.plan.alpha * 100.0,
        if several && document.kind != Kind::Tune { ", for each comparison" } else { "" }
    ));
    let others = !document.latency.is_empty() || !document.memory.is_empty();
    if others && document.assertions.is_empty() {
        let metric = document.plan.objective.metric().words();
        sheet.prose(&format!(
            "The verdict is by {metric}. What else the configurations differ in:"
        ));
    }
    if !document.latency.is_empty() {
        sheet.line("");
        sheet.table(tables::latency(document, sheet.style()));
    }
    if document.memory.is_empty() {
        return;
    }
    sheet.line("");
    sheet.table(tables::memory(document, sheet.style()));
    let compared = |arm: &run::ArmSummary| {
        let mut memory = document.memory.iter();
        memory.any(|c| [&c.candidate, &c.baseline].contains(&&arm.name))
    };
    let alone = |arm: &&run::ArmSummary| arm.pss_bytes.is_some() && !compared(arm);
    if document.arms.iter().any(|arm| alone(&arm)) {
        sheet.prose(
            "The other configurations were not in this comparison: whether their memory differs was not tested.",
        );
    }
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
        "{} was first compared with itself: {found}, {}. {} of {} of six blocks called the two different",
        run::called(calibration.settings, &document.plan.baseline_environment),
        counted(calibration.blocks, "block"),
        calibration.false_positives,
        counted(calibration.runs, "run")
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
            " The second trial of a block came out {} against the first; random order keeps that out of the answer.",
            rounded_change(calibration.second_over_first)
        );
    }
    sheet.prose(&text);
}

/// What the screen saw of each knob, and where the trials went.
fn searched(sheet: &mut Sheet, document: &Document) {
    let Some(search) = &document.search else {
        return;
    };
    if !search.effects.is_empty() {
        sheet.heading("What each knob does, on average over the others");
        let of_latency = document.plan.objective.least == Some(run::Least::Latency);
        sheet.table(tables::effects(search, of_latency, sheet.style()));
    }
    for left_out in &search.left_out {
        sheet.prose(left_out);
    }
    if sheet.is_full() && !search.stages.is_empty() {
        let stages: Vec<String> = search
            .stages
            .iter()
            .map(|stage| format!("{} {}", stage.trials, of_stage(&stage.stage)))
            .collect();
        sheet.prose(&format!(
            "The search took these trials: {}.",
            stages.join(", ")
        ));
    }
}

/// What the trials of a part of the search were of.
fn of_stage(stage: &str) -> &str {
    match stage {
        "candidates" => "of processes and threads that the model proposed",
        "neighbours" => "of what lies next to the best of these",
        "screen" => "with many knobs changed at once",
        "race" => "of elimination rounds with what these suggest together",
        "refine" => "of what all trials together promise most of",
        "around" => "of the best with one change taken out or put in",
        "together" => "of these changes together",
        "confirm" => "of the comparison that decides",
        other => other,
    }
}

fn changes(sheet: &mut Sheet, document: &Document) {
    let Some(verdict) = &document.verdict else {
        return;
    };
    if !matches!(document.kind, Kind::Tune | Kind::Prove) {
        return;
    }
    if !verdict.changes.is_empty() {
        sheet.heading("What to change");
        let changes = &verdict.changes;
        let (by_git, others): (Vec<_>, Vec<_>) =
            changes.iter().partition(|c| c.applies_in_application());
        if !by_git.is_empty() {
            sheet.prose("This command applies the changes to the application's files:");
            // A shell goes on after a pipe at the end of a line.
            sheet.line(&format!("powerband report {} --diff |", document.id));
            let folder = crate::shell_word(&document.plan.app_dir);
            sheet.line(&format!("  git -C {folder} apply --unidiff-zero"));
        }
        for change in others {
            sheet.prose(&match change.hidden {
                true => format!("{}: change it by hand; a removed line has credentials and is not shown.", change.path),
                false => format!("{}: git apply accepts its diff in /, or change it by hand (see docs/advice.md).", change.path),
            });
        }
    }
    for change in &verdict.changes {
        for line in change.diff.lines() {
            sheet.diff_line(line);
        }
    }
    let with = match verdict.changes.is_empty() {
        true => "What to change by hand",
        false => "What the diffs do not do, to set or check by hand",
    };
    sheet.listed(with, &verdict.by_hand);
}

/// This limit was not given by the user, so the page names its source.
fn limit_of_cgroup(sheet: &mut Sheet, document: &Document) {
    let plan = &document.plan;
    if let (Some(limit), Some(cgroup)) = (plan.objective.max_memory_bytes, plan.cgroup_memory_bytes)
    {
        sheet.prose(&format!(
            "Memory limit: {}, 90 % of the cgroup's limit of {}. --max-memory SIZE sets another, --max-memory none switches it off.",
            bytes(limit),
            bytes(cgroup)
        ));
    }
}

fn warnings(sheet: &mut Sheet, document: &Document) {
    let mut warnings = document.warnings.as_slice();
    // The last warning of a run that failed is why, and stands at the top already.
    if let (Some(_), [rest @ .., _]) = (document.why_failed(), warnings) {
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
    sheet.table(tables::details(document, sheet.style()));
    if document.comparisons.iter().any(|c| !decides(c)) {
        sheet.line("");
        sheet.table(tables::screening(document, sheet.style()));
    }
}
