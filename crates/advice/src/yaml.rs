//! YAML with the places of its words, so that one is changed or added and all else stays, comments included.
//!
//! Anchors are not followed: what stands behind one may be meant for others too.

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

    /// Another word in its place; `quote`: in quotes, where it has none.
    ///
    /// # Errors
    /// It is not one word on one line.
    pub fn replaced(&self, text: &str, word: &str, quote: bool) -> Result<Edit, String> {
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
        Ok(Edit {
            range: inner,
            text: match quotes {
                None if quote => quoted(word),
                None => word.to_owned(),
                Some('"') => escaped(word),
                Some(_) => word.replace('\'', "\'\'"),
            },
        })
    }

    /// A new pair of a mapping: in a block below the first of the keys `below` that it has, else below its first word. `lines` is
    /// what follows the key and its colon: a word, or lines with their indentation below the key.
    ///
    /// # Errors
    /// There is no line to put it below.
    pub fn with(&self, text: &str, key: &str, value: &str, below: &[&str]) -> Result<Edit, String> {
        let Kind::Map(pairs) = &self.kind else {
            return Err(format!("line {} is no mapping", self.line(text)));
        };
        if text[self.start..].starts_with('{') {
            let comma = if pairs.is_empty() { "" } else { ", " };
            let at = self.start + 1;
            return Ok(Edit {
                range: at..at,
                text: format!("{key}: {value}{comma}"),
            });
        }
        let on_one_line = |(name, value): &&(Node, Node)| {
            let same = name.line(text) == value.line(text);
            same && value.word().is_some_and(|word| !word.contains('\n'))
                && !is_block_text(text, value)
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
    /// It is no list of which the first item is seen.
    pub fn with_item(&self, text: &str, item: &[(&str, String)]) -> Result<Edit, String> {
        let no_list = || format!("line {} is no list of lines", self.line(text));
        let Kind::List(items) = &self.kind else {
            return Err(no_list());
        };
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
/// It is no YAML, or what `step` says.
pub fn edited(
    before: &str,
    mut step: impl FnMut(&str, &[Node]) -> Result<Option<Edit>, String>,
) -> Result<String, String> {
    let mut text = Text::of(before).whole();
    for _ in 0..MOST_EDITS {
        let documents = parse(&text)?;
        match step(&text, &documents)? {
            Some(edit) => text.replace_range(edit.range, &edit.text),
            None => break,
        }
    }
    Ok(text)
}

/// A list or mapping whose end was not read yet.
struct Open {
    is_map: bool,
    start: usize,
    nodes: Vec<Node>,
}

/// All documents of a file.
///
/// # Errors
/// The reason, with the line.
fn parse(text: &str) -> Result<Vec<Node>, String> {
    // The parser counts characters.
    let bytes: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    let byte = |span: Span| bytes.get(span.start.index()).copied().unwrap_or(text.len());
    let (mut documents, mut open) = (Vec::new(), Vec::<Open>::new());
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|error| no_yaml(text, &error.to_string()))?;
        let start = byte(span);
        let node = match event {
            Event::Scalar(word, ..) => Node {
                kind: Kind::Word(word.into_owned()),
                start,
            },
            Event::Alias(_) => Node {
                kind: Kind::Alias,
                start,
            },
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                open.push(Open {
                    is_map: matches!(event, Event::MappingStart(..)),
                    start,
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
mod tests {
    use super::*;

    fn changed(text: &str, edit: &Edit) -> String {
        let mut text = text.to_owned();
        text.replace_range(edit.range.clone(), &edit.text);
        text
    }

    #[test]
    fn a_word_is_replaced_with_its_quotes_and_comment_kept() {
        let text = "# ü\na: 1 # one\nb: 'x'\nc: {d: \"y\", e: 2}\nf: |\n  z\n";
        let documents = parse(text).unwrap();
        let replaced = |path: &[&str], quote| {
            let node = documents[0].at(path).unwrap();
            node.replaced(text, "new", quote)
                .map(|edit| changed(text, &edit))
        };
        assert!(replaced(&["a"], false).unwrap().contains("a: new # one"));
        assert!(replaced(&["a"], true).unwrap().contains("a: \"new\" # one"));
        assert!(replaced(&["b"], true).unwrap().contains("b: 'new'\n"));
        assert!(
            replaced(&["c", "d"], true)
                .unwrap()
                .contains("{d: \"new\", e: 2}")
        );
        assert!(replaced(&["c", "e"], false).unwrap().contains("e: new}"));
        for several in [&["c"][..], &["f"]] {
            assert!(replaced(several, false).unwrap_err().starts_with("line "));
        }
    }

    #[test]
    fn a_pair_is_added_where_its_mapping_is() {
        let text = "list:\n  - name: a # x\n    image: b\n    deep:\n      k: v\nflow: {a: 1}\nempty: {}\nlast: 1\n";
        let documents = parse(text).unwrap();
        let root = &documents[0];
        let with = |node: &Node, key: &str, value: &str, below: &[&str]| {
            changed(text, &node.with(text, key, value, below).unwrap())
        };
        let item = &root.get("list").unwrap().items()[0];
        assert!(with(item, "n", "1", &[]).contains("a # x\n    n: 1\n    image: b\n"));
        let below = with(item, "n", "\n  m: 2", &["image"]);
        assert!(
            below.contains("image: b\n    n:\n      m: 2\n    deep:"),
            "{below}"
        );
        assert!(with(root.get("flow").unwrap(), "n", "2", &[]).contains("{n: 2, a: 1}"));
        assert!(with(root.get("empty").unwrap(), "n", "2", &[]).contains("empty: {n: 2}"));
        assert!(with(root, "n", "2", &["last"]).ends_with("last: 1\nn: 2\n"));
        assert!(
            with(
                root.get("list").unwrap().items()[0].get("deep").unwrap(),
                "n",
                "1",
                &[]
            )
            .contains("k: v\n      n: 1\n")
        );
        let nested = "a:\n  b:\n    c: 1\n";
        let a = &parse(nested).unwrap()[0];
        assert_eq!(with_in(nested, a), "n: 1\na:\n  b:\n    c: 1\n");
        let item = "- b:\n    c: 1\n";
        assert!(
            parse(item).unwrap()[0].items()[0]
                .with(item, "n", "1", &[])
                .is_err()
        );
    }

    fn with_in(text: &str, node: &Node) -> String {
        changed(text, &node.with(text, "n", "1", &[]).unwrap())
    }

    #[test]
    fn an_item_is_added_before_the_first() {
        let item = [("name", "A".to_owned()), ("value", quoted("1"))];
        for (text, expected) in [
            (
                "e:\n  # of x\n  - name: B\n",
                "e:\n  # of x\n  - name: A\n    value: \"1\"\n  - name: B\n",
            ),
            ("e: []\n", "e: [{name: A, value: \"1\"}]\n"),
            (
                "e: [{name: B}]\n",
                "e: [{name: A, value: \"1\"}, {name: B}]\n",
            ),
        ] {
            let list = &parse(text).unwrap()[0];
            let edit = list.get("e").unwrap().with_item(text, &item).unwrap();
            assert_eq!(changed(text, &edit), expected);
        }
    }

    #[test]
    fn what_is_no_yaml_says_so() {
        assert!(
            parse("a: {{ .Values.x }}: y\n")
                .unwrap_err()
                .contains("template")
        );
        assert!(parse("a: [1\n").unwrap_err().contains("no YAML"));
        assert_eq!(parse("a: 1\n---\nb: 2\n").unwrap().len(), 2);
    }
}
