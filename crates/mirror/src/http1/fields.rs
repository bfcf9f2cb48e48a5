//! Header fields as places in the bytes of their head, and which of them are for
//! this connection alone.

use capture::{SHADOW_MARK, reads_as};

use super::forwarded::{Forwarded, ForwardedField};
use super::{Malformed, is_token};

/// Fields that frame a message. A request with another name that an application can read as one of them is refused.
/// `Host` has no such name: letters alone are folded in one way.
const FRAMING: [&str; 2] = ["Content-Length", "Transfer-Encoding"];
/// Fields that Powerband's own parts believe. Other names that an application can read as one of them are dropped.
const BELIEVED: [&str; 2] = [SHADOW_MARK, "X-Request-Start"];

/// Most options of `Connection`: each is compared with every field.
const MOST_OPTIONS: usize = 32;

/// A place in the bytes that a head was read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// Where `part`, which lies in `bytes`, begins and ends. Heads are shorter than 4 GiB.
    pub(super) fn of(part: &[u8], bytes: &[u8]) -> Self {
        let start = (part.as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize);
        Self::at(start, start.wrapping_add(part.len()))
    }

    pub(super) fn at(start: usize, end: usize) -> Self {
        Self {
            start: start as u32,
            end: end as u32,
        }
    }

    /// The bytes there.
    #[must_use]
    pub fn bytes(self, head: &[u8]) -> &[u8] {
        &head[self.start as usize..self.end as usize]
    }

    /// The same as text; empty where it is none, which no name, method or target is.
    #[must_use]
    pub fn text(self, head: &[u8]) -> &str {
        std::str::from_utf8(self.bytes(head)).unwrap_or_default()
    }
}

/// Whom a field is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldKind {
    /// For the final recipient, and passed on as it is.
    EndToEnd,
    /// `Host` and `X-Request-Start`: passed on, whatever `Connection` says.
    Kept,
    /// `Content-Length`: passed on where it is the body's framing.
    ContentLength,
    /// For this connection alone: never passed on.
    HopByHop,
    /// Of proxies, about the client: a request's own is passed on as [`Forwarded`] says, whatever `Connection` says.
    Forwarded(ForwardedField),
    /// `Upgrade`: passed on where the connection is to become something else.
    Upgrade,
    /// A name that an application can read as one that means something else to us: never passed on in a request.
    Disguised,
}

/// One header field.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// As sent.
    pub name: Span,
    /// Without white space around it.
    pub value: Span,
    /// Whom it is for.
    pub kind: FieldKind,
}

/// The fields of a head, and what those say that concern this connection.
#[derive(Debug, Clone, Default)]
pub struct Fields {
    all: Vec<Field>,
    pub(super) host: Option<Span>,
    pub(super) hosts: usize,
    pub(super) content_length: Option<u64>,
    pub(super) transfer_encoding: bool,
    pub(super) close: bool,
    pub(super) keep_alive: bool,
    /// `Connection: upgrade`.
    pub(super) upgrade_option: bool,
    pub(super) upgrade: Option<Span>,
    upgrades: usize,
    pub(super) expects_continue: bool,
    /// The framing field that a disguised one would be read as.
    pub(super) disguised: Option<&'static str>,
}

impl Fields {
    /// In their order.
    #[must_use]
    pub fn all(&self) -> &[Field] {
        &self.all
    }

