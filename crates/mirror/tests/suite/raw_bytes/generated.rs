//! Conversations from a seed: what clients send and primaries answer, as varied as HTTP/1.1 lets them be.

/// Requests that neither the primary nor a shadow sees, and the status of their answer.
pub const REFUSED: [(&str, u16); 5] = [
    (
        "GET / HTTP/1.1\r\nHost: a\r\nX-Folded: one\r\n two\r\n\r\n",
        400,
    ),
    (
        "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
        400,
    ),
    (
        "GET / HTTP/1.1\r\nHost: a\r\nContent_Length: 0\r\n\r\n",
        400,
    ),
    ("GET / HTTP/1.1\r\nX: no host\r\n\r\n", 400),
    (
        "GET / HTTP/1.1\r\nHost: a\r\nX-Space : before the colon\r\n\r\n",
        400,
    ),
];

/// One request after another on one connection, which the primary closes after its last answer.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    pub exchanges: Vec<Exchange>,
    /// The client sends all of it at once.
    pub pipelined: bool,
}

#[derive(Clone, Default)]
pub struct Exchange {
    pub request: Vec<u8>,
    pub head_bytes: usize,
    /// The client asks whether to send its body.
    pub waits: bool,
    pub is_1_0: bool,
    /// The client would keep its connection.
    pub keeps: bool,
    to_head: bool,
    /// In the pieces in which it is written.
    pub answer: Vec<Vec<u8>>,
}

impl std::fmt::Debug for Exchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |bytes: &[u8]| bytes[..bytes.len().min(2000)].escape_ascii().to_string();
        write!(
            f,
            "{}\n{}",
            shown(&self.request),
            shown(&self.answer.concat())
        )
    }
}

/// A small generator, the same everywhere.
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    /// Once in so many times.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    fn data(&mut self, most: usize) -> Vec<u8> {
        let length = self.below(most + 1);
        (0..length).map(|_| self.below(256) as u8).collect()
    }

    /// As it is read from and written to sockets.
    fn pieces(&mut self, bytes: &[u8]) -> Vec<Vec<u8>> {
        let most = self.of(&[700, 5_000, 300_000]);
        let mut rest = bytes;
        let mut all = Vec::new();
        while !rest.is_empty() {
            let (piece, after) = rest.split_at((1 + self.below(most)).min(rest.len()));
            all.push(piece.to_vec());
            rest = after;
        }
        all
    }
}

const METHODS: [&str; 11] = [
    "GET", "GET", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "x-own",
];
const TARGETS: [&str; 14] = [
    "/",
    "/?",
    "/a?b=c&d=&e&b=f",
    "/%E2%82%AC/%2F%2f?q=%C3%BC+%20",
    "/städte/köln?größe=10&q=日本",
    "/путь/🐎",
    "//two//slashes/",
    "/a/./b/../c;v=1",
    "/~user/(x)!$&'*+,;=:@",
    "/?q=/slash?mark",
    "http://a",
    "http://a/",
    "http://a/products?page=2",
    "http://a/preise/größe",
];
const OF_REQUESTS: [&[u8]; 30] = [
    b"Accept: */*",
    b"ACCEPT: text/html",
    b"accept:text/html;q=0.9, */*;q=0.1",
    b"Accept-Encoding: gzip, br",
    b"Authorization: Bearer abc.def",
    b"Cookie: a=1; b=2",
    b"Cookie: c=3",
    b"Content-Type: application/json",
    b"Forwarded: for=192.0.2.1",
    b"If-Modified-Since: Sat, 29 Oct 1994 19:43:31 GMT",
    b"If-None-Match: \"x\", W/\"y\"",
    b"Keep-Alive: timeout=5",
    b"Proxy-Authorization: Basic eDp5",
    b"Proxy-Connection: keep-alive",
    b"Range: bytes=0-99",
    b"Range: bytes=-5",
    b"TE: trailers",
    b"Trailer: X-Sum",
    b"Upgrade: websocket",
    b"User-Agent: \xe4\xf6\xfc latin",
    b"X-Dup: 1",
    b"x-dup: 2",
    b"X-Empty:",
    b"X-Empty:   ",
    b"X-Forwarded-For: 192.0.2.1",
    b"X-Powerband-Shadow: yes",
    b"X-Request-Start: t=1",
    b"X-White: \t  a \t b  \t",
    b"X_Request_Start: t=1",
    b"!#$%&'*+-.^_`|~: sm\xc3\xb8rrebr\xc3\xb8d",
];
const OF_ANSWERS: [&[u8]; 18] = [
    b"Cache-Control: max-age=0, private",
    b"Content-Range: bytes 0-99/200",
    b"Content-Type: text/html; charset=utf-8",
    b"Date: Sat, 29 Oct 1994 19:43:31 GMT",
    b"ETag: W/\"x\"",
    b"Keep-Alive: timeout=20",
    b"Link: </a.css>; rel=preload",
    b"Location: /login",
    b"Server:nginx",
    b"Set-Cookie: a=1; path=/; HttpOnly",
    b"Set-Cookie: b=2",
    b"set-cookie: c=\"3\"",
    b"Vary: Accept",
    b"vary:  Cookie\t",
    b"X-Empty:",
    b"X-Latin: gr\xfc\xdfe",
    b"X-Powerband-Shadow: no",
    b"X_Request_Start: 1",
];
const STATUSES: [&str; 14] = [
    "200 OK",
    "200 OK",
    "200 OK",
    "200",
    "200 ",
    "201 Created",
    "204 No Content",
    "206 Partial Content",
    "302 Found",
    "304 Not Modified",
    "404 Nicht gefünden",
    "418 I'm a teapot",
    "500 Internal Server Error",
    "599 of its own",
];

