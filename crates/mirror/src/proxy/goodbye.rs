//! Ends of connections: with a word where the client can still hear one, torn
//! where an end could be taken for an answer's.

use std::fmt::Display;
use std::future::poll_fn;
use std::time::Duration;

use bytes::{BufMut, BytesMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::side::Side;
use crate::http1::{end_head, field, status_line};

/// How long, and for how many bytes, a client may go on sending while its bytes are dropped. A socket that is closed
/// on unread bytes resets the connection, and the answer may be lost with it.
const PATIENCE: Duration = Duration::from_secs(2);
const MOST_UNREAD: usize = 1 << 20;

/// An answer of our own, the last one of its connection. `with_body`: not to HEAD.
pub(super) fn write(out: &mut BytesMut, status: u16, text: &dyn Display, with_body: bool) {
    let reason: &[u8] = match status {
        400 => b"Bad Request",
        408 => b"Request Timeout",
        431 => b"Request Header Fields Too Large",
        501 => b"Not Implemented",
        502 => b"Bad Gateway",
        504 => b"Gateway Timeout",
        _ => b"HTTP Version Not Supported",
    };
    let body = format!("{status}: {text}\n");
    status_line(out, status, reason);
    field(out, "Content-Type", b"text/plain; charset=utf-8");
    field(out, "Content-Length", body.len().to_string().as_bytes());
    field(out, "Connection", b"close");
    end_head(out);
    if with_body {
        out.put_slice(body.as_bytes());
    }
}

/// Writes what is left and closes; `unread`: the client may still be sending.
pub(super) async fn part(mut side: Side, unread: bool) {
    let unread = unread || !side.input.is_empty();
    let end = async {
        poll_fn(|context| side.poll_flush(context)).await?;
        side.stream.shutdown().await?;
        let mut left = MOST_UNREAD;
        while unread && left > 0 {
            side.input.clear();
            match side.stream.read_buf(&mut side.input).await? {
                0 => break,
                count => left = left.saturating_sub(count),
            }
        }
        std::io::Result::Ok(())
    };
    // A client that does not take it goes without.
    let _ = tokio::time::timeout(PATIENCE, end).await;
}

/// Closes so that the client sees an error rather than an end.
pub(super) fn tear(side: Side) {
    side.stream.socket().reset_when_closed();
}
