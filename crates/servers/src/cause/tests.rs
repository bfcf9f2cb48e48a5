//! What real servers logged (Puma 6.6, Unicorn 6.1, Falcon 0.55, Passenger 6.0, Rails 7.2), shortened.

use super::*;

/// What is found in a log: the exception, the first line that is shown, and the remedy.
fn found(log: &str) -> Option<(String, String, String)> {
    let lines: Vec<&str> = log.lines().collect();
    let cause = of(&lines, "production")?;
    let shown = bare(shown_from(&lines, cause.line)[0]).to_owned();
    Some((cause.said, shown, cause.remedy.unwrap_or_default()))
}

/// Asserts what is found of the exception and of the remedy.
fn assert_found(log: &str, said: &str, remedy: &str) {
    let (found, _, with) = found(log).expect(log);
    assert_eq!(found, said);
    assert!(with.contains(remedy), "{said}: {with}");
    assert_eq!(remedy.is_empty(), with.is_empty(), "{said}: {with}");
}

const BACKTRACE_OF_PUMA: &str = "
\tfrom /srv/shop/config/initializers/stripe.rb:1:in `<top (required)>'
\tfrom /usr/share/rubygems-integration/all/gems/railties-7.2.2.2/lib/rails/engine.rb:689:in `load'
\tfrom /srv/shop/config/environment.rb:5:in `<top (required)>'
\tfrom /usr/lib/x86_64-linux-gnu/rubygems-integration/3.3.0/gems/puma-6.6.0/bin/puma:10:in `<top (required)>'
\tfrom /usr/bin/puma:25:in `load'
\tfrom /usr/bin/puma:25:in `<main>'
";

fn puma(log: &str) -> String {
    let banner = "Puma starting in single mode...\n* Puma version: 6.6.0 (\"Return to Forever\")\n*          PID: 20085\n";
    format!("{banner}{log}{BACKTRACE_OF_PUMA}")
}

const OF_A_WORKER: &str = "[20094] * Listening on http://127.0.0.1:9871
[20094] Use Ctrl-C to stop
[20103] ! Unable to start worker
[20103] key not found: \"STRIPE_KEY\"
[20103] /srv/shop/config/initializers/stripe.rb:1:in `fetch'
    /usr/lib/x86_64-linux-gnu/rubygems-integration/3.3.0/gems/puma-6.6.0/lib/puma/cluster.rb:74:in `spawn_workers'
    /usr/bin/puma:25:in `<main>'
[20103] Early termination of worker
";

#[test]
fn a_missing_variable_is_named_by_every_server() {
    let of_puma = puma(
        "! Unable to load application: KeyError: key not found: \"STRIPE_KEY\"
/srv/shop/config/initializers/stripe.rb:1:in `fetch': key not found: \"STRIPE_KEY\" (KeyError)",
    );
    let preloaded = of_puma.replace("! Unable", "[20723] ! Unable");
    let of_unicorn = "I, [2026-11-23T16:15:55.172034 #20873]  INFO -- : Refreshing Gem list
