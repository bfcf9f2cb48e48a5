//! Notifies a service manager of the mirror's state, as `sd_notify(3)` describes. A crate would bring more than this one
//! message: the listening sockets, watchdogs and monotonic clocks of the protocol.

use crate::output;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Sends a state such as `READY=1` where a service manager asked for it (`NOTIFY_SOCKET`).
pub fn notify(state: &str) {
    let Some(path) = std::env::var_os("NOTIFY_SOCKET") else {
        return;
    };
    if let Err(error) = send(&path, state) {
        output::error(&format!(
            "warning: {state} cannot be sent to NOTIFY_SOCKET = {}: {error}",
            path.display()
        ));
    }
}

fn send(path: &OsStr, state: &str) -> io::Result<()> {
    let address = match path.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(path)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_goes_to_a_file_or_an_abstract_name() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("notify");
        let name = format!("@{}", file.display());
        for path in [file.as_os_str(), OsStr::new(&name)] {
            let receiver = match path.as_bytes() {
                [b'@', name @ ..] => {
                    UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(name).unwrap())
                }
                _ => UnixDatagram::bind(path),
            };
            let receiver = receiver.unwrap();
            send(path, "READY=1").unwrap();
            let mut bytes = [0; 64];
            let count = receiver.recv(&mut bytes).unwrap();
            assert_eq!(&bytes[..count], b"READY=1");
        }
    }
}
