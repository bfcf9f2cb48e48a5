//! A scripted TCP server: each connection is handed to a closure on a thread
//! of its own. Everything ends when the server is dropped.

#![allow(dead_code, reason = "each test binary uses a part")]

pub mod sockets;
pub mod tls;
pub mod watch;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

pub struct Server {
    pub address: SocketAddr,
    pub accepted: Arc<AtomicUsize>,
    ending: Arc<AtomicBool>,
    streams: Arc<Mutex<HashMap<usize, TcpStream>>>,
    acceptor: Option<JoinHandle<Vec<JoinHandle<()>>>>,
}

impl Server {
    /// Answers OK, each request once it has passed the gate.
    pub fn gated(gate: &Arc<Gate>) -> Self {
        let gate = gate.clone();
        Self::new(move |peer, _| {
            while peer.request().is_some() {
                gate.pass();
                peer.write(OK);
            }
        })
    }

    /// `script` is called with each connection and its number, from 0.
    pub fn new(script: impl Fn(&mut Peer, usize) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let ending = Arc::new(AtomicBool::new(false));
        let accepted = Arc::new(AtomicUsize::new(0));
        let streams = Arc::new(Mutex::new(HashMap::new()));
        let script = Arc::new(script);
        let acceptor = std::thread::spawn({
            let (ending, accepted, streams) = (ending.clone(), accepted.clone(), streams.clone());
            move || {
                let mut workers = Vec::new();
                for stream in listener.incoming() {
                    if ending.load(Ordering::SeqCst) {
                        break;
                    }
                    let stream = stream.unwrap();
                    stream.set_nodelay(true).unwrap();
                    let number = accepted.fetch_add(1, Ordering::SeqCst);
                    let clone = stream.try_clone().unwrap();
                    streams.lock().unwrap().insert(number, clone);
                    let (script, streams) = (script.clone(), streams.clone());
                    workers.push(std::thread::spawn(move || {
                        let mut peer = Peer {
                            stream,
                            pending: Vec::new(),
                        };
                        script(&mut peer, number);
                        // Both ends of the clone go, so that the socket closes.
                        streams.lock().unwrap().remove(&number);
                    }));
                }
                workers
            }
        });
        Self {
            address,
            accepted,
            ending,
            streams,
            acceptor: Some(acceptor),
        }
    }

    /// Gives every request on every connection the same answer.
    pub fn answering(answer: &'static [u8]) -> Self {
        Self::new(move |peer, _| while peer.request().is_some() && peer.write(answer) {})
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        let workers = self.acceptor.take().unwrap().join().unwrap();
        for stream in self.streams.lock().unwrap().values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        for worker in workers {
            let _ = worker.join();
        }
    }
}

/// The server's end of a connection.
pub struct Peer {
    pub stream: TcpStream,
    pending: Vec<u8>,
}

impl Peer {
    /// The next request's head and body; `None` when the client has gone.
    pub fn request(&mut self) -> Option<(String, Vec<u8>)> {
        let head_end = loop {
            if let Some(at) = self.pending.windows(4).position(|w| w == b"\r\n\r\n") {
                break at + 4;
            }
            self.more()?;
        };
        let head = String::from_utf8(self.pending[..head_end].to_vec()).unwrap();
        let length: usize = head
            .lines()
            .find_map(|line| line.strip_prefix("Content-Length: "))
            .map_or(0, |value| value.parse().unwrap());
        while self.pending.len() < head_end + length {
            self.more()?;
        }
        let body = self.pending[head_end..head_end + length].to_vec();
        self.pending.drain(..head_end + length);
        Some((head, body))
    }

    fn more(&mut self) -> Option<()> {
        let mut buffer = [0; 16 * 1024];
        match self.stream.read(&mut buffer) {
            Ok(0) | Err(_) => None,
            Ok(count) => {
                self.pending.extend_from_slice(&buffer[..count]);
                Some(())
            }
        }
    }

    /// False when the client has gone.
    pub fn write(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).is_ok()
    }

    pub fn write_byte_by_byte(&mut self, bytes: &[u8]) -> bool {
        bytes.iter().all(|byte| self.write(&[*byte]))
    }

    /// Waits for the first bytes, or the client's end.
    pub fn wait(&mut self) {
        let _ = self.more();
    }

    /// Waits until the client closes, answering nothing.
    pub fn swallow(&mut self) {
        while self.more().is_some() {
            self.pending.clear();
        }
    }

    /// Makes the coming close a reset: `SO_LINGER` of zero.
    pub fn reset_on_close(&mut self) {
        rustix::net::sockopt::set_socket_linger(&self.stream, Some(std::time::Duration::ZERO))
            .unwrap();
    }
}

/// A gate that scripted connections wait at.
#[derive(Default)]
pub struct Gate {
    closed: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    pub fn set_closed(&self, closed: bool) {
        *self.closed.lock().unwrap() = closed;
        self.changed.notify_all();
    }

    pub fn pass(&self) {
        let mut closed = self.closed.lock().unwrap();
        while *closed {
            closed = self.changed.wait(closed).unwrap();
        }
    }
}

/// A port of 127.0.0.1 that refuses connections: held, so that no process gets
/// it meanwhile, but not listened to.
pub struct Refusing {
    pub address: SocketAddr,
    _held: rustix::fd::OwnedFd,
}

impl Refusing {
    pub fn new() -> Self {
        use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
        let held = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&held, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let address = getsockname(&held).unwrap().try_into().unwrap();
        Self {
            address,
            _held: held,
        }
    }
}

pub const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// The invariants of every outcome.
pub fn assert_balanced(outcome: &load::Outcome) {
    let load::Outcome { counts, errors, .. } = outcome;
    assert_eq!(
        counts.scheduled,
        counts.completed + errors.unanswered() + counts.cut
    );
    assert_eq!(counts.scheduled, counts.ok + errors.total() + counts.cut);
    assert_eq!(outcome.response.len(), counts.scheduled - counts.cut);
    assert_eq!(outcome.service.len(), counts.completed);
    assert!(counts.sent <= counts.scheduled && counts.completed <= counts.sent);
    assert_eq!(outcome.statuses.values().sum::<u64>(), counts.completed);
    let sum = |of: fn(&load::EndpointOutcome) -> u64| outcome.endpoints.iter().map(of).sum::<u64>();
    assert_eq!(sum(|e| e.scheduled), counts.scheduled);
    assert_eq!(sum(|e| e.ok), counts.ok);
    assert_eq!(sum(|e| e.errors.total()), errors.total());
    assert_eq!(sum(|e| e.response.len()), outcome.response.len());
    assert_eq!(sum(|e| e.violations), outcome.violations);
    assert_eq!(errors.total() == 0, outcome.first_error.is_none());
    if outcome.slices_dropped == 0 {
        let of_slices: u64 = outcome.slices.iter().map(|s| s.ok + s.errors).sum();
        assert_eq!(of_slices, outcome.response.len());
    }
}
