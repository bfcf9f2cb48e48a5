//! Sessions against a scripted shop that checks who asks for what.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::{Gate, Server, assert_balanced};
use load::{Arrivals, Mode, Outcome, Plan, Silent, Stop, Workload};

const SHOP: &str = r#"
[[session]]
name = "buy"
users = 4
data = "users.csv"

[[session.request]]
path = "/login"
capture = { token = { form = "authenticity_token" } }

[[session.request]]
method = "POST"
path = "/login?from={{email}}"
headers = { X-CSRF-Token = "{{token}}" }
form = { email = "{{email}}", authenticity_token = "{{token}}" }
status = 302
capture = { next = { header = "Location" } }

[[session.request]]
name = "account"
path = "{{next}}"
headers = { Cookie = "theme=dark" }
"#;

const EMAILS: [&str; 3] = ["a+b@x.test", "c&d@x.test", "e f@x.test"];

fn workload(text: &str) -> Workload {
    let folder = tempfile::tempdir().unwrap();
    let rows: String = EMAILS.map(|email| format!("{email}\n")).concat();
    std::fs::write(folder.path().join("users.csv"), format!("email\n{rows}")).unwrap();
    Workload::from_toml_in(text, folder.path()).unwrap()
}

fn open(per_s: f64) -> Mode {
    Mode::Open {
        arrivals: Arrivals::constant(per_s),
        max_connections: 64,
    }
}

fn line<'a>(head: &'a str, name: &str) -> &'a str {
    head.lines()
        .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
        .unwrap_or_default()
}

fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Logs in who sends the cookie and the token of one and the same login page;
/// anything else is answered 422. Counts logins by email.
fn shop(logins: Arc<Mutex<BTreeMap<String, usize>>>) -> Server {
    let pages = AtomicUsize::new(0);
    let tokens: Mutex<HashMap<String, String>> = Mutex::default();
    Server::new(move |peer, _| {
        while let Some((head, body)) = peer.request() {
            let first = head.lines().next().unwrap();
            let cookie = line(&head, "Cookie");
            let wrong = || answer("422 No", "", &head);
            let reply = if first == "GET /login HTTP/1.1" {
                let page = pages.fetch_add(1, Ordering::SeqCst);
                if !cookie.is_empty() {
                    wrong()
                } else {
                    let token = format!("t/{page}+&'\"");
                    tokens
                        .lock()
                        .unwrap()
                        .insert(format!("pre={page}"), token.clone());
                    let shown = token.replace('&', "&amp;").replace('"', "&quot;");
                    let page = format!("Set-Cookie: pre={page}; Path=/login\r\n");
                    let form = format!("<input name=\"authenticity_token\" value=\"{shown}\">");
                    answer("200 OK", &page, &form)
                }
            } else if first.starts_with("POST /login?from=") {
                let form: BTreeMap<String, String> =
                    form_urlencoded::parse(&body).into_owned().collect();
                let token = tokens.lock().unwrap().remove(cookie);
                let email = form["email"].clone();
                let query = first.split(['?', ' ']).nth(2).unwrap();
                let (_, from) = form_urlencoded::parse(query.as_bytes()).next().unwrap();
                if token.is_none()
                    || token.as_ref() != form.get("authenticity_token")
                    || token.as_deref() != Some(line(&head, "X-CSRF-Token"))
                    || from != email.as_str()
                {
                    wrong()
                } else {
                    *logins.lock().unwrap().entry(email.clone()).or_default() += 1;
                    let sid = cookie.strip_prefix("pre=").unwrap();
                    let headers = format!(
                        "Set-Cookie: sid={sid}; HttpOnly; Path=/\r\nLocation: http://shop.test/account/{sid}\r\n"
                    );
                    answer("302 Found", &headers, "")
                }
            } else {
                let sid = first
                    .strip_prefix("GET /account/")
                    .and_then(|rest| rest.strip_suffix(" HTTP/1.1"));
                match sid {
                    Some(sid) if cookie == format!("theme=dark; sid={sid}") => {
                        answer("200 OK", "", "yours")
                    }
                    _ => wrong(),
                }
            };
            if !peer.write(&reply) {
                break;
            }
        }
    })
}

fn scheduled(outcome: &Outcome) -> Vec<(&str, u64)> {
    outcome
        .endpoints
        .iter()
        .map(|endpoint| (endpoint.name.as_str(), endpoint.scheduled))
        .collect()
}

