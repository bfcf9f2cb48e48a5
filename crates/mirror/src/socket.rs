//! A connection's socket, TCP or Unix, as one type.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use rustix::net::{RecvFlags, recv};
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::{TcpStream, UnixStream};

use crate::proxy_protocol::Ends;

/// A connected stream socket.
#[derive(Debug)]
pub enum Socket {
    /// To a port.
    Tcp(TcpStream),
    /// To a file.
    Unix(UnixStream),
}

impl Socket {
    /// Small pieces are sent at once. Where that cannot be set they are only late.
    pub(crate) fn set_nodelay(&self) {
        if let Self::Tcp(socket) = self {
            let _ = socket.set_nodelay(true);
        }
    }

    /// Closing it resets the connection. On a Unix socket there is no such thing: the other end sees an orderly end.
    pub(crate) fn reset_when_closed(&self) {
        if let Self::Tcp(socket) = self {
            let _ = socket.set_zero_linger();
        }
    }

    /// Reads without taking; 0: the orderly end.
    pub(crate) async fn peek(&self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(socket) => socket.peek(bytes).await,
            Self::Unix(socket) => {
                let peek = || Ok(recv(socket, &mut *bytes, RecvFlags::PEEK)?.1);
                socket.async_io(Interest::READABLE, peek).await
            }
        }
    }

    /// Both addresses; a Unix socket has none.
    pub(crate) fn ends(&self) -> io::Result<Option<Ends>> {
        Ok(match self {
            Self::Tcp(socket) => Some(Ends::new(socket.peer_addr()?, socket.local_addr()?)),
            Self::Unix(_) => None,
        })
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(socket) => Pin::new(socket).poll_read(context, buffer),
            Self::Unix(socket) => Pin::new(socket).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(socket) => Pin::new(socket).poll_write(context, bytes),
            Self::Unix(socket) => Pin::new(socket).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(socket) => Pin::new(socket).poll_flush(context),
            Self::Unix(socket) => Pin::new(socket).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(socket) => Pin::new(socket).poll_shutdown(context),
            Self::Unix(socket) => Pin::new(socket).poll_shutdown(context),
        }
    }
}
