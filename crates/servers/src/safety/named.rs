//! Judges one variable, or one key of a file. The value comes first, because lists of names are never complete.

use super::address::{Endpoint, Url, is_file, is_here, parameters, servers, store_port, url, urls};
use small_sort::SmallSort;

/// A finding in a value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Found {
    /// An address on another machine.
    Elsewhere(Endpoint),
    /// A value that is not understood, with the reason.
    Unclear(String),
}

/// Which values count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// Only URLs of stores.
    Ignored,
    /// Also values of names that mean an address.
    Count,
}

/// Last words of names for URLs.
const URLS: &[&str] = &["URL", "URLS", "URI", "URIS", "DSN", "ENDPOINT", "ENDPOINTS"];
/// Last words of names for hosts.
const HOSTS: &[&str] = &["HOST", "HOSTS", "HOSTNAME", "HOSTNAMES", "HOSTADDR"];
/// Last words of names for addresses. They have other meanings too, so the value must look like an address.
const ADDRESSES: &[&str] = &[
    "SERVER",
    "SERVERS",
    "ADDR",
    "ADDRS",
    "ADDRESS",
    "ADDRESSES",
    "BROKER",
    "BROKERS",
    "NODE",
    "NODES",
    "SENTINELS",
];
/// Words of names for stores.
const STORES: &[&str] = &[
    "DATABASE",
    "DB",
    "PG",
    "POSTGRES",
    "POSTGRESQL",
    "MYSQL",
    "MARIADB",
    "MONGO",
    "MONGODB",
    "REDIS",
    "VALKEY",
    "MEMCACHE",
    "MEMCACHED",
    "MEMCACHIER",
    "CACHE",
    "QUEUE",
    "CABLE",
    "AMQP",
    "RABBITMQ",
    "KAFKA",
    "ELASTICSEARCH",
    "OPENSEARCH",
    "SOLR",
];
/// Words of variables for addresses that only browsers use: the application itself, and its assets.
const LINKS: &[&str] = &[
    "APP",
    "ASSET",
    "ASSETS",
    "CANONICAL",
    "CDN",
    "PUBLIC",
    "RAILS",
    "SITE",
];
/// Last words of names for images and ports of containers, whose values look like a host and its port (`redis:7`).
const IMAGES: &[&str] = &["IMAGE", "PORT", "PORTS", "PREFIX", "TAG", "VERSION"];
/// Values that switch something on or off.
const SWITCHES: &[&str] = &[
    "true", "false", "yes", "no", "on", "off", "nil", "null", "none",
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Means {
    Url,
    Host,
    Address,
    Nothing,
}

/// All parts of `value` that point at another machine, or may do so.
pub(super) fn found(name: &str, value: &str, names: Names) -> Vec<Found> {
    let value = value.trim();
    if value.is_empty() || SWITCHES.contains(&value.to_ascii_lowercase().as_str()) {
        return Vec::new();
    }
    let means = match names {
        Names::Count if !is_own(name) => meaning_of(name),
        Names::Count | Names::Ignored => Means::Nothing,
    };
    let mut found = Vec::new();
    if is_service(name) && names == Names::Count {
        found.push(Found::Unclear(
            "names an entry of pg_service.conf, which is not read".to_owned(),
        ));
    } else if value.contains("://") {
        for url in urls(value) {
            if store_port(&url.scheme).is_some() || means != Means::Nothing {
                found.extend(in_url(&url));
            }
        }
    } else {
        found.extend(without_scheme(name, value, means));
    }
    found.small_sort();
    found.dedup();
    found
}

/// Whether the name means an address.
pub(super) fn counts(name: &str) -> bool {
    is_service(name) || meaning_of(name) != Means::Nothing
}

/// Whether the variable is the application's own address, to which it does not connect.
fn is_own(name: &str) -> bool {
    let words = words(name);
    let is_link = words
        .split_last()
        .is_some_and(|(_, first)| !first.is_empty() && first.iter().all(|w| LINKS.contains(w)));
    is_link || ["HOST", "HOSTNAME"].contains(&name)
}

/// The variable and key of libpq that name a service.
fn is_service(name: &str) -> bool {
    name == "PGSERVICE" || name == "service"
}

fn without_scheme(name: &str, value: &str, means: Means) -> Vec<Found> {
    // One slash begins a path, two slashes begin a host.
    if value.starts_with('/') && !value.starts_with("//") {
        return Vec::new();
    }
    if let Some((scheme, rest)) = value.split_once(':') {
        let scheme = scheme.to_ascii_lowercase();
        if is_file(&scheme) {
            return Vec::new();
        }
        let is_port = rest.starts_with(|c: char| c.is_ascii_digit());
        if store_port(&scheme).is_some() && !is_port {
            // Such as postgresql:shop?host=db
            let query = rest.split_once('?').map_or("", |(_, query)| query);
            return in_parameters(&parameters(query));
        }
    }
    let is_number = value.parse::<f64>().is_ok();
    let hosts = match means {
        _ if is_number => Vec::new(),
        Means::Url => return in_url(&url("", value.trim_start_matches("//"))),
        Means::Host => servers(value, None),
        Means::Address if is_of_a_store(name) || looks_like_an_address(value) => {
            servers(value, None)
        }
        Means::Nothing if is_of_a_store(name) && !is_of_an_image(name) && has_port(value) => {
            servers(value, None)
        }
        Means::Address | Means::Nothing => Vec::new(),
    };
    elsewhere(hosts)
}

fn in_url(url: &Url<'_>) -> Vec<Found> {
    if is_file(&url.scheme) {
        return Vec::new();
    }
    let mut found = elsewhere(url.endpoints.clone());
    found.extend(in_parameters(&url.parameters));
    found
}

/// Clients accept a URL's parameters like keys of a file.
fn in_parameters(parameters: &[(&str, String)]) -> Vec<Found> {
    let parameters = parameters.iter();
    parameters
        .flat_map(|(name, value)| match value.contains("://") {
            // More often a link than a server.
            true => found(name, value, Names::Ignored),
            false => found(name, value, Names::Count),
        })
        .collect()
}

fn elsewhere(endpoints: Vec<Endpoint>) -> Vec<Found> {
    let endpoints = endpoints
        .into_iter()
        .filter(|endpoint| !is_here(&endpoint.host));
    endpoints
        .map(|endpoint| match endpoint.host.contains(['$', '{', '%']) {
            true => Found::Unclear("contains a variable that is not set".to_owned()),
            false => Found::Elsewhere(endpoint),
        })
        .collect()
}

fn meaning_of(name: &str) -> Means {
    let name = name.to_ascii_uppercase();
    let words: Vec<&str> = words(&name);
    let Some(last) = words.last() else {
        return Means::Nothing;
    };
    let ends = |kinds: &[&str]| {
        kinds
            .iter()
            .any(|kind| last == kind || words.len() == 1 && last.ends_with(kind))
    };
    let has = |kinds: &[&str]| words.iter().any(|word| kinds.contains(word));
    if ends(URLS) {
        Means::Url
    } else if ends(&HOSTS[..1]) || ends(HOSTS) {
        Means::Host
    } else if ends(ADDRESSES) || has(URLS) || has(HOSTS) || has(ADDRESSES) {
        Means::Address
    } else {
        Means::Nothing
    }
}

/// The words of a name, without numbers at its end (`REDIS_URL_2`, `DB_HOST2`).
fn words(name: &str) -> Vec<&str> {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
    name.split(['_', '.', '-'])
        .filter(|word| !word.is_empty())
        .collect()
}

pub(super) fn is_of_a_store(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    words(&name).iter().any(|word| STORES.contains(word))
}

fn is_of_an_image(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    words(&name)
        .last()
        .is_some_and(|last| IMAGES.contains(last))
}

fn looks_like_an_address(value: &str) -> bool {
    let one = |server: &str| {
        let server = server.trim();
        let is_name = |c: char| c.is_ascii_alphanumeric() || ".-_:[]@%".contains(c);
        server.contains(['.', ':']) && server.chars().all(is_name)
    };
    value.split([',', ' ']).all(one)
}

fn has_port(value: &str) -> bool {
    let port = |server: &str| {
        let (host, port) = server.trim().rsplit_once(':')?;
        let is_name = |c: char| c.is_ascii_alphanumeric() || ".-_[]:@".contains(c);
        (!host.is_empty() && host.chars().all(is_name)).then_some(())?;
        port.parse::<u16>().ok()
    };
    value.split(',').all(|server| port(server).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(name: &str, value: &str, names: Names) -> Vec<String> {
        let found = found(name, value, names).into_iter();
        found
            .map(|found| match found {
                Found::Elsewhere(endpoint) => endpoint.host,
                Found::Unclear(_) => "?".to_owned(),
            })
            .collect()
    }

    #[test]
    fn values_are_judged_whatever_their_names() {
        for (name, value, expected) in [
            (
                "DATABASE_URL",
                "postgres://u:p@db.example.org/shop",
                "db.example.org",
            ),
            (
                "DATABASE_URL",
                "postgres:///shop?host=db.example.org",
                "db.example.org",
            ),
            (
                "DATABASE_URL",
                "postgres://localhost/shop?hostaddr=10.0.0.7",
                "10.0.0.7",
            ),
            ("DATABASE_URL", "postgres:///shop?service=main", "?"),
            (
                "DATABASE_URL",
                "postgresql:shop?host=db.example.org",
                "db.example.org",
            ),
            (
                "DATABASE_URL",
                "//u:p@db.example.org/shop",
                "db.example.org",
            ),
            (
                "DATABASE_URL",
                "u:p@db.example.org:5432/shop",
                "db.example.org",
            ),
            ("DATABASE_URL", "db.example.org:5432/shop", "db.example.org"),
            (
                "DATABASE_URL",
                "mysql2://localhost/shop?hostname=db.example.org",
                "db.example.org",
            ),
            ("DB_URL", "mysql://db.example.org/shop", "db.example.org"),
            (
                "JAWSDB_URL",
                "mysql://db.example.org/shop",
                "db.example.org",
            ),
            (
                "CACHE_URL",
                "redis://cache.example.org",
                "cache.example.org",
            ),
            (
                "BONSAI_URL",
                "https://k:s@search.example.org",
                "search.example.org",
            ),
            (
                "REPLICA_OF_THE_SHOP",
                "mongodb+srv://db.example.org/shop",
                "db.example.org",
            ),
            ("POSTGRES_HOST", "db", "db"),
            ("PGHOST", "db", "db"),
            ("PGHOSTADDR", "10.0.0.7", "10.0.0.7"),
            ("PGSERVICE", "main", "?"),
            ("SHARD_HOST_2", "db2", "db2"),
            ("REDIS_URL_1", "redis.example.org", "redis.example.org"),
            ("MEMCACHIER_SERVERS", "localhost:11211,cache:11211", "cache"),
            ("SEARCH_NODES", "10.0.0.7:9200", "10.0.0.7"),
            ("KAFKA", "k1.example.org:9092", "k1.example.org"),
            ("DATABASE_URL", "postgres://${DB_HOST}/shop", "?"),
        ] {
            assert_eq!(
                hosts(name, value, Names::Count),
                [expected],
                "{name}={value}"
            );
        }
    }

    #[test]
    fn local_addresses_and_other_values_are_no_danger() {
        for (name, value) in [
            ("DATABASE_URL", "sqlite3:/tmp/copy.sqlite3"),
            ("DATABASE_URL", "sqlite3:db/copy.sqlite3?pool=5"),
            ("DATABASE_URL", "postgres:///shop"),
            ("DATABASE_URL", "postgresql:shop"),
            ("OTHER_DATABASE_URL", "postgres://u:p@localhost/shop"),
            ("REDIS_URL", "redis://127.0.0.1:6379/0"),
            ("QUEUE_URL", "redis://[::1]:6379"),
            ("SOCKET_URL", "postgres://%2Fvar%2Frun%2Fpostgresql/shop"),
            ("FILE_URL", "unix:///run/redis.sock"),
            ("PATH_URL", "/assets"),
            (
                "MEMCACHE_SERVERS",
                "localhost:11211,127.0.0.2:11211:5,/run/memcached.sock",
            ),
            ("PGHOST", "/var/run/postgresql"),
            ("PGHOST", ""),
            ("DB_HOST", "0.0.0.0"),
            ("ALLOW_ANY_HOST", "true"),
            ("SERVER_SOFTWARE", "puma"),
            ("RAILS_SERVE_STATIC_FILES", "1"),
            ("MAX_NODES", "16"),
            ("SECRET_KEY_BASE", "abc:123"),
        ] {
            assert_eq!(hosts(name, value, Names::Count), [""; 0], "{name}={value}");
        }
    }

    #[test]
    fn where_names_do_not_count_stores_still_do() {
        assert_eq!(hosts("URL", "https://example.org", Names::Ignored), [""; 0]);
        assert_eq!(
            hosts("X", "redis://r.example.org", Names::Ignored),
            ["r.example.org"]
        );
    }
}