#[test]
fn each_user_sends_its_own_cookie_and_token() {
    for mode in [open(400.0), Mode::closed(3)] {
        let logins = Arc::default();
        let server = shop(Arc::clone(&logins));
        let plan = Plan::new(server.address, workload(SHOP), mode, Stop::requests(240));
        let outcome = load::run(&plan, &mut Silent).unwrap();
        assert_balanced(&outcome);
        assert_eq!(outcome.errors.total(), 0, "{:?}", outcome.first_error);
        let by_name = scheduled(&outcome);
        let [
            ("GET /login", pages),
            ("POST /login", posts),
            ("account", accounts),
        ] = by_name[..]
        else {
            panic!("{by_name:?}")
        };
        assert_eq!(pages, outcome.counts.sessions);
        assert_eq!(pages + posts + accounts, 240);
        assert!(
            pages >= posts && posts >= accounts && accounts >= 70,
            "{by_name:?}"
        );
        let logins = logins.lock().unwrap();
        assert_eq!(logins.values().sum::<usize>() as u64, posts);
        // In the closed loop the machine decides which connection is quick.
        if outcome.asked_rate.is_some() {
            assert_eq!(logins.len(), EMAILS.len(), "{logins:?}");
            let (most, fewest) = (logins.values().max(), logins.values().min());
            assert!(most.unwrap() - fewest.unwrap() <= 4, "{logins:?}");
        }
        assert_eq!(outcome.counts.abandoned, 0);
    }
}

/// The requests of a run in the order of their instants, as the server saw them.
fn requests_seen(text: &str, seed: u64, count: u64, status: &'static str) -> Vec<String> {
    let seen: Arc<Mutex<Vec<(String, String)>>> = Arc::default();
    let server = {
        let seen = Arc::clone(&seen);
        Server::new(move |peer, _| {
            while let Some((head, body)) = peer.request() {
                let due = line(&head, "X-Request-Start").to_owned();
                let first = head.lines().next().unwrap();
                let body = String::from_utf8(body).unwrap();
                seen.lock().unwrap().push((due, format!("{first} {body}")));
                let status = if first.contains("flaky") {
                    status
                } else {
                    "200 OK"
                };
                if !peer.write(&answer(status, "", "{\"id\":7}")) {
                    break;
                }
            }
        })
    };
    let mut plan = Plan::new(
        server.address,
        workload(text),
        open(500.0),
        Stop::requests(count),
    );
    plan.seed = seed;
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    drop(server);
    let mut seen = Arc::try_unwrap(seen).unwrap().into_inner().unwrap();
    seen.sort();
    seen.into_iter().map(|(_, request)| request).collect()
}

const MIXED: &str = r#"
[[request]]
path = "/search?q={{email}}"
data = { file = "users.csv" }
weight = 2

[[session]]
weight = 3
users = 5
data = { file = "users.csv" }
[[session.request]]
path = "/a/{{email}}"
capture = { id = { json = "/id" } }
[[session.request]]
method = "POST"
path = "/b"
body = '{"id":{{id}},"braces":{{}}}'
[[session.request]]
path = "/c"
"#;

#[test]
fn the_same_seed_sends_the_same_requests_at_the_same_instants() {
    let first = requests_seen(MIXED, 7, 300, "200 OK");
    assert_eq!(first, requests_seen(MIXED, 7, 300, "200 OK"));
    assert_ne!(first, requests_seen(MIXED, 8, 300, "200 OK"));
    let count = |what: &str| {
        first
            .iter()
            .filter(|request| request.contains(what))
            .count()
    };
    assert_eq!(count("/search?q="), 120);
    assert_eq!(count("{\"id\":7,\"braces\":{{}}}"), count(" /b "));
    // Each row as often as any other.
    assert_eq!(count("/search?q=a%2Bb%40x.test"), 40);
    assert!(count("/a/") >= count(" /b ") && count(" /b ") >= count(" /c "));
}

#[test]
fn a_failed_request_ends_its_session_and_the_rest_falls_into_step_again() {
    let text = MIXED.replace("\"/b\"", "\"/flaky\"");
    let steady = requests_seen(&text, 7, 300, "200 OK");
    let failing = requests_seen(&text, 7, 300, "503 Busy");
    assert!(!failing.iter().any(|request| request.contains(" /c ")));
    // What comes after a failure is a first step, and the draws are the same.
    for (steady, failing) in steady.iter().zip(&failing) {
        let same = steady == failing;
        assert!(
            same || (steady.contains(" /c ") && failing.contains("/a/")),
            "{steady} {failing}"
        );
    }
}

