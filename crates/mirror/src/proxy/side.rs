//! One end of a conversation: its stream, what was read of it and not yet
//! understood, and what is to be written to it.

use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};

use bytes::{Buf, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};

use crate::stream::Stream;

/// What is read at once: little at first, because most messages are small and connections many.
const SMALL: usize = 8 << 10;
/// And at most, for an end that sends much.
const LARGE: usize = 64 << 10;
/// So much waits to be written at most before no more is read for it; what one reading brings comes on top.
pub(super) const ROOM: usize = 64 << 10;

/// A client, or a primary.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) stream: Stream,
    /// Read and not yet understood.
    pub(super) input: BytesMut,
    /// Not yet written.
    pub(super) output: BytesMut,
    /// Written to the stream, which may hold it back.
    unflushed: bool,
    /// Some bytes were written since this was last looked at.
    wrote: bool,
    reads: usize,
}

impl Side {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            input: BytesMut::new(),
            output: BytesMut::new(),
            unflushed: false,
            wrote: false,
            reads: SMALL,
        }
    }

    /// Reads what there is, once; 0: the orderly end.
    pub(super) fn poll_fill(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.input.reserve(self.reads);
        let room = self.input.capacity() - self.input.len();
        let count = ready!(pin!(self.stream.read_buf(&mut self.input)).poll(context))?;
        if count == room {
            self.reads = LARGE.min(self.reads * 2);
        }
        Poll::Ready(Ok(count))
    }

    /// Whether anything waits to be written.
    pub(super) fn owes(&self) -> bool {
        !self.output.is_empty() || self.unflushed
    }

    /// There is room for more to be written.
    pub(super) fn has_room(&self) -> bool {
        self.output.len() < ROOM
    }

    /// Writes everything.
    pub(super) fn poll_flush(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.output.is_empty() {
            self.unflushed = self.stream.buffers();
            let count = ready!(Pin::new(&mut self.stream).poll_write(context, &self.output))?;
            if count == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.wrote = true;
            self.output.advance(count);
        }
        if self.unflushed {
            ready!(Pin::new(&mut self.stream).poll_flush(context))?;
            self.unflushed = false;
        }
        Poll::Ready(Ok(()))
    }

    /// Whether any byte went out since this was last asked.
    pub(super) fn wrote(&mut self) -> bool {
        std::mem::take(&mut self.wrote)
    }

    /// Between messages: gives back what a large one needed.
    pub(super) fn rest(&mut self) {
        if self.input.is_empty() && self.input.capacity() > 2 * SMALL {
            self.input = BytesMut::new();
            self.reads = SMALL;
        }
        if self.output.is_empty() && self.output.capacity() > 2 * SMALL {
            self.output = BytesMut::new();
        }
    }
}

/// As a plain stream, once there are no messages any more: first what was read already.
impl AsyncRead for Side {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let side = self.get_mut();
        if side.input.is_empty() {
            return Pin::new(&mut side.stream).poll_read(context, buffer);
        }
        let count = side.input.len().min(buffer.remaining());
        buffer.put_slice(&side.input[..count]);
        side.input.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Side {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::net::TcpStream;

    use super::*;
    use crate::socket::Socket;

    #[test]
    fn a_part_that_went_out_is_progress() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        runtime.block_on(async {
            let stream = TcpStream::connect(listener.local_addr().unwrap());
            let mut side = Side::new(Stream::Plain(Socket::Tcp(stream.await.unwrap())));
            // More than two sockets' buffers take, without a reader.
            side.output.resize(64 << 20, b'x');
            let flushed = poll_fn(|context| Poll::Ready(side.poll_flush(context).is_ready()));
            assert!(!flushed.await);
            assert!(side.output.len() < 64 << 20);
            assert!(side.wrote());
            assert!(!side.wrote());
        });
    }
}
