//! The page of a document as one HTML file that needs nothing else: the words of the terminal's page, charts, and the document itself.
//!
//! `web/` has its script and style. The script draws what `charts` holds; everything else is here, so that the page can be read and
//! printed without it. Names come from users: `maud` escapes all text, and the page's policy allows no script but ours.

mod about;
mod charts;
mod inside;
mod pieces;

use crate::Style;
use crate::readable::Readable;
use crate::sheet::{Piece, first_line};
use crate::templates;
use maud::{Markup, html};

/// Wide enough for every table to be whole, and for intervals to stay on one line.
const WIDE: Style = Style {
    width: 400,
    colour: false,
};

impl Readable {
    /// The page as HTML; a run is written as `run.json` has it, without histograms.
    pub fn html(&self) -> String {
        let pieces = self.sheet(true, WIDE).into_pieces();
        let title = html! { (title(&pieces)) };
        let inside = inside::inside(self);
        filled(&[
            ("title", &title.into_string()),
            ("body", &body(self, &inside, &pieces).into_string()),
            ("charts", &in_script(&charts::charts(self))),
            ("document", &in_script(&inside.document)),
        ])
    }
}

/// The first sentence that stands out.
fn title(pieces: &[Piece]) -> &str {
    let bold = |piece: &&Piece| matches!(piece, Piece::Bold(_));
    match pieces.iter().find(bold) {
        Some(Piece::Bold(text)) => first_line(text),
        _ => "Powerband",
    }
}

/// The template with its places filled in one pass: what is filled in may look like a place.
fn filled(parts: &[(&str, &str)]) -> String {
    const BEGIN: &str = "<!--powerband:";
    const END: &str = "-->";
    let mut page = String::new();
    let mut rest = templates::PAGE.as_str();
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

fn body(document: &Readable, inside: &inside::Inside<'_>, pieces: &[Piece]) -> Markup {
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
        (about::about(document, inside))
    }
}

#[cfg(test)]
mod tests;
