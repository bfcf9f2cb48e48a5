//! Moves the bytes of an exchange, each way as far as there are bytes and room.

use std::task::{Context, Poll};
use std::time::Instant;

use bytes::{Buf, BufMut, BytesMut};

use super::conversation::poll_left;
use super::exchange::{Coming, Ended, Exchange, LIMITS, Trouble};
use crate::http1::{Framing, chunk, last_chunk};

impl Exchange<'_> {
    /// From the client to the primary.
    pub(super) fn poll_request(&mut self, context: &mut Context<'_>) -> Result<(), Ended> {
        loop {
            if !self.broken {
                self.decode_request()?;
                if self.primary.owes() {
                    match self.primary.poll_flush(context) {
                        Poll::Ready(Ok(())) => self.moved = true,
                        Poll::Ready(Err(_)) => {
                            self.broken = true;
                            self.primary.output.clear();
                        }
                        Poll::Pending => {}
                    }
                }
            }
            let passed = self.request.is_ended() && (self.broken || !self.primary.owes());
            if passed && self.given.is_none() {
                let now = Instant::now();
                self.given = Some(now);
                if let Some(watched) = &mut self.watched {
                    watched.request_ended(now);
                }
            }
            if self.request.is_ended() || self.broken {
                let left = poll_left(self.client, context);
                return if left { Err(Ended::ClientLeft) } else { Ok(()) };
            }
            if !self.primary.has_room() {
                return Ok(());
            }
            match self.client.poll_fill(context) {
                Poll::Ready(Ok(0) | Err(_)) => return Err(Ended::ClientLeft),
                Poll::Ready(Ok(_)) => self.moved = true,
                Poll::Pending => return Ok(()),
            }
        }
    }

    /// All that is at hand; it is no more than was read since there was room.
    fn decode_request(&mut self) -> Result<(), Ended> {
        let chunked = self.asked.framing == Framing::Chunked;
        while !self.request.is_ended() {
            let input = &mut self.client.input;
            self.sending |= !input.is_empty();
            let piece = self.request.next(input).map_err(Ended::ClientMalformed)?;
            input.advance(piece.skip);
            let data = &input[..piece.data];
            if let Some(watched) = &mut self.watched {
                watched.request_data(data);
            }
            put(&mut self.primary.output, data, chunked, piece.ended);
            input.advance(piece.data);
            if piece.data == 0 && !piece.ended {
                break;
            }
        }
        Ok(())
    }

    /// From the primary to the client.
    pub(super) fn poll_answer(&mut self, context: &mut Context<'_>) -> Result<(), Ended> {
        loop {
            self.decode_answer()?;
            if self.client.owes() {
                match self.client.poll_flush(context) {
                    Poll::Ready(Ok(())) => self.moved = true,
                    Poll::Ready(Err(_)) => return Err(Ended::ClientLeft),
                    Poll::Pending => {}
                }
            }
            if matches!(self.coming, Coming::Done) {
                return self.finish();
            }
            if !self.client.has_room() {
                return Ok(());
            }
            match self.primary.poll_fill(context) {
                Poll::Ready(Ok(0)) => self.primary_ended(true)?,
                Poll::Ready(Err(_)) => self.primary_ended(false)?,
                Poll::Ready(Ok(_)) => {
                    self.heard = true;
                    self.moved = true;
                    self.first_byte.get_or_insert_with(Instant::now);
                }
                Poll::Pending => return Ok(()),
            }
        }
    }

    /// The answer is there whole: over once it is written, unless its request is still coming.
    fn finish(&self) -> Result<(), Ended> {
        if self.client.owes() {
            return Ok(());
        }
        if self.upgraded {
            // Not before the primary has all of the request, or the tunnel would lose its end.
            return if self.given.is_some() {
                Err(Ended::Upgraded)
            } else {
                Ok(())
            };
        }
        let whole = self.request.is_ended() && self.given.is_some() && !self.broken;
        if whole || self.broken || !self.keep {
            // Bytes without a request: no connection to ask on again.
            let keep = self.keep && whole && self.primary.input.is_empty();
            return Err(Ended::Whole { keep });
        }
        Ok(())
    }

    /// All that is at hand, likewise.
    fn decode_answer(&mut self) -> Result<(), Ended> {
        loop {
            let malformed = |error| Ended::Failed(Trouble::Malformed(error));
            let body = match &mut self.coming {
                Coming::Done => return Ok(()),
                Coming::Head => {
                    let to_head = self.asked.to_head;
                    let read = self.head.read(&self.primary.input, to_head, LIMITS);
                    match read.map_err(malformed)? {
                        Some(length) => self.take_head(length)?,
                        None => return Ok(()),
                    }
                    continue;
                }
                Coming::Body(body) => body,
            };
            let input = &mut self.primary.input;
            let piece = body.next(input).map_err(malformed)?;
            input.advance(piece.skip);
            let data = &input[..piece.data];
            if let Some(watched) = &mut self.watched {
                watched.answer_data(data, piece.ended);
            }
            put(&mut self.client.output, data, self.chunked, piece.ended);
            input.advance(piece.data);
            if piece.ended {
                self.answer_ended();
            } else if piece.data == 0 {
                return Ok(());
            }
        }
    }
}

/// A piece of a body, for the other side.
fn put(out: &mut BytesMut, data: &[u8], chunked: bool, ended: bool) {
    if chunked {
        chunk(out, data);
        if ended {
            last_chunk(out);
        }
    } else {
        out.put_slice(data);
    }
}
