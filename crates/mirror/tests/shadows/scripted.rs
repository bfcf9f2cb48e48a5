//! Shadows that do what a test says, over real sockets; and a client's half
//! that has no clients.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use capture::{Answer, Field, Outcome, Pair};
use mirror::shadow::Telling;
use mirror::{
    Client, Counts, Destination, Filter, Head, Limits, Listen, ListenAt, PrimaryAnswer, Sample,
    Settings, Shadow, ShadowSnapshot, Shadows, Taken, Tap, Upstream,
};

/// How long a test waits for a state before it fails; machines are busy.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// One request as a scripted shadow got it.
#[derive(Debug, Clone)]
pub struct Got {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Counts the connections, from 1.
    pub connection: usize,
}

impl Got {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut same = self
            .headers
            .iter()
            .filter(|(other, _)| other.eq_ignore_ascii_case(name));
        same.next().map(|(_, value)| value.as_str())
    }
}

/// A server that answers as scripted.
pub struct Scripted {
    pub port: u16,
    pub got: Arc<Mutex<Vec<Got>>>,
    pub connections: Arc<AtomicUsize>,
}

/// `answer` writes what it likes, and says whether the connection stays.
pub fn scripted(answer: impl Fn(&Got, &mut TcpStream) -> bool + Send + Sync + 'static) -> Scripted {
    scripted_at(TcpListener::bind("127.0.0.1:0").unwrap(), answer)
}

pub fn scripted_at(
    listener: TcpListener,
    answer: impl Fn(&Got, &mut TcpStream) -> bool + Send + Sync + 'static,
) -> Scripted {
    let port = listener.local_addr().unwrap().port();
    let (got, connections) = (
        Arc::new(Mutex::new(Vec::new())),
        Arc::new(AtomicUsize::new(0)),
    );
    let (all, count, answer) = (got.clone(), connections.clone(), Arc::new(answer));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else { return };
            let connection = count.fetch_add(1, Ordering::SeqCst) + 1;
            let (all, answer) = (all.clone(), answer.clone());
            std::thread::spawn(move || serve(stream, connection, &all, answer.as_ref()));
        }
    });
    Scripted {
        port,
        got,
        connections,
    }
}

fn serve(
    mut stream: TcpStream,
    connection: usize,
    all: &Mutex<Vec<Got>>,
    answer: &(dyn Fn(&Got, &mut TcpStream) -> bool + Send + Sync),
) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    while let Some(got) = read(&mut reader, connection) {
        all.lock().unwrap().push(got.clone());
        if !answer(&got, &mut stream) {
            return;
        }
    }
}

fn read(reader: &mut BufReader<TcpStream>, connection: usize) -> Option<Got> {
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let headers: Vec<(String, String)> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let mut got = Got {
        line: lines[0].clone(),
        headers,
        body: Vec::new(),
        connection,
    };
    let length = got
        .header("content-length")
        .map_or(0, |length| length.parse().unwrap());
    got.body = vec![0; length];
    reader.read_exact(&mut got.body).ok()?;
    Some(got)
}

/// A whole answer with a body of text.
pub fn ok(stream: &mut TcpStream, body: &str) -> bool {
    ok_with(stream, "Content-Type: text/plain\r\n", body)
}

/// `headers` end with CR LF each.
pub fn ok_with(stream: &mut TcpStream, headers: &str, body: &str) -> bool {
    let answer = format!(
        "HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).is_ok()
}

/// A port without a listener, which no other process can take: it is bound, and becomes a listener on request.
pub struct Reserved(std::os::fd::OwnedFd, pub u16);

impl Reserved {
    pub fn new() -> Self {
        use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};
        let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(
            &socket,
            &std::net::SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, 0),
        )
        .unwrap();
        let address = std::net::SocketAddrV4::try_from(getsockname(&socket).unwrap()).unwrap();
        Self(socket, address.port())
    }

    pub fn listen(self) -> TcpListener {
        rustix::net::listen(&self.0, 128).unwrap();
        TcpListener::from(self.0)
    }
}

/// Until the other side gives up.
pub fn hang(stream: &mut TcpStream) -> bool {
    let _ = stream.read_to_end(&mut Vec::new());
    false
}

/// Gets everything that is safe; 30 s are more than any test takes.
pub fn shadow(name: &str, port: u16) -> Shadow {
    Shadow {
        name: name.into(),
        upstream: Upstream {
            at: Destination::Tcp {
                host: "127.0.0.1".into(),
                port,
            },
            tls: false,
            ca: None,
        },
        twin: false,
        sample: Sample::Requests(1.0),
        filter: Filter::default(),
        copies: 1,
        deadline: Duration::from_secs(30),
        queue: 10,
        connections: 4,
        keep_alive: true,
        rewrite: Vec::new(),
        cookie_jar: false,
        tokens: Vec::new(),
    }
}

