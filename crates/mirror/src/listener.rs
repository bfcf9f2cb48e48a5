//! The socket that accepts clients: a TCP port, a Unix socket, or a socket that a service manager passed on.

mod passed;
mod unix;

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::task::{Context, Poll, ready};

use rustix::net::sockopt::{set_socket_reuseaddr, set_socket_reuseport};
use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with};

use crate::ListenAt;
use crate::socket::Socket;
pub use passed::PassedError;
use unix::SocketFile;

/// Connections that the kernel holds until they are accepted; it may hold fewer (`net.core.somaxconn`).
const BACKLOG: i32 = 4096;

/// Why there is no listener.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address is taken, not ours, or not allowed.
    #[error(
        "cannot listen on {address}: {source}; give an address of this machine and a port that is free"
    )]
    Tcp {
        /// Where.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// The socket file cannot be made.
    #[error("cannot listen on unix:{path}: {source}; {remedy}", path = path.display())]
    Unix {
        /// Where.
        path: PathBuf,
        /// Why not.
        source: io::Error,
        /// What to do about it.
        remedy: &'static str,
    },
    /// No such socket was passed on.
    #[error(transparent)]
    Passed(#[from] PassedError),
}

/// Where a listener accepts clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// With the port that the system chose where none was asked for.
    Tcp(SocketAddr),
    /// A Unix socket's path; empty where it has none.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A listener before its first accept.
#[derive(Debug)]
pub(crate) struct Listener {
    kind: Kind,
    address: Address,
    /// No other process accepts from it.
    own: bool,
    file: Option<SocketFile>,
}

#[derive(Debug)]
enum Kind {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    pub(crate) fn open(at: &ListenAt) -> Result<Self, ListenError> {
        match at {
            ListenAt::Tcp {
                address,
                reuse_port,
            } => {
                let opened = tcp(*address, *reuse_port).and_then(|kind| Self::new(kind, true));
                opened.map_err(|source| ListenError::Tcp {
                    address: *address,
                    source,
                })
            }
            ListenAt::Unix { path, mode } => {
                let (socket, file) = unix::open(path, *mode)?;
                let listener = Self::new(Kind::Unix(socket), true);
                let mut listener = listener.map_err(|source| unix::error(path, source))?;
                // The system knows the name under which it was bound.
                listener.address = Address::Unix(path.clone());
                listener.file = Some(file);
                Ok(listener)
            }
            ListenAt::Passed { name } => passed::take(name.as_deref()),
        }
    }

    fn new(kind: Kind, own: bool) -> io::Result<Self> {
        let address = match &kind {
            Kind::Tcp(socket) => {
                socket.set_nonblocking(true)?;
                Address::Tcp(socket.local_addr()?)
            }
            Kind::Unix(socket) => {
                socket.set_nonblocking(true)?;
                let address = socket.local_addr()?;
                Address::Unix(address.as_pathname().unwrap_or("".as_ref()).to_owned())
            }
        };
        Ok(Self {
            kind,
            address,
            own,
            file: None,
        })
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// Ready to accept, within a runtime.
    pub(crate) fn serve(self) -> io::Result<Serving> {
        Ok(Serving {
            file: self.file,
            kind: match self.kind {
                Kind::Tcp(socket) => AsyncKind::Tcp(tokio::net::TcpListener::from_std(socket)?),
                Kind::Unix(socket) => AsyncKind::Unix(tokio::net::UnixListener::from_std(socket)?),
            },
            own: self.own,
        })
    }
}

/// A listener that accepts.
#[derive(Debug)]
pub(crate) struct Serving {
    /// Dropped before the socket: a client that finds the file is still accepted.
    file: Option<SocketFile>,
    kind: AsyncKind,
    own: bool,
}

#[derive(Debug)]
enum AsyncKind {
    Tcp(tokio::net::TcpListener),
    Unix(tokio::net::UnixListener),
}

impl Serving {
    /// Connections that wait here are lost when it is closed; where it is not, the next process accepts them.
    pub(crate) fn is_own(&self) -> bool {
        self.own
    }

    pub(crate) fn poll_accept(&self, context: &mut Context<'_>) -> Poll<io::Result<Socket>> {
        Poll::Ready(match &self.kind {
            AsyncKind::Tcp(socket) => {
                ready!(socket.poll_accept(context)).map(|(socket, _)| Socket::Tcp(socket))
            }
            AsyncKind::Unix(socket) => {
                ready!(socket.poll_accept(context)).map(|(socket, _)| Socket::Unix(socket))
            }
        })
    }
}

impl Serving {
    /// Its file is removed first, so that no client connects after the last accept.
    pub(crate) fn close(self) -> io::Result<Closing> {
        drop(self.file);
        Ok(Closing(match self.kind {
            AsyncKind::Tcp(socket) => Kind::Tcp(socket.into_std()?),
            AsyncKind::Unix(socket) => Kind::Unix(socket.into_std()?),
        }))
    }
}

/// A listener that is about to be closed. It asks the kernel directly: tokio's readiness may be out of date, and its cooperative
/// budget ends a loop of accepts early.
#[derive(Debug)]
pub(crate) struct Closing(Kind);

impl Closing {
    /// A connection that the kernel has completed; `WouldBlock` where there is none.
    pub(crate) fn accept(&self) -> io::Result<Socket> {
        match &self.0 {
            Kind::Tcp(listener) => {
                let (socket, _) = listener.accept()?;
                socket.set_nonblocking(true)?;
                tokio::net::TcpStream::from_std(socket).map(Socket::Tcp)
            }
            Kind::Unix(listener) => {
                let (socket, _) = listener.accept()?;
                socket.set_nonblocking(true)?;
                tokio::net::UnixStream::from_std(socket).map(Socket::Unix)
            }
        }
    }
}

fn tcp(address: SocketAddr, reuse_port: bool) -> io::Result<Kind> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_reuseaddr(&socket, true)?;
    if reuse_port {
        set_socket_reuseport(&socket, true)?;
    }
    bind(&socket, &address)?;
    listen(&socket, BACKLOG)?;
    Ok(Kind::Tcp(TcpListener::from(socket)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closing_listener_has_no_file_and_accepts_the_clients_that_wait() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let at = ListenAt::Unix {
            path: path.clone(),
            mode: 0o600,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        let _guard = runtime.enter();
        let serving = Listener::open(&at).unwrap().serve().unwrap();
        let _waits = std::os::unix::net::UnixStream::connect(&path).unwrap();
        let closing = serving.close().unwrap();
        assert!(!path.exists());
        assert!(closing.accept().is_ok());
        let none = closing.accept().unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::WouldBlock);
    }
}
