//! A connection to a shadow, which is looked at before it is used again.

use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt, ReadBuf};

use crate::stream::Stream;

/// Longest wait for a server that said it would close.
const CLOSING: Duration = Duration::from_millis(100);

/// A connection and what was read from it but not yet used.
pub(super) struct Connection {
    pub(super) stream: Stream,
    pub(super) read: BytesMut,
    /// When it was last used.
    pub(super) since: Instant,
}

impl Connection {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            read: BytesMut::new(),
            since: Instant::now(),
        }
    }

    /// Waits briefly for the server to close the connection. The side that closes first keeps the pair of ports in TIME_WAIT for a
    /// minute; on our side that uses up a local port for each copy.
    pub(super) async fn closed_by_server(&mut self) {
        let mut rest = [0; 256];
        let closed =
            async { while self.stream.read(&mut rest).await.is_ok_and(|read| read > 0) {} };
        // A server that does not close in this time is not waited for.
        let _ = tokio::time::timeout(CLOSING, closed).await;
    }

    /// Nothing has come since the last answer, the connection's end included.
    pub(super) async fn is_quiet(&mut self) -> bool {
        let mut space = [0; 1];
        std::future::poll_fn(|context| {
            let mut buffer = ReadBuf::new(&mut space);
            let read = Pin::new(&mut self.stream).poll_read(context, &mut buffer);
            Poll::Ready(read.is_pending())
        })
        .await
    }
}
