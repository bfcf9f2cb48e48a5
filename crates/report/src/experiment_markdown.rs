//! The tables of `compare`, `sweep` and `check` as Markdown, to keep in the repository of the application.

use crate::figures::{
    bytes, change_with_interval, clients_without_a_pause, counted, duration, number_of_ms, rate,
};
use crate::markdown_table::{line, plain, rows, sets};
use crate::reading::{
    called, comparison_of, decides, has_p99, is_baseline, is_rehearsal, latency_known,
};
use crate::sheet::first_line;
use crate::tables::{NONE, memory_word};
use crate::{aged, command_markdown, growth, no_latency, pages, pod, proof, tried};
use run::load::AssertionOutcome;
use run::{ArmSummary, Document, RequestTime};
use std::fmt::Write;

/// The whole page. `command` is what made it, as it was typed.
pub fn experiment_markdown(document: &Document, command: &str) -> String {
    let mut page = String::new();
    // A comment on a change is read for its answer; tables that are kept begin with what made them.
    let is_comment = !document.assertions.is_empty();
    if is_comment {
        answer(&mut page, document);
        page.push('\n');
    }
    let _ = write!(page, "{}\n\n```sh\n{command}\n```\n", about(document));
    if let Some(growing) = growth::markdown(document) {
        let _ = write!(page, "\n{growing}");
    }
    if !is_comment && document.verdict.is_some() {
        page.push('\n');
        answer(&mut page, document);
    }
    if let Some(runs) = &document.command {
        command_markdown::write(&mut page, document, runs);
        warnings(&mut page, document);
        return page;
    }
    proof::markdown(&mut page, document);
    page.push_str("\n### What was measured\n\n");
    measured(&mut page, document);
    let _ = write!(page, "\n{}\n", meaning(document));
    if let Some(of_blocks) = tried::changes_are_of_blocks(document) {
        let _ = write!(page, "\n{of_blocks}\n");
    }
    if let Some(missing) = no_latency::markdown(document) {
        let _ = write!(page, "\n{missing}");
    }
    pod::markdown(&mut page, document);
    aged::markdown(&mut page, document);
    pages::markdown(&mut page, document);
    if document.arms.iter().any(|arm| arm.time.is_some()) {
        page.push_str("\n### Where a request's time went, closed loop, ms\n\n");
        times(&mut page, document);
    }
    if document.arms.iter().any(|arm| arm.machine.is_some()) {
        page.push_str("\n### The machine's memory at the end of the closed loop, MiB\n\n");
        machine(&mut page, document);
    }
    page.push_str("\n### The configurations\n\n");
    configurations(&mut page, document);
    warnings(&mut page, document);
    page
}

/// The verdict, and a line for each assertion, in bold where it fails.
fn answer(page: &mut String, document: &Document) {
    if let Some(verdict) = &document.verdict {
        let _ = writeln!(page, "{}", plain(&verdict.sentence));
    }
    for (number, assertion) in document.assertions.iter().enumerate() {
        let begun = if number == 0 { "\n" } else { "" };
        let sentence = plain(&assertion.sentence);
        let _ = match assertion.outcome {
            AssertionOutcome::Fails => writeln!(page, "{begun}- **{sentence}**"),
            _ => writeln!(page, "{begun}- {sentence}"),
        };
    }
    if let Some(said) = pages::sentence(document) {
        let _ = writeln!(page, "\n{}", plain(&said));
    }
}

fn warnings(page: &mut String, document: &Document) {
    if document.warnings.is_empty() {
        return;
    }
    page.push_str("\n### Before you believe it\n\n");
    for warning in &document.warnings {
        let _ = writeln!(page, "- {}", plain(first_line(warning)));
    }
}

/// When, on what, and how long.
fn about(document: &Document) -> String {
    let host = &document.host;
    let started = &document.started_at;
    let versions: Vec<String> = document
        .versions
        .iter()
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    let measured = match &document.command {
        Some(command) => {
            let runs = command.runs.iter().filter(|r| r.counts());
            counted(runs.count(), "run")
        }
        None => {
            let trials = document.trials.iter().filter(|t| t.counts());
            counted(trials.count(), "trial")
        }
    };
    format!(
        "{}, {} cores ({}), {} of memory, Linux {}{}; load average before it {:.2}; {} in {}; seed {}.",
        started.get(..10).unwrap_or(started),
        host.effective_cores,
        host.cpu_model,
        bytes(host.memory_bytes),
        host.kernel,
        match versions.is_empty() {
            true => String::new(),
            false => format!(", {}", versions.join(", ")),
        },
        host.load_average,
        measured,
        duration(document.elapsed_s),
        document.seed,
    )
}

