//! The hosts in a URL or a list of servers, and whether a host is this machine.

use std::net::IpAddr;

/// Schemes whose address is a file, whatever stands where a host would.
const FILE_SCHEMES: &[&str] = &[
    "sqlite", "sqlite3", "file", "unix", "null", "nulldb", "memory",
];

/// Every host that a URL names; several where the scheme allows a list. None for what is no URL.
pub(super) fn hosts_of_url(url: &str) -> Vec<String> {
    let Some((scheme, rest)) = url.trim().split_once("://") else {
        return Vec::new();
    };
    if FILE_SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) {
        return Vec::new();
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    let authority = authority
        .rsplit_once('@')
        .map_or(authority, |(_, hosts)| hosts);
    // PostgreSQL's client lets a parameter override the host.
    let query = tail.split_once('?').map_or("", |(_, query)| query);
    let overriding = query.split('&').filter_map(|pair| {
        pair.strip_prefix("host=")
            .or_else(|| pair.strip_prefix("hostaddr="))
    });
    authority
        .split(',')
        .map(without_port)
        .chain(overriding.map(String::from))
        .collect()
}

/// The hosts of `host[:port[:weight]],…` as memcached clients read it.
pub(super) fn hosts_of_servers(servers: &str) -> Vec<String> {
    let one = |server: &str| {
        let server = server.trim();
        let server = server.split_once("://").map_or(server, |(_, rest)| rest);
        without_port(server.rsplit_once('@').map_or(server, |(_, host)| host))
    };
    servers
        .split([',', ' '])
        .filter(|server| !server.trim().is_empty())
        .map(one)
        .collect()
}

fn without_port(address: &str) -> String {
    let host = match address.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        // Two colons and no brackets: a bare IPv6 address.
        None if address.parse::<IpAddr>().is_ok() => address,
        None => address.split(':').next().unwrap_or_default(),
    };
    host.to_string()
}

/// True for this machine: its loopback names and addresses, and socket paths.
pub(super) fn is_loopback(host: &str) -> bool {
    let host = host.trim().trim_end_matches('.').to_ascii_lowercase();
    host.is_empty()
        || host.starts_with(['/', '@'])
        || host.starts_with("%2f")
        || host == "localhost"
        || host.ends_with(".localhost")
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_loopback_is_this_machine() {
        for local in [
            "localhost",
            "LOCALHOST.",
            "127.0.0.1",
            "127.9.9.9",
            "::1",
            "::ffff:127.0.0.1",
            "",
        ] {
            assert!(is_loopback(local), "{local}");
        }
        for remote in [
            "0.0.0.0.example",
            "10.0.0.1",
            "::2",
            "localhost.example.org",
            "127.0.0.1.nip.io",
        ] {
            assert!(!is_loopback(remote), "{remote}");
        }
    }

    #[test]
    fn lists_and_overriding_parameters_are_seen() {
        assert_eq!(
            hosts_of_url("mongodb://u:p@a.org:1,b.org:2/db"),
            ["a.org", "b.org"]
        );
        assert_eq!(hosts_of_url("postgres:///db?host=c.org&x=y"), ["", "c.org"]);
        assert_eq!(hosts_of_url("https://u:p@ss@d.org"), ["d.org"]);
        assert_eq!(
            hosts_of_servers("u:p@[::1]:11211, e.org:11211:3"),
            ["::1", "e.org"]
        );
    }

    proptest! {
        #[test]
        fn credentials_never_come_out(user in "[a-z]{1,8}", password in "[A-Z0-9:]{6,12}", port in 1u16..) {
            let hosts = hosts_of_url(&format!("redis://{user}:{password}@h.example:{port}/0"));
            prop_assert_eq!(hosts, ["h.example"]);
        }

        #[test]
        fn any_text_is_taken_without_a_panic(text in ".{0,60}") {
            hosts_of_url(&text);
            hosts_of_servers(&text);
        }
    }
}