impl Conversation {
    pub fn drawn(draw: &mut Draw) -> Self {
        let count = 1 + draw.below(4);
        let pipelined = count > 1 && draw.once_in(3);
        let exchanges = (1..=count).map(|number| Exchange::drawn(draw, number == count, pipelined));
        Self {
            exchanges: exchanges.collect(),
            pipelined,
        }
    }

    pub fn refused(request: &str) -> Self {
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n".to_vec();
        let exchange = Exchange {
            request: request.into(),
            answer: vec![answer],
            ..Exchange::default()
        };
        Self {
            exchanges: vec![exchange],
            pipelined: false,
        }
    }
}

impl Exchange {
    /// No body may follow an answer with this status.
    pub fn is_bodiless(&self, status: u16) -> bool {
        self.to_head || matches!(status, 204 | 304)
    }

    /// What ends a connection is for the last one.
    fn drawn(draw: &mut Draw, last: bool, pipelined: bool) -> Self {
        let method = draw.of(&METHODS);
        let target = match method {
            "OPTIONS" if draw.once_in(2) => "*",
            _ => draw.of(&TARGETS),
        };
        let is_1_0 = draw.once_in(6);
        let closes = last && draw.once_in(3);
        let keeps = !closes && (!is_1_0 || !last || draw.once_in(2));
        let mut fields: Vec<Vec<u8>> = Vec::new();
        if !is_1_0 || draw.once_in(2) {
            fields.push(
                draw.of(&[&b"Host: a"[..], b"host:a", b"HOST:  a "])
                    .to_vec(),
            );
        } else if target.starts_with("http") {
            fields.push(b"Host: a".to_vec());
        }
        for _ in 0..draw.below(9) {
            fields.push(draw.of(&OF_REQUESTS).to_vec());
        }
        if draw.once_in(15) {
            let many = draw.below(60);
            fields.extend((0..many).map(|n| format!("X-Many-{n}: {n}").into_bytes()));
            fields.push([&b"X-Long: "[..], &b"x".repeat(draw.below(6000))].concat());
        }
        let connection: &[&[u8]] = match (closes, keeps) {
            (true, _) => &[
                b"Connection: close",
                b"connection:Close",
                b"Connection: close, x-dup",
            ],
            (false, true) if is_1_0 => &[b"Connection: keep-alive", b"Connection: Keep-Alive"],
            (false, true) => &[
                b"",
                b"",
                b"",
                b"Connection: keep-alive",
                b"Connection: X-Dup, range",
            ],
            (false, false) => &[b""],
        };
        insert(draw, &mut fields, connection);
        let has_body = !matches!(method, "GET" | "HEAD" | "OPTIONS") || draw.once_in(8);
        let body = draw_body(draw, &mut fields, has_body, !is_1_0);
        let waits = !pipelined && !is_1_0 && !body.is_empty() && draw.once_in(3);
        if waits {
            insert(
                draw,
                &mut fields,
                &[b"Expect: 100-continue", b"expect:100-Continue"],
            );
        }
        let leading = if draw.once_in(10) { "\r\n" } else { "" };
        let version = if is_1_0 { "1.0" } else { "1.1" };
        let mut request = head(
            &format!("{leading}{method} {target} HTTP/{version}"),
            &fields,
        );
        let head_bytes = request.len();
        request.extend(body);
        let to_head = method == "HEAD";
        let answer = drawn_answer(draw, last, is_1_0, to_head);
        Self {
            request,
            head_bytes,
            waits,
            is_1_0,
            keeps,
            to_head,
            answer: draw.pieces(&answer),
        }
    }
}

