//! Counts and comparison over HTTP: `/metrics` for Prometheus, `/status.json` for everybody else, `/livez` and `/readyz` for
//! probes. It has a separate
//! listener and separate threads, answers a bounded number of questions at once and limits the time of each, so that a slow
//! client delays neither the mirror nor other clients.

mod asker;
mod hosts;
mod metrics;

use super::kept::Shelf;
use super::written::Written;
use asker::Asker;
use hosts::Hosts;
use mirror::http1::{HeadLimits, RequestHead};
use mirror::{Counts, OpenFiles, Snapshot};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

pub use hosts::name;

/// Where counts are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusPage {
    pub address: SocketAddr,
    /// Names that the Host header of a request may have, in addition to `localhost` and its addresses.
    pub hosts: Vec<String>,
}

/// Questions at once; further ones wait to be accepted.
const ASKERS: usize = 8;
/// A question is there within this time, from its first byte to its last.
const TO_ASK: Duration = Duration::from_secs(2);
/// And its answer is taken within this.
const TO_TAKE: Duration = Duration::from_secs(5);
/// After what could not be accepted, and between looks whether the mirror has ended.
const BREATH: Duration = Duration::from_millis(50);
/// Of a question.
const LIMITS: HeadLimits = HeadLimits {
    bytes: 16 << 10,
    fields: 64,
};

/// What `/status.json` says.
#[derive(Debug, Serialize)]
struct Status<'a> {
    version: &'static str,
    counts: Snapshot,
    descriptors: Descriptors,
    /// The recording and the log of pairs, as far as there are any.
    written: &'a BTreeMap<&'static str, Written>,
    comparison: Option<&'a run::duplex::Document>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct Descriptors {
    open: Option<u64>,
    /// `None`: any number.
    limit: Option<u64>,
}

/// Where what is shown comes from.
pub struct Shown {
    pub counts: Arc<Counts>,
    pub shelf: Arc<Shelf>,
    pub open_files: OpenFiles,
}

impl Shown {
    fn descriptors(&self) -> Descriptors {
        Descriptors {
            open: mirror::open_now(),
            limit: self.open_files.limit(),
        }
    }
}

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    ready: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// A listener that answers nobody yet.
#[derive(Debug)]
pub struct Bound {
    socket: TcpListener,
    address: SocketAddr,
    wanted: StatusPage,
}

impl Bound {
    /// Listens where the page is wanted.
    ///
    /// # Errors
    /// The address cannot be had.
    pub fn new(wanted: StatusPage) -> Result<Bound, String> {
        let open = || {
            let socket = TcpListener::bind(wanted.address)?;
            socket.set_nonblocking(true)?;
            let address = socket.local_addr()?;
            Ok((socket, address))
        };
        let (socket, address) = open().map_err(|e| wrong(&wanted, &e))?;
        Ok(Bound {
            socket,
            address,
            wanted,
        })
    }

    /// Answers from now on, and is ready.
    ///
    /// # Errors
    /// There is no thread for it.
    pub fn serve(self, shown: Shown) -> Result<Listener, String> {
        let Bound {
            socket,
            address,
            wanted,
        } = self;
        let page = Page {
            hosts: Hosts::new(address, wanted.hosts.clone()),
            shown,
            ready: Arc::new(AtomicBool::new(true)),
        };
        let ready = page.ready.clone();
        let ended = Arc::new(AtomicBool::new(false));
        let end = ended.clone();
        let thread = std::thread::Builder::new()
            .name("status".to_owned())
            .spawn(move || page.serve(&socket, &end));
        Ok(Listener {
            address,
            ended,
            ready,
            thread: Some(thread.map_err(|e| wrong(&wanted, &e))?),
        })
    }
}

fn wrong(wanted: &StatusPage, e: &std::io::Error) -> String {
    format!(
        "--status = {}: cannot listen there: {e}; give an address of this machine and a port that is free",
        wanted.address
    )
}

impl Listener {
    /// From now on `/readyz` says that the mirror ends.
    pub fn not_ready(&self) {
        self.ready.store(false, Ordering::Release);
    }

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

/// What is shown, and to whom.
struct Page {
    hosts: Hosts,
    shown: Shown,
    ready: Arc<AtomicBool>,
}

/// Status, content type, body.
type Answer = (&'static str, &'static str, String);

impl Page {
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

    fn attend(&self, stream: TcpStream, ended: &AtomicBool) -> std::io::Result<()> {
        let local = stream.local_addr()?.ip();
        let mut asker = Asker::new(stream, ended);
        asker.allow(TO_ASK);
        let (mut bytes, mut head) = (Vec::new(), RequestHead::default());
        let well_formed = question(&mut asker, &mut head, &mut bytes)?;
        let (status, kind, body) = match well_formed {
            true => self.answer(&head, &bytes, local),
            false => plain("400 Bad Request", "this is no HTTP/1.1 request\n"),
        };
        let mut answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nAllow: GET, HEAD\r\nConnection: close\r\n\r\n",
            body.len()
        );
        if !well_formed || head.method(&bytes) != "HEAD" {
            answer.push_str(&body);
        }
        asker.allow(TO_TAKE);
        asker.write_all(answer.as_bytes())?;
        asker.part()
    }

    fn answer(&self, head: &RequestHead, bytes: &[u8], local: IpAddr) -> Answer {
        if !self.hosts.allow(head.fields().value(bytes, "host"), local) {
            return plain(
                "421 Misdirected Request",
                "this page answers to its own address and to localhost; allow another name with --status-host\n",
            );
        }
        if !matches!(head.method(bytes), "GET" | "HEAD") {
            return plain("405 Method Not Allowed", "ask with GET\n");
        }
        let target = head.target(bytes);
        match target.split('?').next().unwrap_or(target) {
            "/metrics" => {
                let counts = self.shown.counts.snapshot();
                let kept = self.shown.shelf.ask();
                let text = metrics::text(&counts, &kept, self.shown.descriptors());
                ("200 OK", "text/plain; version=0.0.4", text)
            }
            "/status.json" | "/" => {
                let kept = self.shown.shelf.ask();
                let status = Status {
                    version: env!("CARGO_PKG_VERSION"),
                    counts: self.shown.counts.snapshot(),
                    descriptors: self.shown.descriptors(),
                    written: &kept.written,
                    comparison: kept.comparison.as_ref(),
                };
                let text = serde_json::to_string_pretty(&status).unwrap_or_default();
                ("200 OK", "application/json", text + "\n")
            }
            "/livez" => plain("200 OK", "ok\n"),
            "/readyz" if self.ready.load(Ordering::Acquire) => plain("200 OK", "ok\n"),
            "/readyz" => plain("503 Service Unavailable", "the mirror is ending\n"),
            _ => plain(
                "404 Not Found",
                "there are /metrics, /status.json, /livez and /readyz\n",
            ),
        }
    }
}

fn plain(status: &'static str, text: &str) -> Answer {
    (status, "text/plain", text.to_owned())
}

/// `None`: nobody has come.
fn accept(listener: &TcpListener) -> std::io::Result<Option<TcpStream>> {
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
) -> std::io::Result<bool> {
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
