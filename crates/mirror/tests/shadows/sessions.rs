//! Sessions at a shadow whose secret and database are its own: a scripted pair
//! of applications that change the cookie and the form's token on every answer,
//! as Rails does, and believe only what they gave out themselves.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use capture::{Drop as Dropped, Failure, Outcome};
use mirror::Shadow;

use crate::scripted::*;

/// One of the two applications.
struct App {
    secret: &'static str,
    sessions: Mutex<HashMap<String, (u32, u32)>>,
}

/// What it answers: headers and body.
struct Page {
    cookie: String,
    token: String,
    body: String,
}

impl App {
    fn new(secret: &'static str) -> Arc<Self> {
        Arc::new(Self {
            secret,
            sessions: Mutex::default(),
        })
    }

    /// The same session as long as cookie and token are its own; a new one otherwise.
    fn answer(&self, line: &str, cookie: Option<&str>, body: &[u8]) -> Page {
        let mut sessions = self.sessions.lock().unwrap();
        let known = cookie.and_then(|cookie| {
            let mut all = cookie.split("; ");
            let value = all.find_map(|pair| pair.strip_prefix("_shop_session="))?;
            sessions.get(value).copied()
        });
        let (session, step) = known.unwrap_or((sessions.len() as u32 + 1000, 0));
        let token = format!("{}+token/{session}+{step}==", self.secret);
        let mut fields = form_urlencoded::parse(body);
        let sent = fields
            .find(|(name, _)| name == "authenticity_token")
            .map(|(_, value)| value.into_owned());
        let verdict = match (line.starts_with("POST"), sent) {
            (true, Some(sent)) if sent == token => "accepted",
            (true, _) => "forged",
            _ => "read",
        };
        let step = step + 1;
        let cookie = format!("{}--{session}--{step}", self.secret);
        sessions.insert(cookie.clone(), (session, step));
        let token = format!("{}+token/{session}+{step}==", self.secret);
        let body = format!(
            "<p>{verdict} step {step}</p>\n<form><input type=\"hidden\" name=\"authenticity_token\" value=\"{token}\"></form>"
        );
        Page {
            cookie,
            token,
            body,
        }
    }
}

/// A browser at the primary.
struct Browser<'a> {
    driven: &'a Driven,
    app: Arc<App>,
    cookie: String,
    token: String,
}

impl<'a> Browser<'a> {
    fn new(driven: &'a Driven) -> Self {
        Self {
            driven,
            app: App::new("primary-secret"),
            cookie: String::new(),
            token: String::new(),
        }
    }

    fn page(&mut self, method: &str) {
        let cookie = format!("locale=en; _shop_session={}", self.cookie);
        let form: String = form_urlencoded::Serializer::new(String::new())
            .append_pair("utf8", "✓")
            .append_pair("authenticity_token", &self.token)
            .finish();
        let body = if method == "POST" {
            form.as_bytes()
        } else {
            b""
        };
        let headers: &[(&str, &str)] = &[
            ("Cookie", &cookie),
            ("Content-Type", "application/x-www-form-urlencoded"),
        ];
        let asked = Asked {
            method,
            target: "/cart",
            headers,
            body,
        };
        let taken = self.driven.take(&asked).expect("room");
        let page = self
            .app
            .answer(&format!("{method} /cart"), Some(&cookie), body);
        let set = format!("_shop_session={}; path=/; HttpOnly", page.cookie);
        self.driven.answer(
            &taken,
            &[("Set-Cookie", &set), ("Content-Type", "text/html")],
            &page.body,
        );
        (self.cookie, self.token) = (page.cookie, page.token);
    }
}

fn html(stream: &mut std::net::TcpStream, page: &Page) -> bool {
    let headers = format!(
        "Content-Type: text/html\r\nSet-Cookie: _shop_session={}; path=/\r\n",
        page.cookie
    );
    ok_with(stream, &headers, &page.body)
}

fn with_sessions(port: u16) -> Shadow {
    let mut next = shadow("next", port);
    next.cookie_jar = true;
    next.tokens = vec!["authenticity_token".into()];
    next.filter.methods = vec!["GET".into(), "POST".into()];
    next
}

fn app_at(app: Arc<App>) -> Scripted {
    scripted(move |got, stream| {
        html(
            stream,
            &app.answer(&got.line, got.header("cookie"), &got.body),
        )
    })
}

fn same(driven: &Driven, pairs: usize) {
    for _ in 0..pairs {
        let pair = driven.pair();
        assert!(
            matches!(pair.shadows[0].outcome, Outcome::Answered(_)),
            "{pair:?}"
        );
        // The verdict and the step: the same session went the same way, and tokens do not count.
        assert!(pair.shadows[0].differences.is_empty(), "{pair:?}");
    }
}

#[test]
fn a_session_lives_at_both() {
    let server = app_at(App::new("candidate-secret"));
    let driven = Driven::new(&settings(vec![with_sessions(server.port)]));
    let mut browser = Browser::new(&driven);
    for round in 0..20 {
        browser.page(if round % 3 == 1 { "POST" } else { "GET" });
        same(&driven, 1);
    }
    let got = server.got.lock().unwrap();
    assert!(
        got[5]
            .header("cookie")
            .unwrap()
            .starts_with("locale=en; _shop_session=candidate-secret--")
    );
    driven.stop(PATIENCE);
}

#[test]
fn requests_that_come_before_the_shadow_has_answered_wait_for_their_session() {
    let server = app_at(App::new("candidate-secret"));
    let driven = Driven::new(&settings(vec![with_sessions(server.port)]));
    let mut browser = Browser::new(&driven);
    // As fast as the primary answers.
    for round in 0..12 {
        browser.page(if round % 3 == 1 { "POST" } else { "GET" });
    }
    same(&driven, 12);
    driven.stop(PATIENCE);
}

