//! What is asked.

use mirror::http1::RequestHead;
use std::borrow::Cow;

/// The head of a request.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    head: &'a RequestHead,
    bytes: &'a [u8],
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
