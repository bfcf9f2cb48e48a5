//! The top of the page: the answer, and what it means for throughput, latency and memory.

use crate::figures::{bytes, change_with_interval, counted, milliseconds, rate, share};
use crate::load_page::asserted;
use crate::no_latency;
use crate::pages;
use crate::reading::{
    advised, baseline, called, decides, has_p99, latency_kept, latency_known, limit_word,
    memory_kept,
};
use crate::sheet::{Sheet, first_line};
use run::{
    Answer, ArmSummary, Document, Feasibility, Fitness, Kind, Metric, OTHER_PROGRAMS, Stage, State,
    Verdict, Worker,
};

/// How far the ratio of two medians may be from the change within blocks before the answer says why, as a logarithm.
const FAR: f64 = 0.02;

/// A sentence where other programs used the machine, in this sitting or an earlier one.
pub fn others_were_busy(warnings: &[String]) -> Option<&'static str> {
    let busy = warnings
        .iter()
        .any(|warning| warning.contains(OTHER_PROGRAMS));
    busy.then_some("Other programs used the machine meanwhile (see Before you believe it).")
}

/// Writes it. `worker` is the process that still works on the run.
pub fn write(sheet: &mut Sheet, document: &Document, worker: Option<Worker>) {
    if let Some(verdict) = &document.verdict {
        sheet.bold(first_line(&verdict.sentence));
        let others = others_were_busy(&document.warnings);
        if let Some(others) = others.filter(|_| verdict.answer == Answer::Undecided) {
            sheet.prose(&format!(
                "{others} Before you measure more blocks, measure without them."
            ));
        }
        if let Some(arm) = advised(document) {
            let compared = |metric| compared(document, arm, metric);
            let throughput = throughput(document, arm, compared(Metric::Capacity));
            sheet.labelled("Throughput  ", &throughput);
            if latency_known(arm) {
                let latency = latency(document, arm, compared(Metric::ResponseTime));
                sheet.labelled("Latency     ", &latency);
            } else if let Some(why) = no_latency::why(document, arm).filter(|_| arm.trials > 0) {
                sheet.labelled("Latency     ", &why);
            }
            if let Some(compared) = compared(Metric::Processes) {
                let processes = |arm: &ArmSummary| arm.settings.processes().to_string();
                let told = compared.told(document, processes);
                sheet.labelled("Processes   ", &format!("{}{told}", processes(arm)));
            }
            if let Some(used) = arm.pss_bytes {
                let memory = memory(document, arm, used, compared(Metric::Memory));
                sheet.labelled("Memory      ", &memory);
            }
        }
        asserted(sheet, &document.assertions);
        if let Some(said) = pages::sentence(document) {
            sheet.prose(&said);
        }
        if let Some(said) = rests_on_elimination(document, verdict) {
            sheet.prose(&said);
        }
        if document.state == State::Interrupted {
            sheet.prose(&format!(
                "This run was interrupted after its answer, so what follows an answer (single variables, highest rates) may be \
                 missing. To go on: powerband {} --resume {}",
                document.kind.verb(),
                document.id
            ));
        }
        return;
    }
    if let Some(worker) = worker {
        sheet.bold(&format!("This run is {worker} and has no answer yet."));
        return;
    }
    let refused = document
        .calibration
        .as_ref()
        .is_some_and(|c| c.fitness == Fitness::Refused);
    let next = if document.command.is_some() {
        "Start a new run: those of a command are not resumed.".to_owned()
    } else if refused {
        // Resumed, it would only judge the same blocks again.
        "Start a new run when the cause is found: this one cannot go on".to_owned()
    } else if document.is_failed_empty() {
        format!(
            "Nothing was measured: start a new run when the cause is gone, with powerband {}",
            document.kind.verb()
        )
    } else {
        format!(
            "To go on: powerband {} --resume {}",
            document.kind.verb(),
            document.id
        )
    };
    match document.state {
        State::Failed => {
            let reason = first_line(document.why_failed().unwrap_or_default());
            sheet.bold(&format!("This run ended without an answer: {reason}"));
        }
        State::Interrupted => sheet.bold("This run was interrupted and has no answer yet."),
        State::Running => {
            sheet.bold("This run is not finished and has no answer yet: its process was killed.");
        }
        State::Done => sheet.bold("This run has no answer."),
    }
    sheet.prose(&next);
}

