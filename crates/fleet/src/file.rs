//! `powerband-experiment.toml`: its keys, their limits and defaults; text in, an [`Experiment`] or every problem out.

mod arm;
mod reader;
mod values;

use crate::experiment::{Experiment, Guardrails, UnitKind};
use crate::problem::Problem;
use reader::Reader;
use small_sort::SmallSort;
use stats::MOST_LOOKS;
use toml::de::DeTable;

const KEYS: [&str; 10] = [
    "name",
    "key",
    "unit",
    "period",
    "starts",
    "lasts",
    "looks",
    "slice",
    "arm",
    "guardrails",
];

/// Slices of a look, where the file does not give their length.
const SLICES_OF_A_LOOK: i64 = 20;
/// The longest slice that is taken where none is given, as long as all slices can be fetched.
const USUAL_SLICE_S: i64 = 300;
/// Slices that an experiment may have: what is fetched of each unit.
const MOST_SLICES: i64 = 20_000;

/// Reads an experiment file.
///
/// # Errors
/// Every problem, in the order of their lines.
pub fn read(text: &str) -> Result<Experiment, Vec<Problem>> {
    let mut reader = Reader::new(text);
    let table = reader.tables();
    let experiment = if reader.problems.is_empty() {
        whole(&mut reader, &table)
    } else {
        None
    };
    let mut problems = reader.problems;
    problems.small_sort_by_key(|problem| problem.line);
    match experiment {
        Some(experiment) if problems.is_empty() => Ok(experiment),
        _ => Err(problems),
    }
}

fn whole<'t>(reader: &mut Reader<'t>, table: &DeTable<'t>) -> Option<Experiment> {
    reader.only(table, "", &KEYS);
    let top = ("", 1);
    let name = reader.needed(table, top, "name", "give the experiment a name");
    let name = name.and_then(|name| {
        let fits = (1..=100).contains(&name.text.len()) && !name.text.chars().any(char::is_control);
        if !fits {
            reader.wrong(&name, "no name", "give 1 to 100 characters");
        }
        fits.then_some(name.text)
    });
    let key = match reader.text(table, "", "key") {
        Some(key) if key.text.is_empty() => {
            reader.problem(
                key.line,
                "key",
                None,
                "empty",
                "give a text, or leave it out",
            );
            None
        }
        Some(key) => Some(key.text),
        None => name.clone(),
    };
    let unit = match reader.text(table, "", "unit") {
        None => Some(UnitKind::Pod),
        Some(unit) => {
            let kinds = [UnitKind::Pod, UnitKind::Host, UnitKind::Process];
            let kind = kinds.into_iter().find(|kind| kind.name() == unit.text);
            if kind.is_none() {
                reader.wrong(&unit, "no kind of unit", "give pod, host or process");
            }
            kind
        }
    };
    let starts = "give the instant at which the draw begins, such as 2026-12-01T00:00:00Z";
    let starts = reader.needed(table, top, "starts", starts);
    let starts_s = starts.and_then(|starts| reader.instant(&starts));
    let lasts = reader.text(table, "", "lasts");
    let lasts_s = match &lasts {
        Some(lasts) => reader.duration(lasts),
        None => Some(14 * 86_400),
    };
    let period = reader.text(table, "", "period");
    let period_s = match &period {
        Some(period) => reader.duration(period),
        None => Some(6 * 3600),
    };
    let looks = match reader.text(table, "", "looks") {
        Some(looks) => reader.whole(&looks, 1, MOST_LOOKS),
        None => Some(MOST_LOOKS),
    };
    let slice = reader.text(table, "", "slice");
    let slice_s = match &slice {
        Some(slice) => reader.duration(slice),
        None => lasts_s
            .zip(looks)
            .map(|(lasts_s, looks)| usual_slice(lasts_s, looks)),
    };
    let arms = arm::arms(reader, table);
    let guardrails = guardrails(reader, table);
    if let Some(((lasts_s, looks), slice_s)) = lasts_s.zip(looks).zip(slice_s) {
        let of_look = lasts_s / i64::from(looks);
        let all = lasts_s / slice_s;
        // Without either, the defaults fit.
        match slice.as_ref().or(lasts.as_ref()) {
            Some(value) if slice_s * 2 > of_look => reader.wrong(
                value,
                format!("each of {looks} looks has {of_look} s, which must hold 2 slices or more"),
                "give a shorter slice, fewer looks or more time",
            ),
            Some(value) if all > MOST_SLICES => reader.wrong(
                value,
                format!("the experiment has {all} slices, and at most {MOST_SLICES} are fetched"),
                format!("give a slice of {}s or more", least_slice(lasts_s)),
            ),
            _ => {}
        }
    }
    if let (Some(value), Some(period_s), Some(lasts_s)) = (&period, period_s, lasts_s)
        && period_s > lasts_s
    {
        reader.wrong(
            value,
            "longer than the experiment",
            "give a period of at most lasts",
        );
    }
    Some(Experiment {
        name: name?,
        key: key?,
        unit: unit?,
        period_s: period_s?,
        starts_s: starts_s?,
        lasts_s: lasts_s?,
        looks: looks?,
        slice_s: slice_s?,
        arms: arms?,
        guardrails,
    })
}

fn usual_slice(lasts_s: i64, looks: u32) -> i64 {
    let usual = (lasts_s / i64::from(looks) / SLICES_OF_A_LOOK).clamp(1, USUAL_SLICE_S);
    usual.max(least_slice(lasts_s))
}

fn least_slice(lasts_s: i64) -> i64 {
    (lasts_s + MOST_SLICES - 1) / MOST_SLICES
}

fn guardrails<'t>(reader: &mut Reader<'t>, table: &DeTable<'t>) -> Guardrails {
    let Some(section) = reader.table(table, "", "guardrails") else {
        return Guardrails::default();
    };
    reader.only(
        section,
        "guardrails.",
        &["errors", "p99", "memory", "restarts"],
    );
    let errors = reader.text(section, "guardrails.", "errors");
    let mut more = |key: &str| {
        let value = reader.text(section, "guardrails.", key)?;
        reader.percentage(&value, "+", (1.0, 1000.0))
    };
    let (p99, memory) = (more("p99"), more("memory"));
    let restarts = reader.text(section, "guardrails.", "restarts");
    Guardrails {
        errors: errors.and_then(|errors| reader.percentage(&errors, "", (0.01, 100.0))),
        p99,
        memory,
        restarts: restarts.and_then(|restarts| reader.number(&restarts, (0.1, 1000.0))),
    }
}

#[cfg(test)]
mod tests;
