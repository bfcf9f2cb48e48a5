//! The addresses in an application's YAML files, for the environment that it runs in.

use std::path::Path;

use super::address::{Url, is_file, urls};
use super::danger::{Danger, What};
use super::erb::Template;
use super::named::{Found, Names, counts, found};
use super::yaml::{Node, Scalar, parse};

/// Files in which every address counts. In other files only URLs of stores count: other addresses may be the application's
/// own host, or links.
const OF_STORES: &[&str] = &[
    "application.yml",
    "cable.yml",
    "cache.yml",
    "database.yml",
    "elasticsearch.yml",
    "memcached.yml",
    "mongoid.yml",
    "queue.yml",
    "redis.yml",
    "shards.yml",
    "sidekiq.yml",
    "sunspot.yml",
];
/// Usual names of environments.
const ENVIRONMENTS: [&str; 3] = ["development", "test", "production"];
/// The section that `config_for` merges into every environment.
const SHARED: &str = "shared";

/// The environment that the application runs in.
pub(super) struct Context<'a> {
    pub(super) environment: &'a str,
    pub(super) variable: &'a dyn Fn(&str) -> Option<String>,
}

/// All values in `config/*.yml` that point at another machine, or may do so.
pub(super) fn scan(app_dir: &Path, context: &Context<'_>) -> Vec<Danger> {
    let Ok(entries) = std::fs::read_dir(app_dir.join("config")) else {
        return Vec::new();
    };
    let mut dangers = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_yaml = [".yml", ".yaml"].iter().any(|end| name.ends_with(end));
        if let (true, Ok(bytes)) = (is_yaml, std::fs::read(entry.path())) {
            let text = String::from_utf8_lossy(&bytes);
            dangers.extend(in_file(&text, &name.replace(".yaml", ".yml"), context));
        }
    }
    dangers
}

fn in_file(text: &str, name: &str, context: &Context<'_>) -> Vec<Danger> {
    let is_of_stores = OF_STORES.contains(&name);
    let names = if is_of_stores {
        Names::Count
    } else {
        Names::Ignored
    };
    let template = Template::of(text);
    let root = match parse(&template.text) {
        Ok(Some(root)) => root,
        Ok(None) => return Vec::new(),
        Err(_) if !is_of_stores => return Vec::new(),
        Err(error) => {
            return vec![Danger {
                place: format!("config/{name}"),
                what: What::Unclear(format!(
                    "is no YAML that can be read without Ruby ({error})"
                )),
            }];
        }
    };
    let texts = texts(&root, context.environment);
    let filled = |scalar: &Scalar| template.filled(&scalar.text, context.variable);
    let mut dangers = Vec::new();
    for (keys, scalar) in &texts {
        // A section that is a string is a URL.
        let key = keys.last().map_or("url", |key| key.trim_start_matches(':'));
        let value = filled(scalar);
        if name == "database.yml" && is_replaced(&texts, keys, context) {
            continue;
        }
        let found = match value {
            Some(value) => found(key, &value, names),
            None if names == Names::Count && counts(key) => {
                vec![Found::Unclear("is computed by Ruby".to_owned())]
            }
            None => Vec::new(),
        };
        let path = keys.join(".");
        let section = if path.is_empty() { "url" } else { &path };
        let place = format!("config/{name}:{}, {section}", scalar.line);
        dangers.extend(
            found
                .into_iter()
                .map(|found| Danger::of(place.clone(), found)),
        );
    }
    dangers
}

/// The values that apply to an environment: its section, the shared section, and keys outside of sections. A file without
/// sections applies as a whole.
fn texts<'a>(root: &'a Node, environment: &'a str) -> Vec<(Vec<&'a str>, &'a Scalar)> {
    let mut found = Vec::new();
    let Node::Map(pairs) = root else {
        root.texts(&[], &mut found);
        return found;
    };
    let is_section = |key: &str| key == environment || ENVIRONMENTS.contains(&key);
    let has_sections = pairs.iter().any(|(key, _)| is_section(&key.text));
    for (key, node) in pairs {
        if [environment, SHARED].contains(&key.text.as_str()) {
            node.texts(&[], &mut found);
        } else if !has_sections || !matches!(node, Node::Map(_)) && !is_section(&key.text) {
            node.texts(&[&key.text], &mut found);
        }
    }
    found
}

