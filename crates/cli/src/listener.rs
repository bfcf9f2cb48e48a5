//! What answers browsers and probes over HTTP: a listener with separate threads, which answers a bounded number of questions
//! at once and limits the time of each, so that a slow client delays neither the program nor other clients. It answers GET and
//! HEAD where `Host` is one of its names and the request is not from a page of another origin. The caller supplies the answers.

mod address;
mod asker;
mod hosts;
mod origin;
mod question;

use asker::Asker;
use hosts::Hosts;
use mirror::http1::{HeadLimits, RequestHead};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::borrow::Cow;
use std::io::{Error, ErrorKind};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

pub use address::address;
pub use hosts::name;
pub use question::Question;
#[cfg(test)]
pub use question::asked;

/// Questions at once; further ones wait to be accepted.
const ASKERS: usize = 8;
/// A question is there within this time, from its first byte to its last.
const TO_ASK: Duration = Duration::from_secs(2);
/// And its answer is taken within this.
const TO_TAKE: Duration = Duration::from_secs(5);
/// After what could not be accepted, and between looks whether the listener has ended.
const BREATH: Duration = Duration::from_millis(50);
/// Of a question.
const LIMITS: HeadLimits = HeadLimits {
    bytes: 16 << 10,
    fields: 64,
};

/// An answer.
#[derive(Debug, Clone)]
pub struct Answer {
    /// Code and words.
    pub status: &'static str,
    /// Its content type.
    pub kind: &'static str,
    pub body: Cow<'static, str>,
}

impl Answer {
    /// What is there.
    pub fn of(kind: &'static str, body: impl Into<Cow<'static, str>>) -> Answer {
        Answer {
            status: "200 OK",
            kind,
            body: body.into(),
        }
    }

    /// A line of words.
    pub fn plain(status: &'static str, words: impl Into<Cow<'static, str>>) -> Answer {
        Answer {
            status,
            ..Answer::of("text/plain; charset=utf-8", words)
        }
    }

    /// Status and fields, to the empty line.
    pub fn head(&self) -> String {
        // `frame-ancestors` works only in a header.
        format!(
            "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nCross-Origin-Resource-Policy: same-origin\r\n\
             Content-Security-Policy: frame-ancestors 'none'\r\nReferrer-Policy: no-referrer\r\n\
             Allow: GET, HEAD\r\nConnection: close\r\n\r\n",
            self.status,
            self.kind,
            self.body.len()
        )
    }
}

/// The clients that the listener answers, by the `Host` that they name.
#[derive(Debug, Clone)]
pub struct Admitted {
    /// Names that a `Host` field may have, in addition to `localhost` and the listener's addresses.
    pub hosts: Vec<String>,
    /// What is said to those that ask for another host.
    pub refusal: &'static str,
}

/// A listener that does not answer yet.
#[derive(Debug)]
pub struct Bound {
    socket: TcpListener,
    address: SocketAddr,
}

/// The message where a flag's address cannot be listened on.
pub fn refused(flag: &str, address: SocketAddr, error: &Error) -> String {
    format!(
        "{flag} = {address}: cannot listen there: {error}; give an address of this machine and a port that is free"
    )
}

/// Answers until it is dropped.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bound {
    /// Listens there.
    ///
    /// # Errors
    /// The address is in use, or is not this machine's.
    pub fn new(address: SocketAddr) -> Result<Bound, Error> {
        let socket = TcpListener::bind(address)?;
        socket.set_nonblocking(true)?;
        let address = socket.local_addr()?;
        Ok(Bound { socket, address })
    }

    /// With the port that was chosen where none was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers from now on.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn serve<F>(self, admitted: Admitted, answer: F) -> Result<Listener, Error>
    where
        F: Fn(&Question<'_>) -> Answer + Send + Sync + 'static,
    {
        let Bound { socket, address } = self;
        let desk = Desk {
            hosts: Hosts::new(address, admitted.hosts),
            refusal: admitted.refusal,
            answer,
        };
        let ended = Arc::new(AtomicBool::new(false));
        let end = ended.clone();
        let thread = std::thread::Builder::new()
            .name("listener".to_owned())
            .spawn(move || desk.serve(&socket, &end))?;
        Ok(Listener {
            address,
            ended,
            thread: Some(thread),
        })
    }
}

