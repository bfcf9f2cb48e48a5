//! What is asked.

use mirror::http1::RequestHead;
use std::borrow::Cow;

/// The head of a request.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    head: &'a RequestHead,
    bytes: &'a [u8],
}

/// Gives the question that a head asks.
#[cfg(test)]
pub fn asked<T>(head: &str, answer: impl FnOnce(&Question<'_>) -> T) -> T {
    let mut read = RequestHead::default();
    let limits = mirror::http1::HeadLimits {
        bytes: 4096,
        fields: 16,
    };
    assert!(read.read(head.as_bytes(), limits).unwrap().is_some());
    answer(&Question::new(&read, head.as_bytes()))
}

impl<'a> Question<'a> {
    pub fn new(head: &'a RequestHead, bytes: &'a [u8]) -> Question<'a> {
        Question { head, bytes }
    }

    pub fn method(&self) -> &'a str {
        self.head.method(self.bytes)
    }

    /// Without the parameters.
    pub fn path(&self) -> &'a str {
        let target = self.head.target(self.bytes);
        target.split_once('?').map_or(target, |(path, _)| path)
    }

    /// The first parameter of that name.
    pub fn parameter(&self, name: &str) -> Option<Cow<'a, str>> {
        let target = self.head.target(self.bytes);
        let (_, parameters) = target.split_once('?')?;
        let mut all = form_urlencoded::parse(parameters.as_bytes());
        all.find(|(one, _)| one == name).map(|(_, value)| value)
    }

    /// A field of its head; the name in lower case.
    pub fn field(&self, name: &str) -> Option<&'a [u8]> {
        self.head.fields().value(self.bytes, name)
    }
}
