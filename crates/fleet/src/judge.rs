//! The verdict document from a fleet's evidence.

mod balance;
mod compare;
mod evidence;
mod figures;
mod guardrails;
mod holdout;
mod notes;
mod quantile;

use crate::experiment::Experiment;
use crate::join::Fleet;
use compare::Looked;
use jiff::Timestamp;
pub(crate) use quantile::quantile;
use run::production::{Comparison, Document, Halted, Look, Ratio, SCHEMA, Verdict};
use run::{change_with_interval, sentence_case};
use small_sort::SmallSort;
use stats::look_level;

/// The reading: its instant, and what the document quotes.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The instant up to which series were asked for.
    pub now_s: i64,
    /// Version of powerband.
    pub version: String,
    /// Address of Prometheus, without credentials.
    pub prometheus: String,
    /// The entries of `FILE.halted`.
    pub halted: Vec<Halted>,
}

/// The verdict.
pub fn judge(experiment: &Experiment, fleet: &Fleet, asked: &Asked) -> Document {
    let done = experiment.looks_done(asked.now_s);
    let others = experiment.arms.len() - 1;
    let newest = experiment.slices_before(asked.now_s);
    let look = (done > 0).then(|| Looked {
        number: done,
        slices: experiment.slices_before(experiment.look_s(done)),
        level: look_level(done, experiment.looks, others),
    });
    let until = look.as_ref().map_or(newest, |look| look.slices);
    let mut balance = balance::checks(experiment, fleet, until);
    let unbalanced = balance.iter().find(|check| check.passed == Some(false));
    let mut comparisons: Vec<Comparison> = match &look {
        None => Vec::new(),
        Some(look) => (1..=others)
            .map(|arm| match unbalanced {
                Some(check) => compare::refused(experiment, arm, &check.sentence),
                None => compare::comparison(experiment, fleet, arm, look),
            })
            .collect(),
    };
    balance.extend(holdout::check(experiment, &mut comparisons));
    let next = (done < experiment.looks).then(|| instant(experiment.look_s(done + 1)));
    Document {
        schema: SCHEMA.to_owned(),
        powerband_version: asked.version.clone(),
        read_at: instant(asked.now_s),
        name: experiment.name.clone(),
        digest: experiment.digest(),
        prometheus: asked.prometheus.clone(),
        sentence: sentence(experiment, &comparisons, done, next.as_deref()),
        starts: instant(experiment.starts_s),
        ends: instant(experiment.ends_s()),
        look: look.as_ref().map(|look| Look {
            number: look.number,
            of: experiment.looks,
            at: instant(experiment.look_s(look.number)),
            level: look.level,
        }),
        next_look_at: next,
        arms: figures::arms(experiment, fleet, until),
        guardrails: guardrails::states(experiment, fleet, newest),
        comparisons,
        balance,
        notes: notes::notes(experiment, fleet),
        halted: asked.halted.clone(),
    }
}

/// UTC, RFC 3339.
pub fn instant(at_s: i64) -> String {
    Timestamp::from_second(at_s).map_or_else(|_| at_s.to_string(), |at| at.to_string())
}

/// The sentences of the comparisons, by the order of their verdicts, then the next look.
fn sentence(experiment: &Experiment, all: &[Comparison], done: u32, next: Option<&str>) -> String {
    if all.is_empty() {
        return format!(
            "Not enough for an answer: the first of {} looks is at {}.",
            experiment.looks,
            next.unwrap_or_default()
        );
    }
    let mut sorted: Vec<&Comparison> = all.iter().collect();
    sorted.small_sort_by_key(|one| match one.verdict {
        Verdict::Worse => 0,
        Verdict::Better => 1,
        Verdict::NoDifference => 2,
        Verdict::Undecided => 3,
        Verdict::NotEnough => 4,
        Verdict::Refused => 5,
    });
    let mut sentences: Vec<String> = Vec::new();
    let mut reasons: Vec<&str> = Vec::new();
    for one in &sorted {
        let Some(why) = one.why_not.as_deref() else {
            sentences.push(one.sentence.clone());
            continue;
        };
        // A reason of several arms is said once.
        if !reasons.contains(&why) {
            let alike = sorted
                .iter()
                .filter(|other| other.why_not.as_deref() == Some(why));
            let names: Vec<&str> = alike.map(|other| other.arm.as_str()).collect();
            sentences.push(compare::no_answer(&names.join(", "), one.verdict, why));
            reasons.push(why);
        }
    }
    let mut text = sentence_case(&sentences.join(" "));
    if all
        .iter()
        .any(|one| matches!(one.verdict, Verdict::Undecided | Verdict::NotEnough))
        && let Some(next) = next
    {
        text += &format!(" Look {} of {} is at {next}.", done + 1, experiment.looks);
    }
    text
}

/// `-12.0 % (-18.0 to -6.0), p = 0.0004`.
fn shown(ratio: &Ratio) -> String {
    let change = change_with_interval(ratio.estimate, ratio.low, ratio.high);
    format!("{change}, {}", shown_p(ratio.p))
}

/// `p = 0.0004`.
pub(crate) fn shown_p(p: f64) -> String {
    match p {
        p if p < 0.0001 => "p < 0.0001".to_owned(),
        p if p < 0.001 => format!("p = {p:.4}"),
        p if p < 0.1 => format!("p = {p:.3}"),
        p => format!("p = {p:.2}"),
    }
}

#[cfg(test)]
mod tests;
