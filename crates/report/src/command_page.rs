//! The page of a command that was run in each arm's environment: how its memory lay, the medians of the runs, and the
//! comparisons side by side.

use crate::figures::{
    bytes, change_with_interval, counted, duration, grouped, is_change_of, last_digit_of_bytes,
};
use crate::sheet::{Sheet, first_line};
use crate::tables::{NONE, align_left, table};
use run::{Answer, CommandArm, CommandRuns, Document, Kind, Metric, Stage};

/// Writes what stands between the answer and the warnings.
pub fn write(sheet: &mut Sheet, document: &Document, command: &CommandRuns) {
    let style = sheet.style();
    if !command.arms.is_empty() {
        sheet.heading(&memory_heading(command));
        let mut rows = table(style, &MEMORY_HEAD, 1);
        for arm in &command.arms {
            rows.add_row(memory_row(arm));
        }
        sheet.table(rows);
        sheet.heading("Medians of the runs");
        let mut rows = table(style, &RUNS_HEAD, 1);
        for arm in &command.arms {
            rows.add_row(runs_row(arm));
        }
        sheet.table(rows);
        let fates = command.arms.iter().filter_map(|arm| {
            let fate = arm.fate.as_ref()?;
            Some(format!("{}: {fate}", arm.called))
        });
        sheet.listed("What became of each", &fates.collect::<Vec<_>>());
    }
    if command.arms.iter().any(|arm| !arm.environment.is_empty()) {
        sheet.heading("What each configuration sets");
        let head = ["configuration", "sets", "to"];
        let mut rows = table(style, &head, head.len());
        for arm in &command.arms {
            for (index, set) in arm.environment.iter().enumerate() {
                let called = if index == 0 { arm.called.as_str() } else { "" };
                let holds = match set.holds.as_str() {
                    "" => "nothing",
                    holds => holds,
                };
                rows.add_row([called, &set.variable, holds]);
            }
        }
        sheet.table(rows);
    }
    if !command.runs.is_empty() {
        sheet.heading("How it was measured");
        sheet.prose(&how(document, command));
    }
    if !command.comparisons.is_empty() {
        sheet.heading("The comparisons, side by side");
        let mut rows = table(style, &COMPARISONS_HEAD, COMPARISONS_HEAD.len());
        for row in comparison_rows(command) {
            rows.add_row(row);
        }
        align_left(&mut rows, 1);
        sheet.table(rows);
        sheet.prose(&side_by_side(document, command));
    }
    let failed: Vec<String> = command
        .runs
        .iter()
        .filter_map(|run| {
            let why = run.failed.as_deref()?;
            let stage = match run.stage {
                Stage::Compare => String::new(),
                stage => format!("{}, ", stage.shown()),
            };
            Some(format!(
                "{stage}block {}, {}: {}",
                run.block,
                called(command, &run.arm),
                first_line(why)
            ))
        })
        .collect();
    sheet.listed("Runs that do not count", &failed);
}

/// The heads of the columns of memory.
pub const MEMORY_HEAD: [&str; 8] = [
    "configuration",
    "samples",
    "least",
    "25 %",
    "median",
    "75 %",
    "95 %",
    "most",
];

/// Those of the comparisons.
pub const COMPARISONS_HEAD: [&str; 6] =
    ["comparison", "of", "change", "verdict", "p-value", "blocks"];

/// The heads of the medians' columns.
pub const RUNS_HEAD: [&str; 6] = [
    "configuration",
    "wall time",
    "CPU time",
    "median memory",
    "peak memory",
    "runs",
];

/// What the memory's table is headed with.
pub fn memory_heading(command: &CommandRuns) -> String {
    format!(
        "Memory of the command's processes ({}), all samples of all runs",
        command.measure.word()
    )
}

/// The samples of an arm.
pub fn memory_row(arm: &CommandArm) -> Vec<String> {
    let Some(memory) = arm.memory else {
        let mut row = vec![arm.called.clone()];
        row.resize(8, NONE.to_owned());
        return row;
    };
    let sizes = [
        memory.min_bytes,
        memory.p25_bytes,
        memory.p50_bytes,
        memory.p75_bytes,
        memory.p95_bytes,
        memory.max_bytes,
    ];
    let mut row = vec![arm.called.clone(), grouped(memory.samples)];
    row.extend(sizes.map(bytes));
    row
}

