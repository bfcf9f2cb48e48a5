//! The container of a Deployment (its limits, its variables, words of its command) and the data of a ConfigMap.
//!
//! A variable is changed where it stands; one that stands nowhere goes into the ConfigMap where one is given, else into the container.

use crate::command_words::{SHOWS_OTHERS, line_with, replaced, runs, sets_others};
use crate::quantity;
use crate::text::Text;
use crate::variable::Wanted;
use crate::yaml::{Edit, Node, edited, parse, quoted};
use crate::{Change, Note, Pod, Recommended};

/// Manifests whose pods have containers.
const KINDS: [&str; 3] = ["Deployment", "StatefulSet", "DaemonSet"];

/// What is to be in a manifest.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    pub recommended: &'a Recommended,
    pub wanted: &'a [Wanted],
    /// Whether variables that stand nowhere are added here.
    pub adds: bool,
}

impl Asked<'_> {
    /// Whether this variable is to be set.
    fn wants(self, name: &str) -> bool {
        self.wanted.iter().any(|wanted| wanted.name == name)
    }
}

/// The Deployment's container.
pub fn deployment(path: &str, before: &str, asked: Asked<'_>, notes: &mut Vec<Note>) -> Change {
    let mut said = Vec::new();
    let after = edited(before, |text, documents| {
        said.clear();
        let container = container(documents, asked)?;
        if container.is_flow(text) {
            return Err(format!(
                "line {} holds its container in braces",
                container.line(text)
            ));
        }
        let limits = limits(text, container, asked.recommended.pod)?;
        if limits.is_some() {
            return Ok(limits);
        }
        let command = command(text, container, asked, &mut said)?;
        if command.is_some() {
            return Ok(command);
        }
        variables(text, container, asked, &mut said)
    });
    finished(path, before, after, said, || by_hand(asked), notes)
}

/// The ConfigMap's data.
pub fn config_map(path: &str, before: &str, asked: Asked<'_>, notes: &mut Vec<Note>) -> Change {
    let after = edited(before, |text, documents| {
        let mut maps = documents
            .iter()
            .filter(|document| is_a(document, "ConfigMap"));
        let (Some(map), None) = (maps.next(), maps.next()) else {
            return Err("it does not hold just one ConfigMap".to_owned());
        };
        match map.get("data") {
            Some(data) => values(text, data, asked),
            None => {
                let first = asked.wanted.iter().find_map(pair);
                let Some((name, value)) = first.filter(|_| asked.adds) else {
                    return Ok(None);
                };
                let data = format!("\n  {name}: {value}");
                map.with(text, "data", &data, &["kind", "apiVersion"])
                    .map(Some)
            }
        }
    });
    finished(
        path,
        before,
        after,
        Vec::new(),
        || variables_by_hand(asked),
        notes,
    )
}

/// Variables of a mapping: what differs, then what is missing.
pub fn values(text: &str, map: &Node, asked: Asked<'_>) -> Result<Option<Edit>, String> {
    if map.is_flow(text) && !map.keys().all(|key| asked.wants(key)) {
        return Err(format!("line {} sets other variables too", map.line(text)));
    }
    for wanted in asked.wanted {
        let existing = map.get(&wanted.name);
        let Some(value) = wanted.over(existing.map(|node| node.word().unwrap_or_default())) else {
            continue;
        };
        match existing {
            Some(node) if node.word() == Some(&value) => {}
            Some(node) => return node.replaced(text, &value, true).map(Some),
            None if asked.adds => {
                return map.with(text, &wanted.name, &quoted(&value), &[]).map(Some);
            }
            None => {}
        }
    }
    Ok(None)
}

/// A variable that stands nowhere yet, with its value in quotes.
pub fn pair(wanted: &Wanted) -> Option<(String, String)> {
    Some((wanted.name.clone(), quoted(&wanted.over(None)?)))
}

