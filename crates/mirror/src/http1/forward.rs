//! Heads for the other side: what is end-to-end as it was, what is for one
//! connection anew.

use bytes::BytesMut;

use super::encode::{end_head, field, request_line, status_line};
use super::forwarded::Forwarded;
use super::{FieldKind, Framing, RequestHead, ResponseHead, Version};

/// What an answer's head must say to whom it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerTo {
    /// The request's.
    pub version: Version,
    /// The connection stays after this answer.
    pub keep: bool,
    /// The body comes in chunks.
    pub chunked: bool,
}

impl RequestHead {
    /// Writes this head, which was read from `bytes`, for the next server: in the client's version, so that the server
    /// sees what it would see without us, but for the forwarded fields.
    pub fn forward(&self, bytes: &[u8], forwarded: &Forwarded, out: &mut BytesMut) {
        out.reserve(bytes.len() + 64);
        request_line(
            out,
            self.method(bytes),
            self.target.bytes(bytes),
            self.version(),
        );
        let upgrades = self.upgrades(bytes);
        for each in self.fields().all() {
            let passed = match each.kind {
                FieldKind::EndToEnd | FieldKind::Kept | FieldKind::ContentLength => true,
                FieldKind::Forwarded(field) => forwarded.passes(field),
                FieldKind::Upgrade => upgrades,
                FieldKind::HopByHop | FieldKind::Disguised => false,
            };
            if passed {
                field(out, each.name.text(bytes), each.value.bytes(bytes));
            }
        }
        for (name, value) in forwarded.added() {
            field(out, name, value);
        }
        if self.framing() == Framing::Chunked {
            field(out, "Transfer-Encoding", b"chunked");
        }
        match (self.version(), self.keeps()) {
            (Version::Http11, _) if upgrades => field(out, "Connection", b"Upgrade"),
            (Version::Http11, false) => field(out, "Connection", b"close"),
            (Version::Http10, true) => field(out, "Connection", b"keep-alive"),
            _ => {}
        }
        end_head(out);
    }
}

impl ResponseHead {
    /// Writes this head, which was read from `bytes`, for the client.
    pub fn forward(&self, bytes: &[u8], to: AnswerTo, out: &mut BytesMut) {
        out.reserve(bytes.len() + 64);
        status_line(out, self.status(), self.reason(bytes));
        let switches = self.status() == 101;
        for each in self.fields().all() {
            let passed = match each.kind {
                FieldKind::EndToEnd
                | FieldKind::Kept
                | FieldKind::ContentLength
                // No application reads the fields of answers.
                | FieldKind::Forwarded(_)
                | FieldKind::Disguised => true,
                FieldKind::Upgrade => switches,
                FieldKind::HopByHop => false,
            };
            if passed {
                field(out, each.name.text(bytes), each.value.bytes(bytes));
            }
        }
        if switches {
            field(out, "Connection", b"Upgrade");
        } else if !self.is_interim() {
            if to.chunked {
                field(out, "Transfer-Encoding", b"chunked");
            }
            match (to.version, to.keep) {
                (_, false) => field(out, "Connection", b"close"),
                (Version::Http10, true) => field(out, "Connection", b"keep-alive"),
                (Version::Http11, true) => {}
            }
        }
        end_head(out);
    }
}
