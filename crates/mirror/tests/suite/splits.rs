//! However the bytes are cut on their way, the same comes out.

use std::sync::{Arc, Mutex};

use crate::support::message::Message;
use crate::support::primary::Scripted;
use crate::support::{Memory, Served, pieces, settings};
use mirror::http1::{Body, Framing, HeadLimits, Malformed, RequestHead, ResponseHead};
use proptest::prelude::*;

const REQUESTS: &str = "\
    GET /one?a HTTP/1.1\r\nHost: a\r\n\r\n\
    POST /two HTTP/1.1\r\nHost: a\r\nContent-Length: 12\r\n\r\nGET / HTTP/1\r\n\
    PUT /three HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nConnection: x\r\nX: y\r\n\r\n\
    5;e=1\r\nfirst\r\nb\r\n and second\r\n0\r\nTrailer: a\r\n\r\n\
    HEAD /four HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n\
    DELETE /five HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
const ANSWERS: [&str; 5] = [
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\ntwo\r\n1\r\n!\r\n0\r\nA: b\r\n\r\n",
    "HTTP/1.1 204 None\r\nX: three\r\n\r\n",
    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n",
    "HTTP/1.1 200 OK\r\n\r\nfive until close",
];

/// What both ends saw, with nothing of how it was cut.
fn relay(cuts: u32, most: usize) -> (Vec<Message>, Vec<Message>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let primary = Scripted::new({
        let seen = seen.clone();
        move |peer, _| {
            for answer in ANSWERS {
                let Some(mut request) = peer.request() else {
                    return;
                };
                request.chunks.clear();
                seen.lock().unwrap().push(request);
                for piece in pieces(answer.as_bytes(), cuts, most) {
                    peer.send(piece);
                }
            }
        }
    });
    let tap = Arc::new(Memory::default());
    let served = Served::new(&settings(&[primary.address]), tap.clone());
    let mut client = served.client();
    let mut answers = Vec::new();
    for piece in pieces(REQUESTS.as_bytes(), cuts.rotate_left(7), most) {
        client.send(piece);
    }
    for number in 0..6 {
        // The fifth answers HEAD.
        let mut answer = if number == 4 {
            client.head()
        } else {
            client.answer()
        }
        .unwrap();
        answer.chunks.clear();
        answers.push(answer);
    }
    client.assert_closed();
    served.until(|s| (s.answered, s.open) == (5, 0));
    let bodies: Vec<u64> = tap
        .taken
        .lock()
        .unwrap()
        .iter()
        .map(|t| t.body_bytes)
        .collect();
    assert_eq!(bodies, [0, 12, 16, 0, 0]);
    let seen = seen.lock().unwrap().clone();
    (seen, answers)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn cuts_make_no_difference(cuts: u32, most in 1_usize..40) {
        prop_assert_eq!(relay(cuts, most), relay(1, 10_000));
    }
}

const LIMITS: HeadLimits = HeadLimits {
    bytes: 300,
    fields: 6,
};

/// Everything that can be seen of a head and its body that came in these pieces.
fn read(pieces: &[&[u8]]) -> (Result<Option<String>, Malformed>, Vec<u8>) {
    let mut head = RequestHead::default();
    let mut input: Vec<u8> = Vec::new();
    let mut body: Option<Body> = None;
    let mut whole = None;
    let mut data = Vec::new();
    for piece in pieces {
        input.extend_from_slice(piece);
        if body.is_none() {
            match head.read(&input, LIMITS) {
                Err(malformed) => return (Err(malformed), data),
                Ok(None) => continue,
                Ok(Some(length)) => {
                    let seen = format!(
                        "{length} {} {} {:?} {:?} {} {} {}",
                        head.method(&input),
                        head.target(&input),
                        head.version(),
                        head.framing(),
                        head.keeps(),
                        head.upgrades(&input),
                        head.fields()
                            .end_to_end(&input)
                            .map(|(name, value)| format!("{name}={value:?};"))
                            .collect::<String>(),
                    );
                    body = Some(Body::new(head.framing()));
                    whole = Some(seen);
                    input.drain(..length);
                }
            }
        }
        while let Some(body) = &mut body {
            let piece = match body.next(&input) {
                Ok(piece) => piece,
                Err(malformed) => return (Err(malformed), data),
            };
            data.extend_from_slice(&input[piece.skip..piece.skip + piece.data]);
            input.drain(..piece.skip + piece.data);
            if piece.ended || piece.data == 0 {
                break;
            }
        }
    }
    (Ok(whole), data)
}

/// Heads that are nearly right.
fn nearly() -> impl Strategy<Value = Vec<u8>> {
    let lines = [
        "Host: a",
        "Host: b",
        "Content-Length: 3",
        "Content-Length: 3",
        "Transfer-Encoding: chunked",
        "Connection: close",
        "Connection: upgrade, x",
        "Upgrade: websocket",
        "X: y",
        "A : b",
        "A:b\n",
        " fold",
        "Long: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    ];
    let firsts = [
        "GET / HTTP/1.1",
        "POST /a HTTP/1.1",
        "GET / HTTP/1.0",
        "GET http://a/ HTTP/1.1",
        "\r\nGET / HTTP/1.1",
        "GET / HTTP/2.0",
        "CONNECT a:1 HTTP/1.1",
    ];
    let tails = [
        "",
        "abc",
        "3\r\nabc\r\n0\r\n\r\n",
        "0\r\nA: b\r\n\r\nGET",
        "3;x\r\nab",
        "zz\r\n",
    ];
    let lines = prop::collection::vec(
        prop::sample::select(lines.to_vec()).prop_map(str::to_owned),
        0..9,
    );
    let first = prop::sample::select(firsts.to_vec());
    let tail = prop::sample::select(tails.to_vec());
    let noise = prop::option::weighted(0.2, (any::<prop::sample::Index>(), any::<u8>()));
    (first, lines, tail, noise).prop_map(|(first, lines, tail, noise)| {
        let mut text = first.to_owned();
        for line in ["Host: a".to_owned()]
            .iter()
            .chain(&lines)
            .skip(lines.len() % 2)
        {
            text.push_str("\r\n");
            text.push_str(line);
        }
        let mut bytes = format!("{text}\r\n\r\n{tail}").into_bytes();
        if let Some((place, byte)) = noise {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn a_head_and_its_body_are_understood_alike_however_they_come(bytes in nearly(), cuts: u32) {
        let whole = read(&[&bytes]);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(&read(&single), &whole);
        prop_assert_eq!(&read(&pieces(&bytes, cuts, 16)), &whole);
    }

    #[test]
    fn nothing_makes_a_reader_panic(bytes: Vec<u8>, to_head: bool) {
        let _ = read(&[&bytes]);
        let mut head = ResponseHead::default();
        let _ = head.read(&[b"HTTP/1.1 ", &bytes[..]].concat(), to_head, LIMITS);
        let mut body = Body::new(Framing::Chunked);
        let _ = body.next(&bytes);
    }
}
