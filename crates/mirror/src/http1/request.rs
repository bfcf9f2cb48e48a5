//! The head of a request.

use super::fields::{Fields, Span};
use super::framing::{Framing, declared};
use super::head_end::HeadEnd;
use super::slots::{Slot, whole, with_slots};
use super::strictness::{Strictness, Tolerated, with_plain_target};
use super::target::{is_host, origin_form};
use super::{HeadLimits, Malformed, Version, is_token_byte};

/// Reads heads, one after another; what it says of one are places in the bytes that it was read from.
#[derive(Debug, Clone, Default)]
pub struct RequestHead {
    end: HeadEnd,
    /// The leading empty line that some clients send after a body.
    leading: usize,
    method: Span,
    pub(super) target: Span,
    version: Version,
    framing: Option<Framing>,
    fields: Fields,
    tolerated: Vec<Tolerated>,
}

impl RequestHead {
    /// Ready for another head.
    pub fn clear(&mut self) {
        self.end = HeadEnd::default();
        self.leading = 0;
        self.tolerated.clear();
        self.fields.clear();
    }

    /// Reads on: `bytes` from the head's first byte on, the same as before and more. The head's length once it is
    /// there whole; everything else can be asked for then.
    ///
    /// # Errors
    ///
    /// The head is refused, whatever would follow.
    pub fn read(&mut self, bytes: &[u8], limits: HeadLimits) -> Result<Option<usize>, Malformed> {
        self.read_with(bytes, limits, Strictness::Enforce)
    }

    /// The same, for which less may be refused.
    ///
    /// # Errors
    ///
    /// As [`Self::read`].
    pub fn read_with(
        &mut self,
        bytes: &[u8],
        limits: HeadLimits,
        strictness: Strictness,
    ) -> Result<Option<usize>, Malformed> {
        let most = strictness.limits(limits);
        if self.leading == 0 {
            match bytes {
                [b'\r', b'\n', ..] => self.leading = 2,
                [b'\r'] => return Ok(None),
                _ => {}
            }
        }
        let head = &bytes[self.leading..];
        // A client of another protocol need not be waited for.
        if head.first().is_some_and(|first| !is_token_byte(*first)) {
            return Err(Malformed::Head("the first line"));
        }
        let Some(length) = self.end.find(head, most.bytes)? else {
            return Ok(None);
        };
        let whole = self.leading + length;
        let plain = match strictness {
            Strictness::Enforce => None,
            Strictness::Report => with_plain_target(&bytes[..whole]),
        };
        if length > limits.bytes {
            self.tolerated.push(Tolerated::HeadBytes);
        }
        if plain.is_some() {
            self.tolerated.push(Tolerated::TargetBytes);
        }
        let bytes = plain.as_deref().unwrap_or(&bytes[..whole]);
        with_slots(bytes, most, |slots| {
            self.parse(bytes, most, strictness, slots)
        })?;
        if self.fields.all().len() > limits.fields {
            self.tolerated.push(Tolerated::HeadFields);
        }
        Ok(Some(whole))
    }

    fn parse<'b>(
        &mut self,
        bytes: &'b [u8],
        limits: HeadLimits,
        strictness: Strictness,
        slots: &mut [Slot<'b>],
    ) -> Result<(), Malformed> {
        let mut parsed = httparse::Request::new(&mut []);
        let head = &bytes[self.leading..];
        match parsed.parse_with_uninit_headers(head, slots) {
            Err(httparse::Error::Version) if names_a_version(head) => {
                return Err(Malformed::Version);
            }
            parsed => whole(parsed, head, limits)?,
        }
        let (Some(method), Some(target)) = (parsed.method, parsed.path) else {
            return Err(Malformed::Head("the first line"));
        };
        self.version = Version::parsed(parsed.version);
        self.fields.read(bytes, parsed.headers)?;
        if let Some(known) = self.fields.disguised {
            return Err(Malformed::Disguised(known));
        }
        self.framing = declared(&self.fields, self.version)?;
        let host = self.fields.host.map(|host| host.bytes(bytes));
        let hosts = match self.version {
            Version::Http10 => 0..=1,
            Version::Http11 => 1..=1,
        };
        if strictness == Strictness::Report && self.fields.hosts < *hosts.start() {
            self.tolerated.push(Tolerated::NoHost);
        } else if !hosts.contains(&self.fields.hosts) || !host.is_none_or(is_host) {
            return Err(Malformed::Host);
        }
        self.method = Span::of(method.as_bytes(), bytes);
        self.target = origin_form(method.as_bytes(), target.as_bytes(), host, bytes)?;
        Ok(())
    }

    /// As sent.
    #[must_use]
    pub fn method<'b>(&self, bytes: &'b [u8]) -> &'b str {
        self.method.text(bytes)
    }

    /// What it would have been refused for.
    #[must_use]
    pub fn tolerated(&self) -> &[Tolerated] {
        &self.tolerated
    }

    /// The target is text. Programs that keep requests as text get no others.
    #[must_use]
    pub fn has_text(&self) -> bool {
        !self.tolerated.contains(&Tolerated::TargetBytes)
    }

    /// Origin form, or `*`; empty where it is no text.
    #[must_use]
    pub fn target<'b>(&self, bytes: &'b [u8]) -> &'b str {
        self.target.text(bytes)
    }

    /// As sent.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// Where the body ends.
    #[must_use]
    pub fn framing(&self) -> Framing {
        self.framing.unwrap_or(Framing::Length(0))
    }

    /// In their order, as places in the bytes that the head was read from.
    #[must_use]
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// The client would keep its connection.
    #[must_use]
    pub fn keeps(&self) -> bool {
        keeps(self.version, &self.fields)
    }

    /// The client waits for "100 Continue" before it sends its body.
    #[must_use]
    pub fn expects_continue(&self) -> bool {
        self.fields.expects_continue && self.version == Version::Http11
    }

    /// The connection is to become something else after a 101. Not HTTP/2: a server that agreed would be out of
    /// sight for a protocol that it speaks without being asked, too. And not with a body, of which it is unclear
    /// in which protocol it comes.
    #[must_use]
    pub fn upgrades(&self, bytes: &[u8]) -> bool {
        let is_h2 = |name: &[u8]| {
            name.get(..2)
                .is_some_and(|h2| h2.eq_ignore_ascii_case(b"h2"))
        };
        let other = |names: Span| {
            !names
                .bytes(bytes)
                .split(|byte| *byte == b',')
                .any(|name| is_h2(name.trim_ascii()))
        };
        self.version == Version::Http11
            && self.framing().is_empty()
            && self.fields.upgrade_option
            && self.fields.upgrade.is_some_and(other)
    }
}

/// Whether the connection stays, by version and `Connection`.
pub(super) fn keeps(version: Version, fields: &Fields) -> bool {
    !fields.close && (version == Version::Http11 || fields.keep_alive)
}

/// Is it another version that the first line ends with, or nonsense?
fn names_a_version(head: &[u8]) -> bool {
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let last = line.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    match last {
        b"HTTP/1.0" | b"HTTP/1.1" => false,
        [b'H', b'T', b'T', b'P', b'/', major, b'.', minor] => {
            major.is_ascii_digit() && minor.is_ascii_digit()
        }
        _ => false,
    }
}
