//! The hosts that `config/database.yml` names (`host:`, `url:`), without evaluating its ERB. What cannot be judged is
//! reported as computed.

use super::address::{hosts_of_url, is_loopback};
use crate::database_yml::entries;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Scan {
    /// Place and host.
    pub(super) remote: Vec<(String, String)>,
    /// Places whose value ERB computes.
    pub(super) computed: Vec<String>,
}

/// Looks at `section` and what it merges. With `has_url` the primary database comes from
/// `DATABASE_URL`, so that the file's own address for it is not used.
pub(super) fn scan(text: &str, section: &str, has_url: bool) -> Scan {
    let mut scan = Scan::default();
    for entry in entries(text, section) {
        let (key, value) = (entry.key, entry.value);
        let primary = entry.above.is_empty() || entry.above.contains(&"primary");
        if !matches!(key, "host" | "url" | "socket") || has_url && primary {
            continue;
        }
        let place = format!("config/database.yml, {section}: {key}");
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
    scan
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
