//! The differences that the mirror makes, each as what it does to the bytes that come without it. What comes of all of them has to
//! be what comes through the mirror.

use std::collections::BTreeSet;

use super::generated::Conversation;
use super::wire::{Wire, split};

/// Which bytes differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Requests,
    Answers,
}

const EMPTY_LINE: &str = "empty line before the first line";
const ABSOLUTE: &str = "target that names its host";
const STATUS_LINE: &str = "status line";
const WHITE_SPACE: &str = "white space around a value";
const HOP_BY_HOP: &str = "fields of one connection";
const NAMED: &str = "fields that `Connection` names";
const SHADOW_MARK: &str = "`X-Powerband-Shadow`";
const DISGUISED: &str = "other spellings of `X-Powerband-Shadow` and `X-Request-Start`";
const CONNECTION: &str = "`Connection`";
const TRANSFER_ENCODING: &str = "`Transfer-Encoding`";
const CHUNKS: &str = "sizes of chunks";
const EXTENSIONS: &str = "extensions of chunks";
const TRAILERS: &str = "fields after the last chunk";
const UNTIL_CLOSE: &str = "body that ends with its connection";
const TO_HTTP_1_0: &str = "chunks to a client of HTTP/1.0";
const INTERIM: &str = "interim answers to a client of HTTP/1.0";
pub const REFUSED: &str = "refused requests";

const OF_ONE_CONNECTION: [&str; 7] = [
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];
const DISGUISES: [&str; 2] = ["x_powerband_shadow", "x_request_start"];

/// Collects which differences occurred.
#[derive(Debug, Default)]
pub struct Explained {
    requests: BTreeSet<&'static str>,
    answers: BTreeSet<&'static str>,
}

impl Explained {
    pub fn note(&mut self, side: Side, difference: &'static str) {
        match side {
            Side::Requests => self.requests.insert(difference),
            Side::Answers => self.answers.insert(difference),
        };
    }

    fn note_if(&mut self, side: Side, difference: &'static str, differs: bool) {
        if differs {
            self.note(side, difference);
        }
    }

    /// Each with `requests`, `answers` or `both`.
    pub fn occurred(&self) -> BTreeSet<(String, String)> {
        let all = self.requests.union(&self.answers);
        all.map(|name| {
            let side = match (self.requests.contains(name), self.answers.contains(name)) {
                (true, true) => "both",
                (true, false) => "requests",
                _ => "answers",
            };
            ((*name).to_owned(), side.to_owned())
        })
        .collect()
    }

    /// What the primary received, without the mirror and through it.
    pub fn requests(&mut self, conversation: &Conversation, direct: Vec<Wire>, through: Vec<Wire>) {
        assert_eq!(direct.len(), through.len(), "{conversation:?}");
        for (mut wire, through) in direct.into_iter().zip(through) {
            self.note_if(Side::Requests, EMPTY_LINE, wire.leading > 0);
            wire.leading = 0;
            self.first_line_of_request(&mut wire);
            let is_1_0 = wire.first.ends_with(b"1.0");
            let options = self.fields(Side::Requests, &mut wire);
            let keeps = options.keeps(is_1_0);
            let chunked = wire.is_chunked();
            let connection = match (is_1_0, keeps) {
                (false, false) => Some("close"),
                (true, true) => Some("keep-alive"),
                _ => None,
            };
            self.anew(Side::Requests, &mut wire, chunked, connection);
            if chunked {
                self.chunks(Side::Requests, &mut wire, &through);
            }
            same(&wire, &through, conversation);
        }
    }

    /// What the client received.
    pub fn answers(&mut self, conversation: &Conversation, direct: Vec<Wire>, through: Vec<Wire>) {
        let mut through = through.into_iter();
        let mut exchanges = conversation.exchanges.iter();
        let mut exchange = exchanges.next().expect("an exchange");
        for mut wire in direct {
            let interim = wire.status() < 200;
            if interim && exchange.is_1_0 {
                self.note(Side::Answers, INTERIM);
                continue;
            }
            let through = through.next().unwrap_or_else(|| panic!("{conversation:?}"));
            let answers_1_0 = wire.first.starts_with(b"HTTP/1.0");
            self.status_line(&mut wire);
            let options = self.fields(Side::Answers, &mut wire);
            if interim {
                same(&wire, &through, conversation);
                continue;
            }
            let status = wire.status();
            let bodiless = exchange.is_bodiless(status);
            let (declared, until_close) = (wire.is_chunked(), wire.until_close);
            let delimited = bodiless || !(until_close || declared && exchange.is_1_0);
            let keeps = exchange.keeps && options.keeps(answers_1_0) && delimited;
            let connection = match (keeps, exchange.is_1_0) {
                (false, _) => Some("close"),
                (true, true) => Some("keep-alive"),
                (true, false) => None,
            };
            // A head without a body announces what the body would have; 204 and 304 never have one.
            let announced = declared && (!bodiless || !matches!(status, 204 | 304));
            let chunked = (announced || until_close) && !exchange.is_1_0;
            self.anew(Side::Answers, &mut wire, chunked, connection);
            if !bodiless {
                self.body_of_answer(&mut wire, &through, declared, exchange.is_1_0);
            }
            same(&wire, &through, conversation);
            match exchanges.next() {
                Some(next) => exchange = next,
                None => break,
            }
        }
        assert_eq!(through.next(), None, "{conversation:?}");
    }

