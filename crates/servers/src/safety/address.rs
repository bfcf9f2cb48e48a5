//! Parses URLs, lists of servers and hosts into endpoints, and decides which hosts are this machine.

use std::net::IpAddr;

/// A host and port that a client connects to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Endpoint {
    /// Empty for the client's default: a local socket or `localhost`.
    pub(super) host: String,
    /// `None` for the client's default, when that is not known here.
    pub(super) port: Option<u16>,
}

/// A URL without its credentials.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Url<'a> {
    pub(super) scheme: String,
    /// Several if the scheme allows a list of hosts.
    pub(super) endpoints: Vec<Endpoint>,
    /// Names and decoded values of the query.
    pub(super) parameters: Vec<(&'a str, String)>,
}

/// Schemes whose address is a file, even if the URL seems to have a host.
const FILES: &[&str] = &[
    "sqlite", "sqlite3", "file", "unix", "null", "nulldb", "memory",
];
/// Schemes of databases, caches, queues and mail servers, with their ports. Compound schemes (`mongodb+srv`,
/// `jdbc:postgresql`) match by one of their words.
const STORES: &[(&str, u16)] = &[
    ("postgres", 5432),
    ("postgresql", 5432),
    ("postgis", 5432),
    ("mysql", 3306),
    ("mysql2", 3306),
    ("trilogy", 3306),
    ("mariadb", 3306),
    ("sqlserver", 1433),
    ("tds", 1433),
    ("oracle", 1521),
    ("mongodb", 27017),
    ("redis", 6379),
    ("rediss", 6379),
    ("valkey", 6379),
    ("valkeys", 6379),
    ("memcached", 11211),
    ("memcache", 11211),
    ("amqp", 5672),
    ("amqps", 5671),
    ("kafka", 9092),
    ("nats", 4222),
    ("stomp", 61613),
    ("cassandra", 9042),
    ("clickhouse", 9000),
    ("elasticsearch", 9200),
    ("neo4j", 7687),
    ("bolt", 7687),
    ("ldap", 389),
    ("ldaps", 636),
    ("smtp", 25),
    ("smtps", 465),
];
/// Other schemes with a default port.
const OTHERS: &[(&str, u16)] = &[("http", 80), ("https", 443), ("ws", 80), ("wss", 443)];

pub(super) fn is_file(scheme: &str) -> bool {
    FILES.contains(&scheme)
}

/// The port of a store's scheme; `None` for any other scheme.
pub(super) fn store_port(scheme: &str) -> Option<u16> {
    let mut words = scheme.split([':', '+']);
    words.find_map(|word| port_in(STORES, word))
}

fn port_in(schemes: &[(&str, u16)], scheme: &str) -> Option<u16> {
    let mut schemes = schemes.iter();
    schemes
        .find(|(name, _)| *name == scheme)
        .map(|&(_, port)| port)
}

/// All URLs in a text, such as a list or JSON.
pub(super) fn urls(text: &str) -> Vec<Url<'_>> {
    let mut urls = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+.-:".contains(c);
        let scheme = rest[..at].rsplit(|c| !is_scheme(c)).next();
        let scheme = scheme.unwrap_or_default();
        let body = &rest[at + 3..];
        // A comma separates hosts of one URL, or two URLs.
        let next = body.find("://").map_or(body.len(), |next| {
            let end = body[..next].rfind(|c| !is_scheme(c));
            end.unwrap_or(0)
        });
        let end = body.find([' ', '\t', '\n', '"', '\'', '<', '>', '`', ';']);
        let end = end.map_or(next, |end| end.min(next));
        if !scheme.is_empty() {
            urls.push(url(scheme, &body[..end]));
        }
        rest = &body[end..];
    }
    urls
}

/// Parses the part of a URL after `scheme://`.
pub(super) fn url<'a>(scheme: &str, body: &'a str) -> Url<'a> {
    let scheme = scheme.to_ascii_lowercase();
    let end = body.find(['/', '?', '#']).unwrap_or(body.len());
    let (authority, tail) = body.split_at(end);
    let query = tail.split_once('?').map_or("", |(_, query)| query);
    let query = query.split('#').next().unwrap_or_default();
    let authority = authority
        .rsplit_once('@')
        .map_or(authority, |(_, hosts)| hosts);
    let default = store_port(&scheme).or_else(|| port_in(OTHERS, &scheme));
    let endpoints = match is_file(&scheme) {
        true => Vec::new(),
        false => servers(&decoded(authority), default),
    };
    Url {
        scheme,
        endpoints,
        parameters: parameters(query),
    }
}

/// Parses `name=value&…`.
pub(super) fn parameters(query: &str) -> Vec<(&str, String)> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name, decoded(value))).collect()
}

