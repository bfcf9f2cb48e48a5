//! Whether the assumptions hold.

use super::Assumptions;
use run::counted;
use run::drift::{Checked, Document, SCHEMA};

/// What goes into the document as it is.
#[derive(Debug, Clone)]
pub struct DriftAsked {
    pub read_at: String,
    pub version: String,
    /// The address, without credentials.
    pub prometheus: String,
    pub matchers: String,
    pub period_s: u64,
    /// Prometheus' warnings.
    pub notes: Vec<String>,
}

/// The document. `answers`: for each assumption, in their order, its query and the fleet's value.
pub fn drift(
    assumptions: &Assumptions,
    answers: Vec<(String, Option<f64>)>,
    asked: DriftAsked,
) -> Document {
    let checked = (assumptions.all.iter().zip(answers)).map(|(one, (promql, now))| Checked {
        figure: one.figure,
        assumed: one.assumed,
        low: one.low,
        high: one.high,
        now,
        holds: now.map(|now| one.holds(now)),
        promql,
    });
    let checked: Vec<Checked> = checked.collect();
    Document {
        schema: SCHEMA.to_owned(),
        powerband_version: asked.version,
        run: assumptions.run.clone(),
        started_at: assumptions.started_at.clone(),
        settings: assumptions.settings,
        read_at: asked.read_at,
        prometheus: asked.prometheus,
        matchers: asked.matchers,
        period_s: asked.period_s,
        sentence: sentence(assumptions, &checked),
        assumptions: checked,
        notes: asked.notes,
    }
}

fn sentence(assumptions: &Assumptions, checked: &[Checked]) -> String {
    let (run, settings) = (&assumptions.run, assumptions.settings);
    let broken = checked.iter().filter(|one| one.holds == Some(false));
    let broken: Vec<&str> = broken.map(|one| one.figure.label()).collect();
    let unknown = checked.iter().filter(|one| one.holds.is_none()).count();
    let known = checked.len() - unknown;
    if broken.is_empty() {
        let rest = match unknown {
            0 => String::new(),
            unknown => format!(
                "; {} cannot be checked, because Prometheus has no series of {}",
                counted(unknown, "other figure"),
                if unknown == 1 { "it" } else { "them" }
            ),
        };
        return format!(
            "What {run} assumed holds ({known} of {} figures){rest}. There is no reason to measure again.",
            checked.len()
        );
    }
    // Labels have commas.
    format!(
        "The fleet differs from what {run} assumed: {}. powerband tune --since {run} finds out whether {settings} is still right.",
        broken.join("; ")
    )
}

#[cfg(test)]
mod tests;
