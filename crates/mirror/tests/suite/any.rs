//! Any conversation, cut anywhere: both ends see what the other one said.

use std::sync::{Arc, Mutex};

use crate::support::primary::Scripted;
use crate::support::{Memory, Served, pieces, settings};
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

/// A body and how it is framed.
#[derive(Debug, Clone)]
enum Body {
    None,
    Length(Vec<u8>),
    /// In chunks of at most so many bytes.
    Chunks(Vec<u8>, usize),
    /// Answers, the last of a connection.
    UntilClose(Vec<u8>),
}

#[derive(Debug, Clone)]
struct Exchange {
    method: &'static str,
    asked: Body,
    interim: usize,
    status: u16,
    answered: Body,
}

impl Body {
    fn data(&self) -> &[u8] {
        match self {
            Self::None => b"",
            Self::Length(data) | Self::Chunks(data, _) | Self::UntilClose(data) => data,
        }
    }

    /// The field that announces it, and its bytes on the wire.
    fn write(&self) -> (String, Vec<u8>) {
        match self {
            Self::None => (String::new(), Vec::new()),
            Self::Length(data) => (format!("Content-Length: {}\r\n", data.len()), data.clone()),
            Self::UntilClose(data) => (String::new(), data.clone()),
            Self::Chunks(data, most) => {
                let mut out = Vec::new();
                for (number, part) in data.chunks(*most).enumerate() {
                    let extension = if number % 2 == 1 {
                        ";name=\"value\""
                    } else {
                        ""
                    };
                    out.extend(format!("{:X}{extension}\r\n", part.len()).into_bytes());
                    out.extend_from_slice(part);
                    out.extend_from_slice(b"\r\n");
                }
                let trailer = if data.len() % 2 == 1 {
                    "X-Sum: 1\r\n"
                } else {
                    ""
                };
                out.extend(format!("00\r\n{trailer}\r\n").into_bytes());
                ("Transfer-Encoding: chunked\r\n".to_owned(), out)
            }
        }
    }
}

impl Exchange {
    /// No body may follow the answer's head.
    fn is_bodiless(&self) -> bool {
        self.method == "HEAD" || matches!(self.status, 204 | 304)
    }

    fn request(&self, number: usize) -> Vec<u8> {
        let (field, body) = self.asked.write();
        let head = format!(
            "{} /{number} HTTP/1.1\r\nHost: a\r\n{field}\r\n",
            self.method
        );
        [head.into_bytes(), body].concat()
    }

    fn answer(&self) -> Vec<u8> {
        let (field, body) = self.answered.write();
        let interim = "HTTP/1.1 103 Early\r\nLink: x\r\n\r\n".repeat(self.interim);
        // What is left out of an answer that may not have it is announced all the same.
        let field = if self.status == 204 { "" } else { &field };
        let head = format!("{interim}HTTP/1.1 {} Status\r\n{field}\r\n", self.status);
        let body = if self.is_bodiless() { Vec::new() } else { body };
        [head.into_bytes(), body].concat()
    }
}

fn body(close: bool) -> impl Strategy<Value = Body> {
    let data = || prop::collection::vec(any::<u8>(), 0..3000);
    let kind = 0..if close { 3 } else { 2 };
    (data(), kind, 1_usize..400).prop_map(|(data, kind, most)| match kind {
        0 => Body::Length(data),
        1 => Body::Chunks(data, most),
        _ => Body::UntilClose(data),
    })
}

fn exchange(close: bool) -> impl Strategy<Value = Exchange> {
    let asked = prop_oneof![2 => Just(Body::None), 3 => body(false)];
    let method = prop::sample::select(vec!["GET", "HEAD", "POST", "PUT", "x-own"]);
    let status = prop::sample::select(vec![200, 200, 200, 204, 304, 404, 500]);
    (method, asked, 0..3_usize, status, body(close)).prop_map(
        |(method, asked, interim, status, answered)| Exchange {
            method,
            asked,
            interim,
            status,
            answered,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn both_ends_see_what_the_other_said(
        mut all in prop::collection::vec(exchange(false), 0..5),
        last in exchange(true),
        cuts: u32,
        most in 1_usize..2000,
    ) {
        all.push(last);
        let seen = Arc::new(Mutex::new(Vec::new()));
        let primary = Scripted::new({
            let (seen, all) = (seen.clone(), all.clone());
            move |peer, _| {
                for exchange in &all {
                    let Some(request) = peer.request() else { return };
                    seen.lock().unwrap().push((request.line, request.body));
                    for piece in pieces(&exchange.answer(), cuts, most) {
                        peer.send(piece);
                    }
                }
            }
        });
        let tap = Arc::new(Memory::default());
        let served = Served::new(&settings(&[primary.address]), tap.clone());
        let mut client = served.client();
        let requests: Vec<Vec<u8>> =
            all.iter().enumerate().map(|(number, exchange)| exchange.request(number)).collect();
        // All at once: they wait for one another.
        for piece in pieces(&requests.concat(), cuts.rotate_left(11), most) {
            client.send(piece);
        }
        for exchange in &all {
            for _ in 0..exchange.interim {
                prop_assert_eq!(client.head().unwrap().status(), 103);
            }
            let answer = match exchange.is_bodiless() {
                true => client.head(),
                false => client.answer(),
            };
            let answer = answer.unwrap();
            prop_assert_eq!(answer.status(), exchange.status);
            if !exchange.is_bodiless() {
                prop_assert_eq!(&answer.body[..], exchange.answered.data());
            }
        }
        client.assert_closed();
        let count = all.len() as u64;
        served.until(|s| (s.received, s.answered, s.open) == (count, count, 0));
        let seen = seen.lock().unwrap();
        let (taken, answered) = (tap.taken.lock().unwrap(), tap.answered.lock().unwrap());
        for (number, exchange) in all.iter().enumerate() {
            let line = format!("{} /{number} HTTP/1.1", exchange.method);
            prop_assert_eq!(&seen[number], &(line, exchange.asked.data().to_vec()));
            prop_assert_eq!(&taken[number].body[..], exchange.asked.data());
            let figures = answered[number].1.answer.as_ref().unwrap();
            let data = if exchange.is_bodiless() { b"" } else { exchange.answered.data() };
            prop_assert_eq!((figures.status, figures.complete), (exchange.status, true));
            prop_assert_eq!((figures.body_bytes, figures.digest), (data.len() as u64, xxh3_64(data)));
            prop_assert_eq!(&answered[number].1.body[..], data);
        }
    }
}
