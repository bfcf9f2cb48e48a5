//! Memory that was compared after as many requests in every trial: whether it still grew, and how many processes fit.

use crate::figures::{bytes, change_with_interval, counted, grouped};
use crate::markdown_table;
use crate::reading::called;
use crate::sheet::Sheet;
use crate::tables::{NONE, table};
use run::{Age, AgedArm, ArmSummary, Document, Fits, LateCourse, LateGrowth};

const HEADING: &str = "Memory when aged";
const NOT_AGED: &str = "Trials that were not aged";

/// The section; nothing where no age was asked for.
pub fn write(sheet: &mut Sheet, document: &Document) {
    let Some((age, arms)) = of(document) else {
        return;
    };
    sheet.heading(HEADING);
    let mut table = table(sheet.style(), &head(), 1);
    table.add_rows(arms.iter().map(|(arm, aged)| row(document, arm, aged)));
    sheet.table(table);
    sheet.prose(&meaning(document, age, &arms));
    sheet.listed(NOT_AGED, &not_aged(document, &arms));
}

/// The same in Markdown.
pub fn markdown(page: &mut String, document: &Document) {
    let Some((age, arms)) = of(document) else {
        return;
    };
    *page += &format!("\n### {HEADING}\n\n");
    markdown_table::rows(page, &head(), 1);
    for (arm, aged) in &arms {
        markdown_table::line(page, &row(document, arm, aged));
    }
    *page += &format!("\n{}\n", meaning(document, age, &arms));
    let not_aged = not_aged(document, &arms);
    if !not_aged.is_empty() {
        *page += &format!("\n{NOT_AGED}:\n\n");
    }
    for sentence in not_aged {
        *page += &format!("- {}\n", markdown_table::plain(&sentence));
    }
}

type Arms<'d> = Vec<(&'d ArmSummary, &'d AgedArm)>;

fn of(document: &Document) -> Option<(Age, Arms<'_>)> {
    let arms = document.arms.iter();
    let arms: Arms<'_> = arms
        .filter(|arm| arm.trials > 0)
        .filter_map(|arm| Some((arm, arm.aged.as_ref()?)))
        .collect();
    Some((document.plan.age?, arms)).filter(|(_, arms)| !arms.is_empty())
}

fn head() -> [&'static str; 4] {
    [
        "settings",
        "memory",
        "growth in the second half",
        "processes that fit",
    ]
}

fn row(document: &Document, arm: &ArmSummary, aged: &AgedArm) -> Vec<String> {
    let none = || NONE.to_owned();
    vec![
        called(document, arm),
        arm.pss_bytes.map_or_else(none, bytes),
        aged.late_growth.map_or_else(none, grown),
        aged.fits.map_or_else(none, fitting),
    ]
}

fn grown(growth: LateGrowth) -> String {
    let (low, high) = growth.interval;
    let change = change_with_interval(1.0 + growth.share, Some(1.0 + low), Some(1.0 + high));
    let word = match growth.course {
        LateCourse::Growing => "still grows",
        LateCourse::Flat => "flat",
        LateCourse::Undecided => "undecided",
    };
    format!("{change}: {word}")
}

fn fitting(fits: Fits) -> String {
    let processes = grouped(u64::from(fits.processes));
    match fits.interval {
        Some((low, high)) => format!("{processes} ({low} to {high})"),
        None => processes,
    }
}

/// What the columns are of.
fn meaning(document: &Document, age: Age, arms: &Arms<'_>) -> String {
    let requests = counted(age.requests, "request");
    let half = grouped(age.requests / 2);
    let margin = 100.0 * document.plan.margin;
    let mut said = format!(
        "Memory is compared when the server has answered {requests} in the trial, those of the warm-up and of the windows included; \
         no garbage collection is forced before it is read. The second half is from {half} requests on: above {margin} % memory still grows, \
         and a larger --age shows where it ends."
    );
    if let Some(fits) = arms.iter().find_map(|(_, aged)| aged.fits) {
        let limit = bytes(fits.limit_bytes);
        let of = match fits.is_asked {
            true => format!("{limit}, the limit"),
            false => format!(
                "{limit}, {:.0} % of the machine's memory",
                100.0 * fits.limit_bytes as f64 / document.host.memory_bytes as f64
            ),
        };
        said += &format!(
            " The last column is the number of processes of the configuration that fit into {of}, at this age and with as much for each \
             as one holds for itself alone; its interval (95 %) is from the trials."
        );
    }
    said
}

fn not_aged(document: &Document, arms: &Arms<'_>) -> Vec<String> {
    let of_arm = |(arm, aged): &(&ArmSummary, &AgedArm)| {
        let why = aged.why_not.as_deref().unwrap_or("its memory was not read");
        (aged.not_aged > 0).then(|| {
            format!(
                "{}: {} of {}, whose memory is not compared: {why}",
                called(document, arm),
                aged.not_aged,
                counted(arm.trials, "trial")
            )
        })
    };
    arms.iter().filter_map(of_arm).collect()
}
