//! The live view in a browser: a page, its data, and readings at the same pace however many look.

mod desk;
mod token;

use super::readings::Readings;
use crate::commands::desktop;
use crate::listener::{Admitted, Bound, address, refused};
use crate::signals::{LOOK, Signals};
use crate::{Failure, output};
use ::watch::{Reading, Subject};
use desk::Desk;
use experiment::config::Asked;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};
use token::Token;

const FLAG: &str = "--serve";

/// Where the page is served, and how.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    address: SocketAddr,
    opens: bool,
}

impl Wanted {
    /// What the arguments ask for; without an address a free port of loopback.
    pub fn of(text: Option<&str>, no_open: bool) -> Result<Wanted, Failure> {
        let found = match text {
            Some(text) => address(&Asked::new(text.to_owned(), FLAG)),
            None => Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))),
        };
        let address = found.map_err(|problem| Failure::usage(problem.to_string()))?;
        Ok(Wanted {
            address,
            opens: !no_open,
        })
    }

    fn failed(&self, e: &io::Error) -> Failure {
        Failure::usage(refused(FLAG, self.address, e))
    }
}

/// Serves until a signal asks for the end.
pub fn serve(
    mut readings: Readings,
    first: Reading,
    subject: Option<&Subject>,
    (length, interval): (Duration, Duration),
    wanted: Wanted,
) -> Result<u8, Failure> {
    let signals = Signals::taken()?;
    let bound = Bound::new(wanted.address).map_err(|e| wanted.failed(&e))?;
    let at = bound.address();
    let token = match at.ip().to_canonical().is_loopback() {
        true => None,
        false => Some(Token::random()?),
    };
    let url = url(at, token.as_ref(), subject);
    let is_secret = token.is_some();
    let desk = Arc::new(Desk::new(readings.shown(), length, interval, token));
    desk.push(Ok(first));
    let admitted = Admitted {
        hosts: Vec::new(),
        refusal: "this page answers to the addresses of this machine and to localhost\n",
    };
    let answers = Arc::clone(&desk);
    let listener = bound.serve(admitted, move |question| answers.answer(question));
    let listener = listener.map_err(|e| wanted.failed(&e))?;
    output::print(&format!("{url}\n"))?;
    if at.ip().is_unspecified() {
        output::say(
            "From another machine, replace the host in this address with an address of this machine.",
        );
    }
    output::say("Ctrl-C ends it.");
    // Arguments of a program can be read by other users.
    if wanted.opens && !is_secret && desktop::is_there() {
        desktop::open(url.as_ref());
    }
    let mut due = Instant::now() + interval;
    while signals.received().is_none() {
        if Instant::now() >= due {
            desk.push(readings.read());
            due = Instant::now() + interval;
        }
        std::thread::sleep(due.saturating_duration_since(Instant::now()).min(LOOK));
    }
    drop(listener);
    Ok(0)
}

/// Of the page; it begins with what the arguments name.
fn url(at: SocketAddr, token: Option<&Token>, subject: Option<&Subject>) -> String {
    // A browser of this machine reaches a listener on all addresses by loopback.
    let ip = match at.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(ip) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        ip => ip,
    };
    let mut url = format!("http://{}/", SocketAddr::new(ip, at.port()));
    if let Some(token) = token {
        url += &format!("?token={}", token.text());
    }
    if let Some((what, name)) = subject.map(Subject::named) {
        let mut words = form_urlencoded::Serializer::new(String::new());
        url += &format!("#{}", words.append_pair(what, &name).finish());
    }
    url
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_has_the_token_and_what_it_begins_with() {
        let of = |at: &str, token, subject| url(at.parse().unwrap(), token, subject);
        assert_eq!(of("127.0.0.1:8", None, None), "http://127.0.0.1:8/");
        let endpoint = Subject::Endpoint("GET /a&b c".to_owned());
        assert_eq!(
            of("[::1]:8", None, Some(&endpoint)),
            "http://[::1]:8/#endpoint=GET+%2Fa%26b+c"
        );
        let token = Token::random().unwrap();
        assert_eq!(
            of("0.0.0.0:8", Some(&token), None),
            format!("http://127.0.0.1:8/?token={}", token.text())
        );
    }

    #[test]
    fn an_address_that_is_none_is_refused() {
        let of = |text| Wanted::of(text, false);
        assert_eq!(of(None).unwrap().address.to_string(), "127.0.0.1:0");
        assert_eq!(of(Some(":9")).unwrap().address.to_string(), "127.0.0.1:9");
        for text in ["", "9", "localhost", "example.org:80", "127.0.0.1:99999"] {
            let failure = of(Some(text)).unwrap_err();
            assert_eq!(failure.code, 2);
            assert!(
                failure.message.contains("give an IP address and a port"),
                "{}",
                failure.message
            );
        }
    }
}
