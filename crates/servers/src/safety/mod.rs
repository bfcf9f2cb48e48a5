//! What would make a trial talk to another machine: databases, caches and upstreams that the
//! environment or `config/database.yml` points at beyond loopback.
//!
//! Only addresses are looked at, and only hosts are ever shown, never credentials. What an
//! initializer hard-codes is not found; mail and jobs are the user's to switch off in hooks.

mod address;
mod database_hosts;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use address::{hosts_of_servers, hosts_of_url, is_loopback};

/// An address that is not this machine's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Danger {
    /// The variable, or the file and its key.
    pub place: String,
    /// The host alone.
    pub host: String,
}

impl fmt::Display for Danger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Danger { place, host } = self;
        write!(
            f,
            "{place} points at {host:?}, which is not this machine; point it at a local copy, or \
             accept that trials send their load there with --allow-remote"
        )
    }
}

/// What a person should know although it is no reason to refuse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unjudged {
    /// The file and its key.
    pub place: String,
}

impl fmt::Display for Unjudged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} is computed by ERB and was not judged; see that it is a local one",
            self.place
        )
    }
}

/// Inherited variables that name a service. Of those that the user gave for the trial, every
/// `*_URL` counts; a shell's own environment holds many that no application reads.
const SERVICES: &[&str] = &[
    "DATABASE",
    "REDIS",
    "MEMCACHE",
    "MONGO",
    "AMQP",
    "RABBITMQ",
    "KAFKA",
    "ELASTICSEARCH",
    "OPENSEARCH",
    "SOLR",
    "POSTGRES",
    "MYSQL",
    "VALKEY",
];
const SERVER_LISTS: &[&str] = &[
    "MEMCACHE_SERVERS",
    "MEMCACHED_SERVERS",
    "MEMCACHIER_SERVERS",
];
const HOST_VARIABLES: &[&str] = &[
    "PGHOST",
    "PGHOSTADDR",
    "MYSQL_HOST",
    "DB_HOST",
    "DATABASE_HOST",
    "REDIS_HOST",
    "MEMCACHED_HOST",
    "MEMCACHE_HOST",
];

/// Every address beyond loopback in the server's environment (`env` on top of this process's own)
/// and in the application's `config/database.yml`, for the environment that it will run in.
pub fn check_env(env: &BTreeMap<String, String>, app_dir: &Path) -> Vec<Danger> {
    let inherited: BTreeMap<String, String> = std::env::vars_os()
        .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(key, _)| !env.contains_key(key))
        .collect();
    let mut dangers = in_variables(env, true);
    dangers.extend(in_variables(&inherited, false));
    let scan = scan_database_yml(env, &inherited, app_dir);
    dangers.extend(
        scan.remote
            .into_iter()
            .map(|(place, host)| Danger { place, host }),
    );
    dangers.sort();
    dangers
}

/// The keys of `config/database.yml` that ERB computes, which are left alone.
pub fn unjudged(env: &BTreeMap<String, String>, app_dir: &Path) -> Vec<Unjudged> {
    let inherited = ["RAILS_ENV", "RACK_ENV", "DATABASE_URL"]
        .into_iter()
        .filter_map(|key| Some((key.to_string(), std::env::var(key).ok()?)))
        .collect();
    let scan = scan_database_yml(env, &inherited, app_dir);
    scan.computed
        .into_iter()
        .map(|place| Unjudged { place })
        .collect()
}

fn in_variables(variables: &BTreeMap<String, String>, given: bool) -> Vec<Danger> {
    let mut dangers = Vec::new();
    for (key, value) in variables {
        let name = key.to_ascii_uppercase();
        let is_url = name.ends_with("_URL") || name.ends_with("_URLS") || name.ends_with("_URI");
        let counts = given || SERVICES.iter().any(|service| name.contains(service));
        let hosts = if SERVER_LISTS.contains(&name.as_str()) {
            hosts_of_servers(value)
        } else if HOST_VARIABLES.contains(&name.as_str()) {
            value
                .split(',')
                .map(|host| host.trim().to_string())
                .collect()
        } else if is_url && counts {
            hosts_of_url(value)
        } else {
            continue;
        };
        for host in hosts.into_iter().filter(|host| !is_loopback(host)) {
            dangers.push(Danger {
                place: key.clone(),
                host,
            });
        }
    }
    dangers
}

fn scan_database_yml(
    env: &BTreeMap<String, String>,
    inherited: &BTreeMap<String, String>,
    app_dir: &Path,
) -> database_hosts::Scan {
    let value = |key: &str| {
        env.get(key)
            .or_else(|| inherited.get(key))
            .filter(|v| !v.is_empty())
    };
    let section = value("RAILS_ENV")
        .or_else(|| value("RACK_ENV"))
        .map_or("production", |v| v);
    let text = std::fs::read_to_string(app_dir.join("config/database.yml")).unwrap_or_default();
    database_hosts::scan(&text, section, value("DATABASE_URL").is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dangers(given: &[(&str, &str)]) -> Vec<(String, String)> {
        let env = given
            .iter()
            .map(|(k, v)| ((*k).to_string(), (*v).to_string()))
            .collect();
        in_variables(&env, true)
            .into_iter()
            .map(|d| (d.place, d.host))
            .collect()
    }

    #[test]
    fn local_addresses_are_no_danger() {
        let given = [
            ("DATABASE_URL", "sqlite3:/tmp/copy.sqlite3"),
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
        ];
        assert_eq!(dangers(&given), []);
    }

    #[test]
    fn remote_ones_are_named_by_host_and_never_with_credentials() {
        let given = [
            (
                "DATABASE_URL",
                "postgres://admin:hunter2@db.example.org:5432/shop?x=1",
            ),
            ("MEMCACHIER_SERVERS", "localhost:11211,10.0.0.7:11211"),
            ("PAYMENTS_URL", "https://127.0.0.1.example.org/api"),
            ("DB_HOST", "db"),
        ];
        let found = dangers(&given);
        let hosts: Vec<&str> = found.iter().map(|(_, host)| host.as_str()).collect();
        assert_eq!(
            hosts,
            ["db.example.org", "db", "10.0.0.7", "127.0.0.1.example.org"]
        );
        let message = Danger {
            place: found[0].0.clone(),
            host: found[0].1.clone(),
        }
        .to_string();
        assert!(
            message.contains("--allow-remote") && !message.contains("hunter2"),
            "{message}"
        );
    }

    #[test]
    fn of_inherited_variables_only_services_count() {
        let env = BTreeMap::from([
            (
                "RUSTUP_DIST_URL".to_string(),
                "https://example.org".to_string(),
            ),
            (
                "REDIS_URL".to_string(),
                "redis://cache.example.org".to_string(),
            ),
        ]);
        let found = in_variables(&env, false);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place, "REDIS_URL");
    }

    #[test]
    fn the_section_of_the_environment_in_use_is_read() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("config")).unwrap();
        let text = "test:\n  host: db.test.example.org\nproduction:\n  host: db.example.org\n";
        std::fs::write(dir.path().join("config/database.yml"), text).unwrap();
        let env = BTreeMap::from([
            ("RAILS_ENV".to_string(), "test".to_string()),
            ("DATABASE_URL".to_string(), String::new()),
        ]);
        let hosts: Vec<String> = check_env(&env, dir.path())
            .into_iter()
            .map(|danger| danger.host)
            .collect();
        assert!(
            hosts.contains(&"db.test.example.org".to_string()),
            "{hosts:?}"
        );
        assert!(!hosts.contains(&"db.example.org".to_string()), "{hosts:?}");
    }
}