#[test]
fn a_value_that_is_not_there_names_session_request_and_capture() {
    let server = Server::answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nno");
    let plan = Plan::new(
        server.address,
        workload(SHOP),
        open(500.0),
        Stop::requests(20),
    );
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.errors.capture_failed, 20);
    assert_eq!(
        (outcome.counts.sessions, outcome.counts.abandoned),
        (20, 20)
    );
    let first = outcome.first_error.unwrap();
    for part in ["GET /login", "\"buy\"", "\"token\"", "authenticity_token"] {
        assert!(first.contains(part), "{first}");
    }
}

/// A server's log has the path as it was sent; a value in its query may be a token.
#[test]
fn the_first_failure_names_the_path_with_its_values() {
    let server = Server::new(|peer, _| {
        while let Some((head, _)) = peer.request() {
            let reply = match head.split(' ').nth(1).unwrap() {
                "/login" => answer("302 Found", "Location: /home?key=secret\r\n", ""),
                path if path.starts_with("/home?key=secret") => answer("500 No", "", ""),
                "/of/a%2Bb%40x.test" => return,
                _ => answer("200 OK", "", ""),
            };
            if !peer.write(&reply) {
                break;
            }
        }
    });
    let text = r#"
        [[session]]
        [[session.request]]
        path = "/login"
        status = 302
        capture = { home = { header = "Location" } }
        [[session.request]]
        path = "{{home}}"
        [[request]]
        path = "/of/{{email}}"
        data = "users.csv"
    "#;
    let plan = Plan::new(
        server.address,
        workload(text),
        Mode::closed(2),
        Stop::requests(60),
    );
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    let first = outcome.endpoints.iter().filter_map(|page| {
        let first = page.first_failure.as_ref()?;
        Some((page.name.as_str(), first.request.as_str()))
    });
    let mut first: Vec<_> = first.collect();
    first.sort_unstable();
    assert_eq!(
        first,
        [
            ("GET /of/{{email}}", "GET /of/a%2Bb%40x.test"),
            ("GET {{home}}", "GET /home?…"),
        ]
    );
    let first_error = outcome.first_error.as_ref().unwrap();
    assert!(!first_error.contains("{{"), "{first_error}");
    let broken = outcome.broken_pages(None);
    let said = broken[0].to_string();
    assert!(said.starts_with("GET /home?… (GET {{home}}): "), "{said}");
}

#[test]
fn another_status_than_the_expected_is_an_error() {
    let server = Server::answering(crate::support::OK);
    let run = |status: &str| {
        let text = format!("[[request]]\nstatus = {status}");
        let plan = Plan::new(
            server.address,
            workload(&text),
            Mode::closed(1),
            Stop::requests(5),
        );
        let outcome = load::run(&plan, &mut Silent).unwrap();
        assert_balanced(&outcome);
        outcome
    };
    assert_eq!(run("[302, 200]").counts.ok, 5);
    let outcome = run("302");
    assert_eq!(outcome.errors.unexpected_status, 5);
    assert!(outcome.first_error.unwrap().contains("answered 200"));
}

const TWO_STEPS: &str = "[[session]]\nusers = 1\n[[session.request]]\npath = \"/a\"\n[[session.request]]\npath = \"/b\"\n";

