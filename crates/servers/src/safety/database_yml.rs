//! A careful scan of `config/database.yml` for `host:` and `url:`, without evaluating its ERB.
//!
//! Not a YAML reader: block mappings with one key a line, which is how Rails writes the file, with
//! anchors and merges between top-level sections. What it cannot judge it reports as computed.

use super::address::{hosts_of_url, is_loopback};

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Scan {
    /// Place and host.
    pub(super) remote: Vec<(String, String)>,
    /// Places whose value ERB computes.
    pub(super) computed: Vec<String>,
}

struct Section<'a> {
    name: &'a str,
    anchor: Option<&'a str>,
    lines: Vec<(usize, &'a str)>,
}

/// Looks at `section` and what it merges. With `has_url` the primary database comes from
/// `DATABASE_URL`, so that the file's own address for it is not used.
pub(super) fn scan(text: &str, section: &str, has_url: bool) -> Scan {
    let sections = sections(text);
    let mut scan = Scan::default();
    let mut seen = Vec::new();
    let mut pending: Vec<&Section<'_>> = sections
        .iter()
        .filter(|candidate| candidate.name == section)
        .collect();
    while let Some(current) = pending.pop() {
        if seen.contains(&current.name) {
            continue;
        }
        seen.push(current.name);
        for merged in read(current, section, has_url, &mut scan) {
            pending.extend(sections.iter().filter(|other| other.anchor == Some(merged)));
        }
    }
    scan
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

/// Adds what the section says to `scan`; returns the anchors that it merges.
fn read<'a>(section: &Section<'a>, asked: &str, has_url: bool, scan: &mut Scan) -> Vec<&'a str> {
    let mut merged = Vec::new();
    // The keys above the current line, with their indents: the databases, where there are several.
    let mut above: Vec<(usize, &str)> = Vec::new();
    for &(indent, content) in &section.lines {
        above.retain(|&(outer, _)| outer < indent);
        let Some((key, value)) = content.split_once(':') else {
            continue;
        };
        let (key, value) = (unquote(key.trim()), value_of(value));
        if key == "<<" {
            merged.extend(
                value
                    .split([',', '[', ']', ' '])
                    .filter_map(|m| m.strip_prefix('*')),
            );
        }
        let primary = above.is_empty() || above.iter().any(|&(_, database)| database == "primary");
        above.push((indent, key));
        if !matches!(key, "host" | "url" | "socket") || has_url && primary {
            continue;
        }
        let place = format!("config/database.yml, {asked}: {key}");
        if value.contains("<%") {
            scan.computed.push(place);
            continue;
        }
        let hosts = match key {
            "host" => value
                .split(',')
                .map(|host| host.trim().to_string())
                .collect(),
            "url" => hosts_of_url(value),
            _ => Vec::new(),
        };
        let remote = hosts.into_iter().filter(|host| !is_loopback(host));
        scan.remote.extend(remote.map(|host| (place.clone(), host)));
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
  host: \"db.example.org\" # the old one
development:
  host: elsewhere.example.org
production:
  <<: *default
  replica:
    url: postgres://u:secret@replica.example.org/shop
  reports:
    host: <%= ENV['REPORTS'] %>
# host: commented.example.org
";

    #[test]
    fn follows_merges_and_names_hosts_alone() {
        let scan = scan(FILE, "production", false);
        let hosts: Vec<&str> = scan.remote.iter().map(|(_, host)| host.as_str()).collect();
        assert_eq!(hosts, ["replica.example.org", "db.example.org"]);
        assert_eq!(scan.computed, ["config/database.yml, production: host"]);
    }

    #[test]
    fn a_database_url_takes_the_place_of_the_primary_alone() {
        let scan = scan(FILE, "production", true);
        let hosts: Vec<&str> = scan.remote.iter().map(|(_, host)| host.as_str()).collect();
        assert_eq!(hosts, ["replica.example.org"]);
    }

    #[test]
    fn local_files_and_sockets_are_no_danger() {
        let text = "production:\n  adapter: sqlite3\n  database: a.sqlite3\n  host: /run/pg\n";
        assert_eq!(scan(text, "production", false), Scan::default());
        assert_eq!(scan("", "production", false), Scan::default());
    }
}
