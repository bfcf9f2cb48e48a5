//! The known ways past the check, and what must pass it.

use super::*;

struct App(tempfile::TempDir);

impl App {
    fn new(files: &[(&str, &str)]) -> App {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("config")).unwrap();
        for (name, text) in files {
            std::fs::write(dir.path().join(name), text).unwrap();
        }
        App(dir)
    }

    /// Places and hosts.
    fn dangers(
        &self,
        given: &[(&str, &str)],
        inherited: &[(&str, &str)],
        allowed: &[&str],
    ) -> Vec<String> {
        let map = |pairs: &[(&str, &str)]| {
            let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            pairs.iter().map(own).collect()
        };
        let allowed: Vec<Remote> = allowed.iter().map(|text| text.parse().unwrap()).collect();
        let dangers = check_with(&map(given), &map(inherited), self.0.path(), &allowed);
        let short = |danger: Danger| match danger.what {
            What::Elsewhere { host, .. } => format!("{}: {host}", danger.place),
            What::Unclear(why) => format!("{}: {why}", danger.place),
        };
        dangers.into_iter().map(short).collect()
    }
}

/// Ways past the earlier check, each alone.
#[test]
fn every_known_way_round_is_closed() {
    let yml = "config/database.yml";
    let remote = "production:\n  adapter: postgresql\n  host: db.example.org\n";
    let computed = "is computed by Ruby";
    type Pairs = &'static [(&'static str, &'static str)];
    type Case<'a> = (&'a str, &'a [(&'a str, &'a str)], Pairs, &'a str);
    let cases: &[Case<'_>] = &[
        (
            "a URL without a host is merged with the file's",
            &[(yml, remote)],
            &[("DATABASE_URL", "postgres:///shop")],
            "config/database.yml:3, host: db.example.org",
        ),
        (
            "a URL of another database",
            &[(
                yml,
                "production:\n  a:\n    host: db.example.org\n  b:\n    adapter: x\n",
            )],
            &[("DATABASE_URL", "postgres://localhost/shop")],
            "config/database.yml:3, a.host: db.example.org",
        ),
        (
            ".env",
            &[(".env", "DATABASE_URL=postgres://db.example.org/shop")],
            &[],
            ".env:1, DATABASE_URL: db.example.org",
        ),
        (
            ".env of the environment",
            &[(".env.production", "\nexport POSTGRES_HOST='db'\n")],
            &[],
            ".env.production:2, POSTGRES_HOST: db",
        ),
        (
            ".env fills the file",
            &[
                (".env", "SERVES=db.example.org"),
                (yml, "production:\n  host: <%= ENV['SERVES'] %>\n"),
            ],
            &[],
            "config/database.yml:2, host: db.example.org",
        ),
        (
            "hostaddr",
            &[(yml, "production:\n  hostaddr: 10.0.0.7\n")],
            &[],
            "config/database.yml:2, hostaddr: 10.0.0.7",
        ),
        (
            "service",
            &[(yml, "production:\n  service: main\n")],
            &[],
            "config/database.yml:2, service: names an entry of pg_service.conf, which is not read",
        ),
        (
            "hostname",
            &[(yml, "production:\n  hostname: db.example.org\n")],
            &[],
            "config/database.yml:2, hostname: db.example.org",
        ),
        (
            "a flow mapping",
            &[(yml, "production: {adapter: mysql2, host: db.example.org}\n")],
            &[],
            "config/database.yml:1, host: db.example.org",
        ),
        (
            "one text for a section",
            &[(yml, "production: mysql2://db.example.org/shop\n")],
            &[],
            "config/database.yml:1, url: db.example.org",
        ),
        (
            "a merge of an alias",
            &[(
                yml,
                "x: &x {host: db.example.org}\nproduction:\n  <<: [*x]\n",
            )],
            &[],
            "config/database.yml:1, host: db.example.org",
        ),
        (
            "PGSERVICE",
            &[],
            &[("PGSERVICE", "main")],
            "PGSERVICE: names an entry of pg_service.conf, which is not read",
        ),
        (
            "POSTGRES_HOST",
            &[],
            &[("POSTGRES_HOST", "db")],
            "POSTGRES_HOST: db",
        ),
        (
            "DB_URL",
            &[],
            &[("DB_URL", "mysql2://db.example.org/shop")],
            "DB_URL: db.example.org",
        ),
        (
            "JAWSDB_URL",
            &[],
            &[("JAWSDB_URL", "mysql://db.example.org/shop")],
            "JAWSDB_URL: db.example.org",
        ),
        (
            "CACHE_URL",
            &[],
            &[("CACHE_URL", "redis://c.example.org")],
            "CACHE_URL: c.example.org",
        ),
        (
            "BONSAI_URL",
            &[],
            &[("BONSAI_URL", "https://u:p@s.example.org")],
            "BONSAI_URL: s.example.org",
        ),
        (
            "a URL without scheme",
            &[],
            &[("DATABASE_URL", "u:p@db.example.org/shop")],
            "DATABASE_URL: db.example.org",
        ),
        (
            "mongoid.yml",
            &[(
                "config/mongoid.yml",
                "production:\n  clients:\n    default:\n      hosts:\n        - m.example.org:27017\n",
            )],
            &[],
            "config/mongoid.yml:5, clients.default.hosts: m.example.org",
        ),
        (
            "cable.yml",
            &[(
                "config/cable.yml",
                "production:\n  url: redis://r.example.org/1\n",
            )],
            &[],
            "config/cable.yml:2, url: r.example.org",
        ),
        (
            "any file with a store",
            &[(
                "config/shop.yml",
                "production:\n  search:\n    at: redis://r.example.org\n",
            )],
            &[],
            "config/shop.yml:3, search.at: r.example.org",
        ),
        (
            "a host from ERB",
            &[(yml, "production:\n  host: <%= Zone.host %>\n")],
            &[],
            &format!("config/database.yml:2, host: {computed}"),
        ),
        (
            "a default in ERB",
            &[(
                yml,
                "production:\n  host: <%= ENV.fetch('NO_SUCH', 'db.example.org') %>\n",
            )],
            &[],
            "config/database.yml:2, host: db.example.org",
        ),
        (
            "a branch of ERB",
            &[(
                yml,
                "production:\n<% if x %>\n  host: db.example.org\n<% else %>\n  host: localhost\n<% end %>\n",
            )],
            &[],
            "config/database.yml:3, host: db.example.org",
        ),
        (
            "another environment of the run",
            &[(yml, "staging:\n  host: s.example.org\nproduction: {}\n")],
            &[("RAILS_ENV", "staging")],
            "config/database.yml:2, host: s.example.org",
        ),
    ];
    for (what, files, variables, expected) in cases {
        let app = App::new(files);
        assert_eq!(
            app.dangers(variables, &[], &[]),
            [*expected],
            "{what}, given"
        );
        assert_eq!(
            app.dangers(&[], variables, &[]),
            [*expected],
            "{what}, inherited"
        );
    }
    let broken = App::new(&[(yml, "production:\n  <%= include_defaults %>\n  host: x\n")]);
    let found = broken.dangers(&[], &[], &[]);
    assert!(
        found.len() == 1 && found[0].contains("no YAML"),
        "{found:?}"
    );
}