fn head(first: &str, fields: &[Vec<u8>]) -> Vec<u8> {
    let mut out = first.as_bytes().to_vec();
    for field in fields {
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(field);
    }
    out.extend_from_slice(b"\r\n\r\n");
    out
}

/// One of these at any place; nothing where it is empty.
fn insert(draw: &mut Draw, fields: &mut Vec<Vec<u8>>, all: &[&[u8]]) {
    let field = draw.of(all);
    if !field.is_empty() {
        fields.insert(draw.below(fields.len() + 1), field.to_vec());
    }
}

/// A body, announced among the fields.
fn draw_body(draw: &mut Draw, fields: &mut Vec<Vec<u8>>, some: bool, chunks: bool) -> Vec<u8> {
    if !some {
        return Vec::new();
    }
    let most = draw.of(&[0, 10, 3_000, 3_000, 200_000]);
    let data = draw.data(most);
    if chunks && draw.once_in(2) {
        insert(
            draw,
            fields,
            &[b"Transfer-Encoding: chunked", b"transfer-encoding:Chunked"],
        );
        return in_chunks(draw, &data);
    }
    let length = format!("Content-Length: {}", data.len());
    insert(
        draw,
        fields,
        &[length.as_bytes(), length.to_lowercase().as_bytes()],
    );
    data
}

fn in_chunks(draw: &mut Draw, data: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for part in draw.pieces(data) {
        let extension = draw.of(&["", "", ";name", ";name=\"value\""]);
        let zeros = draw.of(&["", "", "00"]);
        let size = match draw.once_in(2) {
            true => format!("{zeros}{:X}{extension}\r\n", part.len()),
            false => format!("{zeros}{:x}{extension}\r\n", part.len()),
        };
        out.extend_from_slice(size.as_bytes());
        out.extend_from_slice(&part);
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"0\r\n");
    out.extend_from_slice(draw.of(&[&b""[..], b"", b"X-Sum: 1\r\nX-Other: 2\r\n"]));
    out.extend_from_slice(b"\r\n");
    out
}

fn drawn_answer(draw: &mut Draw, last: bool, to_1_0: bool, to_head: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for _ in 0..draw.below(4).saturating_sub(1) {
        out.extend_from_slice(draw.of(&[
            &b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nlink:  </b.css>\r\n\r\n"
                [..],
            b"HTTP/1.1 102 Processing\r\n\r\n",
        ]));
    }
    let status = draw.of(&STATUSES);
    let is_1_0 = draw.once_in(8);
    let mut fields: Vec<Vec<u8>> = Vec::new();
    for _ in 0..draw.below(8) {
        fields.push(draw.of(&OF_ANSWERS).to_vec());
    }
    if draw.once_in(15) {
        fields.extend((0..100).map(|n| format!("X-Many-{n}: {n}").into_bytes()));
    }
    let closes = last && draw.once_in(3);
    let connection: &[&[u8]] = match (closes, is_1_0) {
        (true, _) => &[b"Connection: close", b"connection: CLOSE"],
        (false, true) if !last => &[b"Connection: keep-alive"],
        (false, _) => &[b"", b"", b"Connection: Keep-Alive", b"Connection: x-empty"],
    };
    insert(draw, &mut fields, connection);
    let none = to_head || status.starts_with("204") || status.starts_with("304");
    let until_close = last && !none && draw.once_in(4);
    // A client of HTTP/1.0 gets chunks as a body that ends with its connection.
    let chunks = !is_1_0 && (last || !to_1_0);
    let body = match until_close {
        true => draw.data(5_000),
        false => {
            let some = !none || draw.once_in(2);
            draw_body(draw, &mut fields, some, chunks)
        }
    };
    let version = if is_1_0 { "1.0" } else { "1.1" };
    out.extend(head(&format!("HTTP/{version} {status}"), &fields));
    if !none {
        out.extend(body);
    }
    out
}