    /// Name and value of those that are not for this connection alone, in their order.
    pub fn end_to_end<'a>(
        &'a self,
        head: &'a [u8],
    ) -> impl Iterator<Item = (&'a str, &'a [u8])> + 'a {
        let passed = self.all.iter().filter(|field| {
            matches!(
                field.kind,
                FieldKind::EndToEnd
                    | FieldKind::Kept
                    | FieldKind::ContentLength
                    | FieldKind::Forwarded(_)
            )
        });
        passed.map(|field| (field.name.text(head), field.value.bytes(head)))
    }

    /// The same of a request, with the forwarded fields that are passed on.
    pub fn passed<'a>(
        &'a self,
        head: &'a [u8],
        forwarded: &'a Forwarded,
    ) -> impl Iterator<Item = (&'a str, &'a [u8])> + 'a {
        let passed = self.all.iter().filter(|field| match field.kind {
            FieldKind::EndToEnd | FieldKind::Kept | FieldKind::ContentLength => true,
            FieldKind::Forwarded(field) => forwarded.passes(field),
            FieldKind::HopByHop | FieldKind::Upgrade | FieldKind::Disguised => false,
        });
        passed
            .map(|field| (field.name.text(head), field.value.bytes(head)))
            .chain(forwarded.added())
    }

    /// All values of one of the forwarded fields.
    pub(super) fn forwarded<'a>(&self, head: &'a [u8], wanted: ForwardedField) -> Vec<&'a [u8]> {
        let wanted = self
            .all
            .iter()
            .filter(|field| field.kind == FieldKind::Forwarded(wanted));
        wanted.map(|field| field.value.bytes(head)).collect()
    }

    /// The first value of this name.
    #[must_use]
    pub fn value<'a>(&self, head: &'a [u8], name: &str) -> Option<&'a [u8]> {
        let named = |field: &&Field| field.name.bytes(head).eq_ignore_ascii_case(name.as_bytes());
        self.all
            .iter()
            .find(named)
            .map(|field| field.value.bytes(head))
    }

    pub(super) fn clear(&mut self) {
        let mut all = std::mem::take(&mut self.all);
        all.clear();
        *self = Self {
            all,
            ..Self::default()
        };
    }

    /// Takes over what the parser found in `head`.
    pub(super) fn read(
        &mut self,
        head: &[u8],
        parsed: &[httparse::Header<'_>],
    ) -> Result<(), Malformed> {
        let mut connections = false;
        for header in parsed {
            let value = Span::of(header.value, head);
            let kind = self.understand(header.name.as_bytes(), header.value, value)?;
            connections |= kind.1;
            self.all.push(Field {
                name: Span::of(header.name.as_bytes(), head),
                value,
                kind: kind.0,
            });
        }
        if connections {
            self.read_connection(head, parsed)
        } else {
            Ok(())
        }
    }

    /// Whom a field is for, and whether it is `Connection`.
    fn understand(
        &mut self,
        name: &[u8],
        value: &[u8],
        place: Span,
    ) -> Result<(FieldKind, bool), Malformed> {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        let mut connection = false;
        // By length first: most fields are compared with nothing.
        let kind = match name.len() {
            2 if is("te") => FieldKind::HopByHop,
            4 if is("host") => {
                self.hosts += 1;
                self.host = Some(place);
                FieldKind::Kept
            }
            6 if is("expect") => {
                self.expects_continue |= value.eq_ignore_ascii_case(b"100-continue");
                FieldKind::EndToEnd
            }
            7 if is("trailer") => FieldKind::HopByHop,
            7 if is("upgrade") => {
                // Several: none, because servers differ in which they take.
                self.upgrade = if self.upgrades == 0 {
                    Some(place)
                } else {
                    None
                };
                self.upgrades += 1;
                FieldKind::Upgrade
            }
            10 if is("connection") => {
                connection = true;
                FieldKind::HopByHop
            }
            10 if is("keep-alive") => FieldKind::HopByHop,
            14 if is("content-length") => {
                let length = content_length(value)?;
                if self.content_length.replace(length).is_some() {
                    return Err(Malformed::ContentLength);
                }
                FieldKind::ContentLength
            }
            // The agent takes queue times from it: a client's `Connection` is not to hide them.
            15 if is("x-request-start") => FieldKind::Kept,
            // Of proxies before us; for servers behind us they mean nothing.
            16 if is("proxy-connection") => FieldKind::HopByHop,
            17 if is("transfer-encoding") => {
                let again = std::mem::replace(&mut self.transfer_encoding, true);
                if again || !value.eq_ignore_ascii_case(b"chunked") {
                    return Err(Malformed::TransferEncoding);
                }
                FieldKind::HopByHop
            }
            18 if is("proxy-authenticate") => FieldKind::HopByHop,
            // Ours alone to say: an application that believes it leaves cards uncharged.
            18 if is(SHADOW_MARK) => FieldKind::HopByHop,
            19 if is("proxy-authorization") => FieldKind::HopByHop,
            25 if is("proxy-authentication-info") => FieldKind::HopByHop,
            _ => self.other(name),
        };
        Ok((kind, connection))
    }

    /// A field of none of the known names.
    fn other(&mut self, name: &[u8]) -> FieldKind {
        let framing = FRAMING.into_iter().find(|known| reads_as(name, known));
        self.disguised = self.disguised.or(framing);
        if framing.is_some() || BELIEVED.iter().any(|known| reads_as(name, known)) {
            return FieldKind::Disguised;
        }
        ForwardedField::of(name).map_or(FieldKind::EndToEnd, FieldKind::Forwarded)
    }

    /// The options of `Connection`; fields that it names are for this connection alone.
    fn read_connection(
        &mut self,
        head: &[u8],
        parsed: &[httparse::Header<'_>],
    ) -> Result<(), Malformed> {
        let values = parsed
            .iter()
            .filter(|header| header.name.eq_ignore_ascii_case("connection"));
        let mut count = 0;
        for option in values.flat_map(|header| header.value.split(|byte| *byte == b',')) {
            let option = option.trim_ascii();
            count += 1;
            if count > MOST_OPTIONS || !(option.is_empty() || is_token(option)) {
                return Err(Malformed::Connection);
            }
            if option.eq_ignore_ascii_case(b"close") {
                self.close = true;
            } else if option.eq_ignore_ascii_case(b"keep-alive") {
                self.keep_alive = true;
            } else if option.eq_ignore_ascii_case(b"upgrade") {
                self.upgrade_option = true;
            } else {
                for field in &mut self.all {
                    let named = field.name.bytes(head).eq_ignore_ascii_case(option);
                    if named && field.kind == FieldKind::EndToEnd {
                        field.kind = FieldKind::HopByHop;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Digits alone, and no more of them than fit 64 bits.
fn content_length(value: &[u8]) -> Result<u64, Malformed> {
    let digits = (1..=19).contains(&value.len()) && value.iter().all(u8::is_ascii_digit);
    if !digits {
        return Err(Malformed::ContentLength);
    }
    Ok(value
        .iter()
        .fold(0, |length, digit| length * 10 + u64::from(digit - b'0')))
}
