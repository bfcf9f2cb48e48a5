//! The answer parser against bytes of every kind, cut in every way.

use load::{Answer, Fed, HEAD_LIMIT, ParseError, ResponseParser};
use proptest::prelude::*;

type Result = std::result::Result<(Answer, usize), ParseError>;

/// Feeds the pieces, then closes; the answer and how many bytes were its own.
fn parse<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, to_head: bool) -> Result {
    let mut parser = ResponseParser::new();
    parser.reset(to_head);
    let mut used = 0;
    for piece in pieces {
        match parser.feed(piece)? {
            Fed::More => used += piece.len(),
            Fed::Whole { answer, consumed } => return Ok((answer, used + consumed)),
        }
    }
    parser.close().map(|answer| (answer, used))
}

/// Whole, byte by byte and in sevens must agree.
fn parse_all_ways(bytes: &[u8], to_head: bool) -> Result {
    let whole = parse([bytes], to_head);
    assert_eq!(whole, parse(bytes.chunks(1), to_head), "byte by byte");
    assert_eq!(whole, parse(bytes.chunks(7), to_head), "in sevens");
    whole
}

fn answer(bytes: &[u8]) -> (u16, bool, usize) {
    let (answer, used) = parse_all_ways(bytes, false).unwrap();
    (answer.status, answer.reusable, used)
}

fn error(bytes: &[u8]) -> ParseError {
    parse_all_ways(bytes, false).unwrap_err()
}

#[test]
fn answers_end_where_rfc_9112_says() {
    for (bytes, status, reusable) in [
        (&b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc"[..], 200, true),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 200, true),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3, 3\r\ncontent-length: 3\r\n\r\nabc", 200, true),
        (b"HTTP/1.1 204 No Content\r\n\r\n", 204, true),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 99\r\n\r\n", 304, true),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\na", 200, false),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: x, Close\r\n\r\na", 200, false),
        (b"HTTP/1.1 200 OK\r\n\r\nuntil close", 200, false),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nuntil close", 200, false),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", 200, false),
        (b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\na", 200, true),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200, true),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 200, true),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nA;name=\"v\"\r\n0123456789\r\n000\r\nTrailer: x\r\nOther: y\r\n\r\n", 200, true),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 200, true),
        (b"HTTP/1.1 500 \r\nContent-Length: 0\r\n\r\n", 500, true),
        (b"\r\nHTTP/1.1 200 OK\nContent-Length: 0\n\n", 200, true),
    ] {
        let text = String::from_utf8_lossy(bytes);
        assert_eq!(answer(bytes), (status, reusable, bytes.len()), "{text}");
    }
}

#[test]
fn a_head_request_has_no_body_whatever_the_length_says() {
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n";
    let (answer, used) = parse_all_ways(bytes, true).unwrap();
    assert_eq!(
        (answer.status, answer.reusable, used),
        (200, true, bytes.len())
    );
}

#[test]
fn bytes_after_the_answer_are_left() {
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\n";
    assert_eq!(answer(bytes).2, bytes.len() - 17);
}

#[test]
fn what_could_be_read_two_ways_is_refused() {
    for (bytes, expected) in [
        (&b"garbage"[..], ParseError::Head),
        (b"\nGARBAGE", ParseError::Head),
        (b"HTTP/2 200 OK\r\n\r\n", ParseError::Head),
        (b"HTTP/1.1 2x0 OK\r\n\r\n", ParseError::Head),
        (b"HTTP/1.1 099 OK\r\n\r\n", ParseError::Head),
        (b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n", ParseError::Head),
        (
            b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
            ParseError::Switched,
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
            ParseError::Length,
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
            ParseError::Length,
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: \r\n\r\n",
            ParseError::Length,
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
            ParseError::Length,
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
            ParseError::Length,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, gzip\r\n\r\n",
            ParseError::Length,
        ),
        (
            b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            ParseError::Length,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\r\n",
            ParseError::Chunk,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
            ParseError::Chunk,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1000000000000000\r\n",
            ParseError::Chunk,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n",
            ParseError::Chunk,
        ),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab",
            ParseError::Truncated,
        ),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
            ParseError::Truncated,
        ),
        (b"HTTP/1.1 200 OK\r\nContent-", ParseError::Truncated),
        (b"", ParseError::Truncated),
    ] {
        assert_eq!(error(bytes), expected, "{}", String::from_utf8_lossy(bytes));
    }
}

#[test]
fn endless_heads_and_trailers_are_refused() {
    let mut head = b"HTTP/1.1 200 OK\r\nX: ".to_vec();
    head.resize(HEAD_LIMIT + 10, b'a');
    assert_eq!(error(&head), ParseError::HeadTooLarge);
    let many = [&b"HTTP/1.1 200 OK\r\n"[..], &b"A: b\r\n".repeat(200)].concat();
    assert_eq!(error(&many), ParseError::HeadTooLarge);
    let trailers = [
        &b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"[..],
        &b"A: b\r\n".repeat(20_000),
    ]
    .concat();
    assert_eq!(error(&trailers), ParseError::HeadTooLarge);
}

