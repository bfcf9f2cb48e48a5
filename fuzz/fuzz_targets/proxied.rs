//! Requests on their way through the mirror: any bytes are refused or understood
//! without a panic, alike however they are cut; and what is understood is written
//! so that others, who know nothing of our reader, find the same end.

#![no_main]

use bytes::BytesMut;
use libfuzzer_sys::fuzz_target;
use mirror::http1::{Body, Forwarded, Framing, HeadLimits, Malformed, RequestHead, chunk, last_chunk};

const LIMITS: HeadLimits = HeadLimits { bytes: 1024, fields: 16 };

/// A request as far as it was understood, and as it would be given to the next server.
#[derive(Debug, PartialEq)]
struct Seen {
    end: Result<Option<usize>, Malformed>,
    framing: Option<Framing>,
    data: Vec<u8>,
    written: Vec<u8>,
}

fn read<'a>(pieces: impl Iterator<Item = &'a [u8]>, limits: HeadLimits) -> Seen {
    let mut head = RequestHead::default();
    let mut body = None;
    let mut input = Vec::new();
    let mut used = 0;
    let mut seen = Seen { end: Ok(None), framing: None, data: Vec::new(), written: Vec::new() };
    let mut out = BytesMut::new();
    'pieces: for piece in pieces {
        input.extend_from_slice(piece);
        if body.is_none() {
            match head.read(&input, limits) {
                Err(malformed) => {
                    assert!((400..600).contains(&malformed.status()));
                    seen.end = Err(malformed);
                    return seen;
                }
                Ok(None) => continue,
                Ok(Some(length)) => {
                    head.forward(&input, &Forwarded::default(), &mut out);
                    seen.framing = Some(head.framing());
                    body = Some(Body::new(head.framing()));
                    input.drain(..length);
                    used += length;
                }
            }
        }
        while let Some(reader) = &mut body {
            let piece = match reader.next(&input) {
                Ok(piece) => piece,
                Err(malformed) => {
                    seen.end = Err(malformed);
                    return seen;
                }
            };
            let taken = piece.skip + piece.data;
            assert!(taken <= input.len(), "more than it was given");
            seen.data.extend_from_slice(&input[piece.skip..taken]);
            input.drain(..taken);
            used += taken;
            if piece.ended {
                assert!(reader.is_ended());
                seen.end = Ok(Some(used));
                break 'pieces;
            }
            if piece.data == 0 {
                break;
            }
        }
    }
    if seen.framing == Some(Framing::Chunked) {
        // How the data comes in chunks depends on the cuts, and does not matter.
        chunk(&mut out, &seen.data);
        if matches!(seen.end, Ok(Some(_))) {
            last_chunk(&mut out);
        }
    } else {
        out.extend_from_slice(&seen.data);
    }
    seen.written = out.to_vec();
    seen
}

/// The framing of a request as a naive reader finds it: lines, and nothing clever.
fn naive(written: &[u8]) -> (Framing, usize) {
    let end = written.windows(4).position(|four| four == b"\r\n\r\n").expect("a head's end");
    let head = &written[..end];
    let mut lengths = Vec::new();
    let mut codings = Vec::new();
    let mut hosts = 0;
    let mut lines = 0;
    for line in head.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)) {
        lines += 1;
        assert!(!line.is_empty() && !line.contains(&b'\r') && !line.contains(&0));
        if lines == 1 {
            let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
            assert_eq!(words.len(), 3, "{line:?}");
            assert!(words[1].starts_with(b"/") || words[1] == b"*");
            // UTF-8 that is not percent-encoded passes, as through nginx and Puma; controls and bytes of no character do not.
            assert!(std::str::from_utf8(words[1]).is_ok() && !words[1].iter().any(u8::is_ascii_control));
            assert!(words[2] == b"HTTP/1.1" || words[2] == b"HTTP/1.0");
            assert!(words[0] != b"CONNECT" && !words[0].is_empty());
            continue;
        }
        let colon = line.iter().position(|byte| *byte == b':').expect("a colon");
        let (name, value) = (line[..colon].to_ascii_lowercase(), line[colon + 1..].trim_ascii());
        assert!(!name.is_empty() && name.iter().all(u8::is_ascii_graphic));
        match &name[..] {
            b"content-length" => lengths.push(value.to_vec()),
            b"transfer-encoding" => codings.push(value.to_vec()),
            b"host" => hosts += 1,
            b"x-request-start" => {}
            _ => {
                let ours = ["Host", "Content-Length", "Transfer-Encoding", capture::SHADOW_MARK, "X-Request-Start"];
                assert!(!ours.iter().any(|known| capture::reads_as(&name, known)), "{line:?}");
            }
        }
    }
    assert!(hosts <= 1);
    let framing = match (&lengths[..], &codings[..]) {
        ([], []) => Framing::Length(0),
        ([length], []) => Framing::Length(std::str::from_utf8(length).unwrap().parse().unwrap()),
        ([], [coding]) => {
            assert_eq!(coding, b"chunked");
            Framing::Chunked
        }
        both => panic!("{both:?}"),
    };
    (framing, end + 4)
}

/// Chunks, likewise; the data and what follows them.
fn unchunk(mut rest: &[u8]) -> (Vec<u8>, &[u8]) {
    let mut data = Vec::new();
    loop {
        let line = rest.windows(2).position(|two| two == b"\r\n").expect("a size");
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..line]).unwrap(), 16).unwrap();
        rest = &rest[line + 2..];
        data.extend_from_slice(&rest[..size]);
        assert_eq!(&rest[size..size + 2], b"\r\n");
        rest = &rest[size + 2..];
        if size == 0 {
            return (data, rest);
        }
    }
}

/// Pieces of 1 to 16 bytes, as a small generator says.
fn pieces(bytes: &[u8], mut state: u32) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let length = (1 + (state >> 16) as usize % 16).min(rest.len());
        let (piece, after) = rest.split_at(length);
        rest = after;
        Some(piece)
    })
}

fuzz_target!(|data: &[u8]| {
    // One byte says how it is cut, the others are the request.
    let [cuts, bytes @ ..] = data else {
        return;
    };
    let whole = read(std::iter::once(bytes), LIMITS);
    assert_eq!(whole, read(bytes.chunks(1), LIMITS), "byte by byte");
    assert_eq!(whole, read(pieces(bytes, u32::from(*cuts)), LIMITS), "in pieces");
    let Ok(Some(used)) = whole.end else {
        return;
    };
    // What follows a request does not change it.
    assert_eq!(whole, read(std::iter::once(&bytes[..used]), LIMITS), "without what follows");
    let (framing, length) = naive(&whole.written);
    assert_eq!(Some(framing), whole.framing);
    let mut fields = [httparse::EMPTY_HEADER; 32];
    let mut parsed = httparse::Request::new(&mut fields);
    assert_eq!(parsed.parse(&whole.written), Ok(httparse::Status::Complete(length)));
    let body = &whole.written[length..];
    match framing {
        Framing::Chunked => assert_eq!(unchunk(body), (whole.data.clone(), &b""[..])),
        _ => assert_eq!(body, whole.data),
    }
    // Our own reader takes what our own writer wrote for the same: a few bytes more, with spaces and fields of ours.
    let again = read(std::iter::once(&whole.written[..]), HeadLimits::ANSWERS);
    assert_eq!(again.end, Ok(Some(whole.written.len())));
    assert_eq!((again.framing, &again.data), (whole.framing, &whole.data));
});
