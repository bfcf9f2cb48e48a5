//! YAML with the places of its words, so that one is changed or added and all else stays, comments included.
//!
//! Anchors are not followed, and a node with one is not changed: what stands behind it may be meant for others too.

use std::ops::Range;

use saphyr_parser::{Event, Parser, Span};

use crate::text::{Text, usual_ending};

/// More than any manifest has.
const DEEPEST: usize = 64;
/// An edit of each line would be fewer.
const MOST_EDITS: usize = 200;

#[derive(Debug)]
pub struct Node {
    pub kind: Kind,
    /// Where it begins, in bytes; of a block mapping or list, where its first entry does.
    start: usize,
    /// Whether it, or a node that it stands in, has an anchor.
    anchored: bool,
}

#[derive(Debug)]
pub enum Kind {
    Word(String),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    /// Of an anchor.
    Alias,
}

/// Bytes of a text, and what is to stand in their place.
#[derive(Debug, PartialEq, Eq)]
pub struct Edit {
    pub range: Range<usize>,
    pub text: String,
}

impl Node {
    pub fn get(&self, key: &str) -> Option<&Node> {
        let Kind::Map(pairs) = &self.kind else {
            return None;
        };
        let mut pairs = pairs.iter();
        let (_, value) = pairs.rfind(|(name, _)| name.word() == Some(key))?;
        Some(value)
    }

    /// `get` again and again.
    pub fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.get(key))
    }

    pub fn word(&self) -> Option<&str> {
        match &self.kind {
            Kind::Word(word) => Some(word),
            _ => None,
        }
    }

    pub fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    pub fn is_map(&self) -> bool {
        matches!(self.kind, Kind::Map(_))
    }

    /// Whether it stands between brackets or braces, with whatever else is on the line.
    pub fn is_flow(&self, text: &str) -> bool {
        text[self.start..].starts_with(['{', '['])
    }

    /// The keys of a mapping.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        let pairs: &[(Node, Node)] = match &self.kind {
            Kind::Map(pairs) => pairs,
            _ => &[],
        };
        pairs.iter().filter_map(|(key, _)| key.word())
    }

    /// Its line, counted from 1.
    pub fn line(&self, text: &str) -> usize {
        text[..self.start].matches('\n').count() + 1
    }

    fn must_be_unshared(&self, text: &str) -> Result<(), String> {
        let line = self.line(text);
        match self.anchored {
            true => Err(format!("line {line} has an anchor, which others may use")),
            false => Ok(()),
        }
    }

    /// Another word in its place; `quote`: in quotes, where it has none.
    ///
    /// # Errors
    /// It is not one word on one line, or others may share it.
    pub fn replaced(&self, text: &str, word: &str, quote: bool) -> Result<Edit, String> {
        self.must_be_unshared(text)?;
        let inner = self.inner(text)?;
        Ok(Edit {
            text: match &text[self.start..inner.start] {
                "" if quote => quoted(word),
                "" => word.to_owned(),
                "\"" => escaped(word),
                _ => word.replace('\'', "\'\'"),
            },
            range: inner,
        })
    }

    /// The place of its word, without quotes.
    ///
    /// # Errors
    /// It is not one word on one line.
    fn inner(&self, text: &str) -> Result<Range<usize>, String> {
        let unclear = || format!("line {} holds more than one plain word", self.line(text));
        let old = self.word().ok_or_else(unclear)?;
        let rest = &text[self.start..];
        let quotes = ['"', '\''].into_iter().find(|q| rest.starts_with(*q));
        let width = quotes.map_or(0, char::len_utf8);
        let inner = self.start + width..self.start + width + old.len();
        let closed = |quote: char| text.get(inner.end..).is_some_and(|t| t.starts_with(quote));
        let is_there = text.get(inner.clone()) == Some(old) && quotes.is_none_or(closed);
        if !is_there || old.is_empty() && quotes.is_none() || old.contains('\n') {
            return Err(unclear());
        }
        Ok(inner)
    }

    /// A new pair of a mapping: in a block below the first of the keys `below` that it has, else below its first word. `value` is
    /// what follows the key and its colon: a word, or lines with their indentation below the key.
    ///
    /// # Errors
    /// No line of the mapping can have a line below it, an alias may share the mapping, or a merge key (`<<`) may bring the key.
    pub fn with(&self, text: &str, key: &str, value: &str, below: &[&str]) -> Result<Edit, String> {
        let Kind::Map(pairs) = &self.kind else {
            return Err(format!("line {} is no mapping", self.line(text)));
        };
        self.must_be_unshared(text)?;
        // A new mapping replaces a merged one as a whole.
        if value.starts_with(['\n', '{']) && self.get("<<").is_some() {
            return Err(format!("line {} merges another mapping", self.line(text)));
        }
        if self.is_flow(text) {
            if value.starts_with('\n') {
                return Err(format!(
                    "line {} holds its mapping in braces",
                    self.line(text)
                ));
            }
            let comma = if pairs.is_empty() { "" } else { ", " };
            let at = self.start + 1;
            return Ok(Edit {
                range: at..at,
                text: format!("{key}: {value}{comma}"),
            });
        }
        let on_one_line = |(name, value): &&(Node, Node)| {
            let same = name.line(text) == value.line(text);
            same && value.inner(text).is_ok() && !is_block_text(text, value)
        };
        let named = |key: &&str| {
            let mut all = pairs.iter();
            all.find(|pair| pair.0.word() == Some(key) && on_one_line(pair))
        };
        let above = below.iter().find_map(named);
        let above = above.or_else(|| pairs.iter().find(on_one_line));
        let (first, _) = pairs
            .first()
            .ok_or_else(|| format!("line {} is empty", self.line(text)))?;
        let name = above.map_or(first, |(name, _)| name);
        let begin = text[..name.start].rfind('\n').map_or(0, |at| at + 1);
        let indent = " ".repeat(text[begin..name.start].chars().count());
        let at = match above {
            Some(_) => text[begin..]
                .find('\n')
                .map_or(text.len(), |to| begin + to + 1),
            None if text[begin..name.start].trim().is_empty() => begin,
            None => {
                return Err(format!(
                    "line {} has no plain pair to put {key} below",
                    self.line(text)
                ));
            }
        };
        let ending = usual_ending(text);
        let space = if value.starts_with('\n') { "" } else { " " };
        let value = value.replace('\n', &format!("{ending}{indent}"));
        Ok(Edit {
            range: at..at,
            text: format!("{indent}{key}:{space}{value}{ending}"),
        })
    }

    /// A new first item of a list of mappings, given as its pairs.
    ///
    /// # Errors
    /// The node is not a list with an item on a line, or an alias may share it.
    pub fn with_item(&self, text: &str, item: &[(&str, String)]) -> Result<Edit, String> {
        let no_list = || format!("line {} is no list of lines", self.line(text));
        let Kind::List(items) = &self.kind else {
            return Err(no_list());
        };
        self.must_be_unshared(text)?;
        let pairs: Vec<String> = item
            .iter()
            .map(|(key, value)| format!("{key}: {value}"))
            .collect();
        if text[self.start..].starts_with('[') {
            let comma = if items.is_empty() { "" } else { ", " };
            let at = self.start + 1;
            return Ok(Edit {
                range: at..at,
                text: format!("{{{}}}{comma}", pairs.join(", ")),
            });
        }
        let first = items.first().ok_or_else(no_list)?;
        let at = text[..first.start].rfind('\n').map_or(0, |at| at + 1);
        let indent = text[at..first.start].find('-').ok_or_else(no_list)?;
        let indent = " ".repeat(indent);
        let ending = usual_ending(text);
        Ok(Edit {
            range: at..at,
            text: format!(
                "{indent}- {}{ending}",
                pairs.join(&format!("{ending}{indent}  "))
            ),
        })
    }
}