/// What "keep" rests on where the elimination rounds left no other configuration.
fn rests_on_elimination(document: &Document, verdict: &Verdict) -> Option<String> {
    if document.kind != Kind::Tune
        || verdict.answer != Answer::Keep
        || document.comparisons.iter().any(decides)
    {
        return None;
    }
    let raced = document.trials.iter().filter(|t| t.stage == Stage::Race);
    let rounds = raced.map(|t| t.block).max()?;
    Some(format!(
        "This rests on {}: each of the others was dropped there, so no deciding comparison was run. Small advantages are not excluded: \
         powerband compare tests one that you name.",
        counted(rounds, "elimination round")
    ))
}

/// The comparison that the answer rests on, where it is of this figure: how the advised arm stands to the other one.
struct Compared<'a> {
    /// `+302 % (+295 to +314), 9 blocks`.
    found: String,
    ratio: f64,
    /// What runs today.
    today: &'a ArmSummary,
    /// The configuration that met it, where that is not the advised one.
    other: Option<&'a ArmSummary>,
}

impl Compared<'_> {
    /// The figure of the one that the advised arm was compared with.
    fn told(&self, document: &Document, figure: impl Fn(&ArmSummary) -> String) -> String {
        let found = &self.found;
        match self.other {
            None => format!(", {} with today's settings: {found}", figure(self.today)),
            Some(other) => format!(
                "; the best alternative, {}, {}: {found}",
                called(document, other),
                figure(other)
            ),
        }
    }
}

fn compared<'a>(document: &'a Document, arm: &ArmSummary, metric: Metric) -> Option<Compared<'a>> {
    let today = baseline(document)?;
    let mut deciding = document.comparisons.iter().filter(|c| decides(c));
    let first = deciding.next()?;
    let mut beside = document.memory.iter();
    let comparison = match first.metric == metric {
        true => first,
        // Of the arms that the answer rests on.
        false => beside.find(|c| {
            let same = c.candidate == first.candidate && c.baseline == first.baseline;
            c.metric == metric && same
        })?,
    };
    let found = change_with_interval(comparison.ratio, comparison.low, comparison.high);
    let mut arms = document.arms.iter();
    let other = match arm.name == comparison.candidate {
        true => None,
        false => Some(arms.find(|a| a.name == comparison.candidate)?),
    };
    // The figure next to it is p99, and the compared metric is not.
    let of = match metric {
        Metric::ResponseTime => "p95 ",
        _ => "",
    };
    Some(Compared {
        ratio: comparison.ratio,
        found: format!("{of}{found}, {}", counted(comparison.blocks, "block")),
        today,
        other,
    })
}

fn throughput(document: &Document, arm: &ArmSummary, compared: Option<Compared<'_>>) -> String {
    let most = |arm: &ArmSummary| {
        arm.capacity_per_s
            .map_or_else(|| "unknown".to_owned(), per_s)
    };
    let Some(compared) = compared else {
        return format!("{} at most", most(arm));
    };
    let said = format!("{} at most{}", most(arm), compared.told(document, most));
    let medians = arm.capacity_per_s.zip(compared.today.capacity_per_s);
    let differs = |(ours, today): (f64, f64)| (ours / today / compared.ratio).ln().abs() > FAR;
    match compared.other.is_none() && medians.is_some_and(differs) {
        true => format!(
            "{said}. The change is the typical one within a block; the figures before it are medians of all blocks"
        ),
        false => said,
    }
}

