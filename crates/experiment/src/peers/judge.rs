//! Decides which peers a run may have: this machine, its name servers, the services allowed by name, and clients of its own
//! listeners.

use host::sockets::Socket;
use servers::safety::Remote;
use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};

/// The port of DNS.
const NAME_SERVICE: u16 = 53;

/// The allowed services, and the addresses that their names have had so far.
pub struct Judge {
    allowed: Vec<Remote>,
    known: Known,
    /// Connections of clients on other machines, by inode and addresses. A server that ends closes its listener first, and
    /// they could not be distinguished from outgoing connections after that.
    accepted: BTreeSet<(u64, SocketAddr, SocketAddr)>,
    /// Names of `allowed` that could not be resolved at the last attempt, with the reason.
    unresolved: Vec<String>,
}

/// Addresses that a run may connect to.
#[derive(Debug, Default)]
struct Known {
    allowed: BTreeSet<SocketAddr>,
    name_servers: Vec<IpAddr>,
}

impl Judge {
    pub fn new(allowed: Vec<Remote>, name_servers: Vec<IpAddr>) -> Judge {
        Judge {
            allowed,
            known: Known {
                allowed: BTreeSet::new(),
                name_servers,
            },
            accepted: BTreeSet::new(),
            unresolved: Vec::new(),
        }
    }

    /// Whether the run may have this peer. Resolves the allowed names again for an unknown peer: addresses change.
    pub fn takes(&mut self, socket: &Socket) -> bool {
        if self.known.takes(socket) {
            return true;
        }
        let connection = (socket.inode, socket.local, socket.peer);
        if socket.is_accepted {
            self.accepted.insert(connection);
            return true;
        }
        if self.accepted.contains(&connection) {
            return true;
        }
        self.unresolved.clear();
        for remote in &self.allowed {
            match remote.resolve() {
                Ok(addresses) => {
                    let canonical =
                        |a: SocketAddr| SocketAddr::new(a.ip().to_canonical(), a.port());
                    self.known
                        .allowed
                        .extend(addresses.into_iter().map(canonical));
                }
                Err(error) => self
                    .unresolved
                    .push(format!("--allow-remote {remote} has no address: {error}")),
            }
        }
        self.known.takes(socket)
    }

    /// The names that could not be resolved at the last attempt.
    pub fn unresolved(&self) -> Option<String> {
        (!self.unresolved.is_empty()).then(|| self.unresolved.join(", "))
    }
}

impl Known {
    fn takes(&self, socket: &Socket) -> bool {
        let peer = socket.peer;
        let is_name_server = peer.port() == NAME_SERVICE && self.name_servers.contains(&peer.ip());
        // Linux uses the same address at both ends of a connection to one of the machine's own addresses.
        let is_here = peer.ip().is_loopback() || peer.ip() == socket.local.ip();
        is_here || is_name_server || self.allowed.contains(&peer)
    }
}

/// Parses the `nameserver` lines of `/etc/resolv.conf`.
pub fn name_servers(text: &str) -> Vec<IpAddr> {
    let address = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let text = words
            .next()
            .filter(|word| *word == "nameserver")
            .and(words.next())?;
        // A link-local address has its interface behind a percent sign.
        let text = text.split('%').next()?;
        text.parse::<IpAddr>().ok().map(|ip| ip.to_canonical())
    };
    text.lines().filter_map(address).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::sockets::Protocol;

    fn socket(local: &str, peer: &str) -> Socket {
        Socket {
            protocol: Protocol::Tcp,
            local: local.parse().unwrap(),
            peer: peer.parse().unwrap(),
            is_connecting: false,
            is_accepted: false,
            inode: 1,
        }
    }

    #[test]
    fn peers_are_this_machine_or_allowed() {
        let allowed = ["10.0.0.2:5432", "[2001:db8::2]:5432", "localhost:1"];
        let allowed = allowed.map(|remote| remote.parse().unwrap());
        let resolvers = "# a comment\nsearch example.org\nnameserver 10.0.0.53\nnameserver fe80::1%eth0\nnameserver x\n";
        let servers = name_servers(resolvers);
        assert_eq!(servers.len(), 2);
        let mut judge = Judge::new(allowed.to_vec(), servers);
        for (local, peer, taken) in [
            ("127.0.0.1:40000", "127.0.0.1:5432", true),
            ("127.0.0.1:40000", "127.9.9.9:5432", true),
            ("[::1]:40000", "[::1]:5432", true),
            ("10.0.0.1:40000", "10.0.0.1:5432", true),
            ("10.0.0.1:40000", "10.0.0.2:5432", true),
            ("10.0.0.1:40000", "10.0.0.2:6379", false),
            ("10.0.0.1:40000", "10.0.0.3:5432", false),
            ("10.0.0.1:40000", "10.0.0.53:53", true),
            ("10.0.0.1:40000", "10.0.0.53:5432", false),
            ("10.0.0.1:40000", "10.0.0.54:53", false),
            ("[2001:db8::1]:40000", "[2001:db8::2]:5432", true),
            ("[2001:db8::1]:40000", "[2001:db8::3]:5432", false),
        ] {
            // The protocol makes no difference.
            let mut over_udp = socket(local, peer);
            over_udp.protocol = Protocol::Udp;
            assert_eq!(judge.takes(&over_udp), taken, "{local} -> {peer}, UDP");
            assert_eq!(
                judge.takes(&socket(local, peer)),
                taken,
                "{local} -> {peer}"
            );
        }
        assert_eq!(judge.unresolved(), None);
    }

    #[test]
    fn clients_of_a_listener_are_taken_until_they_leave() {
        let mut judge = Judge::new(Vec::new(), Vec::new());
        let outgoing = socket("10.0.0.1:3000", "10.0.0.3:40000");
        let accepted = Socket {
            is_accepted: true,
            ..outgoing.clone()
        };
        let other = Socket {
            inode: 2,
            ..outgoing.clone()
        };
        for (what, socket, taken) in [
            ("outgoing", &outgoing, false),
            ("accepted", &accepted, true),
            ("its listener has closed", &outgoing, true),
            ("another socket", &other, false),
        ] {
            assert_eq!(judge.takes(socket), taken, "{what}");
        }
    }
}
