//! Sockets that a service manager opened and passed on, as `sd_listen_fds(3)` describes.

use std::env;
use std::io::{self, ErrorKind};

use listenfd::ListenFd;
use rustix::net::sockopt::socket_acceptconn;

use super::{Kind, ListenError, Listener};

/// Why none of them can be used.
#[derive(Debug, thiserror::Error)]
pub enum PassedError {
    /// `LISTEN_FDS` or `LISTEN_PID` says so.
    #[error(
        "no socket was passed to this process (LISTEN_FDS, LISTEN_PID); start it by a socket unit, or give --listen an address"
    )]
    Nothing,
    /// Which one is meant cannot be known.
    #[error(
        "{0} sockets were passed to this process; name one: --listen systemd:NAME (FileDescriptorName= in its socket unit)"
    )]
    Several(usize),
    /// Another name.
    #[error(
        "no socket with the name {wanted:?} was passed to this process; the names are {known:?}"
    )]
    Name {
        /// What was asked for.
        wanted: String,
        /// `LISTEN_FDNAMES`.
        known: String,
    },
    /// A datagram socket, a pipe, a connection.
    #[error(
        "the passed socket cannot accept clients: {0}; pass a socket of ListenStream= with Accept=no"
    )]
    Kind(#[source] io::Error),
}

/// Takes the socket of this name, or the only one.
pub(super) fn take(name: Option<&str>) -> Result<Listener, ListenError> {
    let pid = env::var("LISTEN_PID").ok();
    if !is_for(pid.as_deref(), std::process::id()) {
        return Err(PassedError::Nothing.into());
    }
    let names = env::var("LISTEN_FDNAMES").unwrap_or_default();
    let mut passed = ListenFd::from_env();
    let index = index(name, &names, passed.len())?;
    let kind = match passed.take_unix_listener(index) {
        Ok(Some(socket)) => Ok(Kind::Unix(socket)),
        _ => match passed.take_tcp_listener(index) {
            Ok(Some(socket)) => Ok(Kind::Tcp(socket)),
            Ok(None) => return Err(PassedError::Nothing.into()),
            Err(error) => Err(error),
        },
    };
    let listener = kind.and_then(|kind| {
        accepts(&kind)?;
        Listener::new(kind, false)
    });
    Ok(listener.map_err(PassedError::Kind)?)
}

/// Without `LISTEN_PID` the variables may be those of a parent, and the descriptors anything.
fn is_for(pid: Option<&str>, own: u32) -> bool {
    pid.and_then(|pid| pid.parse().ok()) == Some(own)
}

/// A connection is a socket as well.
fn accepts(kind: &Kind) -> io::Result<()> {
    let accepts = match kind {
        Kind::Tcp(socket) => socket_acceptconn(socket),
        Kind::Unix(socket) => socket_acceptconn(socket),
    };
    match accepts? {
        true => Ok(()),
        false => Err(io::Error::new(
            ErrorKind::InvalidInput,
            "it does not listen",
        )),
    }
}

fn index(name: Option<&str>, names: &str, count: usize) -> Result<usize, PassedError> {
    match (name, count) {
        (_, 0) => Err(PassedError::Nothing),
        (None, 1) => Ok(0),
        (None, several) => Err(PassedError::Several(several)),
        (Some(wanted), _) => names
            .split(':')
            .take(count)
            .position(|known| known == wanted)
            .ok_or_else(|| PassedError::Name {
                wanted: wanted.to_owned(),
                known: names.to_owned(),
            }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_of_another_process_are_not_taken() {
        assert!(is_for(Some("7"), 7));
        for pid in [None, Some(""), Some("8"), Some("7 ")] {
            assert!(!is_for(pid, 7), "{pid:?}");
        }
    }

    #[test]
    fn a_socket_is_found_by_its_name_or_as_the_only_one() {
        assert_eq!(index(None, "", 1).ok(), Some(0));
        assert_eq!(index(None, "web", 1).ok(), Some(0));
        assert_eq!(index(Some("web"), "status:web", 2).ok(), Some(1));
        for (name, names, count, part) in [
            (None, "", 0, "no socket was passed"),
            (Some("web"), "web", 0, "no socket was passed"),
            (None, "web:status", 2, "2 sockets were passed"),
            (Some("web"), "status:other", 2, "\"status:other\""),
            (
                Some("web"),
                "status:web",
                1,
                "no socket with the name \"web\"",
            ),
        ] {
            let said = index(name, names, count).unwrap_err().to_string();
            assert!(said.contains(part), "{said}");
        }
    }
}
