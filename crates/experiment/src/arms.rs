//! `compare` and `sweep`: named arms in blocks, each against the first.

use crate::error::Stopped;
use crate::judge::{self, Judging};
use crate::procedure::Procedure;
use crate::progress::Event;
use crate::request::Arm;
use crate::tune;
use run::{Answer, Detectable, Outcome, SdSource, Stage, Verdict};

/// Measures the arms; the document of the procedure's store holds the table afterwards.
pub fn compare(procedure: &mut Procedure<'_>, arms: &[Arm]) -> Result<(), Stopped> {
    let plan = procedure.store.document.plan.clone();
    procedure.expected = 1 + plan.blocks * arms.len() as u32;
    tune::pilot(procedure, &arms[0], 1)?;
    let most = arms
        .iter()
        .map(|a| a.settings.concurrency())
        .max()
        .unwrap_or(1);
    procedure.store.document.plan.connections = 2 * most;
    let settled = procedure.store.document.plan.clone();
    procedure.watcher.on(Event::Planned {
        plan: &settled,
        because: "the first arm is known",
    });
    let mut done = 0;
    for look in
        stats::looks(plan.blocks, plan.alpha, procedure.store.document.seed).unwrap_or_default()
    {
        while done < look.blocks {
            done += 1;
            procedure.block(Stage::Compare, done, plan.blocks, arms)?;
        }
        judge_all(procedure, arms, look.alpha);
        if procedure
            .store
            .document
            .comparisons
            .iter()
            .all(|c| c.outcome != Outcome::Undecided)
        {
            break;
        }
    }
    conclude(procedure, arms)
}

fn judge_all(procedure: &mut Procedure<'_>, arms: &[Arm], alpha: f64) {
    let document = &mut procedure.store.document;
    let judging = Judging {
        margin: document.plan.margin,
        alpha,
    };
    let compared = arms[1..].iter().filter_map(|arm| {
        judge::compare(
            &document.trials,
            Stage::Compare,
            &arms[0].name,
            &arm.name,
            judging,
        )
    });
    document.comparisons = compared.collect();
}

fn conclude(procedure: &mut Procedure<'_>, arms: &[Arm]) -> Result<(), Stopped> {
    let document = &mut procedure.store.document;
    let (objective, seed) = (document.plan.objective.clone(), document.seed);
    document.arms = arms
        .iter()
        .map(|arm| {
            let fate = if *arm == arms[0] {
                "compared with"
            } else {
                "compared"
            };
            judge::summarise(
                arm,
                fate.to_owned(),
                tune::predict(document, arm.settings),
                &document.trials,
                &objective,
                seed,
            )
        })
        .collect();
    if document.comparisons.is_empty() {
        let why = document
            .trials
            .iter()
            .rev()
            .find_map(|t| t.reason.clone())
            .unwrap_or_default();
        return Err(Stopped::NoAnswer(format!(
            "not one block could be measured whole: {why}"
        )));
    }
    let sds: Vec<f64> = document
        .comparisons
        .iter()
        .filter_map(|c| c.sd_log_ratio)
        .collect();
    if let Some(sd) = stats::summary::median(&sds) {
        let effect = judge::detectable(document.plan.blocks, sd, document.plan.alpha, seed);
        document.plan.detectable = Detectable {
            sd_log_ratio: sd,
            source: SdSource::Data,
            effect,
        };
    }
    let settings_of = |name: &str| {
        arms.iter()
            .find(|a| a.name == name)
            .map_or_else(|| name.to_owned(), |a| a.settings.to_string())
    };
    let said: Vec<String> = document
        .comparisons
        .iter()
        .map(|c| format!("{} is {}", settings_of(&c.candidate), c.outcome.word()))
        .collect();
    let undecided = document
        .comparisons
        .iter()
        .all(|c| c.outcome == Outcome::Undecided);
    let blocks_to_decide = document
        .comparisons
        .iter()
        .filter_map(|c| c.blocks_to_decide)
        .max();
    let more = match blocks_to_decide {
        Some(blocks) if undecided => format!("; about {blocks} blocks would decide"),
        _ => String::new(),
    };
    document.verdict = Some(Verdict {
        answer: if undecided {
            Answer::Undecided
        } else {
            Answer::Table
        },
        sentence: format!("Against {}: {}{more}.", arms[0].settings, said.join("; ")),
        settings: arms[0].settings,
        path: Vec::new(),
        headroom: None,
        changes: Vec::new(),
        blocks_to_decide: blocks_to_decide.filter(|_| undecided),
        exit_code: if undecided { 3 } else { 0 },
    });
    if arms.len() > 2 {
        let count = arms.len() - 1;
        document.warnings.push(format!(
            "{count} comparisons stand side by side, each with its own error rate of {:.0} %",
            document.plan.alpha * 100.0
        ));
    }
    tune::warn(procedure);
    Ok(())
}