fn per_s(value: f64) -> String {
    format!("{}/s", rate(value))
}

fn latency(document: &Document, arm: &ArmSummary, compared: Option<Compared<'_>>) -> String {
    let at = document
        .plan
        .rate_per_s
        .map_or_else(String::new, |asked| format!(" at {}", per_s(asked)));
    let p99 = |arm: &ArmSummary| match has_p99(document, arm) {
        true => milliseconds(arm.p99_ms),
        false => "unknown".to_owned(),
    };
    let within = match (no_latency::too_few(document, arm), compared) {
        (None, compared) => {
            let told = compared.map(|compared| compared.told(document, p99));
            format!("99 % within {}{at}{}", p99(arm), told.unwrap_or_default())
        }
        (Some(few), None) => few,
        (Some(few), Some(compared)) => format!("{few}; {}", compared.found),
    };
    let Some(limit) = document.plan.objective.latency else {
        return format!("{within}; no limit was given");
    };
    let kept = limit_word(latency_kept(arm, limit));
    let Some((seen, (low, high))) = arm.violation_rate.zip(arm.violation_interval) else {
        return format!("{within}; the limit is {kept}");
    };
    let of = arm.violation_requests.map_or_else(String::new, |requests| {
        format!(" of {}", counted(requests, "request"))
    });
    let mine = document.trials.iter().filter(|t| t.arm == arm.name);
    let mut windows = mine.filter_map(|t| t.objective.as_ref().filter(|_| t.counts()));
    let failed = match windows.any(|window| window.errors + window.timeouts > 0) {
        true => "failed or ",
        false => "",
    };
    let unclear = latency_kept(arm, limit) == Feasibility::Unclear;
    let searched = document
        .rates
        .iter()
        .find(|rates| unclear && rates.arm == arm.name);
    let apart = searched.map_or_else(String::new, |rates| match rates.search.low_per_s {
        Some(low) => format!(
            ", but the search for the highest rate, with longer windows, met the limit up to {} (95 % confidence)",
            per_s(low)
        ),
        None => "; the search for the highest rate does not count here".to_owned(),
    });
    format!(
        "{within}; {}{of} {failed}took longer than {} ({} allowed): {kept} (with 95 % confidence {} to {}){apart}",
        share(seen),
        milliseconds(Some(limit.limit_ms)),
        share(limit.allowed_violation_rate()),
        share(low),
        share(high)
    )
}

fn memory(
    document: &Document,
    arm: &ArmSummary,
    used: u64,
    compared: Option<Compared<'_>>,
) -> String {
    let pss = |arm: &ArmSummary| arm.pss_bytes.map_or_else(|| "unknown".to_owned(), bytes);
    let told = compared.map(|compared| compared.told(document, pss));
    let told = told.unwrap_or_default();
    if let Some(growth) = arm.growth {
        let allowed = document.plan.objective.max_memory_bytes;
        let allowed = allowed.map(|limit| format!(" of {} allowed", bytes(limit)));
        return format!(
            "{}{} after {}, and growing{told}",
            bytes(used),
            allowed.unwrap_or_default(),
            counted(growth.requests, "request")
        );
    }
    let age = document.plan.age;
    let aged = age.map(|age| format!(" after {}", counted(age.requests, "request")));
    let used = format!("{}{}", bytes(used), aged.unwrap_or_default());
    match document.plan.objective.max_memory_bytes {
        Some(limit) => {
            let still = match arm.thousands_until(limit) {
                Some(_) => {
                    " in the trials; it grew during them, and whether it goes on is not known (see Before you believe it)"
                }
                None => "",
            };
            format!(
                "{used} of {} allowed: {}{still}{told}",
                bytes(limit),
                limit_word(memory_kept(document, arm, limit))
            )
        }
        None => format!("{used}{told}; no limit was given"),
    }
}