/// The medians of an arm's runs.
pub fn runs_row(arm: &CommandArm) -> Vec<String> {
    let none = || NONE.to_owned();
    let seconds = |s: Option<f64>| s.map_or_else(none, |s| format!("{s:.2} s"));
    vec![
        arm.called.clone(),
        seconds(arm.wall_s),
        seconds(arm.cpu_s),
        arm.median_bytes.map_or_else(none, bytes),
        arm.peak_bytes.map_or_else(none, bytes),
        match arm.failed {
            0 => arm.runs.to_string(),
            failed => format!("{} of {}", arm.runs, arm.runs + failed),
        },
    ]
}

/// The comparisons, an arm after the other.
pub fn comparison_rows(command: &CommandRuns) -> Vec<Vec<String>> {
    let row = |c: &run::Comparison| {
        vec![
            format!(
                "{} against {}",
                called(command, &c.candidate),
                called(command, &c.baseline)
            ),
            c.metric.words().to_owned(),
            change_with_interval(c.ratio, c.low, c.high),
            c.word().to_owned(),
            format!("{:.3}", c.p),
            c.blocks.to_string(),
        ]
    };
    command.comparisons.iter().map(row).collect()
}

/// What was run, how often and for how long.
pub fn how(document: &Document, command: &CommandRuns) -> String {
    let whole = command.runs.iter().filter(|run| run.counts()).count();
    let failed = match command.runs.len() - whole {
        0 => String::new(),
        failed => format!(", {failed} more failed"),
    };
    let blocks = match document.kind {
        Kind::Tune => format!("{}, each block in random order", stages(command)),
        _ => "in blocks of one of each configuration in random order".to_owned(),
    };
    format!(
        "`{}` in the {} environment: {} {blocks}{failed}, in {}. \
         The memory of all of its processes was read every {:.0} s, from the first on.",
        command.command,
        document.plan.environment,
        counted(whole, "run"),
        duration(document.elapsed_s),
        command.sample_every_s
    )
}

/// Where the runs of a search went.
fn stages(command: &CommandRuns) -> String {
    let of = |stage: Stage, what: &str| {
        let runs = command.runs.iter();
        let runs = runs
            .filter(|run| run.counts() && run.stage == stage)
            .count();
        (runs > 0).then(|| format!("{runs} {what}"))
    };
    let parts = [
        of(Stage::Pilot, "of today's configuration in the pilot"),
        of(Stage::Race, "in elimination rounds"),
        of(Stage::Confirm, "in the deciding comparison"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    format!("({})", parts.join(", "))
}

/// What several comparisons at once mean for the reader.
pub fn side_by_side(document: &Document, command: &CommandRuns) -> String {
    let said = match command.comparisons.len() {
        _ if document.kind == Kind::Tune => {
            let needs_less =
                (document.verdict.as_ref()).is_some_and(|v| v.answer == Answer::Smaller);
            let figures = match needs_less {
                true => "wall time and peak memory",
                false => "wall time alone",
            };
            format!("The answer rests on {figures}. ")
        }
        0 | 1 => String::new(),
        several => format!(
            "{several} comparisons stand side by side, each with its own interval and error rate of {:.0} %: the more there \
             are, the likelier it is that one of them claims something by chance. ",
            document.plan.alpha * 100.0
        ),
    };
    let given = command.comparisons.iter().all(|c| gives(command, c));
    let of_blocks = match given {
        true => "",
        false => "A change is the typical one within blocks, and need not be that of the medians. ",
    };
    format!(
        "{said}{of_blocks}Each comparison rests on one figure of each run. The samples of a run depend on each other, so they do not count as \
         separate evidence."
    )
}

/// Whether the medians, as they are shown, give the change.
fn gives(command: &CommandRuns, c: &run::Comparison) -> bool {
    let of = |name: &str| {
        let arm = command.arms.iter().find(|arm| arm.name == name)?;
        match c.metric {
            Metric::WallTime => arm.wall_s,
            Metric::MedianMemory => arm.median_bytes.map(|bytes| bytes as f64),
            Metric::PeakMemory => arm.peak_bytes.map(|bytes| bytes as f64),
            _ => None,
        }
    };
    let last_digit: fn(f64) -> f64 = match c.metric {
        Metric::WallTime => |_| 0.01,
        _ => last_digit_of_bytes,
    };
    let figures = of(&c.candidate).zip(of(&c.baseline));
    figures.is_none_or(|figures| is_change_of(c.ratio, figures, last_digit))
}

fn called<'a>(command: &'a CommandRuns, name: &'a str) -> &'a str {
    let arm = command.arms.iter().find(|arm| arm.name == name);
    arm.map_or(name, |arm| arm.called.as_str())
}
