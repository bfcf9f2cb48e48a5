//! Counts and comparison over HTTP: `/metrics` for Prometheus, `/status.json` for everybody else. A listener and a thread of
//! its own, one question at a time, so that whoever asks too much is in nobody's way.

use super::kept::Shelf;
use mirror::http1::{HeadLimits, RequestHead};
use mirror::{Counts, Snapshot};
use serde::Serialize;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Whoever asks has so long to ask, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// After what could not be accepted.
const BREATH: Duration = Duration::from_millis(50);
/// Of a question.
const LIMITS: HeadLimits = HeadLimits {
    bytes: 16 << 10,
    fields: 64,
};

/// What `/status.json` says.
#[derive(Debug, Serialize)]
struct Status<'a> {
    counts: Snapshot,
    recorded: u64,
    lost_records: u64,
    comparison: Option<&'a run::duplex::Document>,
}

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Listener {
    address: SocketAddr,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Listener {
    /// Listens at `wanted`.
    ///
    /// # Errors
    /// The address cannot be had.
    pub fn start(
        wanted: SocketAddr,
        counts: Arc<Counts>,
        shelf: Arc<Shelf>,
    ) -> Result<Listener, String> {
        let wrong = |e: std::io::Error| {
            format!(
                "--status = {wanted}: cannot listen there: {e}; give an address of this machine and a port that is free"
            )
        };
        let listener = TcpListener::bind(wanted).map_err(wrong)?;
        let address = listener.local_addr().map_err(wrong)?;
        let ended = Arc::new(AtomicBool::new(false));
        let end = ended.clone();
        let thread = std::thread::Builder::new()
            .name("status".to_owned())
            .spawn(move || {
                while !end.load(Ordering::Acquire) {
                    match listener.accept() {
                        Ok(_) if end.load(Ordering::Acquire) => return,
                        // Whoever asks badly or leaves is no concern of ours.
                        Ok((stream, _)) => drop(serve(stream, &counts, &shelf)),
                        // Out of descriptors, perhaps, and not for ever.
                        Err(_) => std::thread::sleep(BREATH),
                    }
                }
            });
        Ok(Listener {
            address,
            ended,
            thread: Some(thread.map_err(wrong)?),
        })
    }

    /// With the port that was chosen where none was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        // It waits for a connection, and gets one.
        let woken = TcpStream::connect_timeout(&self.address, PATIENCE).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
    }
}

fn serve(mut stream: TcpStream, counts: &Counts, shelf: &Shelf) -> std::io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (status, kind, body) = match question(&mut stream)? {
        None => (
            "400 Bad Request",
            "text/plain",
            "this is no HTTP/1.1 request\n".to_owned(),
        ),
        Some((method, path)) => answer(&method, &path, counts, shelf),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nCache-Control: no-store\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes())?;
    stream.write_all(body.as_bytes())?;
    stream.flush()
}

fn question(stream: &mut TcpStream) -> std::io::Result<Option<(String, String)>> {
    let (mut bytes, mut head) = (Vec::new(), RequestHead::default());
    let mut piece = [0; 2048];
    loop {
        let read = stream.read(&mut piece)?;
        if read == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&piece[..read]);
        match head.read(&bytes, LIMITS) {
            Ok(None) => {}
            Ok(Some(_)) => {
                return Ok(Some((
                    head.method(&bytes).to_owned(),
                    head.target(&bytes).to_owned(),
                )));
            }
            Err(_) => return Ok(None),
        }
    }
}

fn answer(
    method: &str,
    target: &str,
    counts: &Counts,
    shelf: &Shelf,
) -> (&'static str, &'static str, String) {
    let path = target.split('?').next().unwrap_or(target);
    if !matches!(method, "GET" | "HEAD") {
        return (
            "405 Method Not Allowed",
            "text/plain",
            "ask with GET\n".to_owned(),
        );
    }
    let (status, kind, body) = match path {
        "/metrics" => {
            let mut text = mirror::exposition(&counts.snapshot());
            if let Some(comparison) = &shelf.ask().comparison {
                text.push_str(&duplex::exposition(comparison));
            }
            ("200 OK", "text/plain; version=0.0.4", text)
        }
        "/status.json" | "/" => {
            let kept = shelf.ask();
            let status = Status {
                counts: counts.snapshot(),
                recorded: kept.recorded,
                lost_records: kept.lost,
                comparison: kept.comparison.as_ref(),
            };
            (
                "200 OK",
                "application/json",
                serde_json::to_string_pretty(&status).unwrap_or_default() + "\n",
            )
        }
        _ => (
            "404 Not Found",
            "text/plain",
            "there is /metrics and /status.json\n".to_owned(),
        ),
    };
    (
        status,
        kind,
        if method == "HEAD" {
            String::new()
        } else {
            body
        },
    )
}
