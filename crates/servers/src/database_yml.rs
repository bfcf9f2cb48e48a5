//! `config/database.yml` read carefully, without evaluating its ERB.
//!
//! Not a YAML reader: block mappings with one key a line, which is how Rails writes the file, with
//! anchors of top-level sections and merges of them.

/// A key with its value, as one line has them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry<'a> {
    /// The keys above it in its section: the database, where there are several.
    pub(crate) above: Vec<&'a str>,
    pub(crate) key: &'a str,
    /// Without its comment and quotes; empty for a key that has others below it.
    pub(crate) value: &'a str,
}

struct Section<'a> {
    name: &'a str,
    anchor: Option<&'a str>,
    lines: Vec<(usize, &'a str)>,
}

/// Everything that `section` says and merges. What it says itself stands before what it merges, so that the first of
/// several entries of one name is the one that counts.
pub(crate) fn entries<'a>(text: &'a str, section: &str) -> Vec<Entry<'a>> {
    let sections = sections(text);
    let mut found = Vec::new();
    let mut seen = Vec::new();
    // Sections yet to be read, each with the keys below which it was merged.
    let mut pending: Vec<(&Section<'_>, Vec<&str>)> = sections
        .iter()
        .filter(|candidate| candidate.name == section)
        .map(|section| (section, Vec::new()))
        .collect();
    while let Some((current, above)) = pending.pop() {
        if seen.contains(&(current.name, above.clone())) {
            continue;
        }
        seen.push((current.name, above.clone()));
        for (anchor, above) in read(current, &above, &mut found) {
            let anchored = sections.iter().filter(|other| other.anchor == Some(anchor));
            pending.extend(anchored.map(|section| (section, above.clone())));
        }
    }
    found
}

fn sections(text: &str) -> Vec<Section<'_>> {
    let mut sections: Vec<Section<'_>> = Vec::new();
    for line in text.lines() {
        let content = line.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        if indent > 0 {
            if let Some(section) = sections.last_mut() {
                section.lines.push((indent, content));
            }
        } else if let Some((name, rest)) = content.split_once(':') {
            let anchor = rest.trim().strip_prefix('&');
            let anchor = anchor.and_then(|anchor| anchor.split_whitespace().next());
            sections.push(Section {
                name: unquote(name.trim()),
                anchor,
                lines: Vec::new(),
            });
        }
    }
    sections
}

/// Adds what the section says; returns the anchors that it merges, each with the keys above it.
fn read<'a>(
    section: &Section<'a>,
    below: &[&'a str],
    found: &mut Vec<Entry<'a>>,
) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut merged = Vec::new();
    let mut above: Vec<(usize, &str)> = Vec::new();
    for &(indent, content) in &section.lines {
        above.retain(|&(outer, _)| outer < indent);
        let Some((key, value)) = content.split_once(':') else {
            continue;
        };
        let (key, value) = (unquote(key.trim()), value_of(value));
        let names: Vec<&str> = below
            .iter()
            .copied()
            .chain(above.iter().map(|&(_, name)| name))
            .collect();
        if key == "<<" {
            let anchors = value
                .split([',', '[', ']', ' '])
                .filter_map(|m| m.strip_prefix('*'));
            merged.extend(anchors.map(|anchor| (anchor, names.clone())));
            continue;
        }
        above.push((indent, key));
        found.push(Entry {
            above: names,
            key,
            value,
        });
    }
    merged
}

/// Without its comment and quotes.
fn value_of(value: &str) -> &str {
    let value = value.trim();
    if value.starts_with('#') {
        return "";
    }
    unquote(value.split(" #").next().unwrap_or_default().trim())
}

fn unquote(text: &str) -> &str {
    let quoted = |quote| text.strip_prefix(quote)?.strip_suffix(quote);
    quoted('"').or_else(|| quoted('\'')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "\
default: &default
  adapter: postgresql
  pool: 5 # a comment
production:
  primary:
    <<: *default
    \"pool\": '7'
  replica:
    <<: *default
    replica: true
";

    #[test]
    fn merges_stand_below_the_database_that_merges_them() {
        let found = entries(FILE, "production");
        let value = |database: &str, key: &str| {
            let entry = found
                .iter()
                .find(|entry| entry.above == [database] && entry.key == key);
            entry.map(|entry| entry.value)
        };
        assert_eq!(value("primary", "pool"), Some("7"));
        assert_eq!(value("replica", "pool"), Some("5"));
        assert_eq!(value("primary", "adapter"), Some("postgresql"));
        assert_eq!(entries(FILE, "test"), []);
    }

    #[test]
    fn sections_that_merge_one_another_end() {
        let text = "a: &a\n  <<: *b\nb: &b\n  <<: *a\n  pool: 3\n";
        assert_eq!(entries(text, "a").len(), 1);
    }
}
