//! In what the answers of a shadow differ from the primary's.

use crate::figures::{grouped, share};
use crate::sheet::Sheet;
use run::duplex::{Answers, Difference, Document, Standing};

/// Differences shown in full; the document has more.
const SHOWN: usize = 20;

/// Of one shadow; the twin's own are the noise and have no list.
pub fn answers(sheet: &mut Sheet, document: &Document, answers: &Answers) {
    if document.is_twin(&answers.shadow) || answers.compared == 0 {
        return;
    }
    sheet.heading(&format!("What {} answers differently", answers.shadow));
    sheet.prose(&overall(answers));
    for difference in answers.differences.iter().take(SHOWN) {
        one(sheet, difference);
    }
    let more = answers.differences.len().saturating_sub(SHOWN) as u64 + answers.not_listed;
    if more > 0 {
        sheet.prose(&format!(
            "And {} more: --json has the first 100.",
            grouped(more)
        ));
    }
}

fn overall(answers: &Answers) -> String {
    if answers.differ == 0 && answers.compared > 0 && answers.twin.is_none() {
        return format!(
            "All {} answers that were compared are the same as the primary's.",
            grouped(answers.compared)
        );
    }
    let differ = answers.differ as f64 / answers.compared.max(1) as f64;
    let mut text = format!(
        "{} of {} answers ({}) differ from the primary's in at least one thing",
        grouped(answers.differ),
        grouped(answers.compared),
        share(differ)
    );
    match &answers.twin {
        None => text.push_str(". There is no twin (a shadow that runs what the primary runs), and dynamic pages differ by themselves: judge each difference yourself."),
        Some(twin) => {
            text.push_str(&format!(
                "; of {} that {twin} answered too, {} by {} alone and {} by {twin} alone.",
                grouped(answers.paired),
                grouped(answers.only_shadow),
                answers.shadow,
                grouped(answers.only_twin)
            ));
            if answers.noise > 0 {
                let kinds = match answers.noise {
                    1 => "1 kind of difference is".to_owned(),
                    many => format!("{} kinds of difference are", grouped(many)),
                };
                text.push_str(&format!(
                    " {kinds} noise: {twin}, which runs what the primary runs, shows as much."
                ));
            }
            if answers.differences.is_empty() {
                text.push_str(" Nothing differs beyond that.");
            }
        }
    }
    text
}

fn one(sheet: &mut Sheet, difference: &Difference) {
    let mut text = format!(
        "{}: {}, {} of {} ({})",
        difference.endpoint,
        difference.kind,
        grouped(difference.differ),
        grouped(difference.compared),
        share(difference.share)
    );
    if let Some(twin) = difference.twin_share {
        text.push_str(&format!(", the twin {}", share(twin)));
    }
    match difference.standing {
        Standing::Noise => text.push_str("; not more often than the twin, as far as can be told"),
        Standing::Unknown => {}
        Standing::Real => {
            let points = |share: Option<f64>| format!("{:+.2}", share.unwrap_or_default() * 100.0);
            text.push_str(&format!(
                "; {} points more ({} to {})",
                points(difference.excess),
                points(difference.excess_low),
                points(difference.excess_high)
            ));
        }
    }
    sheet.labelled("- ", &text);
    let example = &difference.example;
    sheet.labelled(
        "    ",
        &format!("{} primary: {}", example.request, quoted(&example.primary)),
    );
    sheet.labelled("    ", &format!("shadow: {}", quoted(&example.shadow)));
}

/// In one line, without what a terminal would obey.
fn quoted(text: &str) -> String {
    match text {
        "" => "(nothing)".to_owned(),
        text => crate::plain(text),
    }
}
