//! What the page's address answers: the page, and what was seen last.

use super::token::Token;
use crate::Failure;
use crate::listener::{Answer, Question};
use ::watch::{Looks, Picture, Reading, Subject, TooMany};
use serde::Serialize;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// What is shown, and to whom.
#[derive(Debug)]
pub struct Desk {
    source: String,
    interval: Duration,
    token: Option<Token>,
    shown: Mutex<Shown>,
}

#[derive(Debug)]
struct Shown {
    looks: Looks,
    /// Why the last reading failed.
    problem: Option<String>,
}

/// `/seen.json`
#[derive(Debug, Serialize)]
struct Data<'a> {
    version: &'static str,
    /// Where the files are.
    source: &'a str,
    interval_ms: u64,
    /// Counts readings.
    reading: u64,
    problem: Option<&'a str>,
    /// `null` before the second reading, and where nothing is known of what is looked at.
    picture: Option<&'a Picture>,
}

impl Desk {
    /// For windows of such a length and readings at such an interval.
    pub fn new(source: String, length: Duration, interval: Duration, token: Option<Token>) -> Desk {
        Desk {
            source,
            interval,
            token,
            shown: Mutex::new(Shown {
                looks: Looks::new(length),
                problem: None,
            }),
        }
    }

    /// Takes the next reading. Where it failed, as while a server restarts, the page says why.
    pub fn push(&self, reading: Result<Reading, Failure>) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let (reading, problem) = match reading {
            Ok(reading) => (Some(reading), None),
            Err(failure) => (None, Some(failure.message)),
        };
        shown.looks.push(reading);
        shown.problem = problem;
    }

    /// Answers one question.
    pub fn answer(&self, question: &Question<'_>) -> Answer {
        let given = question.parameter("token").unwrap_or_default();
        if self.token.as_ref().is_some_and(|token| !token.is(&given)) {
            return Answer::plain(
                "403 Forbidden",
                "this page needs the token in the address that powerband watch printed\n",
            );
        }
        match question.path() {
            "/" => Answer::of("text/html; charset=utf-8", report::WATCH_PAGE.as_str()),
            "/seen.json" => self.seen(question),
            _ => Answer::plain("404 Not Found", "there are / and /seen.json\n"),
        }
    }

    fn seen(&self, question: &Question<'_>) -> Answer {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let Shown { looks, problem } = &mut *shown;
        let reading = looks.readings();
        let request = question.parameter("request");
        let process = question.parameter("process");
        let endpoint = question.parameter("endpoint");
        let everything = process.is_none() && endpoint.is_none();
        let subject = match process {
            Some(id) => looks.process(&id),
            None => endpoint.map(|name| Subject::Endpoint(name.into_owned())),
        };
        let one;
        let picture = match subject {
            None if everything => looks.all(),
            // A process that has ended.
            None => None,
            Some(subject) => match looks.one(&subject, request.as_deref()) {
                Ok(picture) => {
                    one = picture;
                    one.as_ref()
                }
                Err(TooMany(most)) => return too_many(most),
            },
        };
        let data = Data {
            version: env!("CARGO_PKG_VERSION"),
            source: &self.source,
            interval_ms: u64::try_from(self.interval.as_millis()).unwrap_or(u64::MAX),
            reading,
            problem: problem.as_deref(),
            picture,
        };
        match serde_json::to_string(&data) {
            Ok(text) => Answer::of("application/json", text),
            Err(e) => Answer::plain("500 Internal Server Error", format!("{e}\n")),
        }
    }
}

fn too_many(most: usize) -> Answer {
    Answer::plain(
        "503 Service Unavailable",
        format!(
            "{most} other processes and endpoints are open in other browsers; close one of those pages\n"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listener::asked;
    use serde_json::Value;

    fn desk(token: Option<Token>) -> Desk {
        let desk = Desk::new(
            "/tmp/x".to_owned(),
            Duration::from_secs(5),
            Duration::from_millis(200),
            token,
        );
        desk.push(Ok(Reading::default()));
        desk
    }

    fn answer(desk: &Desk, target: &str) -> Answer {
        let head = format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n");
        asked(&head, |question| desk.answer(question))
    }

    fn seen(desk: &Desk, target: &str) -> Value {
        let found = answer(desk, target);
        assert_eq!(found.status, "200 OK", "{target}: {}", found.body);
        serde_json::from_str(&found.body).unwrap()
    }

    #[test]
    fn a_secret_page_needs_its_token_for_everything() {
        let token = Token::random().unwrap();
        let right = format!("?token={}", token.text());
        let desk = desk(Some(token));
        for path in ["/", "/seen.json", "/no"] {
            for token in ["", "?token=", "?token=0", "?Token=1", "?x=1&token=00"] {
                let refused = answer(&desk, &format!("{path}{token}"));
                assert_eq!(refused.status, "403 Forbidden", "{path}{token}");
                assert!(refused.body.starts_with("this page needs the token"));
            }
        }
        assert_eq!(answer(&desk, &format!("/{right}")).status, "200 OK");
        assert_eq!(seen(&desk, &format!("/seen.json{right}"))["reading"], 1);
    }

    #[test]
    fn the_page_is_whole_and_may_not_be_framed() {
        let page = answer(&desk(None), "/");
        assert!(page.body.contains("script-src 'sha256-") && page.body.ends_with("</html>\n"));
        assert!(page.head().contains("frame-ancestors 'none'"));
        assert_eq!(answer(&desk(None), "/page.html").status, "404 Not Found");
    }

    #[test]
    fn what_was_seen_says_where_it_is_from_and_why_there_is_nothing() {
        let desk = desk(None);
        let first = seen(&desk, "/seen.json");
        let shape = serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"), "source": "/tmp/x", "interval_ms": 200, "reading": 1,
            "problem": null, "picture": null
        });
        assert_eq!(first, shape);
        desk.push(Ok(Reading {
            at: Duration::from_secs(1),
            ..Reading::default()
        }));
        let words = "No request ended within 1.0 s, and none is in progress.";
        assert_eq!(seen(&desk, "/seen.json")["picture"]["sentence"], words);
        assert_eq!(
            seen(&desk, "/seen.json?process=1-2-3")["picture"],
            Value::Null
        );
        let one = seen(&desk, "/seen.json?endpoint=GET+%2F%3Cb%3E");
        assert_eq!(
            one["picture"]["title"],
            "GET /<b> in 0 processes, the last 1.0 s"
        );
        desk.push(Err(Failure::no_answer("nothing runs")));
        let none = seen(&desk, "/seen.json");
        assert_eq!(
            (&none["problem"], &none["reading"]),
            (&"nothing runs".into(), &3.into())
        );
        assert_eq!(none["picture"], Value::Null);
    }

    #[test]
    fn a_fifth_look_at_once_is_refused_with_the_reason() {
        let desk = desk(None);
        for name in ["a", "b", "c", "d"] {
            seen(&desk, &format!("/seen.json?endpoint={name}"));
        }
        let fifth = answer(&desk, "/seen.json?endpoint=e");
        assert_eq!(fifth.status, "503 Service Unavailable");
        assert!(
            fifth.body.starts_with("4 other processes and endpoints"),
            "{}",
            fifth.body
        );
    }
}