fn is_block_text(text: &str, value: &Node) -> bool {
    text[value.start..].starts_with(['|', '>'])
}

/// A word in double quotes.
pub fn quoted(word: &str) -> String {
    format!("\"{}\"", escaped(word))
}

fn escaped(word: &str) -> String {
    word.replace('\\', "\\\\").replace('"', "\\\"")
}

/// The text after all the edits that `step` asks for, one at a time.
///
/// # Errors
/// The text is not YAML, `step` fails, or `step` asks for more than `MOST_EDITS` edits.
pub fn edited(
    before: &str,
    mut step: impl FnMut(&str, &[Node]) -> Result<Option<Edit>, String>,
) -> Result<String, String> {
    let mut text = Text::of(before).whole();
    for _ in 0..MOST_EDITS {
        let documents = parse(&text)?;
        match step(&text, &documents)? {
            Some(edit) => text.replace_range(edit.range, &edit.text),
            None => return Ok(text),
        }
    }
    Err(format!("it takes more than {MOST_EDITS} edits"))
}

/// A list or mapping whose end was not read yet.
struct Open {
    is_map: bool,
    start: usize,
    anchored: bool,
    nodes: Vec<Node>,
}

/// All documents of a file.
///
/// # Errors
/// The reason, with the line.
pub fn parse(text: &str) -> Result<Vec<Node>, String> {
    // The parser counts characters.
    let bytes: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let byte = |span: Span| bytes.get(span.start.index()).copied().unwrap_or(text.len());
    let (mut documents, mut open) = (Vec::new(), Vec::<Open>::new());
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| no_yaml(text, &error.to_string()))?;
        let start = byte(span);
        let in_anchored = open.last().is_some_and(|parent| parent.anchored);
        // The parser numbers anchors from 1.
        let anchored = |anchor: usize| in_anchored || anchor > 0;
        let node = match event {
            Event::Scalar(word, _, anchor, _) => Node {
                kind: Kind::Word(word.into_owned()),
                start,
                anchored: anchored(anchor),
            },
            Event::Alias(_) => Node {
                kind: Kind::Alias,
                start,
                anchored: in_anchored,
            },
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                open.push(Open {
                    is_map: matches!(event, Event::MappingStart(..)),
                    start,
                    anchored: anchored(anchor),
                    nodes: Vec::new(),
                });
                if open.len() > DEEPEST {
                    return Err("it is nested too deeply".to_owned());
                }
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let ended = open.pop().ok_or("an end without a beginning")?;
                Node {
                    start: ended.start,
                    anchored: ended.anchored,
                    kind: match ended.is_map {
                        true => Kind::Map(pairs(ended.nodes)),
                        false => Kind::List(ended.nodes),
                    },
                }
            }
            _ => continue,
        };
        match open.last_mut() {
            Some(parent) => parent.nodes.push(node),
            None => documents.push(node),
        }
    }
    Ok(documents)
}

fn no_yaml(text: &str, why: &str) -> String {
    match text.contains("{{") || text.contains("<%") {
        true => "it is a template, whose values stand elsewhere".to_owned(),
        false => format!("it is no YAML ({why})"),
    }
}

fn pairs(nodes: Vec<Node>) -> Vec<(Node, Node)> {
    let mut pairs = Vec::new();
    let mut nodes = nodes.into_iter();
    while let (Some(key), Some(value)) = (nodes.next(), nodes.next()) {
        pairs.push((key, value));
    }
    pairs
}

#[cfg(test)]
mod tests;
