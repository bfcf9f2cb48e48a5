//! Bytes of a file as they are asked for: never more in memory than were read,
//! whatever a length in the file claims.

use std::io::{self, ErrorKind, Read};

const STEP: usize = 64 << 10;

#[derive(Debug)]
pub(super) struct Input<R> {
    inner: R,
    /// What was read from `start` to `end`; what follows is room for more, zeroed once.
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Of `bytes[start]` in the file.
    offset: u64,
    ended: bool,
}

impl<R: Read> Input<R> {
    pub(super) fn new(inner: R, offset: u64) -> Self {
        Self {
            inner,
            bytes: Vec::new(),
            start: 0,
            end: 0,
            offset,
            ended: false,
        }
    }

    /// Where in the file the next byte lies.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// What has been read and not consumed.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// Reads until there are so many bytes, or the file ends; returns how many there are.
    pub(super) fn fill(&mut self, wanted: usize) -> io::Result<usize> {
        while self.bytes().len() < wanted && !self.ended {
            if self.start > STEP.max(self.end / 2) {
                self.bytes.copy_within(self.start..self.end, 0);
                self.end -= self.start;
                self.start = 0;
            }
            if self.bytes.len() < self.end + STEP {
                self.bytes.resize(self.end + STEP, 0);
            }
            match self.inner.read(&mut self.bytes[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(count) => self.end += count,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(self.bytes().len())
    }

    /// Of those that there are.
    pub(super) fn consume(&mut self, count: usize) {
        self.start += count;
        self.offset += count as u64;
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
    }
}
