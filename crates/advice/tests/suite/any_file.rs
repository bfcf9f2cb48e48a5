//! Whatever a file holds: what is written holds already when it is asked for again, no secret is shown, and lines that
//! are not ours stay.

use crate::support::written;
use advice::Server;
use proptest::prelude::*;
use proptest::sample::select;

const PATHS: [&str; 13] = [
    "config/puma.rb",
    "config/unicorn.rb",
    "config/pitchfork.rb",
    ".env",
    "Dockerfile",
    "powerband.conf",
    "config/database.yml",
    "nginx.conf",
    "passenger.conf",
    "shop.yml",
    "map.yml",
    "deploy.yml",
    "Procfile",
];

/// Lines that mean something in one format or another.
const LINES: &[&str] = &[
    "",
    "# comment",
    "KEY=hunter2",
    "KEY=\"hunter2",
    "hunter2\"",
    "export WEB_CONCURRENCY = '3' # three",
    "RAILS_MAX_THREADS=$N",
    "GREETING=x",
    "LD_PRELOAD=/usr/lib/libtcmalloc.so.4:libx.so",
    "threads 1, 2 # few",
    "threads n, n",
    "n = ENV.fetch(\"RAILS_MAX_THREADS\") { 3 }",
    "workers ENV.fetch('WEB_CONCURRENCY', 2)",
    "worker_processes 3",
    "preload_app true",
    "preload_app! if x",
    "fork_worker",
    "  wait_for_less_busy_worker 0.1",
    "__END__",
    "FROM ruby AS base",
    "FROM base",
    "FROM ruby:alpine",
    "ENV KEY=hunter2 WEB_CONCURRENCY=9",
    "ENV WEB_CONCURRENCY 9",
    "ENV A=hunter2 \\",
    "RUN <<EOF",
    "EOF",
    "USER app",
    "CMD [\"puma\"]",
    "[Service]",
    "[Install]",
    "Environment=\"KEY=hunter2\" WEB_CONCURRENCY=9",
    "Environment=WEB_CONCURRENCY=9",
    "Environment=",
    "Environment=\"A=hunter2\" \\",
    "EnvironmentFile=/etc/shop",
    "default: &default",
    "  adapter: sqlite3",
    "  pool: 3 # small",
    "  pool: <%= ENV.fetch(\"RAILS_MAX_THREADS\") { 5 } %>",
    "production:",
    "  primary: &primary",
    "    <<: *default",
    "    password: hunter2",
    "    pool: 4",
    "  <<: *default",
    "  <<: *primary",
    "http {",
    "upstream shop {",
    "server {",
    "}",
    "proxy_set_header A hunter2;",
    "proxy_buffers 8 4k;",
    "keepalive 2;",
    "worker_processes auto; events {}",
    "<IfModule mod_passenger.c>",
    "</IfModule>",
    "<VirtualHost *:80>",
    "</VirtualHost>",
    "SetEnv KEY hunter2",
    "refork_after [50, 100,1000]",
    "refork_after COUNTS if x",
    "PassengerMaxPoolSize 3",
    "  PassengerSpawnMethod \\",
    "---",
    "kind: ConfigMap",
    "data: {KEY: hunter2, WEB_CONCURRENCY: '9'}",
    "data:",
    "  WEB_CONCURRENCY: '9' # nine",
    "  KEY: hunter2",
    "web: bundle exec puma -t 1:1 -w 9 # a",
    "web: KEY=hunter2 puma -w 9",
    "servers: {web: {cmd: puma -w 9, hosts: [a]}}",
    "servers:",
    "  web:",
    "    cmd: 'RAILS_MAX_THREADS=9 puma -t 9:9'",
    "    hosts: [a]",
    "env: {clear: {KEY: hunter2}, secret: [B]}",
    "env:",
    "  clear:",
    "    GREETING: \"it\\\"s\"",
    "    TABLE: 'it''s'",
    "  secret: [A]",
    "kind: Deployment",
    "spec: {template: {spec: {containers: [{name: a, env: [{name: KEY, value: hunter2}]}]}}}",
    "spec:\n  template:\n    spec:\n      containers:\n        - name: a",
    "          command: [puma, -w, \"9\", -t, 9:9]",
    "          args: [\"KEY=hunter2 puma -w 9\"]",
    "          env: [{name: KEY, value: hunter2}, {name: WEB_CONCURRENCY, value: '9'}]",
    "          env:\n            - name: KEY\n              value: hunter2\n            - {name: GREETING, value: x}",
    "          resources: {requests: {cpu: 2}}",
    "          resources:\n            limits:\n              memory: 1G # much",
];

fn any_text() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        8 => select(LINES).prop_map(str::to_owned),
        1 => "[ -~]{0,20}",
        1 => "\\PC{0,10}",
    ];
    let line = (line, prop_oneof![4 => Just("\n"), 1 => Just("\r\n")]);
    (prop::collection::vec(line, 0..14), any::<bool>()).prop_map(|(lines, whole)| {
        let mut text: String = lines
            .iter()
            .flat_map(|(line, end)| [line.as_str(), end])
            .collect();
        if !whole {
            text.truncate(text.trim_end_matches(['\r', '\n']).len());
        }
        text
    })
}

fn server_of(path: &str) -> Server {
    match path {
        "config/unicorn.rb" => Server::Unicorn,
        "config/pitchfork.rb" => Server::Pitchfork,
        "passenger.conf" => Server::Passenger,
        _ => Server::Puma,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn asked_again_nothing_changes(path in select(&PATHS[..]), text in any_text()) {
        let (once, _) = written(server_of(path), path, &text);
        let (twice, again) = written(server_of(path), path, &once);
        prop_assert!(again.changes.is_empty(), "{path}\n{text}\n---\n{once}\n---\n{twice}");
    }

    #[test]
    fn no_secret_is_shown(path in select(&PATHS[3..]), text in any_text()) {
        let (after, said) = written(server_of(path), path, &text);
        prop_assert_eq!(text.matches("hunter2").count(), after.matches("hunter2").count());
        for change in &said.changes {
            prop_assert!(!change.diff.contains("hunter2"), "{path}\n{text}\n---\n{}", change.diff);
        }
        prop_assert!(said.notes.iter().all(|note| !note.text.contains("hunter2")));
    }

    #[test]
    fn lines_end_as_they_did(path in select(&PATHS[..]), text in any_text()) {
        let crlf: String = text.replace('\r', "").replace('\n', "\r\n");
        // The first line decides, and an empty file has none.
        let crlf = format!("# ours\r\n{crlf}");
        let (after, _) = written(server_of(path), path, &crlf);
        let bare = after.replace("\r\n", "").contains(['\n', '\r']);
        prop_assert!(!bare, "{path}\n{after:?}");
    }
}
