//! Parses YAML into a tree with line numbers. Follows anchors and merges. Allows duplicate keys, because each branch of an
//! ERB condition has its own.

use std::collections::HashMap;

use saphyr_parser::{Event, Parser};

/// More than any configuration has; nested aliases could grow exponentially.
const MOST_NODES: usize = 50_000;
const DEEPEST: usize = 64;

#[derive(Debug, Clone)]
pub(super) enum Node {
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Vec<(Scalar, Node)>),
}

#[derive(Debug, Clone, Default)]
pub(super) struct Scalar {
    pub(super) text: String,
    /// Counted from 1.
    pub(super) line: usize,
}

/// A list or mapping whose end was not read yet.
struct Open {
    anchor: usize,
    is_map: bool,
    nodes: Vec<Node>,
}

/// Parses the first document.
///
/// # Errors
/// The reason, with the line.
pub(super) fn parse(text: &str) -> Result<Option<Node>, String> {
    let mut anchors: HashMap<usize, (Node, usize)> = HashMap::new();
    let mut open: Vec<Open> = Vec::new();
    let mut nodes = 0;
    for event in Parser::new_from_str(text) {
        let (event, span) = event.map_err(|e| e.to_string())?;
        let line = span.start.line();
        let (node, anchor) = match event {
            Event::Scalar(text, _, anchor, _) => {
                let text = text.into_owned();
                (Node::Scalar(Scalar { text, line }), anchor)
            }
            Event::Alias(anchor) => {
                let (node, size) = anchors.get(&anchor).cloned().ok_or("an alias of nothing")?;
                nodes += size;
                (node, 0)
            }
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                let is_map = matches!(event, Event::MappingStart(..));
                open.push(Open {
                    anchor,
                    is_map,
                    nodes: Vec::new(),
                });
                if open.len() > DEEPEST {
                    return Err(format!("line {line} is nested too deeply"));
                }
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let ended = open.pop().ok_or("an end without a beginning")?;
                let node = match ended.is_map {
                    true => Node::Map(merged(pairs(ended.nodes)?)),
                    false => Node::List(ended.nodes),
                };
                (node, ended.anchor)
            }
            Event::DocumentEnd => break,
            _ => continue,
        };
        nodes += 1;
        if nodes > MOST_NODES {
            return Err("it has too many entries".to_owned());
        }
        if anchor > 0 {
            anchors.insert(anchor, (node.clone(), node.size()));
        }
        match open.last_mut() {
            Some(parent) => parent.nodes.push(node),
            None => return Ok(Some(node)),
        }
    }
    Ok(None)
}

fn pairs(nodes: Vec<Node>) -> Result<Vec<(Scalar, Node)>, String> {
    let mut pairs = Vec::new();
    let mut nodes = nodes.into_iter();
    while let (Some(key), Some(value)) = (nodes.next(), nodes.next()) {
        match key {
            Node::Scalar(key) => pairs.push((key, value)),
            Node::List(_) | Node::Map(_) => return Err("it has a key that is no text".to_owned()),
        }
    }
    Ok(pairs)
}

/// Merges the mappings that `<<` names; the mapping's own keys win.
fn merged(pairs: Vec<(Scalar, Node)>) -> Vec<(Scalar, Node)> {
    let (merges, mut own): (Vec<_>, Vec<_>) =
        pairs.into_iter().partition(|(key, _)| key.text == "<<");
    for (_, merge) in merges {
        let maps = match merge {
            Node::List(maps) => maps,
            map => vec![map],
        };
        for map in maps {
            let Node::Map(others) = map else { continue };
            for (key, value) in others {
                if !own.iter().any(|(name, _)| name.text == key.text) {
                    own.push((key, value));
                }
            }
        }
    }
    own
}

impl Node {
    fn size(&self) -> usize {
        match self {
            Node::Scalar(_) => 1,
            Node::List(nodes) => 1 + nodes.iter().map(Node::size).sum::<usize>(),
            Node::Map(pairs) => 1 + pairs.iter().map(|(_, node)| 1 + node.size()).sum::<usize>(),
        }
    }

    /// All scalars below a node, with the path of their keys. Entries of a list have the key of the list.
    pub(super) fn texts<'a>(
        &'a self,
        above: &[&'a str],
        found: &mut Vec<(Vec<&'a str>, &'a Scalar)>,
    ) {
        match self {
            Node::Scalar(scalar) => found.push((above.to_vec(), scalar)),
            Node::List(nodes) => nodes.iter().for_each(|node| node.texts(above, found)),
            Node::Map(pairs) => {
                for (key, node) in pairs {
                    let above = [above, &[key.text.as_str()]].concat();
                    node.texts(&above, found);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn merges_anchors_flow_and_lists() {
        let text = "default: &default\n  adapter: postgresql\n  host: a\nproduction:\n  primary:\n    <<: *default\n    host: b\n  \
                    more: { <<: *default, ports: [1, 2] }\n";
        let root = parse(text).unwrap().unwrap();
        let mut found = Vec::new();
        root.texts(&[], &mut found);
        let found: Vec<String> = found
            .iter()
            .filter(|(keys, _)| keys[0] == "production")
            .map(|(keys, value)| format!("{} {}={}", value.line, keys.join("."), value.text))
            .collect();
        let expected = [
            "7 production.primary.host=b",
            "2 production.primary.adapter=postgresql",
            "8 production.more.ports=1",
            "8 production.more.ports=2",
            "2 production.more.adapter=postgresql",
            "3 production.more.host=a",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_yaml_or_grows_without_end_is_an_error() {
        assert!(parse("a: [").is_err());
        assert!(parse("a: &a [*a]").is_err());
        let mut bomb = "a0: &a0 [x, x]\n".to_owned();
        for level in 1..40 {
            bomb += &format!("a{level}: &a{level} [*a{0}, *a{0}]\n", level - 1);
        }
        assert!(parse(&bomb).is_err());
        assert!(parse(&"[".repeat(10_000)).is_err());
        assert!(parse("").unwrap().is_none());
    }

    proptest! {
        #[test]
        fn any_text_is_taken_without_a_panic(text in "[-a-c:&*<{}\\[\\]'\", \n#|]{0,60}") {
            let _ = parse(&text);
        }
    }
}