#[test]
fn without_a_jar_every_request_is_a_strangers() {
    let server = app_at(App::new("candidate-secret"));
    let mut next = with_sessions(server.port);
    (next.cookie_jar, next.tokens) = (false, Vec::new());
    let driven = Driven::new(&settings(vec![next]));
    let mut browser = Browser::new(&driven);
    browser.page("GET");
    driven.pair();
    browser.page("POST");
    assert!(!driven.pair().shadows[0].differences.is_empty());
    driven.stop(PATIENCE);
}

/// A shadow that answers when the sender passes `true`, and drops the connection on `false`.
fn gated(app: Arc<App>) -> (Scripted, Sender<bool>) {
    let (sender, receiver): (_, Receiver<bool>) = channel();
    let receiver = Mutex::new(receiver);
    let server = scripted(move |got, stream| {
        let answers = receiver
            .lock()
            .unwrap()
            .recv_timeout(PATIENCE)
            .unwrap_or(false);
        answers
            && html(
                stream,
                &app.answer(&got.line, got.header("cookie"), &got.body),
            )
    });
    (server, sender)
}

fn cookie_of(server: &Scripted, index: usize) -> String {
    let got = server.got.lock().unwrap();
    got[index]
        .header("cookie")
        .unwrap()
        .rsplit('=')
        .next()
        .unwrap()
        .to_owned()
}

#[test]
fn a_failed_answer_leaves_the_session_where_it_was() {
    let (server, answers) = gated(App::new("candidate-secret"));
    let driven = Driven::new(&settings(vec![with_sessions(server.port)]));
    let mut browser = Browser::new(&driven);
    // What fails on a kept connection is tried once more.
    for answered in [[true].as_slice(), &[true], &[false, false], &[true]] {
        answered
            .iter()
            .for_each(|answer| answers.send(*answer).unwrap());
        browser.page("GET");
        driven.pair();
    }
    for index in 2..5 {
        assert_eq!(cookie_of(&server, index), "candidate-secret--1000--2");
    }
    driven.stop(PATIENCE);
}

#[test]
fn a_cookie_that_is_used_before_the_answer_is_whole_is_waited_for() {
    let (server, answers) = gated(App::new("candidate-secret"));
    let driven = Driven::new(&settings(vec![with_sessions(server.port)]));
    let first = driven.take(&get("/")).unwrap();
    // The head is there, the body is not; the client already asks for a picture.
    let set = primary(&[("Set-Cookie", "_shop_session=primary-1")], "");
    let set = set.headers.unwrap();
    mirror::Tap::answering(&driven.shadows, &first, &set);
    let headers: &[(&str, &str)] = &[("Cookie", "_shop_session=primary-1")];
    let second = driven
        .take(&Asked {
            headers,
            ..get("/picture")
        })
        .unwrap();
    eventually("the first is there", || {
        server.got.lock().unwrap().len() == 1
    });
    answers.send(true).unwrap();
    eventually("the second is there", || {
        server.got.lock().unwrap().len() == 2
    });
    assert_eq!(cookie_of(&server, 1), "candidate-secret--1000--1");
    answers.send(true).unwrap();
    driven.answer(&first, &[("Set-Cookie", "_shop_session=primary-1")], "");
    driven.answer(&second, &[], "");
    (0..2).for_each(|_| drop(driven.pair()));
    driven.stop(PATIENCE);
}

#[test]
fn whoever_waits_in_vain_is_late() {
    let (server, _answers) = gated(App::new("candidate-secret"));
    let mut next = with_sessions(server.port);
    next.deadline = Duration::from_millis(300);
    let driven = Driven::new(&settings(vec![next]));
    let mut browser = Browser::new(&driven);
    browser.page("GET");
    browser.page("GET");
    let mut pairs = [driven.pair(), driven.pair()];
    pairs.sort_by_key(|pair| pair.id);
    let [first, second] = pairs;
    assert_eq!(first.shadows[0].outcome, Outcome::Failed(Failure::Deadline));
    // The first one's end came at its deadline; the second was sent after that, or was late by then.
    let end_ns = first.at_ns + 300_000_000;
    match second.shadows[0].outcome {
        Outcome::Failed(Failure::Deadline) => {
            assert!(second.at_ns + second.shadows[0].delay_ns >= end_ns);
        }
        Outcome::Dropped(Dropped::Late) => assert!(server.got.lock().unwrap().len() <= 1),
        ref other => panic!("{other:?}"),
    }
    driven.stop(PATIENCE);
}

#[test]
fn a_token_from_before_the_mirror_waits_for_no_stream() {
    let server = app_at(App::new("candidate-secret"));
    let driven = Driven::new(&settings(vec![with_sessions(server.port)]));
    // The primary's answer lasts for ever; the shadow's does not.
    let stream = driven.take(&get("/stream")).unwrap();
    eventually("the shadow has answered", || {
        driven.counts.snapshot().shadows[0].answered == 1
    });
    let headers: &[(&str, &str)] = &[
        ("X-CSRF-Token", "unknown-token"),
        ("authenticity_token", "unknown-token"),
    ];
    assert!(driven.ask(
        &Asked {
            headers,
            ..get("/page")
        },
        "x"
    ));
    assert!(matches!(
        driven.pair().shadows[0].outcome,
        Outcome::Answered(_)
    ));
    driven.answer(&stream, &[], "");
    driven.pair();
    driven.stop(PATIENCE);
}
