//! Which port of 127.0.0.1 the server gets.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use crate::error::StartError;

pub(crate) fn loopback(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// The port asked for, if it is free, or any free one. Another process may still take it before the
/// server binds it: `start` then tries again, unless the port was asked for.
pub(crate) fn choose(asked: Option<u16>) -> Result<u16, StartError> {
    let port = asked.unwrap_or(0);
    let listener = TcpListener::bind(loopback(port)).map_err(|source| match source.kind() {
        ErrorKind::AddrInUse => StartError::PortInUse { port },
        _ => StartError::Port { port, source },
    })?;
    let address = listener
        .local_addr()
        .map_err(|source| StartError::Port { port, source })?;
    Ok(address.port())
}

/// A port of 127.0.0.1 that is free now, for a service that takes its port as a parameter.
///
/// # Errors
/// When the machine has none.
pub fn free_port() -> Result<u16, StartError> {
    choose(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_named_with_the_remedy() {
        let taken = TcpListener::bind(loopback(0)).unwrap();
        let port = taken.local_addr().unwrap().port();
        let message = choose(Some(port)).unwrap_err().to_string();
        assert!(message.contains(&port.to_string()), "{message}");
        assert!(message.contains("give another port"), "{message}");
        assert_ne!(choose(None).unwrap(), port);
    }
}
