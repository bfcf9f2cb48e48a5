//! Circles in a graph of modules: its strongly connected components of two and more.

use std::collections::{BTreeMap, BTreeSet};

pub type Graph = BTreeMap<String, BTreeSet<String>>;

/// Each circle's modules, sorted, the circles too.
pub fn of(graph: &Graph) -> Vec<Vec<String>> {
    let reaches: BTreeMap<&str, BTreeSet<&str>> = graph
        .keys()
        .map(|from| (from.as_str(), reached(graph, from)))
        .collect();
    let mut found: BTreeSet<Vec<String>> = BTreeSet::new();
    for (from, all) in &reaches {
        if all.contains(from) {
            let mutual = all.iter().filter(|to| reaches[*to].contains(from));
            found.insert(mutual.map(|to| (*to).to_owned()).collect());
        }
    }
    found.into_iter().collect()
}

fn reached<'a>(graph: &'a Graph, from: &str) -> BTreeSet<&'a str> {
    let mut all = BTreeSet::new();
    let mut next: Vec<&str> = vec![from];
    while let Some(module) = next.pop() {
        for to in graph.get(module).into_iter().flatten() {
            if all.insert(to.as_str()) {
                next.push(to);
            }
        }
    }
    all
}

#[test]
fn a_circle_has_all_that_reach_each_other() {
    let edges = [
        ("a", "b"),
        ("b", "c"),
        ("c", "a"),
        ("c", "d"),
        ("d", "e"),
        ("f", "f2"),
        ("f2", "f"),
    ];
    let mut graph = Graph::new();
    for (from, to) in edges {
        graph
            .entry(from.to_owned())
            .or_default()
            .insert(to.to_owned());
        graph.entry(to.to_owned()).or_default();
    }
    assert_eq!(of(&graph), [vec!["a", "b", "c"], vec!["f", "f2"]]);
}
