//! What the primary and the client receive through the mirror, compared with what they receive without it: byte for byte, but
//! for the differences that docs/mirror.md lists.

mod explained;
mod generated;
mod wire;

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex};

use crate::support::primary::Scripted;
use crate::support::{Peer, Served};
use explained::{Explained, Side};
use generated::{Conversation, Draw};
use wire::Wire;

const SEED: u64 = 20_261_123;
const REQUESTS: usize = 450;
const PAGE: &str = include_str!("../../../../docs/mirror.md");
const HEADING: &str = "### Every byte that differs";

/// What both ends of a conversation received.
#[derive(Debug, Default)]
struct Received {
    by_primary: Vec<Wire>,
    by_client: Vec<Wire>,
    /// After the last answer.
    rest: Vec<u8>,
}

/// A primary that carries out one conversation after another, and keeps what it received.
struct Primary {
    scripted: Scripted,
    current: Arc<Mutex<Conversation>>,
    seen: Arc<Mutex<Vec<Wire>>>,
}

impl Primary {
    fn new() -> Self {
        let current = Arc::new(Mutex::new(Conversation::default()));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let scripted = Scripted::new({
            let (current, seen) = (current.clone(), seen.clone());
            move |peer, _| {
                let conversation = current.lock().unwrap().clone();
                for exchange in &conversation.exchanges {
                    let Some(mut request) = Wire::head(peer) else {
                        return;
                    };
                    if exchange.waits {
                        peer.send("HTTP/1.1 100 Continue\r\n\r\n");
                    }
                    request.read_body(peer, false);
                    seen.lock().unwrap().push(request);
                    for piece in &exchange.answer {
                        peer.send(piece);
                    }
                }
            }
        });
        Self {
            scripted,
            current,
            seen,
        }
    }

    fn carry_out(&self, conversation: &Conversation, at: SocketAddr) -> Received {
        *self.current.lock().unwrap() = conversation.clone();
        self.seen.lock().unwrap().clear();
        let mut client = Peer::new(TcpStream::connect(at).unwrap());
        let mut received = Received::default();
        if conversation.pipelined {
            let all = conversation.exchanges.iter().map(|e| e.request.clone());
            client.send(all.collect::<Vec<_>>().concat());
        }
        for exchange in &conversation.exchanges {
            if exchange.waits {
                let (head, body) = exchange.request.split_at(exchange.head_bytes);
                client.send(head);
                received.by_client.extend(Wire::head(&mut client));
                client.send(body);
            } else if !conversation.pipelined {
                client.send(&exchange.request);
            }
            while let Some(mut answer) = Wire::head(&mut client) {
                let interim = answer.status() < 200;
                if !interim && !exchange.is_bodiless(answer.status()) {
                    answer.read_body(&mut client, true);
                }
                received.by_client.push(answer);
                if !interim {
                    break;
                }
            }
        }
        received.rest = client.rest().0;
        received.by_primary = std::mem::take(&mut *self.seen.lock().unwrap());
        received
    }
}

/// First and second column of the page's table.
fn listed() -> BTreeSet<(String, String)> {
    let section = PAGE
        .split(HEADING)
        .nth(1)
        .expect("the page has the section");
    let section = section.split("\n#").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|row| {
        let mut cells = row.split('|').skip(1).map(|cell| cell.trim().to_owned());
        (
            cells.next().unwrap_or_default(),
            cells.next().unwrap_or_default(),
        )
    })
    .collect()
}

#[test]
fn every_byte_that_differs_is_explained() {
    let primary = Primary::new();
    let served = Served::plain(primary.scripted.address);
    let mut draw = Draw::new(SEED);
    let mut explained = Explained::default();
    let mut requests = 0;
    while requests < REQUESTS {
        let conversation = Conversation::drawn(&mut draw);
        requests += conversation.exchanges.len();
        let direct = primary.carry_out(&conversation, primary.scripted.address);
        let through = primary.carry_out(&conversation, served.address);
        assert_eq!(direct.by_primary.len(), conversation.exchanges.len());
        explained.requests(&conversation, direct.by_primary, through.by_primary);
        explained.answers(&conversation, direct.by_client, through.by_client);
        assert_eq!((&direct.rest[..], &through.rest[..]), (&b""[..], &b""[..]));
    }
    for (request, status) in generated::REFUSED {
        let conversation = Conversation::refused(request);
        let direct = primary.carry_out(&conversation, primary.scripted.address);
        let through = primary.carry_out(&conversation, served.address);
        let statuses: Vec<u16> = through.by_client.iter().map(Wire::status).collect();
        assert_eq!(statuses, [status], "{request:?}");
        assert_eq!((direct.by_primary.len(), through.by_primary.len()), (1, 0));
        explained.note(Side::Requests, explained::REFUSED);
        requests += 1;
    }
    assert!(requests >= 400, "{requests}");
    // In both directions: what is listed occurs, and what occurs is listed.
    assert_eq!(explained.occurred(), listed());
}
