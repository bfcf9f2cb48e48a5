//! Sockets: opened without blocking, read and written with one system call
//! each. TLS is a separate filter without I/O of its own, so that
//! plain connections pay nothing for it.

pub(crate) mod tls;

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with, sockopt,
};

use crate::target::Address;

/// Begins to connect. True: already connected.
pub(crate) fn open(address: &Address) -> Result<(OwnedFd, bool), Errno> {
    let family = match address {
        Address::Tcp(address) if address.is_ipv4() => AddressFamily::INET,
        Address::Tcp(_) => AddressFamily::INET6,
        Address::Unix(_) => AddressFamily::UNIX,
    };
    let fd = socket_with(
        family,
        SocketType::STREAM,
        SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
        None,
    )?;
    let connecting = match address {
        Address::Tcp(address) => {
            sockopt::set_tcp_nodelay(&fd, true)?;
            connect(&fd, address)
        }
        Address::Unix(path) => connect(&fd, &SocketAddrUnix::new(path)?),
    };
    match connecting {
        Ok(()) => Ok((fd, true)),
        Err(Errno::INPROGRESS | Errno::INTR) => Ok((fd, false)),
        Err(errno) => Err(errno),
    }
}

/// Bytes from the socket; 0: the peer has closed.
pub(crate) fn read(fd: &OwnedFd, buffer: &mut [u8]) -> Result<usize, Errno> {
    loop {
        match recv(fd, &mut *buffer, RecvFlags::empty()) {
            Ok((count, _)) => return Ok(count),
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
}

/// Writes as much as the socket takes.
pub(crate) fn write(fd: &OwnedFd, bytes: &[u8]) -> Result<usize, Errno> {
    let mut written = 0;
    while written < bytes.len() {
        match send(fd, &bytes[written..], SendFlags::NOSIGNAL) {
            Ok(count) => written += count,
            Err(Errno::AGAIN) => break,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno),
        }
    }
    Ok(written)
}