#[test]
fn what_is_allowed_is_allowed_by_name() {
    let app = App::new(&[(
        "config/database.yml",
        "production:\n  host: <%= Zone.host %>\n",
    )]);
    let given = [
        ("DATABASE_URL", "postgres://u:hunter2@db.example.org/shop"),
        ("REDIS_HOST", "r.example.org"),
    ];
    assert_eq!(app.dangers(&given, &[], &[]).len(), 2);
    assert_eq!(
        app.dangers(&given, &[], &["db.example.org:5432"]),
        ["REDIS_HOST: r.example.org"]
    );
    assert_eq!(app.dangers(&given, &[], &["db.example.org:5433"]).len(), 2);
    let both = ["DB.example.org:5432", "r.example.org:6379"];
    assert_eq!(app.dangers(&given, &[], &both), [""; 0]);
    // Once a service is named, values that cannot be judged are left to the check of connections.
    assert_eq!(app.dangers(&[], &[], &[]).len(), 1);
    assert_eq!(app.dangers(&[], &[], &["localhost:5432"]), [""; 0]);
    // Commands that may destroy data do not run on what such values lead to.
    let unclear = unclear(&BTreeMap::new(), app.0.path());
    let said: Vec<String> = unclear
        .iter()
        .map(|danger| danger.with_commands("app.prepare"))
        .collect();
    assert_eq!(
        said,
        [
            "config/database.yml:2, host is computed by Ruby, so that it is not known what app.prepare may change, and \
             --allow-remote is not enough; write the address in its place (a look-up in ENV is read too), or leave out \
             app.prepare"
        ]
    );
}

#[test]
fn messages_name_the_remedy_and_no_credentials() {
    let env = BTreeMap::from([(
        "DATABASE_URL".to_owned(),
        "postgres://u:hunter2@db.example.org/shop?x=1".to_owned(),
    )]);
    let app = App::new(&[]);
    let found = check_with(&env, &BTreeMap::new(), app.0.path(), &[]);
    let message = found[0].to_string();
    assert!(
        message.contains("--allow-remote db.example.org:5432"),
        "{message}"
    );
    assert!(!message.contains("hunter2"), "{message}");
}

