use super::*;

const FOLLOWS: &str = r#"# SQLite
default: &default
  adapter: sqlite3
  pool: <%= ENV.fetch("RAILS_MAX_THREADS") { 5 } %>
  timeout: 5000

development:
  <<: *default
  database: dev.sqlite3

production:
  <<: *default
  database: shop.sqlite3
"#;

const SEVERAL: &str = r#"default: &default
  adapter: postgresql
  encoding: unicode # as ever
  variables:
    statement_timeout: 5000

development:
  <<: *default

production:
  primary: &primary_production
    <<: *default
    database: shop
    password: <%= ENV["SHOP_DATABASE_PASSWORD"] %>
    pool: 3   # small
  replica:
    <<: *primary_production
    replica: true
  cache:
    <<: *default
    database: cache
    password: "hunter2 # 3"
    pool: 20
"#;

fn with(before: &str, pool: u32) -> (Change, Vec<String>) {
    needing(
        before,
        Needed {
            pool,
            threads: 5,
            measured: true,
        },
    )
}

fn for_threads(before: &str, threads: u32) -> (Change, Vec<String>) {
    needing(
        before,
        Needed {
            pool: threads,
            threads,
            measured: false,
        },
    )
}

fn needing(before: &str, needed: Needed) -> (Change, Vec<String>) {
    let mut notes = Vec::new();
    let change = write("config/database.yml", before, needed, &mut notes);
    let again = write("config/database.yml", &change.text, needed, &mut Vec::new());
    assert_eq!(again.diff, "");
    (change, notes.into_iter().map(|note| note.text).collect())
}

#[test]
fn what_follows_the_threads_goes_on_to_follow_them() {
    let (change, notes) = with(FOLLOWS, 5);
    assert_eq!((change.diff.as_str(), notes), ("", Vec::new()));
    let (change, notes) = with(FOLLOWS, 6);
    assert_eq!(change.diff, "");
    assert!(notes[0].contains("6 are needed"), "{notes:?}");
    for (less, enough) in [("{ 3 }", "{ 5 }"), (", 3)", ", 5)")] {
        let before = FOLLOWS
            .replace("\") { 5 }", &format!("\"){less}"))
            .replace("\"), 3)", "\", 3)");
        let (change, notes) = with(&before, 5);
        assert_eq!(change.text, before.replace(less, enough));
        assert!(notes.is_empty(), "{notes:?}");
    }
}

#[test]
fn each_of_several_databases_has_what_it_needs() {
    let (change, notes) = with(SEVERAL, 5);
    assert_eq!(change.text, SEVERAL.replace("pool: 3   #", "pool: 5   #"));
    assert_eq!(
        change.diff,
        "--- a/config/database.yml\n+++ b/config/database.yml\n@@ -15 +15 @@\n-    pool: 3   # small\n+    pool: 5   # small\n"
    );
    assert!(
        notes.len() == 1 && notes[0].contains("line 23: a pool of 20"),
        "{notes:?}"
    );
}

#[test]
fn a_pool_that_is_missing_comes_beside_the_adapter() {
    let before = SEVERAL
        .replace("    pool: 3   # small\n", "")
        .replace("    pool: 20\n", "");
    let (change, _) = with(&before, 8);
    assert_eq!(
        change.text,
        before.replace("postgresql\n", "postgresql\n  pool: 8\n")
    );
    let crlf = "production:\r\n  url: <%= ENV['DATABASE_URL'] %>\r\n";
    let (change, _) = with(crlf, 8);
    assert_eq!(change.text, crlf.replace("  url", "  pool: 8\r\n  url"));
    let newer =
        "default: &default\n  adapter: x\nproduction: *default\ntest:\n  max_connections: 1\n";
    let (change, _) = with(newer, 8);
    assert_eq!(
        change.text,
        newer.replace("adapter: x", "adapter: x\n  max_connections: 8")
    );
}

#[test]
fn what_is_not_certain_is_left_to_a_person() {
    for (before, why) in [
        (
            "production:\n  pool: <%= ENV['DB_POOL'] %>\n",
            "line 2: the pool comes from elsewhere",
        ),
        (
            "production:\n  url: postgres://h/x?pool=2\n",
            "URL has a pool",
        ),
        ("production: {adapter: x, pool: 2}\n", "line 1 is no plain"),
        (
            "<% if x %>\nproduction:\n  pool: 2\n<% end %>\n",
            "line 1 is no plain",
        ),
        ("production:\n\tpool: 2\n", "tabs"),
        ("test:\n  pool: 2\n", "no section production"),
        ("production:\n  <<: *nobody\n", "anchor that is not there"),
        (
            "production:\n  password: \"a\n  pool: 2\"\n",
            "line 2 is no plain",
        ),
        ("production:\n", "no lines below it"),
        ("", "no section production"),
        ("production:\n  name: a\n    b: c\n", "stands under nothing"),
    ] {
        let (change, notes) = with(before, 5);
        assert_eq!(change.diff, "", "{before}");
        assert!(
            notes.iter().any(|note| note.contains(why)),
            "{before}: {notes:?}"
        );
    }
}

#[test]
fn threads_alone_need_a_pool_of_as_many() {
    let (change, notes) = for_threads(FOLLOWS, 6);
    assert_eq!(change.text, FOLLOWS.replace("{ 5 }", "{ 6 }"));
    assert!(notes.is_empty(), "{notes:?}");
    let sum = FOLLOWS.replace("} %>", "}.to_i + 2 %>");
    let (change, notes) = for_threads(&sum, 6);
    assert_eq!(change.diff, "");
    assert!(notes[0].contains("is 5 where that is not set"), "{notes:?}");
    let (change, _) = for_threads(SEVERAL, 6);
    assert!(change.diff.contains("pool: 6"), "{}", change.diff);
    let unset = FOLLOWS.replace(
        "  pool: <%= ENV.fetch(\"RAILS_MAX_THREADS\") { 5 } %>\n",
        "",
    );
    for (before, threads) in [(FOLLOWS, 5), (&unset, 5)] {
        let (change, notes) = for_threads(before, threads);
        assert_eq!((change.diff.as_str(), notes), ("", Vec::new()));
    }
    let (change, _) = for_threads(&unset, 6);
    assert!(change.diff.contains("+  pool: 6"), "{}", change.diff);
}