pub fn settings(shadows: Vec<Shadow>) -> Settings {
    let long = Duration::from_secs(30);
    Settings {
        listen: Listen {
            at: ListenAt::Tcp {
                address: ([127, 0, 0, 1], 0).into(),
                reuse_port: false,
            },
            tls: None,
            proxy_protocol: false,
        },
        primaries: Vec::new(),
        shadows,
        client: Client {
            forwarded: mirror::http1::Forwarding::Off,
            head_timeout: long,
            idle_timeout: long,
            head_bytes: 1 << 16,
            head_fields: 100,
            strictness: Default::default(),
            connections: 100,
            drain: long,
        },
        limits: Limits {
            bytes: 1 << 20,
            body_bytes: 1 << 16,
            compared_bytes: 1 << 16,
        },
    }
}

/// What a client sends and the primary answers.
pub struct Asked<'a> {
    pub method: &'a str,
    pub target: &'a str,
    pub headers: &'a [(&'a str, &'a str)],
    pub body: &'a [u8],
}

/// `GET` without anything.
pub fn get(target: &str) -> Asked<'_> {
    Asked {
        method: "GET",
        target,
        headers: &[],
        body: b"",
    }
}

/// The client's half of a mirror, driven by a test.
pub struct Driven {
    pub shadows: Shadows,
    pub counts: Arc<Counts>,
    pub pairs: Receiver<Pair>,
    next: AtomicU64,
}

impl Driven {
    pub fn new(settings: &Settings) -> Self {
        Self::with(settings, Arc::default())
    }

    pub fn with(settings: &Settings, counts: Arc<Counts>) -> Self {
        let (sender, pairs) = channel();
        let telling = Telling {
            began: Instant::now(),
            seed: 1,
            rules: capture::Rules::default(),
            pair: Box::new(move |pair| {
                let _ = sender.send(pair);
            }),
        };
        let shadows = Shadows::start(settings, &counts, telling).unwrap();
        Self {
            shadows,
            counts,
            pairs,
            next: AtomicU64::new(1),
        }
    }

    /// Up to the moment at which the primary gets it; `None` where no shadow does.
    pub fn take(&self, asked: &Asked<'_>) -> Option<Arc<Taken>> {
        let id = self.next.fetch_add(1, Ordering::SeqCst);
        let headers: Vec<(&str, &[u8])> = asked
            .headers
            .iter()
            .map(|(name, value)| (*name, value.as_bytes()))
            .collect();
        let admission = self.shadows.wants(&Head {
            id,
            connection: 1,
            method: asked.method,
            target: asked.target,
            headers: mirror::Offered::Listed(&headers),
            body_bytes: Some(asked.body.len() as u64),
        })?;
        let request = Arc::new(Taken {
            id,
            at: Instant::now(),
            connection: 1,
            sequence: 1,
            method: asked.method.into(),
            target: asked.target.into(),
            headers: headers.into_iter().collect(),
            body: Bytes::copy_from_slice(asked.body),
            body_bytes: asked.body.len() as u64,
            admission,
        });
        self.shadows.taken(request.clone());
        Some(request)
    }

    /// The primary's answer to it.
    pub fn answer(&self, request: &Arc<Taken>, headers: &[(&str, &str)], body: &str) {
        self.shadows.answered(request, primary(headers, body));
    }

    /// Both at once, with an answer of text; whether a shadow gets it.
    pub fn ask(&self, asked: &Asked<'_>, body: &str) -> bool {
        let taken = self.take(asked);
        if let Some(request) = &taken {
            self.answer(request, &[("Content-Type", "text/plain")], body);
        }
        taken.is_some()
    }

    /// The next pair that is whole.
    pub fn pair(&self) -> Pair {
        self.pairs.recv_timeout(PATIENCE).expect("a pair")
    }

    /// Asks, and returns what became of it.
    pub fn outcome(&self, asked: &Asked<'_>) -> Outcome {
        assert!(self.ask(asked, "x"));
        self.pair().shadows[0].outcome.clone()
    }

    /// Ends, and checks that everything has come to exactly one end.
    pub fn stop(&self, within: Duration) -> Vec<ShadowSnapshot> {
        self.shadows.stop(within);
        let snapshot = self.counts.snapshot();
        assert_eq!(snapshot.held_bytes, 0, "{snapshot:?}");
        for shadow in &snapshot.shadows {
            let ended = shadow.answered
                + shadow.failed.values().sum::<u64>()
                + shadow.dropped.values().sum::<u64>();
            assert_eq!((shadow.sampled, shadow.pending), (ended, 0), "{shadow:?}");
        }
        snapshot.shadows
    }
}

pub fn primary(headers: &[(&str, &str)], body: &str) -> PrimaryAnswer {
    let fields = headers.iter().map(|(name, value)| Field {
        name: (*name).into(),
        value: value.as_bytes().to_vec(),
    });
    let content_type = headers
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    PrimaryAnswer {
        answer: Some(Answer {
            status: 200,
            first_byte_ns: 1,
            took_ns: 2,
            body_bytes: body.len() as u64,
            digest: xxhash_rust::xxh3::xxh3_64(body.as_bytes()),
            content_type: content_type.map_or("", |(_, value)| value).into(),
            complete: true,
        }),
        headers: Some(fields.collect()),
        body: Bytes::copy_from_slice(body.as_bytes()),
    }
}

/// Until it holds.
pub fn eventually(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        std::thread::yield_now();
    }
}
