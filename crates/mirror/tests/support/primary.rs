//! A scripted primary: each connection is given to a closure on a thread of its own.

use std::collections::HashMap;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::Peer;
use super::message::Message;

pub struct Scripted {
    pub address: SocketAddr,
    pub accepted: Arc<AtomicUsize>,
    ending: Arc<AtomicBool>,
    streams: Arc<Mutex<HashMap<usize, TcpStream>>>,
    acceptor: Option<JoinHandle<Vec<JoinHandle<()>>>>,
}

impl Scripted {
    /// `script` is called with each connection and its number, from 0.
    pub fn new(script: impl Fn(&mut Peer, usize) + Send + Sync + 'static) -> Self {
        Self::at("127.0.0.1:0".parse().unwrap(), script)
    }

    /// The same on an address that is known before.
    pub fn at(
        address: SocketAddr,
        script: impl Fn(&mut Peer, usize) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind(address).unwrap();
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
                    let number = accepted.fetch_add(1, Ordering::SeqCst);
                    streams
                        .lock()
                        .unwrap()
                        .insert(number, stream.try_clone().unwrap());
                    let (script, streams) = (script.clone(), streams.clone());
                    workers.push(std::thread::spawn(move || {
                        let mut peer = Peer::new(stream);
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

    /// Answers each request with what this says, as long as the connection stays.
    pub fn answering(answer: impl Fn(&Message) -> Vec<u8> + Send + Sync + 'static) -> Self {
        Self::new(move |peer, _| {
            while let Some(request) = peer.request() {
                if !peer.send(answer(&request)) {
                    break;
                }
            }
        })
    }

    /// Answers with what it was asked: the request's head and body as the answer's body.
    pub fn echo() -> Self {
        Self::answering(|request| {
            let mut body = format!("{}\n", request.line).into_bytes();
            for (name, value) in &request.fields {
                body.extend(format!("{name}={value}\n").into_bytes());
            }
            body.extend_from_slice(b"\n");
            body.extend_from_slice(&request.body);
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            if request.line.starts_with("HEAD ") {
                return head.into_bytes();
            }
            [head.into_bytes(), body].concat()
        })
    }

    pub fn connections(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for Scripted {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::SeqCst);
        for stream in self.streams.lock().unwrap().values() {
            let _ = stream.shutdown(Shutdown::Both);
        }
        let _ = TcpStream::connect(self.address);
        if let Some(acceptor) = self.acceptor.take() {
            let workers = acceptor.join().unwrap();
            for stream in self.streams.lock().unwrap().values() {
                let _ = stream.shutdown(Shutdown::Both);
            }
            for worker in workers {
                let ended = worker.join();
                if !std::thread::panicking() {
                    ended.unwrap();
                }
            }
        }
    }
}

/// An answer with this body.
pub fn ok(body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