#[test]
fn of_inherited_variables_those_of_tools_do_not_count() {
    let app = App::new(&[]);
    let inherited = [
        ("RUSTUP_DIST_SERVER", "https://example.org"),
        ("GITHUB_SERVER_URL", "https://example.org"),
        ("HOSTNAME", "builder"),
        ("CI_REDIS_URL", "redis://cache.example.org"),
        ("CI_DB_HOST", "db.example.org"),
        // The official image of Ruby, Debian's debuginfod, Jenkins, a container of Amazon's, Vault.
        ("RUBY_DOWNLOAD_URL", "https://cache.example.org/ruby.tar.xz"),
        ("DEBUGINFOD_URLS", "https://debuginfod.example.org "),
        ("BUILD_URL", "https://ci.example.org/job/shop/1/"),
        ("RUN_DISPLAY_URL", "https://ci.example.org/run/1"),
        (
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "http://169.254.170.23/v1/credentials",
        ),
        ("VAULT_ADDR", "https://vault.example.org:8200"),
    ];
    assert_eq!(
        app.dangers(&[], &inherited, &[]),
        [
            "CI_DB_HOST: db.example.org",
            "CI_REDIS_URL: cache.example.org"
        ]
    );
}

#[test]
fn kubernetes_links_count_where_a_file_looks_them_up() {
    let inherited = [
        ("KUBERNETES_SERVICE_HOST", "10.0.0.1"),
        ("KUBERNETES_SERVICE_PORT", "443"),
        ("SHOP_DB_SERVICE_HOST", "10.0.0.7"),
        ("SHOP_DB_SERVICE_PORT", "5432"),
        ("SHOP_DB_PORT", "tcp://10.0.0.7:5432"),
        ("SHOP_DB_PORT_5432_TCP", "tcp://10.0.0.7:5432"),
        ("SHOP_DB_PORT_5432_TCP_ADDR", "10.0.0.7"),
        ("SHOP_DB_PORT_5432_TCP_PROTO", "tcp"),
    ];
    assert_eq!(App::new(&[]).dangers(&[], &inherited, &[]), [""; 0]);
    let app = App::new(&[(
        "config/database.yml",
        "production:\n  host: <%= ENV['SHOP_DB_SERVICE_HOST'] %>\n",
    )]);
    assert_eq!(
        app.dangers(&[], &inherited, &[]),
        ["config/database.yml:2, host: 10.0.0.7"]
    );
    // Without its sibling it is a variable of the application.
    let alone = [("SHOP_DB_SERVICE_HOST", "10.0.0.7")];
    let app = App::new(&[]);
    assert_eq!(
        app.dangers(&[], &alone, &[]),
        ["SHOP_DB_SERVICE_HOST: 10.0.0.7"]
    );
}

#[test]
fn images_and_ports_of_containers_are_no_hosts() {
    let compose = "POSTGRES_IMAGE=postgres:16\nREDIS_IMAGE=redis:7\nPOSTGRES_PORTS=5432:5432\nREDIS_TAG=r:7\n";
    let app = App::new(&[(".env", compose)]);
    assert_eq!(app.dangers(&[], &[], &[]), [""; 0]);
}

#[test]
fn files_that_are_no_utf_8_are_read() {
    let app = App::new(&[]);
    let config = app.0.path().join("config");
    std::fs::create_dir_all(&config).unwrap();
    let yml = b"# caf\xe9\nproduction:\n  host: db.example.org\n";
    std::fs::write(config.join("database.yml"), yml).unwrap();
    let env = b"# caf\xe9\nREDIS_HOST=r.example.org\n";
    std::fs::write(app.0.path().join(".env"), env).unwrap();
    let found = app.dangers(&[], &[], &[]);
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn inherited_variables_that_are_no_utf_8_are_judged() {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    let url = OsString::from_vec(b"postgres://shop:caf\xe9@db.example.org/shop".to_vec());
    let inherited = inherited::as_text([("DATABASE_URL".into(), url)]);
    let app = App::new(&[]);
    let found = check_with(&BTreeMap::new(), &inherited, app.0.path(), &[]);
    assert_eq!(found.len(), 1, "{found:?}");
    let message = found[0].to_string();
    assert!(message.contains("\"db.example.org\""), "{message}");
}

#[test]
fn the_process_s_own_variables_count_before_written_ones() {
    let app = App::new(&[(".env", "DATABASE_URL=postgres://db.example.org/shop")]);
    assert_eq!(
        app.dangers(&[("DATABASE_URL", "sqlite3:x")], &[], &[]),
        [""; 0]
    );
}
