//! Messages read naively: line by line, with nothing of the code that is tested.

use super::Peer;

/// A message as it was on the wire, taken apart.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Message {
    /// The first line.
    pub line: String,
    /// Names and values in their order.
    pub fields: Vec<(String, String)>,
    /// Without its transfer coding.
    pub body: Vec<u8>,
    /// Bytes of each chunk.
    pub chunks: Vec<usize>,
}

impl Message {
    /// The only value of this name.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut values = self
            .fields
            .iter()
            .filter(|(known, _)| known.eq_ignore_ascii_case(name));
        let value = values.next().map(|(_, value)| value.as_str());
        assert!(values.next().is_none(), "{name} twice in {self:?}");
        value
    }

    pub fn status(&self) -> u16 {
        self.line.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Peer {
    fn line(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.pending.windows(2).position(|two| two == b"\r\n") {
                let line: Vec<u8> = self.pending.drain(..end + 2).collect();
                let line = &line[..end];
                assert!(!line.contains(&b'\n') && !line.contains(&b'\r'), "{line:?}");
                // Bytes beyond ASCII as characters of the same number.
                return Some(line.iter().map(|byte| char::from(*byte)).collect());
            }
            if !self.fill().ok()? {
                return None;
            }
        }
    }

    fn bytes(&mut self, count: usize) -> Option<Vec<u8>> {
        while self.pending.len() < count {
            if !self.fill().ok()? {
                return None;
            }
        }
        Some(self.pending.drain(..count).collect())
    }

    /// The next head; `None`: the other end has gone.
    pub fn head(&mut self) -> Option<Message> {
        let mut message = Message {
            line: self.line()?,
            ..Message::default()
        };
        loop {
            let line = self.line()?;
            if line.is_empty() {
                return Some(message);
            }
            let (name, value) = line.split_once(": ").unwrap_or_else(|| panic!("{line:?}"));
            message.fields.push((name.to_owned(), value.to_owned()));
        }
    }

    fn body(&mut self, message: &mut Message) -> Option<()> {
        match (
            message.field("content-length"),
            message.field("transfer-encoding"),
        ) {
            (Some(length), None) => message.body = self.bytes(length.parse().unwrap())?,
            (None, Some("chunked")) => loop {
                let size = usize::from_str_radix(&self.line()?, 16).unwrap();
                message.body.extend(self.bytes(size)?);
                assert_eq!(self.line()?, "");
                if size == 0 {
                    break;
                }
                message.chunks.push(size);
            },
            (None, None) => {}
            both => panic!("{both:?}"),
        }
        Some(())
    }

    /// The next request, whole.
    pub fn request(&mut self) -> Option<Message> {
        let mut message = self.head()?;
        self.body(&mut message)?;
        Some(message)
    }

    /// The next answer, whole; to a request that was not HEAD.
    pub fn answer(&mut self) -> Option<Message> {
        let mut message = self.head()?;
        if !matches!(message.status(), 100..200 | 204 | 304) {
            self.body(&mut message)?;
        }
        Some(message)
    }

    /// One request, one answer.
    #[track_caller]
    pub fn ask(&mut self, request: impl AsRef<[u8]>) -> Message {
        assert!(self.send(request));
        self.answer().expect("an answer")
    }
}
