//! The pieces of a page as HTML.

use crate::sheet::Piece;
use comfy_table::{Row, Table};
use maud::{Markup, html};

/// Pieces that stand together as one element.
enum Group<'a> {
    One(&'a Piece),
    /// Prose behind a dash.
    List(Vec<&'a str>),
    /// Prose behind labels.
    Labelled(Vec<(&'a str, &'a str)>),
    Lines(Vec<&'a str>),
    Diff(Vec<&'a str>),
}

/// The pieces; `with_answer`: the first that stands out is the page's title.
pub fn marked_up(pieces: &[Piece], with_answer: bool) -> Markup {
    let mut is_first = with_answer;
    html! {
        @for group in grouped(pieces) {
            @match group {
                Group::One(Piece::Bold(text)) => {
                    @if std::mem::take(&mut is_first) { (answer(text)) } @else { p { strong { (text) } } }
                }
                Group::One(Piece::Heading(text)) => h2 { (text) },
                Group::One(Piece::Prose { text, .. }) => p { (text) },
                Group::One(Piece::Table(rows)) => (table(rows)),
                Group::One(Piece::Line(_) | Piece::Diff(_)) => {}
                Group::List(sentences) => ul { @for sentence in sentences { li { (sentence) } } },
                Group::Labelled(rows) => dl {
                    @for (label, text) in rows { dt { (label) } dd { (text) } }
                },
                Group::Lines(lines) => pre tabindex="0" { (lines.join("\n")) },
                Group::Diff(lines) => (diff(&lines)),
            }
        }
    }
}

/// The first sentence as the title, and the others below it.
fn answer(text: &str) -> Markup {
    let (first, others) = match text.split_once(". ") {
        Some((first, others)) => (format!("{first}."), others),
        None => (text.to_owned(), ""),
    };
    html! {
        h1 { (first) }
        @if !others.is_empty() { p { strong { (others) } } }
    }
}

fn grouped(pieces: &[Piece]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Prose { label, text } if label.trim() == "-" => match groups.last_mut() {
                Some(Group::List(sentences)) => sentences.push(text),
                _ => groups.push(Group::List(vec![text])),
            },
            Piece::Prose { label, text } if !label.trim().is_empty() => match groups.last_mut() {
                Some(Group::Labelled(rows)) => rows.push((label.trim(), text)),
                _ => groups.push(Group::Labelled(vec![(label.trim(), text)])),
            },
            // Spacing of the terminal's page.
            Piece::Line(line) if line.is_empty() => {}
            Piece::Line(line) => match groups.last_mut() {
                Some(Group::Lines(lines)) => lines.push(line),
                _ => groups.push(Group::Lines(vec![line])),
            },
            Piece::Diff(line) => match groups.last_mut() {
                Some(Group::Diff(lines)) => lines.push(line),
                _ => groups.push(Group::Diff(vec![line])),
            },
            other => groups.push(Group::One(other)),
        }
    }
    groups
}

fn diff(lines: &[&str]) -> Markup {
    html! {
        div class="diff" {
            pre tabindex="0" {
                @for line in lines {
                    @match line.as_bytes() {
                        [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => (line),
                        [b'+', ..] => ins { (line) },
                        [b'-', ..] => del { (line) },
                        _ => (line),
                    }
                    "\n"
                }
            }
        }
    }
}

fn table(table: &Table) -> Markup {
    let rows: Vec<Vec<String>> = table.row_iter().map(cells).collect();
    let head = table.header().map(cells).unwrap_or_default();
    let in_words = |column: usize| {
        let mut below = rows.iter().filter_map(|row| row.get(column));
        below.any(|cell| cell.starts_with(char::is_alphabetic))
    };
    let class = |column: usize| in_words(column).then_some("left");
    html! {
        div class="wide" tabindex="0" role="group" aria-label=(head.first().map_or("table", String::as_str)) {
            table {
                thead { tr {
                    @for (column, cell) in head.iter().enumerate() {
                        @if cell.is_empty() { td class=[class(column)] {} }
                        @else { th scope="col" class=[class(column)] { (cell) } }
                    }
                } }
                tbody {
                    @for row in &rows {
                        tr { @for (column, cell) in row.iter().enumerate() { td class=[class(column)] { (cell) } } }
                    }
                }
            }
        }
    }
}

/// Cells on one line: the browser breaks them where it has to.
fn cells(row: &Row) -> Vec<String> {
    let cells = row.cell_iter();
    cells
        .map(|cell| cell.content().replace('\n', " ").trim().to_owned())
        .collect()
}