impl Listener {
    /// With the port that was chosen where none was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What is answered, and to whom.
struct Desk<F> {
    hosts: Hosts,
    refusal: &'static str,
    answer: F,
}

impl<F: Fn(&Question<'_>) -> Answer + Sync> Desk<F> {
    fn serve(&self, listener: &TcpListener, ended: &AtomicBool) {
        let asking = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            while !ended.load(Ordering::Acquire) {
                if asking.load(Ordering::Acquire) >= ASKERS {
                    std::thread::sleep(BREATH);
                    continue;
                }
                let stream = match accept(listener) {
                    Ok(Some(stream)) => stream,
                    Ok(None) => continue,
                    // Out of descriptors, perhaps, and not for ever.
                    Err(_) => {
                        std::thread::sleep(BREATH);
                        continue;
                    }
                };
                let asking = &asking;
                asking.fetch_add(1, Ordering::AcqRel);
                let asker = std::thread::Builder::new().name("asker".to_owned());
                let started = asker.spawn_scoped(scope, move || {
                    // An error concerns this client alone, and it has left.
                    let _ = self.attend(stream, ended);
                    asking.fetch_sub(1, Ordering::AcqRel);
                });
                if started.is_err() {
                    asking.fetch_sub(1, Ordering::AcqRel);
                }
            }
        });
    }

    fn attend(&self, stream: TcpStream, ended: &AtomicBool) -> Result<(), Error> {
        let local = stream.local_addr()?.ip();
        let mut asker = Asker::new(stream, ended);
        asker.allow(TO_ASK);
        let (mut bytes, mut head) = (Vec::new(), RequestHead::default());
        let well_formed = question(&mut asker, &mut head, &mut bytes)?;
        let question = Question::new(&head, &bytes);
        let answer = match well_formed {
            true => self.answer(&question, local),
            false => Answer::plain("400 Bad Request", "this is no HTTP/1.1 request\n"),
        };
        let mut text = answer.head();
        if !well_formed || question.method() != "HEAD" {
            text.push_str(&answer.body);
        }
        asker.allow(TO_TAKE);
        asker.write_all(text.as_bytes())?;
        asker.part()
    }

    fn answer(&self, question: &Question<'_>, local: IpAddr) -> Answer {
        if !self.hosts.allow(question.field("host"), local) {
            return Answer::plain("421 Misdirected Request", self.refusal);
        }
        if !origin::is_own(question) {
            return Answer::plain(
                "403 Forbidden",
                "a page of another origin asks for this; open it by its own address\n",
            );
        }
        if !matches!(question.method(), "GET" | "HEAD") {
            return Answer::plain("405 Method Not Allowed", "ask with GET\n");
        }
        (self.answer)(question)
    }
}

/// `None`: no connection is pending.
fn accept(listener: &TcpListener) -> Result<Option<TcpStream>, Error> {
    let within = Timespec::try_from(BREATH).ok();
    let mut ready = [PollFd::new(listener, PollFlags::IN)];
    if poll(&mut ready, within.as_ref())? == 0 {
        return Ok(None);
    }
    match listener.accept() {
        Ok((stream, _)) => Ok(Some(stream)),
        Err(e) if e.kind() == ErrorKind::WouldBlock => Ok(None),
        Err(e) => Err(e),
    }
}

/// Reads a question; `false` where it is not HTTP.
fn question(
    asker: &mut Asker<'_>,
    head: &mut RequestHead,
    bytes: &mut Vec<u8>,
) -> Result<bool, Error> {
    let mut piece = [0; 2048];
    loop {
        let read = asker.read(&mut piece)?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&piece[..read]);
        match head.read(bytes, LIMITS) {
            Ok(None) => {}
            whole => return Ok(whole.is_ok()),
        }
    }
}