/// The names of the variables that the container sets to plain values.
pub fn names(before: &str, recommended: &Recommended, wanted: &[Wanted]) -> Vec<String> {
    let asked = Asked {
        recommended,
        wanted,
        adds: false,
    };
    // `deployment` reports a file that cannot be read.
    let documents = parse(&Text::of(before).whole()).unwrap_or_default();
    let container = container(&documents, asked).ok();
    let env = container.and_then(|container| container.get("env"));
    let items = env.map(Node::items).unwrap_or_default().iter();
    let named = items.filter_map(|item| item.get("value").and(item.get("name")?.word()));
    named.map(str::to_owned).collect()
}

fn is_a(document: &Node, kind: &str) -> bool {
    document.get("kind").and_then(Node::word) == Some(kind)
}

/// The container that runs the server: the only one, or the only one of which the command says so, or the variables where it has
/// no command.
fn container<'n>(documents: &'n [Node], asked: Asked<'_>) -> Result<&'n Node, String> {
    let with_pods = documents
        .iter()
        .filter(|document| KINDS.iter().any(|kind| is_a(document, kind)));
    let containers =
        with_pods.filter_map(|document| document.at(&["spec", "template", "spec", "containers"]));
    let all: Vec<&Node> = containers.flat_map(Node::items).collect();
    if let [one] = all.as_slice() {
        return Ok(one);
    }
    let ours = |container: &&&Node| {
        let env = container.get("env").map(Node::items).unwrap_or_default();
        let words = words(container);
        // Workers of background jobs set the same variables.
        let sets = words.is_empty()
            && env
                .iter()
                .filter_map(|item| item.get("name")?.word())
                .any(|name| asked.wants(name));
        sets || words
            .iter()
            .filter_map(|node| node.word())
            .flat_map(str::split_whitespace)
            .any(|word| runs(word, asked.recommended.server))
    };
    let mut ours = all.iter().filter(ours);
    match (all.is_empty(), ours.next(), ours.next()) {
        (true, ..) => Err("it holds no Deployment with containers".to_owned()),
        (false, Some(one), None) => Ok(one),
        (false, None, _) => Err("none of its containers is seen to run the server".to_owned()),
        (false, Some(_), Some(_)) => Err("several of its containers may run the server".to_owned()),
    }
}

/// The words of its command, each as they stand there.
fn words(container: &Node) -> Vec<&Node> {
    let lists = ["command", "args"].into_iter();
    lists
        .filter_map(|key| container.get(key))
        .flat_map(Node::items)
        .collect()
}

fn command(
    text: &str,
    container: &Node,
    asked: Asked<'_>,
    said: &mut Vec<String>,
) -> Result<Option<Edit>, String> {
    let nodes = words(container);
    let words: Vec<&str> = nodes
        .iter()
        .map(|node| node.word().unwrap_or_default())
        .collect();
    let all = words.iter().flat_map(|word| word.split(' '));
    if sets_others(all, asked.wanted) {
        said.push(format!("{SHOWS_OTHERS}."));
        return Ok(None);
    }
    let of_list = replaced(&words, asked.recommended, asked.wanted);
    if let Some((at, word)) = of_list.first() {
        let quote = word.contains(':');
        return nodes[*at].replaced(text, word, quote).map(Some);
    }
    // `sh -c "exec puma -w 2"`
    for (node, line) in nodes.iter().zip(words) {
        if let Some(changed) = line_with(line, asked.recommended, asked.wanted) {
            return node.replaced(text, &changed, false).map(Some);
        }
    }
    Ok(None)
}

/// The limits as a manifest has them, by resource.
fn quantities(pod: Pod) -> impl Iterator<Item = (&'static str, String)> {
    let cpu = pod.cpus.map(|cpus| ("cpu", quantity::of_cores(cpus)));
    let memory = pod.memory_bytes;
    let memory = memory.map(|bytes| ("memory", quantity::of_bytes(bytes)));
    cpu.into_iter().chain(memory)
}