/// Pieces of answers, legal or not, so that random strings of them go deep.
fn fragments() -> impl Strategy<Value = Vec<u8>> {
    let fragment = prop_oneof![
        Just(b"HTTP/1.1 200 OK\r\n".to_vec()),
        Just(b"HTTP/1.0 404 X\r\n".to_vec()),
        Just(b"HTTP/1.1 100 C\r\n\r\n".to_vec()),
        Just(b"Content-Length: 5\r\n".to_vec()),
        Just(b"Transfer-Encoding: chunked\r\n".to_vec()),
        Just(b"Connection: close\r\n".to_vec()),
        Just(b"\r\n".to_vec()),
        Just(b"\n".to_vec()),
        Just(b"5\r\nhello\r\n".to_vec()),
        Just(b"0\r\n".to_vec()),
        prop::collection::vec(any::<u8>(), 0..6),
    ];
    prop::collection::vec(fragment, 0..14).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn how_bytes_are_cut_changes_nothing(
        mut bytes in fragments(),
        prefix: bool,
        cuts in prop::collection::vec(1usize..40, 1..20),
        to_head: bool,
    ) {
        if prefix {
            bytes.splice(0..0, *b"HTTP/1.1 200 OK\r\n");
        }
        let whole = parse([&bytes[..]], to_head);
        prop_assert_eq!(whole, parse(bytes.chunks(1), to_head));
        let mut rest = &bytes[..];
        let pieces: Vec<&[u8]> = cuts
            .iter()
            .cycle()
            .map_while(|cut| {
                let (piece, after) = rest.split_at((*cut).min(rest.len()));
                rest = after;
                (!piece.is_empty()).then_some(piece)
            })
            .collect();
        prop_assert_eq!(whole, parse(pieces, to_head));
    }

    #[test]
    fn chunked_bodies_end_at_their_end(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..6),
        after in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        for chunk in &chunks {
            bytes.extend(format!("{:x}\r\n", chunk.len()).bytes());
            bytes.extend(chunk);
            bytes.extend(b"\r\n");
        }
        bytes.extend(b"0\r\n\r\n");
        let length = bytes.len();
        bytes.extend(&after);
        prop_assert_eq!(parse_all_ways(&bytes, false).unwrap().1, length);
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = parse_all_ways(&bytes, false);
    }
}

/// What is kept of an answer, fed in pieces of this size: head, body, cut.
fn kept(bytes: &[u8], size: usize, body: bool) -> (Vec<u8>, Vec<u8>, bool) {
    let mut parser = ResponseParser::new();
    parser.reset(false);
    parser.keep(body);
    for piece in bytes.chunks(size) {
        parser.feed(piece).unwrap();
    }
    parser.close().unwrap();
    let kept = parser.kept();
    let found = (kept.head.to_vec(), kept.body.to_vec(), kept.cut);
    if body {
        parser.forget();
    } else {
        parser.reset(false);
    }
    assert_eq!(parser.kept(), load::Kept::default());
    found
}

/// The body in the three framings, after an interim answer.
fn framed(body: &[u8], chunk: usize) -> [(String, Vec<u8>); 3] {
    let head = |line: &str| format!("HTTP/1.1 200 OK\r\nX: y\r\n{line}\r\n");
    let chunks: Vec<u8> = body
        .chunks(chunk)
        .flat_map(|part| [format!("{:x}\r\n", part.len()).as_bytes(), part, b"\r\n"].concat())
        .chain(*b"0\r\nTrailer: z\r\n\r\n")
        .collect();
    [
        (
            head(&format!("Content-Length: {}\r\n", body.len())),
            body.to_vec(),
        ),
        (head("Transfer-Encoding: chunked\r\n"), chunks),
        (head(""), body.to_vec()),
    ]
}

proptest! {
    #[test]
    fn what_is_kept_is_head_and_body_however_they_are_framed_and_cut(
        body in prop::collection::vec(any::<u8>(), 0..300),
        chunk in 1usize..100,
        size in 1usize..100,
    ) {
        for (head, framed) in framed(&body, chunk) {
            let bytes = [b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n", head.as_bytes(), &framed].concat();
            let (kept_head, kept_body, cut) = kept(&bytes, size, true);
            prop_assert_eq!(String::from_utf8(kept_head).unwrap(), head);
            prop_assert_eq!(&kept_body, &body);
            prop_assert!(!cut);
            prop_assert_eq!(kept(&bytes, size, false).1, b"");
        }
    }
}

#[test]
fn a_body_is_kept_up_to_the_limit() {
    let body = vec![7; load::KEEP_LIMIT + 1];
    for (head, framed) in framed(&body, 70_000) {
        let bytes = [head.as_bytes(), &framed].concat();
        let (_, kept_body, cut) = kept(&bytes, 64 * 1024, true);
        assert!(cut && kept_body.len() == load::KEEP_LIMIT);
    }
}
