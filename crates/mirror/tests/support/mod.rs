//! A proxy on a thread of its own, a scripted primary behind it, a scripted client
//! in front of it, and a tap that remembers; real sockets on loopback. Everything
//! ends when it is dropped.

#![allow(dead_code, reason = "each test binary uses a part")]

pub mod message;
pub mod primary;
pub mod tls;

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mirror::http1::Forwarding;
use mirror::proxy::{Control, Drained, Proxy};
use mirror::{
    Address, Admission, Client, Counts, Destination, Head, Limits, Listen, ListenAt, Nobody,
    OpenFiles, Primary, PrimaryAnswer, Settings, Snapshot, Taken, Tap, Upstream,
};

/// Longer than any of it takes on a machine that is busy with something else.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Settings with these primaries and limits that no test meets by chance.
pub fn settings(primaries: &[SocketAddr]) -> Settings {
    let primary = |address: &SocketAddr| Primary {
        upstream: Upstream {
            at: Destination::Tcp {
                host: address.ip().to_string(),
                port: address.port(),
            },
            tls: false,
            ca: None,
        },
        connect_timeout: PATIENCE,
        answer_timeout: None,
        proxy_protocol: None,
    };
    Settings {
        listen: Listen {
            at: listen_at("127.0.0.1:0".parse().unwrap()),
            tls: None,
            proxy_protocol: false,
        },
        primaries: primaries.iter().map(primary).collect(),
        shadows: Vec::new(),
        client: Client {
            forwarded: Forwarding::Off,
            head_timeout: PATIENCE,
            idle_timeout: PATIENCE,
            head_bytes: 16 << 10,
            head_fields: 100,
            strictness: Default::default(),
            connections: 1000,
            drain: PATIENCE,
        },
        limits: Limits {
            bytes: 64 << 20,
            body_bytes: 1 << 20,
            compared_bytes: 1 << 20,
        },
    }
}

/// This port for one process.
pub fn listen_at(address: SocketAddr) -> ListenAt {
    ListenAt::Tcp {
        address,
        reuse_port: false,
    }
}

/// A proxy that serves.
pub struct Served {
    pub address: SocketAddr,
    pub control: Control,
    pub counts: Arc<Counts>,
    thread: Option<JoinHandle<Drained>>,
}

impl Served {
    /// In front of one primary, without a tap.
    pub fn plain(primary: SocketAddr) -> Self {
        Self::new(&settings(&[primary]), Arc::new(Nobody))
    }

    pub fn new(settings: &Settings, tap: Arc<dyn Tap>) -> Self {
        Self::counting(settings, Arc::default(), tap)
    }

    /// With counts that the tap shares.
    pub fn counting(settings: &Settings, counts: Arc<Counts>, tap: Arc<dyn Tap>) -> Self {
        let proxy = Proxy::bind(settings, OpenFiles::raise(), counts.clone(), tap).unwrap();
        let control = proxy.control();
        let address = match proxy.address() {
            Address::Tcp(address) => *address,
            Address::Unix(_) => "127.0.0.1:0".parse().unwrap(),
        };
        let thread = std::thread::spawn(move || proxy.serve().unwrap());
        Self {
            address,
            control,
            counts,
            thread: Some(thread),
        }
    }

    pub fn client(&self) -> Peer {
        Peer::new(TcpStream::connect(self.address).unwrap())
    }

    /// Drains and says what was cut.
    pub fn drained(mut self) -> Drained {
        self.control.drain();
        self.thread.take().unwrap().join().unwrap()
    }

    /// Waits until the counts are as they should be.
    #[track_caller]
    pub fn until(&self, what: impl Fn(&Snapshot) -> bool) -> Snapshot {
        let begun = Instant::now();
        loop {
            let snapshot = self.counts.snapshot();
            if what(&snapshot) {
                return snapshot;
            }
            assert!(begun.elapsed() < PATIENCE, "{snapshot:?}");
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.control.drain();
        if let Some(thread) = self.thread.take() {
            let drained = thread.join();
            if !std::thread::panicking() {
                drained.unwrap();
            }
        }
        // Every request ended in exactly one place.
        if !std::thread::panicking() {
            let s = self.counts.snapshot();
            assert_eq!(s.received, s.answered + s.failed + s.aborted, "{s:?}");
            assert_eq!((s.open, s.held_bytes), (0, 0), "{s:?}");
        }
    }
}

/// One end of a connection.
pub struct Peer {
    pub stream: TcpStream,
    /// Read and not yet asked for.
    pub pending: Vec<u8>,
}

impl Peer {
    pub fn new(stream: TcpStream) -> Self {
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        Self {
            stream,
            pending: Vec::new(),
        }
    }

    /// Whether the other end took it.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Reads more: `false` at the orderly end.
    pub fn fill(&mut self) -> std::io::Result<bool> {
        let mut buffer = [0; 16 << 10];
        loop {
            match self.stream.read(&mut buffer) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Ok(count) => {
                    self.pending.extend_from_slice(&buffer[..count]);
                    return Ok(count > 0);
                }
                Err(error) => {
                    assert!(!matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::TimedOut
                    ));
                    return Err(error);
                }
            }
        }
    }

    /// Everything until the end; and whether that was orderly.
    pub fn rest(&mut self) -> (Vec<u8>, bool) {
        loop {
            match self.fill() {
                Ok(true) => {}
                end => return (std::mem::take(&mut self.pending), end.is_ok()),
            }
        }
    }

    /// The other end has closed, and sent nothing before.
    #[track_caller]
    pub fn assert_closed(&mut self) {
        let (rest, _) = self.rest();
        assert_eq!(String::from_utf8_lossy(&rest), "");
    }

    /// Says no more, but listens.
    pub fn finish(&self) {
        self.stream.shutdown(Shutdown::Write).unwrap();
    }
}

/// Number, method, target and length of what was asked.
pub type Asked = (u64, String, String, Option<u64>);

/// Wants everything, and remembers it.
#[derive(Default)]
pub struct Memory {
    pub heads: Mutex<Vec<Asked>>,
    pub taken: Mutex<Vec<Arc<Taken>>>,
    pub answered: Mutex<Vec<(u64, PrimaryAnswer)>>,
    pub given_up: Mutex<Vec<u64>>,
}

impl Tap for Memory {
    fn wants(&self, head: &Head<'_>) -> Option<Admission> {
        let known = (
            head.id,
            head.method.to_owned(),
            head.target.to_owned(),
            head.body_bytes,
        );
        self.heads.lock().unwrap().push(known);
        Some(Admission::nobody())
    }

    fn taken(&self, request: Arc<Taken>) {
        self.taken.lock().unwrap().push(request);
    }

    fn given_up(&self, id: u64) {
        self.given_up.lock().unwrap().push(id);
    }

    fn answered(&self, request: &Arc<Taken>, answer: PrimaryAnswer) {
        self.answered.lock().unwrap().push((request.id, answer));
    }

    fn wants_answer(&self, _: &Admission) -> bool {
        true
    }
}

/// Pieces of 1 to `most` bytes, as a small generator says.
pub fn pieces(bytes: &[u8], mut state: u32, most: usize) -> Vec<&[u8]> {
    let mut rest = bytes;
    let mut all = Vec::new();
    while !rest.is_empty() {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (piece, after) = rest.split_at((1 + (state >> 16) as usize % most).min(rest.len()));
        all.push(piece);
        rest = after;
    }
    all
}
