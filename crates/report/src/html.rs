//! The page of a run as one HTML file that needs nothing else: the words of the terminal's page, charts, and the document itself.
//!
//! `web/` has its script and style. The script draws what `charts` holds; everything else is here, so that the page can be read and
//! printed without it. Names come from users: `maud` escapes all text, and the page's policy allows no script but ours.

mod charts;
mod pieces;

use crate::Style;
use crate::page::pieces_in_full;
use crate::sheet::{Piece, first_line};
use maud::{Markup, html};
use run::Document;

/// Built by `make web`.
const TEMPLATE: &str = include_str!("../../../web/dist/page.html");

/// Wide enough for every table to be whole, and for intervals to stay on one line.
const WIDE: Style = Style {
    width: 400,
    colour: false,
};

/// The page of a document as `run.json` has it, without histograms.
pub fn html_page(document: &Document) -> String {
    let title = match &document.verdict {
        Some(verdict) => first_line(&verdict.sentence).to_owned(),
        None => format!("Powerband: {}", document.id),
    };
    let title = html! { (title) };
    filled(&[
        ("title", &title.into_string()),
        ("body", &body(document).into_string()),
        ("charts", &in_script(&charts::charts(document))),
        ("document", &in_script(document)),
    ])
}

/// The template with its places filled in one pass: what is filled in may look like a place.
fn filled(parts: &[(&str, &str)]) -> String {
    const BEGIN: &str = "<!--powerband:";
    const END: &str = "-->";
    let mut page = String::new();
    let mut rest = TEMPLATE;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (name, behind) = after.split_once(END).unwrap_or((after, ""));
        let part = parts.iter().find(|(place, _)| *place == name);
        page.push_str(before);
        page.push_str(part.map_or("", |(_, text)| text));
        rest = behind;
    }
    page + rest
}

/// JSON that ends no script element: `<` occurs in its strings alone, where it may be escaped.
fn in_script(value: &impl serde::Serialize) -> String {
    let text = serde_json::to_string(value)
        .expect("documents have string keys and no failing serialisers");
    text.replace('<', "\\u003c")
}

fn body(document: &Document) -> Markup {
    let pieces = pieces_in_full(document, WIDE);
    // The answer and its figures come before the charts, everything else after them.
    let answer = pieces
        .iter()
        .position(|piece| matches!(piece, Piece::Heading(_)));
    let (answer, rest) = pieces.split_at(answer.unwrap_or(pieces.len()));
    html! {
        (pieces::marked_up(answer, true))
        section id="pictures" aria-label="Charts" {
            noscript { p { "The charts need JavaScript; the tables below have their figures." } }
        }
        (pieces::marked_up(rest, false))
        (about(document))
    }
}

/// What the run was, and how to repeat and check it.
fn about(document: &Document) -> Markup {
    let plan = &document.plan;
    let host = &document.host;
    html! {
        h2 { "Check this" }
        dl {
            dt { "run" } dd { (document.id) ", begun " (document.started_at) }
            dt { "host" }
            dd {
                (host.cpu_model) ", " (run::counted(host.cores, "core"))
                @if host.effective_cores < f64::from(host.cores) { " (" (host.effective_cores) " of them usable)" }
                ", load average before the run " (format!("{:.2}", host.load_average))
            }
            dt { "versions" }
            dd {
                "powerband " (document.powerband_version)
                @for (name, version) in &document.versions { ", " (name) " " (version) }
            }
            dt { "seed" } dd { (document.seed) }
            dt { "environment" } dd { (plan.environment) }
            dt { "requests" }
            dd {
                @for (index, entry) in plan.workload.iter().enumerate() {
                    @if index > 0 { "; " }
                    (entry.method) " " (entry.path) " (" (format!("{:.0} %", entry.share * 100.0)) ")"
                }
            }
            dt { "the same again" } dd { code { "powerband " (document.kind.verb()) " … --seed " (document.seed) } }
            dt { "every figure" } dd { "The JSON document is in this file, in the element with the id \"document\"." }
        }
    }
}

#[cfg(test)]
mod tests;
