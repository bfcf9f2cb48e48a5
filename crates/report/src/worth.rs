//! What a comparison of single settings comes to: which of them help, and harm nothing that was measured.

use crate::figures::change_with_interval;
use crate::reading::{decides, is_baseline};
use crate::sheet::Sheet;
use run::{ArmSummary, Comparison, Document, Feasibility, Kind, Outcome, SetVariable};

/// What is known of a setting after the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Worth {
    /// It helps one figure, and harms none.
    Setting,
    /// It harms one, or changes none.
    Nothing,
    Undecided,
}

/// A list where every candidate is the baseline with other variables, or preloaded; nothing for other comparisons.
pub(crate) fn worth(sheet: &mut Sheet, document: &Document) {
    let Some((baseline, candidates)) = single_settings(document) else {
        return;
    };
    sheet.heading("What is worth setting");
    let mut kept = Vec::new();
    for (arm, comparison) in candidates {
        let memory = document
            .memory
            .iter()
            .find(|m| m.candidate == arm.name && m.baseline == baseline.name);
        let (worth, why) = judged(arm, comparison, memory);
        let name = typed(&added(baseline, arm)).join(", ");
        let word = match worth {
            Worth::Setting => "worth setting",
            Worth::Nothing => "not worth setting",
            Worth::Undecided => "undecided",
        };
        sheet.labelled("- ", &format!("{name}: {word} ({why})"));
        if worth == Worth::Setting {
            kept.push(arm);
        }
    }
    let variables = kept.iter().flat_map(|arm| added(baseline, arm).set);
    let variables: Vec<String> = variables
        .filter(|set| !set.variable.starts_with("POWERBAND_"))
        .map(|set| format!("{}={}", set.variable, set.holds))
        .collect();
    if !variables.is_empty() {
        sheet.prose(&format!(
            "In the server's environment: {}",
            variables.join(" ")
        ));
    }
    if kept.len() > 1 {
        let today = arm_text(baseline);
        let all = kept.iter().flat_map(|arm| typed(&added(baseline, arm)));
        let all: Vec<String> = all.collect();
        sheet.prose(&format!(
            "Each was measured alone. Measure them together before you set them: powerband compare {today} {}",
            with(baseline, &all)
        ));
    }
}

type Candidate<'d> = (&'d ArmSummary, &'d Comparison);

/// The baseline, and the candidates with what decides of them.
fn single_settings(document: &Document) -> Option<(&ArmSummary, Vec<Candidate<'_>>)> {
    if document.kind != Kind::Compare {
        return None;
    }
    let baseline = document
        .arms
        .iter()
        .find(|arm| is_baseline(document, arm))?;
    let mut candidates = Vec::new();
    for comparison in document
        .comparisons
        .iter()
        .filter(|c| decides(c) && c.baseline == baseline.name)
    {
        let arm = document
            .arms
            .iter()
            .find(|arm| arm.name == comparison.candidate)?;
        let (ours, theirs) = (arm.settings, baseline.settings);
        let same = (ours.threads, ours.workers) == (theirs.threads, theirs.workers);
        let keeps = baseline
            .environment
            .iter()
            .all(|set| arm.environment.iter().any(|one| one.knob == set.knob));
        let added = added(baseline, arm);
        if !same || !keeps || arm.label.is_some() || (added.set.is_empty() && !added.preloads) {
            return None;
        }
        candidates.push((arm, comparison));
    }
    (!candidates.is_empty()).then_some((baseline, candidates))
}

fn judged(
    arm: &ArmSummary,
    throughput: &Comparison,
    memory: Option<&Comparison>,
) -> (Worth, String) {
    let of = |word: &str, c: &Comparison| {
        let change = change_with_interval(c.ratio, c.low, c.high);
        match c.outcome {
            Outcome::Equivalent => format!("{word} equivalent"),
            Outcome::Undecided => format!("{word} {change}, undecided"),
            Outcome::Better | Outcome::Worse => format!("{word} {change}"),
        }
    };
    let mut why = vec![of("throughput", throughput)];
    why.extend(memory.map(|memory| of("memory", memory)));
    let breaks = arm.feasible == Feasibility::Breaks;
    if breaks {
        why.push("breaks a limit".to_owned());
    }
    let both = [Some(throughput), memory];
    let outcomes = || both.iter().flatten().map(|c| c.outcome);
    let claimed = |c: &&Comparison| c.outcome == Outcome::Better && !c.not_claimed;
    let harms = breaks || outcomes().any(|outcome| outcome == Outcome::Worse);
    let worth = if harms {
        Worth::Nothing
    } else if both.iter().flatten().any(claimed) {
        Worth::Setting
    } else if outcomes().all(|outcome| outcome == Outcome::Equivalent) {
        Worth::Nothing
    } else {
        Worth::Undecided
    };
    (worth, why.join("; "))
}

/// What an arm sets that its baseline does not.
struct Added {
    set: Vec<SetVariable>,
    preloads: bool,
}

fn added(baseline: &ArmSummary, arm: &ArmSummary) -> Added {
    let new = |set: &&SetVariable| !baseline.environment.contains(set);
    Added {
        set: arm.environment.iter().filter(new).cloned().collect(),
        preloads: arm.settings.preload && !baseline.settings.preload,
    }
}

/// As `compare` takes it.
fn typed(added: &Added) -> Vec<String> {
    let preload = added.preloads.then(|| "preload=true".to_owned());
    let set = added
        .set
        .iter()
        .map(|set| format!("{}={}", set.knob, set.value));
    preload.into_iter().chain(set).collect()
}

fn arm_text(arm: &ArmSummary) -> String {
    let at = arm.settings;
    let mut text = format!("threads={},workers={}", at.threads, at.workers);
    if at.workers > 0 {
        text += &format!(",preload={}", at.preload);
    }
    for set in &arm.environment {
        text += &format!(",{}={}", set.knob, set.value);
    }
    text
}

/// The baseline with these settings in place of its own.
fn with(baseline: &ArmSummary, all: &[String]) -> String {
    let knob = |setting: &str| setting.split('=').next().unwrap_or_default().to_owned();
    let mut text: Vec<String> = arm_text(baseline)
        .split(',')
        .filter(|one| !all.iter().any(|other| knob(other) == knob(one)))
        .map(str::to_owned)
        .collect();
    text.extend_from_slice(all);
    text.join(",")
}
