//! What a comparison of single settings comes to: which of them help, and harm nothing that was measured.

use crate::reading::{decides, is_baseline};
use crate::sheet::Sheet;
use crate::shell::{shell_word, with_settings};
use run::{ArmSummary, Comparison, Conclusion, Document, Judged, Kind, SetVariable};

/// What documents have in place of a secret.
const REDACTED: &str = "REDACTED";

/// A list where every candidate is the baseline with other variables, or preloaded; nothing for other comparisons.
pub(crate) fn worth(sheet: &mut Sheet, document: &Document) {
    let Some((baseline, candidates)) = single_settings(document) else {
        return;
    };
    sheet.heading("What is worth setting");
    let mut kept = Vec::new();
    for Candidate {
        arm,
        throughput,
        added,
    } in candidates
    {
        let same = |c: &&Comparison| c.candidate == arm.name && c.baseline == baseline.name;
        let memory = document.memory.iter().find(same);
        let latency = document.latency.iter().find(same);
        let figures: Vec<&Comparison> = [Some(throughput), memory, latency]
            .into_iter()
            .flatten()
            .collect();
        let limits_latency = document.plan.objective.latency.is_some();
        let Judged { conclusion, why } =
            Judged::of(&figures, document.plan.margin, arm.feasible, limits_latency);
        let word = match conclusion {
            Conclusion::Kept => "worth setting",
            Conclusion::Refuted => "not worth setting",
            Conclusion::Undecided => "undecided",
        };
        sheet.labelled(
            "- ",
            &format!("{}: {word} ({why})", added.typed().join(", ")),
        );
        if conclusion == Conclusion::Kept {
            kept.push(added);
        }
    }
    if kept.is_empty() {
        return;
    }
    let set = kept.iter().flat_map(|added| added.set.iter().copied());
    let (variables, others): (Vec<_>, Vec<_>) = set.partition(|set| is_variable(set));
    let variables = variables
        .iter()
        .map(|set| format!("{}={}", set.variable, shell_word(&set.holds)));
    let variables: Vec<String> = variables.collect();
    let (gems, others): (Vec<_>, Vec<_>) = others.into_iter().partition(|set| is_gem(set));
    let mut by_hand: Vec<&str> = others.iter().map(|set| set.knob.as_str()).collect();
    if kept.iter().any(|added| added.preloads) {
        by_hand.push("preload");
    }
    if !variables.is_empty() {
        sheet.prose(&format!(
            "In the server's environment: {}",
            variables.join(" ")
        ));
    }
    for set in gems {
        sheet.prose(&format!(
            "In the Gemfile: {}, \"{}\"",
            set.variable, set.holds
        ));
    }
    if !by_hand.is_empty() {
        sheet.prose(&format!(
            "docs/knobs.md says how to set {}.",
            by_hand.join(", ")
        ));
    }
    let typed: Vec<String> = kept.iter().flat_map(Added::typed).collect();
    let again = again(baseline, &typed).map_or(String::new(), |words| {
        format!(": powerband compare {words}")
    });
    let figures = document.comparisons.len() + document.latency.len() + document.memory.len();
    sheet.prose(&format!(
        "{figures} figures were tested, each with its own error rate of {:.0} %. Measure what is worth setting once more, together{again}",
        document.plan.alpha * 100.0
    ));
}

struct Candidate<'d> {
    arm: &'d ArmSummary,
    throughput: &'d Comparison,
    added: Added<'d>,
}

/// The baseline, and the candidates with what decides of them.
fn single_settings(document: &Document) -> Option<(&ArmSummary, Vec<Candidate<'_>>)> {
    if document.kind != Kind::Compare {
        return None;
    }
    let baseline = document
        .arms
        .iter()
        .find(|arm| is_baseline(document, arm))?;
    let mut candidates: Vec<Candidate<'_>> = Vec::new();
    let comparisons = document.comparisons.iter();
    for throughput in comparisons.filter(|c| decides(c) && c.baseline == baseline.name) {
        let mut arms = document.arms.iter();
        let arm = arms.find(|arm| arm.name == throughput.candidate)?;
        let added = Added::to(baseline, arm)?;
        // Of two values of one knob only one can be set.
        let mut others = candidates.iter().flat_map(|other| &other.added.set);
        if others.any(|set| added.set.iter().any(|one| one.knob == set.knob)) {
            return None;
        }
        candidates.push(Candidate {
            arm,
            throughput,
            added,
        });
    }
    (!candidates.is_empty()).then_some((baseline, candidates))
}

/// What an arm sets that its baseline does not.
struct Added<'d> {
    set: Vec<&'d SetVariable>,
    preloads: bool,
}

impl<'d> Added<'d> {
    /// `None` where the arm differs in anything else, or in nothing.
    fn to(baseline: &ArmSummary, arm: &'d ArmSummary) -> Option<Added<'d>> {
        let (ours, theirs) = (arm.settings, baseline.settings);
        let same = (ours.threads, ours.workers) == (theirs.threads, theirs.workers);
        let mut own = baseline.environment.iter();
        let keeps = own.all(|set| arm.environment.iter().any(|one| one.knob == set.knob));
        let loses = theirs.preload && !ours.preload;
        if !same || !keeps || loses || arm.label.is_some() {
            return None;
        }
        let set = arm.environment.iter();
        let added = Added {
            set: set
                .filter(|set| !baseline.environment.contains(set))
                .collect(),
            preloads: ours.preload && !theirs.preload,
        };
        (!added.set.is_empty() || added.preloads).then_some(added)
    }

    /// As `compare` takes it.
    fn typed(&self) -> Vec<String> {
        let preload = self.preloads.then(|| "preload=true".to_owned());
        let set = self.set.iter().map(|set| typed(set));
        preload.into_iter().chain(set).collect()
    }
}

fn typed(set: &SetVariable) -> String {
    format!("{}={}", set.knob, set.value)
}

fn arm_text(arm: &ArmSummary) -> String {
    let mut text = arm.settings.typed();
    for set in &arm.environment {
        text = text + "," + &typed(set);
    }
    text
}

/// Whether its knob is the version of a gem, whose line in a Gemfile then begins with its variable.
fn is_gem(set: &SetVariable) -> bool {
    set.variable.starts_with("gem \"")
}

/// Whether its knob is a variable of the environment, and its value is known.
fn is_variable(set: &SetVariable) -> bool {
    let name = set.variable.as_str();
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    !set.is_internal() && name.chars().all(plain) && set.holds != REDACTED
}

/// The two arms of a comparison of the baseline with all of these; `None` where a value cannot be typed as it is.
fn again(baseline: &ArmSummary, all: &[String]) -> Option<String> {
    let typeable = |text: &str| !text.contains([',', '"']) && !text.ends_with(REDACTED);
    let own = baseline.environment.iter().map(typed);
    if !own
        .chain(all.iter().cloned())
        .all(|setting| typeable(&setting))
    {
        return None;
    }
    let today = arm_text(baseline);
    let together = with_settings(&today, all);
    Some(format!("{} {}", shell_word(&today), shell_word(&together)))
}