E, [2026-11-23T16:15:55.752063 #20873] ERROR -- : key not found: \"STRIPE_KEY\" (KeyError)
/srv/shop/config/initializers/stripe.rb:1:in `fetch'
/usr/bin/unicorn:129:in `<main>'
E, [2026-11-23T16:15:55.764049 #20783] ERROR -- : reaped #<Process::Status: pid 20873 exit 1> worker=0
";
    let of_falcon = r#"{"severity":"info","subject":"Async::Service::Controller","message":"Waiting for startup..."}
{"severity":"warn","subject":"Async::Task","message":"Task may have ended with unhandled exception.","event":{"type":"failure","root":"/srv/shop","class":"KeyError","message":"key not found: \"STRIPE_KEY\"","backtrace":["config.ru:4:in"#;
    let of_unicorn_preloading = format!(
        "I, [2026-11-23T16:16:02.341053 #21515]  INFO -- : Refreshing Gem list
/srv/shop/config/initializers/stripe.rb:1:in `fetch': key not found: \"STRIPE_KEY\" (KeyError){BACKTRACE_OF_PUMA}"
    );
    let of_passenger = "[ N 2026-11-23 16:21:01.1616 11979/T1 age/Cor/CoreMain.cpp:1012 ]: Passenger core online, PID 11979
App 12035 output: Error: The application encountered the following error: key not found: \"STRIPE_KEY\" (KeyError)
App 12035 output:     /srv/shop/config/initializers/stripe.rb:1:in `fetch'
App 12035 output:     /usr/share/passenger/helper-scripts/rack-preloader.rb:101:in `eval'
[ E 2026-11-23 16:21:02.4550 11979/Tg age/Cor/App/Implementation.cpp:221 ]: Could not spawn process for application
";
    let of_ruby_3_4 =
        "/srv/shop/config.ru:1:in 'Hash#fetch': key not found: \"STRIPE_KEY\" (KeyError)\n";
    let said = "KeyError: key not found: \"STRIPE_KEY\"";
    for log in [
        &of_puma,
        &preloaded,
        of_unicorn,
        of_falcon,
        &of_unicorn_preloading,
        of_passenger,
        of_ruby_3_4,
    ] {
        assert_found(log, said, "--env STRIPE_KEY=VALUE");
    }
    // A worker of Puma's does not say which exception it was.
    assert_found(
        OF_A_WORKER,
        "key not found: \"STRIPE_KEY\"",
        "STRIPE_KEY = \"VALUE\" under [app.env]",
    );
}

#[test]
fn workers_that_fail_together_write_between_each_others_lines() {
    let mixed = "[9631] ! Unable to start worker
[9627] ! Unable to start worker
[9631] key not found: \"STRIPE_KEY\"
[9627] key not found: \"STRIPE_KEY\"
[9631] config.ru:1:in `fetch'";
    assert_found(
        mixed,
        "key not found: \"STRIPE_KEY\"",
        "STRIPE_KEY = \"VALUE\" under [app.env]",
    );
    // The second worker's head, before the first one's message.
    assert_eq!(
        of(&mixed.lines().take(2).collect::<Vec<_>>(), "production"),
        None
    );
}

#[test]
fn a_worker_that_cannot_be_started_is_reported_once_the_log_says_why() {
    let lines: Vec<&str> = OF_A_WORKER.lines().collect();
    assert!(never_boots(&lines));
    assert!(!never_boots(&lines[..4]));
    assert!(!never_boots(
        &puma("* Listening").lines().collect::<Vec<_>>()
    ));
}

#[test]
fn what_is_shown_leaves_out_the_code_of_libraries() {
    let log = puma(
        "! Unable to load application: KeyError: key not found: \"STRIPE_KEY\"
/srv/shop/config/initializers/stripe.rb:1:in `fetch': key not found: \"STRIPE_KEY\" (KeyError)",
    );
    let lines: Vec<&str> = log.lines().collect();
    let shown = shown_from(&lines, of(&lines, "production").unwrap().line);
    assert_eq!(shown.len(), 4, "{shown:#?}");
    assert!(shown[0].starts_with("! Unable"), "{shown:#?}");
    assert!(
        shown[3].contains("/srv/shop/config/environment.rb:5"),
        "{shown:#?}"
    );
}

#[test]
fn keys_and_secrets_that_are_missing() {
    let missing = "Missing encryption key to decrypt file with. Ask your team for your master key and write it to \
                   /srv/shop/config/master.key or put it in the ENV['RAILS_MASTER_KEY'].";
    // Rails prints it and ends the process, which is all that Puma says of it.
    let exits = format!("{missing}\n! Unable to load application: SystemExit: exit");
    assert_found(&puma(&exits), missing, "config/master.key");
    assert_found(
        &format!("I, [2026-11-23T16:16:44.2 #26675]  INFO -- : Refreshing Gem list\n{missing}\n"),
        missing,
        "export RAILS_MASTER_KEY",
    );
    // Its message is empty.
    let another = "! Unable to load application: ActiveSupport::MessageEncryptor::InvalidMessage: \n\
                   /usr/share/rubygems-integration/all/gems/activesupport-7.2.2.2/lib/active_support/messages/codec.rb:57:in \
                   `catch_and_raise': ActiveSupport::MessageEncryptor::InvalidMessage";
    let said = "ActiveSupport::MessageEncryptor::InvalidMessage";
    assert_found(&puma(another), said, "config/master.key");
    let base = "Missing `secret_key_base` for 'production' environment, set this string with `bin/rails credentials:edit`";
    assert_found(
        &puma(&format!(
            "! Unable to load application: ArgumentError: {base}"
        )),
        &format!("ArgumentError: {base}"),
        "SECRET_KEY_BASE_DUMMY=1",
    );
}

#[test]
fn gems_and_files_that_are_missing() {
    let version = "/usr/share/rubygems-integration/all/gems/bundler-2.6.7/lib/bundler/definition.rb:697:in `materialize': \
                   Could not find zeitwerk-9.9.9 in locally installed gems (Bundler::GemNotFound)\n\
                   \tfrom /usr/bin/bundle:25:in `<main>'\n";
    assert_found(
        version,
        "Bundler::GemNotFound: Could not find zeitwerk-9.9.9 in locally installed gems",
        "bundle install",
    );
    let friendly = "Could not find gem 'no_such_gem' in any of the gem sources listed in your Gemfile.\nRun `bundle install` to install missing gems.\n";
    assert_found(
        friendly,
        "Could not find gem 'no_such_gem' in any of the gem sources listed in your Gemfile.",
        "bundle install",
    );
    let required = "! Unable to load application: LoadError: cannot load such file -- redis_nope\n\
                    /usr/lib/ruby/3.3.0/bundled_gems.rb:69:in `require': cannot load such file -- redis_nope (LoadError)";
    assert_found(
        &puma(required),
        "LoadError: cannot load such file -- redis_nope",
        "redis_nope is not installed",
    );
    let adapter = "! Unable to load application: LoadError: Error loading the 'postgresql' Active Record adapter. Missing a gem it depends on? pg is not part of the bundle. Add it to your Gemfile.";
    let said = adapter.split_once("application: ").unwrap().1;
    assert_found(&puma(adapter), said, "bundle install");
}

#[test]
fn databases_that_are_not_there() {
    for (logged, said, remedy) in [
        (
            "ActiveRecord::DatabaseConnectionError: There is an issue connecting with your hostname: 127.0.0.1.",
            None,
            "start the database",
        ),
        (
            "ActiveRecord::PendingMigrationError: \n\nMigrations are pending. To resolve this issue, run:\n\n        bin/rails db:migrate RAILS_ENV=production",
            Some(
                "ActiveRecord::PendingMigrationError: Migrations are pending. To resolve this issue, run:",
            ),
            "RAILS_ENV=production bin/rails db:prepare",
        ),
        (
            "ActiveRecord::StatementInvalid: SQLite3::SQLException: no such table: products",
            None,
            "the database lacks tables",
        ),
        (
            "ActiveRecord::NoDatabaseError: We could not find your database: shop.",
            None,
            "create the database",
        ),
        (
            "ActiveRecord::AdapterNotSpecified: The `production` database is not configured for the `production` environment.",
            None,
            "config/database.yml",
        ),
    ] {
        let log = puma(&format!("! Unable to load application: {logged}"));
        assert_found(&log, said.unwrap_or(logged), remedy);
    }
}

#[test]
fn an_application_that_ends_its_own_process() {
    let aborts = "Please set FOO\n! Unable to load application: SystemExit: Please set FOO";
    assert_found(&puma(aborts), "Please set FOO", "");
    let exits = puma("! Unable to load application: SystemExit: exit");
    let said = "the application ends its process while it boots";
    assert_found(&exits, said, "");
}

#[test]
fn what_a_failed_boot_is_not() {
    let port = "/usr/lib/x86_64-linux-gnu/rubygems-integration/3.3.0/gems/puma-6.6.0/lib/puma/binder.rb:342:in `initialize': Address already in use - bind(2) for \"127.0.0.1\" port 9871 (Errno::EADDRINUSE)";
    assert_found(
        port,
        "Errno::EADDRINUSE: Address already in use - bind(2) for \"127.0.0.1\" port 9871",
        "end what listens there",
    );
    // The exception that ended it, and not one that was logged before.
    let rescued = puma(
        "Redis::CannotConnectError: Connection refused\n! Unable to load application: RuntimeError: boom",
    );
    assert_found(&rescued, "RuntimeError: boom", "");
    for quiet in [
        "",
        "* Listening on http://127.0.0.1:9871\n",
        "Please set FOO\n",
        "usage: server [options]\n",
    ] {
        assert_eq!(found(quiet), None);
    }
}

const REQUESTS: &str = "I, [2026-11-23T16:19:37.13 #8839]  INFO -- : [6b03ba40-dacc] Started GET \"/\" for 127.0.0.1 at 2026-11-23 16:19:37 +0000
I, [2026-11-23T16:19:37.15 #8839]  INFO -- : [eef5d59e-a83a] Started GET \"/weather\" for 127.0.0.1 at 2026-11-23 16:19:37 +0000
I, [2026-11-23T16:19:37.17 #8839]  INFO -- : [b3a2ee1f-22df] Started GET \"/missing\" for 127.0.0.1 at 2026-11-23 16:19:37 +0000
E, [2026-11-23T16:19:37.17 #8839] ERROR -- : [b3a2ee1f-22df]   
[b3a2ee1f-22df] ActionController::RoutingError (No route matches [GET] \"/missing\"):
I, [2026-11-23T16:19:37.18 #8839]  INFO -- : [82fe8e9a-3601] Started GET \"/table?page=2\" for 127.0.0.1 at 2026-11-23 16:19:37 +0000
I, [2026-11-23T16:19:37.15 #8839]  INFO -- : [eef5d59e-a83a] Completed 500 Internal Server Error in 1ms
E, [2026-11-23T16:19:37.15 #8839] ERROR -- : [eef5d59e-a83a]   
[eef5d59e-a83a] Errno::ECONNREFUSED (Failed to open TCP connection to 127.0.0.1:1 (Connection refused - connect(2) for \"127.0.0.1\" port 1)):
E, [2026-11-23T16:19:37.20 #8839] ERROR -- : [82fe8e9a-3601]   
[82fe8e9a-3601] ActiveRecord::StatementInvalid (PG::UndefinedTable: ERROR:  relation \"products\" does not exist
LINE 1: SELECT COUNT(*) FROM \"products\"
                             ^):
";

#[test]
fn a_page_has_its_own_exception_among_those_of_others() {
    let lines: Vec<&str> = REQUESTS.lines().collect();
    let said = |request: &str| {
        of_page(&lines, request, "staging").map(|cause| (cause.said, cause.remedy.unwrap()))
    };
    for (request, expected, remedy) in [
        (
            "GET /weather",
            "Errno::ECONNREFUSED (Failed to open TCP connection to 127.0.0.1:1 (Connection refused - connect(2) for \"127.0.0.1\" port 1))",
            "[[service]]",
        ),
        (
            "GET /missing",
            "ActionController::RoutingError (No route matches [GET] \"/missing\")",
            "bin/rails routes",
        ),
        (
            "GET /table?page=2",
            "ActiveRecord::StatementInvalid (PG::UndefinedTable: ERROR:  relation \"products\" does not exist)",
            "RAILS_ENV=staging bin/rails db:prepare",
        ),
    ] {
        let (said, with) = said(request).expect(request);
        assert_eq!(said, expected);
        assert!(with.contains(remedy), "{with}");
    }
    assert_eq!(said("GET /"), None);
    assert_eq!(said("POST /missing"), None);
}

#[test]
fn an_exception_of_a_rack_application() {
    let log = "* Listening on http://127.0.0.1:9871
2026-11-23 16:19:43 +0000 Rack app (\"GET /a?b=c\" - (127.0.0.1)): #<KeyError: boom here>
";
    let lines: Vec<&str> = log.lines().collect();
    let cause = of_page(&lines, "GET /a?b=c", "production").unwrap();
    assert_eq!(cause.said, "KeyError: boom here");
    assert_eq!(found(log).unwrap().0, "KeyError: boom here");
}

#[test]
fn a_failed_connection_has_its_cause_and_the_remedy_for_it() {
    let log = "[32f50d71] Started GET \"/products\" for 127.0.0.1 at 2026-11-24 17:10:50 +0000
[32f50d71]   
[32f50d71] ActiveRecord::DatabaseConnectionError (There is an issue connecting with your hostname: 127.0.0.1.):
[32f50d71] 
Causes:
[32f50d71] PG::ConnectionBad (connection to server at \"127.0.0.1\", port 5544 failed: fe_sendauth: no password supplied
[32f50d71] )
[32f50d71]   
[32f50d71] app/controllers/products_controller.rb:3:in `index'
";
    let lines: Vec<&str> = log.lines().collect();
    let page = of_page(&lines, "GET /products", "production").unwrap();
    assert!(
        page.said
            .ends_with("caused by PG::ConnectionBad (connection to server at \"127.0.0.1\", port 5544 failed: fe_sendauth: no password supplied)"),
        "{}",
        page.said
    );
    let remedy = page.remedy.clone().unwrap();
    assert!(remedy.contains("takes another password"), "{remedy}");
    assert_eq!(of(&lines, "production").unwrap().said, page.said);
    let in_view = log.replace("ActiveRecord::DatabaseConnectionError (There", "ActionView::Template::Error (There").replace(
        "Causes:\n",
        "Causes:\n[32f50d71] ActiveRecord::DatabaseConnectionError (There is an issue connecting with your hostname: 127.0.0.1.)\n",
    );
    let in_view: Vec<&str> = in_view.lines().collect();
    let found = of(&in_view, "production").unwrap();
    assert!(
        found.said.contains("no password supplied"),
        "{}",
        found.said
    );
    assert!(found.remedy.unwrap().contains("takes another password"));
    let without: Vec<&str> = lines[..4].to_vec();
    let said = of(&without, "production").unwrap();
    assert!(said.said.ends_with("127.0.0.1.)"), "{}", said.said);
    assert!(said.remedy.unwrap().starts_with("start the database"));
}

/// As Rails 7.2 logs it, with request ids; another request of a template that fails comes in between.
const TEMPLATES: &str =
    "[32f50d71] Started GET \"/products\" for 127.0.0.1 at 2026-11-24 17:10:50 +0000
[32f50d71]   Rendered products/index.html.erb (Duration: 1.2ms | GC: 0.0ms)
[32f50d71]   
[32f50d71] ActionView::Template::Error (undefined method `amount' for nil):
[32f50d71] 
Causes:
[32f50d71] NoMethodError (undefined method `amount' for nil)
[7a11cafe] app/views/carts/show.html.erb:9
[32f50d71]     2: <% 3.times do |i| %>
[32f50d71]     3:   <%= price(nil) %>
[32f50d71]   
[32f50d71] app/helpers/prices_helper.rb:15:in `price'
[32f50d71] app/views/products/index.html.erb:3:in `block in _app_views_products_index_html_erb'
[32f50d71] app/views/products/index.html.erb:2
";

#[test]
fn an_exception_in_a_template_is_said_with_its_file_and_line() {
    let said = "ActionView::Template::Error (undefined method `amount' for nil) in app/views/products/index.html.erb:3";
    let lines: Vec<&str> = TEMPLATES.lines().collect();
    let page = of_page(&lines, "GET /products", "production").unwrap();
    assert_eq!(page.said, said);
    let without_ids = TEMPLATES.replace("[32f50d71] ", "");
    let lines: Vec<&str> = without_ids
        .lines()
        .filter(|line| !line.starts_with('['))
        .collect();
    let page = of_page(&lines, "GET /products", "production").unwrap();
    assert_eq!(page.said, said);
    assert_eq!(of(&lines, "production").unwrap().said, said);
    // Nothing is invented where the backtrace has no template.
    let missing = "ActionView::MissingTemplate (Missing template products/index):\n\napp/controllers/a.rb:3\n";
    let lines: Vec<&str> = missing.lines().collect();
    let said = of(&lines, "production").unwrap().said;
    assert_eq!(
        said,
        "ActionView::MissingTemplate (Missing template products/index)"
    );
}
