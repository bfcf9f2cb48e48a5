//! A server behind a proxy that terminates TLS, asked without the proxy: what it redirects, what it takes with the
//! proxy's header, and headers of a whole run.

use std::sync::{Arc, Mutex};

use crate::support::Server;
use load::{Header, Https, Mode, Observer, Outcome, Plan, Silent, Stop, Workload, https};

/// Redirects to https what was not asked by https; of what was, `/old` leads elsewhere, and `/me` wants the cookie that
/// `/in` set. Keeps the heads.
fn shop(heads: Arc<Mutex<Vec<String>>>, takes_header: bool) -> Server {
    Server::new(move |peer, _| {
        while let Some((head, _)) = peer.request() {
            let path = head.split(' ').nth(1).unwrap().to_owned();
            let secure = takes_header && head.contains("X-Forwarded-Proto: https\r\n");
            let answer = match path.as_str() {
                "/up" => "200 OK\r\n".to_owned(),
                "/gone" if secure => return,
                _ if !secure => {
                    format!("301 Moved\r\nLocation: https://127.0.0.1{path}\r\n")
                }
                "/old" => "302 Found\r\nLocation: /new?token=s3cret\r\n".to_owned(),
                "/in" => "200 OK\r\nSet-Cookie: sid=7; Secure\r\n".to_owned(),
                "/me" if !head.contains("Cookie: theme=dark; sid=7\r\n") => "401 No\r\n".to_owned(),
                _ => "200 OK\r\n".to_owned(),
            };
            heads.lock().unwrap().push(head);
            if !peer.write(format!("HTTP/1.1 {answer}Content-Length: 0\r\n\r\n").as_bytes()) {
                break;
            }
        }
    })
}

fn plan(server: &Server, workload: &str) -> Plan {
    let workload = Workload::from_toml(workload).unwrap();
    Plan::new(
        server.address,
        workload,
        Mode::closed(1),
        Stop::requests(20),
    )
}

fn asked(plan: &Plan) -> Option<Https> {
    https(plan, |plan| load::run(plan, &mut Silent)).unwrap()
}

fn run(plan: &Plan) -> Outcome {
    load::run(plan, &mut Silent).unwrap()
}

const PAGES: &str =
    "[[request]]\npath = '/up'\n[[request]]\npath = '/old'\n[[request]]\npath = '/cart'\n";

#[test]
fn a_server_that_redirects_to_https_takes_the_proxys_header_or_is_known_not_to() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let server = shop(heads.clone(), true);
    let mut plan = plan(&server, PAGES);
    assert_eq!(asked(&plan), Some(Https::Forwarded));
    assert_eq!(heads.lock().unwrap().len(), 6, "each page twice");
    plan.headers.push(Header::forwarded_https());
    assert_eq!(asked(&plan), Some(Https::NotAsked), "it was said already");
    assert_eq!(heads.lock().unwrap().len(), 6);

    let stubborn = shop(heads, false);
    plan.headers.clear();
    plan.target = stubborn.address.into();
    let location = "https://127.0.0.1/old".to_owned();
    assert_eq!(asked(&plan), Some(Https::Asked { location }));
    let open = Server::answering(crate::support::OK);
    plan.target = open.address.into();
    assert_eq!(asked(&plan), Some(Https::NotAsked));
    plan.workload = Workload::from_toml("[[request]]\nmethod = 'DELETE'").unwrap();
    assert_eq!(asked(&plan), None);
}

/// Ends a run at the first redirect to https.
struct UntilHttps;

impl Observer for UntilHttps {
    fn cancelled_at_https(&mut self) -> bool {
        true
    }
}

#[test]
fn a_page_without_an_answer_to_the_header_is_not_redirected() {
    let server = shop(Arc::default(), true);
    let plan = plan(&server, "[[request]]\npath = '/gone'\n");
    assert_eq!(asked(&plan), Some(Https::Forwarded));
}

#[test]
fn a_run_can_end_at_the_first_redirect_to_https_whatever_the_request_expects() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let server = shop(heads.clone(), true);
    let asked = |expects: &str| {
        heads.lock().unwrap().clear();
        let text = format!("[[session]]\n[[session.request]]\npath = '/cart'\n{expects}");
        let plan = plan(&server, &text);
        let outcome = load::run(&plan, &mut UntilHttps).unwrap();
        let location = load::asked_for_https(&plan, &outcome);
        (heads.lock().unwrap().len(), location)
    };
    let location = Some("https://127.0.0.1/cart".to_owned());
    for expects in [
        "",
        "status = 200\n",
        "capture = { token = { form = 'authenticity_token' } }\n",
    ] {
        assert_eq!(asked(expects), (1, location.clone()), "{expects}");
    }
    assert_eq!(asked("status = 301\n"), (20, None));
}

#[test]
fn redirects_are_told_by_page_with_the_first_location() {
    let server = shop(Arc::default(), true);
    let mut plan = plan(&server, &PAGES.replace("'/cart'", "'/cart'\nstatus = 301"));
    plan.headers
        .push(Header::parse("Authorization: x").unwrap());
    let found = run(&plan);
    let cart = &found.endpoints[2];
    assert!(cart.ok > 0 && cart.redirects[0].expected);
    assert_eq!(
        found.redirects(),
        found.endpoints[1].ok,
        "those of /old alone"
    );

    plan.headers.push(Header::forwarded_https());
    let found = run(&plan);
    let old = &found.endpoints[1].redirects[0];
    assert_eq!((old.status, old.answers), (302, found.endpoints[1].ok));
    assert_eq!(old.location.as_deref(), Some("/new?token=s3cret"));
    assert_eq!(found.errors.unexpected_status, found.endpoints[2].scheduled);

    plan.workload = Workload::from_toml("[[request]]\npath = '/old'\nstatus = 200\n").unwrap();
    let why = run(&plan).first_error.unwrap();
    assert!(why.contains("answered 302 (Location: /new?…)"), "{why}");
}

#[test]
fn headers_of_a_run_go_with_every_request_and_give_way_to_its_own() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let server = shop(heads.clone(), true);
    let mut plan = plan(
        &server,
        "[[session]]\n[[session.request]]\npath = '/in'\n[[session.request]]\npath = '/me'\nheaders = { accept = 'x/y' }\n",
    );
    for header in [
        "Accept: a/b",
        "X-Forwarded-Proto: https",
        "Cookie: theme=dark",
    ] {
        plan.headers.push(Header::parse(header).unwrap());
    }
    let found = run(&plan);
    assert_eq!(found.errors.total(), 0, "{:?}", found.first_error);
    let heads = heads.lock().unwrap();
    for head in heads.iter() {
        let own = head.contains(" /me ");
        assert_eq!(head.contains("accept: x/y\r\n"), own, "{head}");
        assert_eq!(head.contains("Accept: a/b\r\n"), !own, "{head}");
        let lines = |name: &str| head.to_lowercase().matches(name).count();
        assert_eq!((lines("\naccept:"), lines("\ncookie:")), (1, 1), "{head}");
    }
}