/// `resources.limits`, and requests that would exceed them.
fn limits(text: &str, container: &Node, pod: Pod) -> Result<Option<Edit>, String> {
    for (resource, quantity) in quantities(pod) {
        // As it is read back: a third of a core is written as 333m.
        let wanted = quantity::parse(&quantity);
        let Some(resources) = container.get("resources") else {
            let lines = format!("\n  limits:\n    {resource}: {quantity}");
            return container
                .with(text, "resources", &lines, &["image", "name"])
                .map(Some);
        };
        let Some(limits) = resources.get("limits") else {
            let limits = match resources.is_flow(text) {
                true => format!("{{{resource}: {quantity}}}"),
                false => format!("\n  {resource}: {quantity}"),
            };
            return resources.with(text, "limits", &limits, &[]).map(Some);
        };
        let limit = limits.get(resource);
        let Some(limit) = limit else {
            return limits.with(text, resource, &quantity, &[]).map(Some);
        };
        let there = limit.word().and_then(quantity::parse);
        if there != wanted {
            return limit.replaced(text, &quantity, false).map(Some);
        }
        let requested = resources.at(&["requests", resource]);
        let exceeds = |node: &&Node| node.word().and_then(quantity::parse) > wanted;
        if let Some(request) = requested.filter(exceeds) {
            return request.replaced(text, &quantity, false).map(Some);
        }
    }
    Ok(None)
}

fn variables(
    text: &str,
    container: &Node,
    asked: Asked<'_>,
    said: &mut Vec<String>,
) -> Result<Option<Edit>, String> {
    let env = container.get("env");
    let items = env.map(Node::items).unwrap_or_default();
    let ours = |item: &Node| {
        let name = item.get("name").and_then(Node::word);
        name.is_some_and(|name| asked.wants(name))
    };
    if let Some(env) = env.filter(|env| env.is_flow(text) && !items.iter().all(ours)) {
        said.push(format!(
            "line {} sets other variables too, so it stays; add {} there.",
            env.line(text),
            variables_by_hand(asked)
        ));
        return Ok(None);
    }
    for wanted in asked.wanted {
        let name = &wanted.name;
        let mine = |item: &&Node| item.get("name").and_then(Node::word) == Some(name);
        match items.iter().rfind(mine) {
            Some(item) => {
                let Some(node) = item.get("value") else {
                    said.push(format!(
                        "line {}: the value of {name} comes from a source (valueFrom); set it in that source.",
                        item.line(text)
                    ));
                    continue;
                };
                let existing = node.word().unwrap_or_default();
                if let Some(value) = wanted
                    .over(Some(existing))
                    .filter(|value| value != existing)
                {
                    return node.replaced(text, &value, true).map(Some);
                }
            }
            None if asked.adds => {
                let Some((name, value)) = pair(wanted) else {
                    continue;
                };
                return match env {
                    Some(env) => env.with_item(text, &[("name", name), ("value", value)]),
                    None => {
                        let lines = format!("\n  - name: {name}\n    value: {value}");
                        container.with(text, "env", &lines, &["image", "name"])
                    }
                }
                .map(Some);
            }
            None => {}
        }
    }
    Ok(None)
}

/// What a person writes where no place for it is found.
fn by_hand(asked: Asked<'_>) -> String {
    let limits = quantities(asked.recommended.pod)
        .map(|(resource, quantity)| format!("resources.limits.{resource}: {quantity}"));
    limits
        .chain([variables_by_hand(asked)])
        .collect::<Vec<_>>()
        .join(", ")
}

pub fn variables_by_hand(asked: Asked<'_>) -> String {
    let set = asked.wanted.iter().filter_map(pair);
    let set: Vec<String> = set
        .map(|(name, value)| format!("{name}: {value}"))
        .collect();
    format!("the variables {}", set.join(", "))
}

/// The change, with what is to be said; without one, what to write by hand.
pub fn finished(
    path: &str,
    before: &str,
    after: Result<String, String>,
    said: Vec<String>,
    by_hand: impl Fn() -> String,
    notes: &mut Vec<Note>,
) -> Change {
    match after {
        Ok(after) => {
            notes.extend(said.into_iter().map(|said| Note::new(path, said)));
            Change::private(path, before, after)
        }
        Err(why) => {
            let text = format!(
                "{why}, so the file stays as it is; write {} there.",
                by_hand()
            );
            notes.push(Note::new(path, text));
            Change::private(path, before, Text::of(before).whole())
        }
    }
}

#[cfg(test)]
mod tests;