/// Whether Active Record replaces a key of `database.yml` by a variable's URL. It replaces only what the URL contains, and
/// ignores the variable if the file has a URL itself.
fn is_replaced(texts: &[(Vec<&str>, &Scalar)], keys: &[&str], context: &Context<'_>) -> bool {
    let Some((key, database)) = keys.split_last() else {
        return false;
    };
    if texts
        .iter()
        .any(|(keys, _)| keys.split_last() == Some((&"url", database)))
    {
        return false;
    }
    let of = |name: &str| (context.variable)(name).filter(|value| !value.trim().is_empty());
    let url = match database.first() {
        None | Some(&"primary") => of("PRIMARY_DATABASE_URL").or_else(|| of("DATABASE_URL")),
        Some(name) => of(&format!("{}_DATABASE_URL", name.to_ascii_uppercase())),
    };
    let Some(url) = url else { return false };
    let scheme = url.split_once(':').map_or("", |(scheme, _)| scheme);
    if is_file(&scheme.to_ascii_lowercase()) {
        return true;
    }
    let has_host = |url: &Url<'_>| {
        let mut endpoints = url.endpoints.iter();
        endpoints.any(|endpoint| !endpoint.host.is_empty())
            || url.parameters.iter().any(|(name, _)| *name == "host")
    };
    matches!(*key, "host" | "hostname") && urls(&url).iter().any(has_host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, text: &str, variables: &[(&str, &str)]) -> Vec<String> {
        let variable = |name: &str| {
            let found = variables.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let context = Context {
            environment: "production",
            variable: &variable,
        };
        let mut dangers = in_file(text, name, &context);
        dangers.sort();
        let short = |danger: &Danger| match &danger.what {
            What::Elsewhere { host, .. } => format!("{} {host}", danger.place),
            What::Unclear(_) => format!("{} ?", danger.place),
        };
        dangers.iter().map(short).collect()
    }

    #[test]
    fn a_database_s_url_replaces_its_own_parts_of_the_file_alone() {
        let file = "production:\n  primary:\n    adapter: postgresql\n    host: db.example.org\n  other:\n    host: other.example.org\n";
        let other = "config/database.yml:6, other.host other.example.org";
        let primary = "config/database.yml:4, primary.host db.example.org";
        for (name, url, expected) in [
            ("DATABASE_URL", "", &[primary, other][..]),
            ("DATABASE_URL", "postgres:///shop", &[primary, other]),
            ("DATABASE_URL", "postgres://localhost/shop", &[other]),
            ("DATABASE_URL", "postgres:///shop?host=/run/pg", &[other]),
            ("DATABASE_URL", "sqlite3:/tmp/copy", &[other]),
            (
                "OTHER_DATABASE_URL",
                "postgres://localhost/shop",
                &[primary],
            ),
        ] {
            assert_eq!(
                of("database.yml", file, &[(name, url)]),
                expected,
                "{name}={url}"
            );
        }
        let hidden = "production:\n  hostaddr: 10.0.0.7\n";
        let local = [("DATABASE_URL", "postgres://localhost/shop")];
        assert_eq!(of("database.yml", hidden, &local).len(), 1);
        let in_file = "production:\n  host: db.example.org\n  url: postgres:///shop\n";
        assert_eq!(of("database.yml", in_file, &local).len(), 1);
    }

    #[test]
    fn what_rails_new_writes_is_local() {
        let postgresql = "default: &default\n  adapter: postgresql\n  encoding: unicode\n  # host: db.example.org\n  pool: <%= \
            ENV.fetch(\"RAILS_MAX_THREADS\") { 5 } %>\n\nproduction:\n  primary: &primary_production\n    <<: *default\n    \
            database: shop_production\n    username: shop\n    password: <%= ENV[\"SHOP_DATABASE_PASSWORD\"] %>\n  cache:\n    \
            <<: *primary_production\n    database: shop_production_cache\n    migrations_paths: db/cache_migrate\n";
        let mysql = "default: &default\n  adapter: mysql2\n  password:\n  socket: /var/run/mysqld/mysqld.sock\n  host: <%= \
            ENV.fetch(\"DB_HOST\") { \"127.0.0.1\" } %>\nproduction:\n  <<: *default\n  database: shop\n  password: <%= \
            Rails.application.credentials.db %>\n";
        let sqlite = "default: &default\n  adapter: sqlite3\n  timeout: 5000\nproduction:\n  <<: *default\n  database: \
            storage/production.sqlite3\n";
        let cable = "development:\n  adapter: async\nproduction:\n  adapter: redis\n  url: <%= ENV.fetch(\"REDIS_URL\") { \
            \"redis://localhost:6379/1\" } %>\n  channel_prefix: shop_production\n";
        let queue = "default: &default\n  dispatchers:\n    - polling_interval: 1\n  workers:\n    - queues: \"*\"\n      \
            processes: <%= ENV.fetch(\"JOB_CONCURRENCY\", 1) %>\nproduction:\n  <<: *default\n";
        let settings = "production:\n  host: shop.example.org\n  cdn: https://cdn.example.org\n";
        for (name, text) in [
            ("database.yml", postgresql),
            ("database.yml", mysql),
            ("database.yml", sqlite),
            ("cable.yml", cable),
            ("queue.yml", queue),
            ("settings.yml", settings),
        ] {
            assert_eq!(of(name, text, &[]), [""; 0], "{text}");
        }
        let elsewhere = [("REDIS_URL", "redis://r.example.org")];
        assert_eq!(
            of("cable.yml", cable, &elsewhere),
            ["config/cable.yml:5, url r.example.org"]
        );
    }

    #[test]
    fn other_environments_do_not_count() {
        let text = "test:\n  url: redis://test.example.org\nshared:\n  url: redis://all.example.org\nproduction:\n  x: 1\n";
        assert_eq!(
            of("redis.yml", text, &[]),
            ["config/redis.yml:4, url all.example.org"]
        );
        assert_eq!(of("redis.yml", "host: flat.example.org\n", &[]).len(), 1);
        assert_eq!(of("database.yml", "", &[]), [""; 0]);
    }
}