/// One user whose answers come when the gate opens: its requests wait for each
/// other, in order, and the wait is part of their response time.
#[test]
fn a_users_requests_never_overtake_each_other() {
    let gate = Arc::new(Gate::default());
    gate.set_closed(true);
    let under_way = Arc::new(AtomicUsize::new(0));
    let asked = Arc::new(Mutex::new(Vec::new()));
    let server = {
        let (gate, under_way, asked) = (gate.clone(), under_way.clone(), asked.clone());
        Server::new(move |peer, _| {
            while let Some((head, _)) = peer.request() {
                assert_eq!(under_way.fetch_add(1, Ordering::SeqCst), 0);
                asked
                    .lock()
                    .unwrap()
                    .push(head.lines().next().unwrap().to_owned());
                gate.pass();
                under_way.fetch_sub(1, Ordering::SeqCst);
                if !peer.write(crate::support::OK) {
                    break;
                }
            }
        })
    };
    struct OpenAt(Arc<Gate>, u64);
    impl load::Observer for OpenAt {
        fn tick(&mut self, progress: &load::Progress<'_>) -> std::ops::ControlFlow<()> {
            if progress.elapsed >= Duration::from_millis(self.1) {
                self.0.set_closed(false);
            }
            std::ops::ControlFlow::Continue(())
        }
    }
    let mut plan = Plan::new(
        server.address,
        workload(TWO_STEPS),
        open(100.0),
        Stop::requests(10),
    );
    plan.slice = Duration::from_millis(10);
    let outcome = load::run(&plan, &mut OpenAt(gate, 200)).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.ok, 10, "{:?}", outcome.first_error);
    assert_eq!(outcome.counts.session_waited, 9);
    assert_eq!(outcome.session_wait.len(), 9);
    // The last was due 90 ms after the start, and the gate opened at 200 ms.
    assert!(
        outcome.session_wait.min() >= 100_000,
        "{}",
        outcome.session_wait.min()
    );
    assert!(outcome.response.min() >= 100_000);
    let asked = asked.lock().unwrap();
    let last_of = |path: &str| asked.iter().filter(|line| line.contains(path)).count();
    assert!(last_of("/a") >= 5 && last_of("/b") >= 4, "{asked:?}");
}

/// No answer comes: requests that wait for a user's answer are accounted for as
/// well.
#[test]
fn requests_that_wait_for_their_user_time_out_and_drain() {
    for (timeout, drain) in [(50, 10_000), (10_000, 50)] {
        let server = Server::new(|peer, _| peer.swallow());
        let mut plan = Plan::new(
            server.address,
            workload(TWO_STEPS),
            open(200.0),
            Stop::requests(30),
        );
        plan.timeout = Duration::from_millis(timeout);
        plan.drain = Duration::from_millis(drain);
        let outcome = load::run(&plan, &mut Silent).unwrap();
        assert_balanced(&outcome);
        assert_eq!((outcome.counts.scheduled, outcome.errors.timeout), (30, 30));
        assert_eq!(outcome.counts.abandoned, 30);
    }
}

/// Fewer connections than users: both kinds of waiting at once.
#[test]
fn users_share_few_connections() {
    let server = shop(Arc::default());
    let mode = Mode::Open {
        arrivals: Arrivals::constant(2000.0),
        max_connections: 2,
    };
    let text = SHOP.replace("users = 4", "users = 40");
    let plan = Plan::new(server.address, workload(&text), mode, Stop::requests(600));
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(outcome.counts.ok, 600, "{:?}", outcome.first_error);
    assert!(server.accepted.load(Ordering::SeqCst) <= 2);
}

/// A cancelled run cuts what was due, whether under way, with its user or unsent.
#[test]
fn a_cancelled_run_still_balances() {
    struct CancelAfter(Duration, bool);
    impl load::Observer for CancelAfter {
        fn tick(&mut self, progress: &load::Progress<'_>) -> std::ops::ControlFlow<()> {
            // By then the first is under way, however late the generator set out.
            self.1 = progress.elapsed >= self.0 && progress.counts.sent > 0;
            std::ops::ControlFlow::Continue(())
        }
        fn cancelled(&mut self) -> bool {
            self.1
        }
    }
    let server = Server::new(|peer, _| peer.swallow());
    let mut plan = Plan::new(
        server.address,
        workload(TWO_STEPS),
        open(200.0),
        Stop::when_told(),
    );
    plan.slice = Duration::from_millis(10);
    let outcome = load::run(&plan, &mut CancelAfter(Duration::from_millis(60), false)).unwrap();
    assert_balanced(&outcome);
    assert!(outcome.cancelled);
    let due = outcome.window().as_nanos().div_ceil(5_000_000) as u64;
    let counts = outcome.counts;
    assert!(counts.scheduled.abs_diff(due) <= 1, "{counts:?}, {due}");
    assert!(
        counts.cut > 1 && counts.cut == counts.scheduled,
        "{counts:?}"
    );
    assert_eq!((counts.sent, counts.sessions, counts.abandoned), (1, 1, 0));
    assert_eq!(
        outcome.slices.iter().map(|s| s.due).sum::<u64>(),
        counts.scheduled
    );
}
