//! A connection to a shadow, which is looked at before it is used again.

use std::pin::Pin;
use std::task::Poll;
use std::time::Instant;

use bytes::BytesMut;
use tokio::io::{AsyncRead, ReadBuf};

use crate::stream::Stream;

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