fn measured(page: &mut String, document: &Document) {
    let compares_latency = !document.latency.is_empty();
    let mut head = vec![
        "configuration",
        "answers a second",
        "against the first",
        "verdict",
        "p50, ms",
        "p99, ms",
    ];
    head.extend(compares_latency.then_some("p95 against the first"));
    head.extend([
        "CPU a request, ms",
        "PSS",
        "growth a thousand requests",
        "trials",
    ]);
    rows(page, &head, 1);
    for arm in &document.arms {
        let decided = comparison_of(document, arm).filter(|c| decides(c));
        let (change, verdict) = match decided {
            Some(c) => (
                change_with_interval(c.ratio, c.low, c.high),
                format!("{} (p {:.3})", c.word(), c.p),
            ),
            None => (NONE.to_owned(), NONE.to_owned()),
        };
        let growth = arm.growth_bytes_per_thousand.map(|grown| {
            let sign = if grown < 0.0 { "-" } else { "" };
            format!("{sign}{}", bytes(grown.abs() as u64))
        });
        let trials = match arm.failed {
            0 => arm.trials.to_string(),
            failed => format!("{} of {}", arm.trials, arm.trials + failed),
        };
        let mut row = vec![
            called(document, arm),
            arm.capacity_per_s.map_or_else(none, rate),
            change,
            verdict,
            percentile(arm, arm.p50_ms),
            match has_p99(document, arm) {
                true => percentile(arm, arm.p99_ms),
                false => none(),
            },
        ];
        row.extend(compares_latency.then(|| latency(document, arm)));
        row.extend([
            arm.cpu_ms_per_request
                .map_or_else(none, |ms| number_of_ms(Some(ms))),
            memory(document, arm),
            growth.unwrap_or_else(none),
            trials,
        ]);
        line(page, &row);
    }
}

/// Its change against the first, with the verdict.
fn latency(document: &Document, arm: &ArmSummary) -> String {
    let tested = document.latency.iter().find(|c| c.candidate == arm.name);
    tested.map_or_else(none, |c| {
        let change = change_with_interval(c.ratio, c.low, c.high);
        format!("{change}: {}", c.word())
    })
}

/// With its change against the first, where that was tested.
fn memory(document: &Document, arm: &ArmSummary) -> String {
    let Some(used) = arm.pss_bytes.map(bytes) else {
        return none();
    };
    let tested = document.memory.iter().find(|c| c.candidate == arm.name);
    tested.map_or_else(
        || used.clone(),
        |c| {
            let change = change_with_interval(c.ratio, c.low, c.high);
            format!("{used}, {change}: {}", memory_word(c))
        },
    )
}

fn meaning(document: &Document) -> String {
    let plan = &document.plan;
    let trials = match is_rehearsal(document) {
        true => "One short trial each, which compares nothing.".to_owned(),
        false => format!(
            "In parentheses the interval, of 95 % or a little more, from up to {} blocks in random order.",
            plan.blocks
        ),
    };
    let at = plan.rate_per_s.map_or_else(String::new, |per_s| {
        format!(
            " Latency is that of {} requests a second at random moments (Poisson), the same for all.",
            rate(per_s)
        )
    });
    let compared = document.compares_throughput() && document.comparisons.iter().any(decides);
    let can_miss = plan.detectable.can_miss().filter(|_| compared);
    let found = can_miss.map_or_else(String::new, |can_miss| {
        format!(" A run of {} {can_miss}.", counted(plan.blocks, "block"))
    });
    format!(
        "Answers a second: {}, windows of {:.1} s.{at} {trials}{found}",
        clients_without_a_pause(plan.connections),
        plan.timing.saturation_s
    )
}

fn times(page: &mut String, document: &Document) {
    let timed: Vec<(&ArmSummary, RequestTime)> = document
        .arms
        .iter()
        .filter_map(|arm| Some((arm, arm.time?)))
        .collect();
    let locks = timed.iter().any(|(_, time)| time.lock_wait_ms.is_some());
    let queued = timed.iter().any(|(_, time)| time.queue_ms.is_some());
    let mut head = vec![
        "configuration",
        "in the application",
        "GVL held",
        "GVL wait",
    ];
    head.extend(locks.then_some("lock wait"));
    head.push("I/O");
    head.extend(queued.then_some("queue before it"));
    rows(page, &head, 1);
    for (arm, time) in timed {
        let figures = [time.wall_ms, time.held_ms, time.gvl_wait_ms];
        let mut row = vec![called(document, arm)];
        row.extend(figures.map(|ms| format!("{ms:.2}")));
        if locks {
            let lock_wait = time.lock_wait_ms;
            row.push(lock_wait.map_or_else(none, |ms| format!("{ms:.2}")));
        }
        row.push(format!("{:.2}", time.io_ms));
        if queued {
            row.push(time.queue_ms.map_or_else(none, |ms| format!("{ms:.2}")));
        }
        line(page, &row);
    }
}

fn machine(page: &mut String, document: &Document) {
    let head = [
        "configuration",
        "total",
        "used",
        "free",
        "shared",
        "buffers",
        "cached",
        "PSS of the server",
    ];
    rows(page, &head, 1);
    let mib = |bytes: u64| format!("{:.0}", bytes as f64 / f64::from(1 << 20));
    for arm in &document.arms {
        let Some(machine) = arm.machine else {
            continue;
        };
        line(
            page,
            &[
                called(document, arm),
                mib(machine.total_bytes),
                mib(machine.used_bytes),
                mib(machine.free_bytes),
                mib(machine.shared_bytes),
                mib(machine.buffers_bytes),
                mib(machine.cached_bytes),
                arm.pss_bytes.map_or_else(none, mib),
            ],
        );
    }
}

fn configurations(page: &mut String, document: &Document) {
    rows(page, &["configuration", "settings", "also sets"], 3);
    for arm in &document.arms {
        let first = if is_baseline(document, arm) {
            " (the first)"
        } else {
            ""
        };
        line(
            page,
            &[
                format!("{}{first}", called(document, arm)),
                arm.settings.to_string(),
                sets(&arm.environment),
            ],
        );
    }
}

/// A percentile that is missing where latency was measured is infinite.
fn percentile(arm: &ArmSummary, ms: Option<f64>) -> String {
    match latency_known(arm) {
        true => number_of_ms(ms),
        false => none(),
    }
}

pub fn none() -> String {
    NONE.to_owned()
}
