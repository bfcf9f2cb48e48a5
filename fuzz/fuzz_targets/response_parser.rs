//! The answer parser: never panics, never takes more bytes than it was given,
//! and says the same however the bytes are cut.

#![no_main]

use libfuzzer_sys::fuzz_target;
use load::{Answer, Fed, ParseError, ResponseParser};

/// Everything that can be seen of a parser that was fed and then closed.
#[derive(Debug, PartialEq)]
struct Seen {
    end: Result<Answer, ParseError>,
    /// Bytes that belong to the answer.
    used: usize,
    started: bool,
    head: Vec<u8>,
    body: Vec<u8>,
    cut: bool,
}

#[derive(Clone, Copy)]
struct Way {
    to_head: bool,
    keep: Option<bool>,
}

fn parse<'a>(pieces: impl Iterator<Item = &'a [u8]>, way: Way) -> Seen {
    let mut parser = ResponseParser::new();
    parser.reset(way.to_head);
    if let Some(body) = way.keep {
        parser.keep(body);
    }
    let mut used = 0;
    let mut end = None;
    for piece in pieces {
        match parser.feed(piece) {
            Ok(Fed::More) => used += piece.len(),
            Ok(Fed::Whole { answer, consumed }) => {
                assert!(consumed <= piece.len(), "more than it was given");
                assert_eq!(parser.feed(b"x"), Ok(Fed::Whole { answer, consumed: 0 }));
                assert_eq!(parser.close(), Ok(answer));
                used += consumed;
                end = Some(Ok(answer));
                break;
            }
            Err(error) => {
                assert_eq!(parser.feed(b"HTTP/1.1 200 OK\r\n\r\n"), Err(error));
                assert_eq!(parser.close(), Err(error));
                end = Some(Err(error));
                break;
            }
        }
    }
    let end = end.unwrap_or_else(|| parser.close());
    if let Ok(answer) = end {
        assert!((200..=999).contains(&answer.status));
    }
    let kept = parser.kept();
    let whole = end.is_ok();
    Seen {
        end,
        // Of an answer that is none, how far it was read depends on the cuts.
        used: if whole { used } else { 0 },
        started: parser.started(),
        head: if whole { kept.head.to_vec() } else { Vec::new() },
        body: if whole { kept.body.to_vec() } else { Vec::new() },
        cut: whole && kept.cut,
    }
}

/// Pieces of 1 to 16 bytes, or of up to 256, as a small generator says.
fn pieces(bytes: &[u8], mut state: u32) -> impl Iterator<Item = &[u8]> {
    let most = if state & 1 == 0 { 16 } else { 256 };
    let mut rest = bytes;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let length = (1 + (state >> 16) as usize % most).min(rest.len());
        let (piece, after) = rest.split_at(length);
        rest = after;
        Some(piece)
    })
}

fuzz_target!(|data: &[u8]| {
    // Two bytes say how, the others are the answer.
    let [how, cuts, bytes @ ..] = data else {
        return;
    };
    let way = Way {
        to_head: how & 1 == 1,
        keep: match how & 6 {
            0 => None,
            2 => Some(false),
            _ => Some(true),
        },
    };
    let whole = parse(std::iter::once(bytes), way);
    assert_eq!(whole, parse(bytes.chunks(1), way), "byte by byte");
    let cut = parse(pieces(bytes, u32::from(*cuts) << 8 | u32::from(*how)), way);
    assert_eq!(whole, cut, "in pieces");
    if whole.end.is_ok() {
        assert!(whole.used <= bytes.len());
        // What follows the answer does not change it.
        let own = parse(std::iter::once(&bytes[..whole.used]), way);
        assert_eq!(whole, own, "without what follows");
    }
});