/// Parses `[user:password@]host[:port[:weight]],…`.
pub(super) fn servers(text: &str, default: Option<u16>) -> Vec<Endpoint> {
    let one = |server: &str| {
        let server = server.rsplit_once('@').map_or(server, |(_, host)| host);
        endpoint(server, default)
    };
    text.split([',', ' ', ';'])
        .map(str::trim)
        .filter(|server| !server.is_empty())
        .map(one)
        .collect()
}

fn endpoint(address: &str, default: Option<u16>) -> Endpoint {
    let (host, rest) = match address.strip_prefix('[') {
        Some(rest) => rest.split_once(']').unwrap_or((rest, "")),
        // An IPv6 address without brackets; a path may contain colons too.
        None if address.parse::<IpAddr>().is_ok() || address.starts_with('/') => (address, ""),
        None => address.split_at(address.find(':').unwrap_or(address.len())),
    };
    let port = rest.trim_start_matches(':').split(':').next();
    Endpoint {
        host: host.to_string(),
        port: port.and_then(|port| port.parse().ok()).or(default),
    }
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, others)) = rest.split_first() {
        let digits = others.get(..2).filter(|_| first == b'%');
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &others[2..];
            }
            None => {
                bytes.push(first);
                rest = others;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// True for loopback names and addresses, the unspecified address (0.0.0.0), and socket paths.
pub(super) fn is_here(host: &str) -> bool {
    let host = host.trim().trim_end_matches('.').to_ascii_lowercase();
    let is_own = |address: IpAddr| {
        let address = address.to_canonical();
        address.is_loopback() || address.is_unspecified()
    };
    host.is_empty()
        || host.starts_with(['/', '@'])
        || host == "localhost"
        || host.ends_with(".localhost")
        || host.parse().is_ok_and(is_own)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hosts(text: &str) -> Vec<String> {
        let endpoints = urls(text).into_iter().flat_map(|url| url.endpoints);
        endpoints
            .map(|Endpoint { host, port }| format!("{host}:{}", port.unwrap_or(0)))
            .collect()
    }

    #[test]
    fn only_loopback_is_this_machine() {
        for local in [
            "localhost",
            "LOCALHOST.",
            "127.0.0.1",
            "127.9.9.9",
            "::1",
            "::ffff:127.0.0.1",
            "0.0.0.0",
            "/run/pg",
            "",
        ] {
            assert!(is_here(local), "{local}");
        }
        for remote in [
            "0.0.0.0.example",
            "10.0.0.1",
            "::2",
            "localhost.example.org",
            "127.0.0.1.nip.io",
        ] {
            assert!(!is_here(remote), "{remote}");
        }
    }

    #[test]
    fn urls_and_lists_of_them() {
        for (text, expected) in [
            (
                "mongodb://u:p@a.org:1,b.org/db",
                &["a.org:1", "b.org:27017"][..],
            ),
            (
                "http://a.org:9200,http://b.org",
                &["a.org:9200", "b.org:80"],
            ),
            ("https://u:p@ss@d.org", &["d.org:443"]),
            ("{\"url\":\"redis://e.org/1\"}", &["e.org:6379"]),
            ("postgres://%2Frun%2Fpg/shop", &["/run/pg:5432"]),
            ("postgres:///shop", &[]),
            ("jdbc:postgresql://f.org/shop", &["f.org:5432"]),
            ("redis://[::1]:6380", &["::1:6380"]),
            ("sqlite3://x.org/y", &[]),
            ("no URL", &[]),
        ] {
            assert_eq!(hosts(text), expected, "{text}");
        }
        let url = urls("postgres:///shop?host=c.org&x=a%20b#d").remove(0);
        let expected = [("host", "c.org".to_string()), ("x", "a b".to_string())];
        assert_eq!(url.parameters, expected);
        let listed = servers("u:p@[::1]:11211, e.org:11211:3", None);
        let listed: Vec<&str> = listed.iter().map(|e| e.host.as_str()).collect();
        assert_eq!(listed, ["::1", "e.org"]);
    }

    #[test]
    fn a_character_of_several_bytes_may_stand_before_a_scheme() {
        let found = urls("\u{feff}postgres://db.example/x, \u{e9}redis://r.example");
        let schemes: Vec<&str> = found.iter().map(|url| url.scheme.as_str()).collect();
        assert_eq!(schemes, ["postgres", "redis"]);
    }

    proptest! {
        #[test]
        fn credentials_never_come_out(user in "[a-z]{1,8}", password in "[A-Z0-9:]{6,12}", port in 1u16..) {
            let found = hosts(&format!("redis://{user}:{password}@h.example:{port}/0"));
            prop_assert_eq!(found, [format!("h.example:{port}")]);
        }

        #[test]
        fn any_text_is_taken_without_a_panic(text in ".{0,60}") {
            urls(&text);
            servers(&text, None);
        }
    }
}
