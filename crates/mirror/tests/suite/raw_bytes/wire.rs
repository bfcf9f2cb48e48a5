//! A message as the bytes that came, cut where its lines end.

use crate::support::Peer;

/// Nothing is decoded: [`Wire::bytes`] gives the very bytes again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wire {
    /// Empty lines before the first line.
    pub leading: usize,
    /// Without its end.
    pub first: Vec<u8>,
    /// Lines without their ends.
    pub fields: Vec<Vec<u8>>,
    /// With the framing of its chunks.
    pub body: Vec<u8>,
    /// Ended with its connection.
    pub until_close: bool,
}

/// Chunks, decoded.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Chunks {
    pub data: Vec<u8>,
    /// Lines of sizes, without extensions.
    pub sizes: Vec<Vec<u8>>,
    pub extensions: usize,
    pub trailers: usize,
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|at| at == wanted)
}

impl Wire {
    /// The next head; `None`: the other end has gone.
    pub fn head(peer: &mut Peer) -> Option<Self> {
        let end = loop {
            if let Some(end) = position(&peer.pending, b"\r\n\r\n") {
                break end;
            }
            if !peer.fill().ok()? {
                return None;
            }
        };
        let head: Vec<u8> = peer.pending.drain(..end + 4).collect();
        let mut lines: Vec<Vec<u8>> = Vec::new();
        let mut rest = &head[..end];
        while let Some(end) = position(rest, b"\r\n") {
            lines.push(rest[..end].to_vec());
            rest = &rest[end + 2..];
        }
        lines.push(rest.to_vec());
        let leading = lines.iter().take_while(|line| line.is_empty()).count();
        let mut lines = lines.into_iter().skip(leading);
        Some(Self {
            leading,
            first: lines.next().unwrap(),
            fields: lines.collect(),
            body: Vec::new(),
            until_close: false,
        })
    }

    /// Reads the body that the head announces; an answer's may end with the connection.
    pub fn read_body(&mut self, peer: &mut Peer, answer: bool) {
        let length = self.values("content-length").first().map(|value| {
            let text = std::str::from_utf8(value).unwrap();
            text.parse().unwrap()
        });
        if self.is_chunked() {
            while !is_whole(&peer.pending) && peer.fill().unwrap() {}
            let length = whole_chunks(&peer.pending).expect("the last chunk").0;
            self.body = peer.pending.drain(..length).collect();
        } else if let Some(length) = length {
            while peer.pending.len() < length && peer.fill().unwrap() {}
            self.body = peer.pending.drain(..length).collect();
        } else if answer {
            self.body = peer.rest().0;
            self.until_close = true;
        }
    }

    pub fn status(&self) -> u16 {
        std::str::from_utf8(&self.first[9..12])
            .unwrap()
            .parse()
            .unwrap()
    }

    pub fn is_chunked(&self) -> bool {
        !self.values("transfer-encoding").is_empty()
    }

    /// Values of this name, without white space around them.
    pub fn values(&self, name: &str) -> Vec<&[u8]> {
        let fields = self.fields.iter().filter_map(|line| split(line));
        let named = fields.filter(|(known, _)| known.eq_ignore_ascii_case(name.as_bytes()));
        named.map(|(_, value)| value.trim_ascii()).collect()
    }

    pub fn chunks(&self) -> Chunks {
        whole_chunks(&self.body).expect("a whole body").1
    }

    /// As on the wire.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = b"\r\n".repeat(self.leading);
        for line in std::iter::once(&self.first).chain(&self.fields) {
            out.extend_from_slice(line);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(&self.body);
        out
    }
}

/// Name and value of a field's line; `None` for the continuation of another one.
pub fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    Some((&line[..colon], &line[colon + 1..]))
}

fn is_whole(bytes: &[u8]) -> bool {
    whole_chunks(bytes).is_some()
}

/// Their length with everything that frames them.
fn whole_chunks(bytes: &[u8]) -> Option<(usize, Chunks)> {
    let mut chunks = Chunks::default();
    let mut at = 0;
    let line = |at: usize| Some(&bytes[at..at + position(&bytes[at..], b"\r\n")?]);
    loop {
        let size = line(at)?;
        at += size.len() + 2;
        let digits = size.split(|byte| *byte == b';').next()?;
        chunks.extensions += usize::from(digits.len() < size.len());
        chunks.sizes.push(digits.to_vec());
        let size = usize::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
        if size == 0 {
            break;
        }
        chunks.data.extend_from_slice(bytes.get(at..at + size)?);
        at += size + 2;
        bytes.get(..at)?;
    }
    loop {
        let trailer = line(at)?;
        at += trailer.len() + 2;
        if trailer.is_empty() {
            return Some((at, chunks));
        }
        chunks.trailers += 1;
    }
}