    fn body_of_answer(&mut self, wire: &mut Wire, through: &Wire, declared: bool, to_1_0: bool) {
        if wire.until_close && !to_1_0 {
            self.note(Side::Answers, UNTIL_CLOSE);
            assert_eq!(through.chunks().data, wire.body);
            wire.body.clone_from(&through.body);
        } else if declared && to_1_0 {
            self.note(Side::Answers, TO_HTTP_1_0);
            wire.body = wire.chunks().data;
        } else if declared {
            self.chunks(Side::Answers, wire, through);
        }
    }

    fn first_line_of_request(&mut self, wire: &mut Wire) {
        let scheme = b" http://a";
        if let Some(at) = wire.first.windows(scheme.len()).position(|w| w == scheme) {
            self.note(Side::Requests, ABSOLUTE);
            let path = wire.first.split_off(at + scheme.len());
            wire.first.truncate(at + 1);
            if !path.starts_with(b"/") {
                wire.first.push(b'/');
            }
            wire.first.extend(path);
        }
    }

    fn status_line(&mut self, wire: &mut Wire) {
        let mut line = wire.first.clone();
        line[7] = b'1';
        if line.len() == 12 {
            line.push(b' ');
        }
        self.note_if(Side::Answers, STATUS_LINE, line != wire.first);
        wire.first = line;
    }

    /// White space, and the fields that stay behind, `Connection` and `Transfer-Encoding` excepted.
    fn fields(&mut self, side: Side, wire: &mut Wire) -> Options {
        for line in &mut wire.fields {
            let (name, value) = split(line).expect("a field");
            let written = [name, b": ", value.trim_ascii()].concat();
            self.note_if(side, WHITE_SPACE, written != *line);
            *line = written;
        }
        let options = Options::of(wire);
        let mut kept = Vec::new();
        for line in std::mem::take(&mut wire.fields) {
            let (name, _) = split(&line).expect("a field");
            let name = String::from_utf8_lossy(name).to_ascii_lowercase();
            let why = if OF_ONE_CONNECTION.contains(&name.as_str()) {
                Some(HOP_BY_HOP)
            } else if name == "x-powerband-shadow" {
                Some(SHADOW_MARK)
            } else if side == Side::Requests && DISGUISES.contains(&name.as_str()) {
                Some(DISGUISED)
            } else if options.0.contains(&name) && name != "x-request-start" && name != "host" {
                Some(NAMED)
            } else {
                None
            };
            match why {
                Some(why) => self.note(side, why),
                None => kept.push(line),
            }
        }
        wire.fields = kept;
        options
    }

    /// The two fields that are written anew, after all others.
    fn anew(&mut self, side: Side, wire: &mut Wire, chunked: bool, connection: Option<&str>) {
        let is = |line: &[u8], known: &str| {
            split(line).is_some_and(|(name, _)| name.eq_ignore_ascii_case(known.as_bytes()))
        };
        let before = wire.fields.clone();
        let all = [
            (
                "transfer-encoding",
                TRANSFER_ENCODING,
                "Transfer-Encoding: chunked",
                chunked,
            ),
            ("connection", CONNECTION, "", false),
        ];
        for (known, difference, line, wanted) in all {
            let place = before.iter().position(|line| is(line, known));
            wire.fields.retain(|line| !is(line, known));
            let line = match known {
                "connection" => connection.map(|value| format!("Connection: {value}")),
                _ => wanted.then(|| line.to_owned()),
            };
            let unmoved = place == line.as_ref().map(|_| wire.fields.len());
            let unwritten = place.map(|place| before[place].as_slice());
            let same = unmoved && unwritten == line.as_ref().map(String::as_bytes);
            self.note_if(side, difference, !same);
            wire.fields.extend(line.map(String::into_bytes));
        }
    }

    fn chunks(&mut self, side: Side, wire: &mut Wire, through: &Wire) {
        let (direct, passed) = (wire.chunks(), through.chunks());
        assert_eq!(direct.data, passed.data);
        assert_eq!((passed.extensions, passed.trailers), (0, 0));
        self.note_if(side, CHUNKS, direct.sizes != passed.sizes);
        self.note_if(side, EXTENSIONS, direct.extensions > 0);
        self.note_if(side, TRAILERS, direct.trailers > 0);
        wire.body.clone_from(&through.body);
    }
}

/// What `Connection` says, in lower case.
struct Options(Vec<String>);

impl Options {
    fn of(wire: &Wire) -> Self {
        let values = wire.values("connection");
        let options = values
            .iter()
            .flat_map(|value| value.split(|byte| *byte == b','));
        let text =
            |option: &[u8]| String::from_utf8_lossy(option.trim_ascii()).to_ascii_lowercase();
        Self(options.map(text).collect())
    }

    fn keeps(&self, is_1_0: bool) -> bool {
        let has = |wanted: &str| self.0.iter().any(|option| option == wanted);
        !has("close") && (!is_1_0 || has("keep-alive"))
    }
}

#[track_caller]
fn same(explained: &Wire, through: &Wire, conversation: &Conversation) {
    let (explained, through) = (explained.bytes(), through.bytes());
    if explained != through {
        let shown = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        assert_eq!(shown(&explained), shown(&through), "{conversation:?}");
        panic!("the bytes beyond UTF-8 differ: {explained:?} {through:?}");
    }
}
