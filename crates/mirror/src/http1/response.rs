//! The head of an answer.

use super::fields::{Fields, Span};
use super::framing::{Framing, declared};
use super::head_end::HeadEnd;
use super::request::keeps;
use super::slots::{Slot, whole, with_slots};
use super::{HeadLimits, Malformed, Version};

const BEGINNING: &[u8] = b"HTTP/1.";
/// "HTTP/1.1 200", after which a reason may follow.
const BEFORE_REASON: usize = 12;

/// Reads heads of answers, one after another, as [`super::RequestHead`] does of requests.
#[derive(Debug, Clone, Default)]
pub struct ResponseHead {
    end: HeadEnd,
    status: u16,
    reason: Span,
    version: Version,
    declared: Option<Framing>,
    to_head: bool,
    fields: Fields,
}

impl ResponseHead {
    /// Ready for another head.
    pub fn clear(&mut self) {
        self.end = HeadEnd::default();
        self.fields.clear();
    }

    /// Reads on: `bytes` from the head's first byte on, the same as before and more. The head's length once it is
    /// there whole. `to_head`: the request was HEAD.
    ///
    /// # Errors
    ///
    /// This answer cannot be read, or its end is undefined.
    pub fn read(
        &mut self,
        bytes: &[u8],
        to_head: bool,
        limits: HeadLimits,
    ) -> Result<Option<usize>, Malformed> {
        let known = bytes.len().min(BEGINNING.len());
        if bytes[..known] != BEGINNING[..known] {
            return Err(Malformed::Head("the first line"));
        }
        let Some(length) = self.end.find(bytes, limits.bytes)? else {
            return Ok(None);
        };
        self.to_head = to_head;
        let head = &bytes[..length];
        with_slots(head, limits, |slots| self.parse(head, limits, slots))?;
        Ok(Some(length))
    }

    fn parse<'b>(
        &mut self,
        head: &'b [u8],
        limits: HeadLimits,
        slots: &mut [Slot<'b>],
    ) -> Result<(), Malformed> {
        let mut parsed = httparse::Response::new(&mut []);
        let config = httparse::ParserConfig::default();
        let read = config.parse_response_with_uninit_headers(&mut parsed, head, slots);
        whole(read, head, limits)?;
        self.status = parsed
            .code
            .filter(|status| *status >= 100)
            .ok_or(Malformed::Status)?;
        self.version = Version::parsed(parsed.version);
        // The parser gives no reason where one has bytes beyond ASCII.
        let line = memchr::memchr(b'\r', head).unwrap_or(BEFORE_REASON);
        self.reason = Span::at((BEFORE_REASON + 1).min(line), line);
        self.fields.read(head, parsed.headers)?;
        self.declared = declared(&self.fields, self.version)?;
        Ok(())
    }

    /// 100 to 999.
    #[must_use]
    pub fn status(&self) -> u16 {
        self.status
    }

    /// Another answer follows this one.
    #[must_use]
    pub fn is_interim(&self) -> bool {
        self.status < 200 && self.status != 101
    }

    /// As sent; often empty.
    #[must_use]
    pub fn reason<'b>(&self, bytes: &'b [u8]) -> &'b [u8] {
        self.reason.bytes(bytes)
    }

    /// As sent.
    #[must_use]
    pub fn version(&self) -> Version {
        self.version
    }

    /// No body may follow, whatever the fields say.
    #[must_use]
    pub fn is_bodiless(&self) -> bool {
        self.to_head || self.status < 200 || matches!(self.status, 204 | 304)
    }

    /// Where the body ends.
    #[must_use]
    pub fn framing(&self) -> Framing {
        match self.declared {
            _ if self.is_bodiless() => Framing::Length(0),
            Some(framing) => framing,
            None => Framing::UntilClose,
        }
    }

    /// What the fields say of a body, also where none may follow (HEAD).
    #[must_use]
    pub fn declared(&self) -> Option<Framing> {
        self.declared
    }

    /// In their order, as places in the bytes that the head was read from.
    #[must_use]
    pub fn fields(&self) -> &Fields {
        &self.fields
    }

    /// The server will keep its connection after this answer.
    #[must_use]
    pub fn keeps(&self) -> bool {
        self.framing() != Framing::UntilClose && keeps(self.version, &self.fields)
    }
}
