//! What to do about the usual reasons why an application does not boot, or a page of it fails. Pure.

use std::sync::LazyLock;

use regex::Regex;

/// A message that is recognised, and the remedy, in which `{env}` is the environment's name and `{1}` what the message names.
type Known = (Regex, &'static str);

static KNOWN: LazyLock<Vec<Known>> = LazyLock::new(|| {
    let known = |(pattern, remedy): (&str, &'static str)| {
        let pattern = Regex::new(pattern).expect("the pattern is a valid constant");
        (pattern, remedy)
    };
    // The first that fits is taken: what is more special stands above.
    [
        (
            r#"key not found: "([A-Z][A-Z0-9_]*)""#,
            "the environment has no {1}: export it before powerband is started, give it with --env {1}=VALUE, or write \
             {1} = \"VALUE\" under [app.env] in powerband.toml",
        ),
        (
            r"RAILS_MASTER_KEY|MissingKeyError|MessageEncryptor|MessageVerifier::InvalidSignature",
            "the key of the encrypted credentials is missing or is another's: write it to config/master.key, or export \
             RAILS_MASTER_KEY before powerband is started",
        ),
        (
            r"(?i)secret_key_base",
            "with encrypted credentials write their key to config/master.key, or export RAILS_MASTER_KEY before powerband is started. Where \
             no page reads a credential, any long text will do: --env SECRET_KEY_BASE=VALUE, and from Rails 7.1 on \
             --env SECRET_KEY_BASE_DUMMY=1",
        ),
        (
            r"GemNotFound|Could not find .* in (?:locally installed gems|any of the)|bundler: command not found|is not part of the bundle",
            "run bundle install in the application's folder, with the Ruby that starts the server",
        ),
        (
            r"cannot load such file -- (/\S+)",
            "the application requires {1}, which is not there: is the checkout complete, and are its generated files made?",
        ),
        (
            r"cannot load such file -- (\S+)",
            "{1} is not installed, or its gem is in no group that the environment {env} loads: look at the Gemfile, then \
             run bundle install",
        ),
        (
            r"NoDatabaseError|Unknown database|(?i:database) .* does not exist",
            "create the database: RAILS_ENV={env} bin/rails db:prepare, which app.prepare in powerband.toml can run as well",
        ),
        (
            r"PendingMigration|Migrations are pending|UndefinedTable|no such table|Could not find table|relation .* does not exist|Table .* doesn't exist",
            "the database lacks tables: run RAILS_ENV={env} bin/rails db:prepare, which app.prepare in powerband.toml can \
             run as well",
        ),
        (
            r"AdapterNotSpecified|database is not configured|No database file specified",
            "config/database.yml has no database for the environment {env}: name one there, give --env DATABASE_URL=URL, \
             or measure another environment with --environment",
        ),
        (
            r"no password supplied|password authentication failed|Access denied for user|role .* does not exist",
            "the database takes another password or user than the environment {env} gives: set the variable that \
             config/database.yml reads for it with --env, or under [app.env] in powerband.toml, or give --env DATABASE_URL=URL",
        ),
        (
            r"PG::ConnectionBad|DatabaseConnectionError|ConnectionNotEstablished|Mysql2::Error::ConnectionError|Trilogy::\w*ConnectionError",
            "start the database; if it runs, config/database.yml has another host, port, user or password for the environment \
             {env}, or a variable that it reads is not set: set it with --env, or give --env DATABASE_URL=URL",
        ),
        (
            r"EADDRINUSE|Address already in use",
            "end what listens there, or give another port; a port that the application's own configuration names must be free",
        ),
        (
            r"is not present in the asset pipeline|Sprockets::|Propshaft::MissingAssetError|missing from the manifest",
            "compile the assets: RAILS_ENV={env} bin/rails assets:precompile",
        ),
        (
            r"No route matches",
            "ask for a path that bin/rails routes lists",
        ),
        (
            r"Blocked host",
            "allow the host in config.hosts of the environment {env}",
        ),
        (
            r"ECONNREFUSED|CannotConnectError|Failed to open TCP connection",
            "start what the application connects to, or name it in a [[service]] of powerband.toml, which is then started \
             with each server",
        ),
    ]
    .map(known)
    .into()
});

/// What to do about an exception with this message.
#[must_use]
pub fn remedy(said: &str, environment: &str) -> Option<String> {
    KNOWN.iter().find_map(|(pattern, remedy)| {
        let found = pattern.captures(said)?;
        let named = found.get(1).map_or("", |named| named.as_str());
        Some(remedy.replace("{1}", named).replace("{env}", environment))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_gem_and_a_missing_file_of_the_application_have_their_own_remedies() {
        let remedy = |what: &str| {
            let said = format!("LoadError: cannot load such file -- {what}");
            remedy(&said, "production").unwrap()
        };
        let gem = remedy("oj");
        assert!(gem.starts_with("oj is not installed"), "{gem}");
        let file = remedy("/srv/shop/lib/work");
        assert!(
            file.starts_with("the application requires /srv/shop/lib/work, which is not there"),
            "{file}"
        );
    }
}
