//! The connections of a process tree: its sockets from `/proc/<pid>/fd`, with their addresses from `/proc/<pid>/net`.
//!
//! A sample misses connections that were opened and closed since the last sample, and datagrams sent from an unconnected
//! socket.

use small_sort::SmallSort;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use crate::error::HostError;
use crate::tree::{Tree, vanished};

/// The socket tables of a network namespace. Only connected UDP sockets have a peer.
const TABLES: [(&str, Protocol); 4] = [
    ("tcp", Protocol::Tcp),
    ("tcp6", Protocol::Tcp),
    ("udp", Protocol::Udp),
    ("udp6", Protocol::Udp),
];
/// TCP states as the tables print them (`include/net/tcp_states.h`).
const SYN_SENT: &str = "02";
const TIME_WAIT: &str = "06";
const LISTEN: &str = "0A";

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Protocol {
    Tcp,
    Udp,
}

/// A socket with a peer. IPv4-mapped IPv6 addresses are converted to IPv4.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Socket {
    pub protocol: Protocol,
    pub local: SocketAddr,
    pub peer: SocketAddr,
    /// The peer has not answered yet.
    pub is_connecting: bool,
    /// The peer connected to a TCP listener of this network namespace.
    pub is_accepted: bool,
    pub inode: u64,
}

/// The addresses of the TCP listeners of a network namespace.
#[derive(Debug, Default)]
struct Listeners(BTreeSet<SocketAddr>);

/// A line of a table that matters here.
#[derive(Debug)]
enum Line {
    Listener(SocketAddr),
    Peer(Socket),
}

/// A socket, and a process that has it open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    pub pid: u32,
    pub socket: Socket,
}

/// One sample of a tree.
#[derive(Debug, Default)]
pub struct Connections {
    /// Sorted by process.
    pub found: Vec<Connection>,
    /// Processes whose sockets this user may not read, with the reason.
    pub unreadable: Vec<(u32, HostError)>,
}

impl Tree {
    /// The sockets of its processes that have a peer. A socket shared by several processes is listed once.
    ///
    /// # Errors
    /// [`HostError::Gone`] when the root does not exist; when `/proc` cannot be read.
    pub fn connections(&self) -> Result<Connections, HostError> {
        let mut seen = Connections::default();
        // By network namespace: a process to read its tables from, and the owner of each socket.
        let mut spaces: BTreeMap<PathBuf, (u32, BTreeMap<u64, u32>)> = BTreeMap::new();
        for pid in self.pids()? {
            match self.sockets_of(pid) {
                Ok(inodes) if inodes.is_empty() => {}
                Ok(inodes) => {
                    let path = self.path(pid, "ns/net");
                    let Ok(space) = fs::read_link(&path) else {
                        continue;
                    };
                    let (_, of_space) = spaces
                        .entry(space)
                        .or_insert_with(|| (pid, BTreeMap::new()));
                    for inode in inodes {
                        of_space.entry(inode).or_insert(pid);
                    }
                }
                Err(error) => seen.unreadable.push((pid, error)),
            }
        }
        for (reader, owners) in spaces.into_values() {
            // Of all tables: a listener in `tcp6` accepts IPv4 connections, too.
            let mut listeners = Listeners::default();
            let first = seen.found.len();
            for (table, protocol) in TABLES {
                let path = self.path(reader, "net").join(table);
                // A kernel without IPv6 has no such table; the process may also have exited.
                let Ok(text) = fs::read_to_string(&path) else {
                    continue;
                };
                for line in lines(&text, protocol) {
                    match line {
                        Line::Listener(address) => {
                            listeners.0.insert(address);
                        }
                        Line::Peer(socket) => {
                            if let Some(&pid) = owners.get(&socket.inode) {
                                seen.found.push(Connection { pid, socket });
                            }
                        }
                    }
                }
            }
            for Connection { socket, .. } in &mut seen.found[first..] {
                socket.is_accepted = listeners.accepted(socket);
            }
        }
        seen.found
            .small_sort_by_key(|found| (found.pid, found.socket.inode));
        Ok(seen)
    }

    /// The inodes of the sockets that a process has open; empty when it has exited.
    fn sockets_of(&self, pid: u32) -> Result<BTreeSet<u64>, HostError> {
        let folder = self.path(pid, "fd");
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(e) if vanished(&e) => return Ok(BTreeSet::new()),
            Err(e) => return Err(HostError::io(&folder, e)),
        };
        let mut inodes = BTreeSet::new();
        for entry in entries {
            match entry.and_then(|entry| fs::read_link(entry.path())) {
                Ok(target) => inodes.extend(socket_inode(&target)),
                Err(e) if vanished(&e) => {}
                Err(e) if e.kind() == io::ErrorKind::PermissionDenied => {
                    return Err(HostError::io(&folder, e));
                }
                Err(_) => {}
            }
        }
        Ok(inodes)
    }
}

/// Parses `socket:[12345]`.
fn socket_inode(target: &Path) -> Option<u64> {
    let name = target.to_str()?.strip_prefix("socket:[")?;
    name.strip_suffix(']')?.parse().ok()
}

impl Listeners {
    /// Whether this connection came in through one of them. The kernel never chooses the port of a listener for an outgoing
    /// connection, and a connection that is being made is outgoing in any case.
    fn accepted(&self, socket: &Socket) -> bool {
        let port = socket.local.port();
        let any = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
        let mut addresses = any.into_iter().chain([socket.local.ip()]);
        socket.protocol == Protocol::Tcp
            && !socket.is_connecting
            && addresses.any(|ip: IpAddr| self.0.contains(&SocketAddr::new(ip, port)))
    }
}

/// Parses `/proc/net/{tcp,tcp6,udp,udp6}`; returns the TCP listeners, and the sockets that have a peer and an owner. Skips
/// lines of another shape.
fn lines(text: &str, protocol: Protocol) -> impl Iterator<Item = Line> {
    text.lines().filter_map(move |text| line(text, protocol))
}

fn line(line: &str, protocol: Protocol) -> Option<Line> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (local, peer, state) = (fields.next()?, fields.next()?, fields.next()?);
    // Checked first: under load nearly all lines are in TIME_WAIT, and these sockets belong to no process.
    if state == TIME_WAIT {
        return None;
    }
    if state == LISTEN && protocol == Protocol::Tcp {
        return address(local).map(Line::Listener);
    }
    let inode = fields.nth(5)?.parse().ok().filter(|&inode| inode != 0)?;
    let (local, peer) = (address(local)?, address(peer)?);
    let is_connecting = state == SYN_SENT && protocol == Protocol::Tcp;
    (!peer.ip().is_unspecified()).then_some(Line::Peer(Socket {
        protocol,
        local,
        peer,
        is_connecting,
        is_accepted: false,
        inode,
    }))
}

/// Parses `0100007F:1F90`: 32-bit words in native byte order, and the port as a number.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let digits = ip.get(at..at + 8)?;
        u32::from_str_radix(digits, 16).ok().map(u32::to_ne_bytes)
    };
    let ip = match ip.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?)),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?].concat();
            let bytes: [u8; 16] = words.try_into().ok()?;
            IpAddr::from(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};
    #[cfg(target_endian = "little")]
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::*;

    // The lines are as a little-endian machine prints them.
    #[cfg(target_endian = "little")]
    #[test]
    fn lines_of_the_tables() {
        let line = |local: &str, peer: &str, state: &str, inode: u64| {
            format!(
                "   0: {local} {peer} {state} 00000000:00000000 00:00000000 00000000  1000        0 {inode} 1 0000 20\n"
            )
        };
        let loopback = "0100007F:1F90";
        let mapped = "0000000000000000FFFF00000200000A:1538";
        let ipv6 = "B80D0120000000000000000001000000:1538";
        for (what, text, protocol, expected) in [
            (
                "established",
                line(loopback, "0200000A:1538", "01", 7),
                Protocol::Tcp,
                Some(("10.0.0.2:5432", false)),
            ),
            (
                "no answer yet",
                line(loopback, "0200000A:1538", "02", 7),
                Protocol::Tcp,
                Some(("10.0.0.2:5432", true)),
            ),
            (
                "closed by the peer",
                line(loopback, "0200000A:1538", "08", 7),
                Protocol::Tcp,
                Some(("10.0.0.2:5432", false)),
            ),
            (
                "nobody's",
                line(loopback, "0200000A:1538", "01", 0),
                Protocol::Tcp,
                None,
            ),
            (
                "over",
                line(loopback, "0200000A:1538", "06", 7),
                Protocol::Tcp,
                None,
            ),
            (
                "a listener",
                line(loopback, "00000000:0000", "0A", 7),
                Protocol::Tcp,
                None,
            ),
            (
                "IPv4 in IPv6",
                line(mapped, mapped, "01", 7),
                Protocol::Tcp,
                Some(("10.0.0.2:5432", false)),
            ),
            (
                "IPv6",
                line(ipv6, ipv6, "01", 7),
                Protocol::Tcp,
                Some(("[2001:db8::1]:5432", false)),
            ),
            (
                "connected UDP",
                line(loopback, "0200000A:0035", "01", 7),
                Protocol::Udp,
                Some(("10.0.0.2:53", false)),
            ),
            (
                "UDP to anybody",
                line(loopback, "00000000:0000", "07", 7),
                Protocol::Udp,
                None,
            ),
            (
                "the heading",
                "  sl  local_address rem_address   st tx_queue rx_queue\n".to_owned(),
                Protocol::Tcp,
                None,
            ),
        ] {
            let found = lines(&text, protocol).find_map(|line| match line {
                Line::Peer(s) => Some((s.peer.to_string(), s.is_connecting)),
                Line::Listener(_) => None,
            });
            assert_eq!(
                found,
                expected.map(|(peer, is)| (peer.to_owned(), is)),
                "{what}"
            );
        }
    }

    /// A process with sockets 7, 8, 9 and 10, whose network namespace has these tables.
    #[cfg(target_endian = "little")]
    fn process_with(tables: [(&str, &[&str]); 2]) -> tempfile::TempDir {
        let proc = tempfile::tempdir().unwrap();
        let process = proc.path().join("7");
        for folder in ["task/7", "fd", "ns", "net"] {
            fs::create_dir_all(process.join(folder)).unwrap();
        }
        fs::write(process.join("task/7/children"), "").unwrap();
        symlink("net:[1]", process.join("ns/net")).unwrap();
        for inode in 7..=10 {
            let link = process.join(format!("fd/{inode}"));
            symlink(format!("socket:[{inode}]"), link).unwrap();
        }
        for (table, lines) in tables {
            fs::write(process.join("net").join(table), lines.concat()).unwrap();
        }
        proc
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn connections_to_a_listener_are_accepted_ones() {
        // In hexadecimal digits: 0BB8 is 3000, A000 is 40960; 0100000A is 10.0.0.1.
        let row = |local: &str, peer: &str, state: &str, inode: u64| {
            format!("0: {local} {peer} {state} 0:0 00:0 0 1000 0 {inode} 1 0000\n")
        };
        let (here, there) = ("0100000A:0BB8", "0200000A:A000");
        let nobody = "00000000:0000";
        let nobody6 = "00000000000000000000000000000000:0000";
        let mapped = "0000000000000000FFFF00000100000A:0BB8";
        let peer6 = "0000000000000000FFFF00000200000A:A000";
        for (what, tcp, tcp6, expected) in [
            (
                "the listener of all addresses",
                vec![
                    row(here, there, "01", 7),
                    row("00000000:0BB8", nobody, "0A", 8),
                ],
                vec![],
                true,
            ),
            (
                "the listener of this address, of another process",
                vec![row(here, nobody, "0A", 99), row(here, there, "01", 7)],
                vec![],
                true,
            ),
            (
                "IPv4 at the listener of all IPv6 addresses",
                vec![],
                vec![
                    row(mapped, peer6, "01", 7),
                    row("00000000000000000000000000000000:0BB8", nobody6, "0A", 8),
                ],
                true,
            ),
            (
                "the listener of another address",
                vec![
                    row(here, there, "01", 7),
                    row("0100007F:0BB8", nobody, "0A", 8),
                ],
                vec![],
                false,
            ),
            (
                "the listener of another port",
                vec![
                    row(here, there, "01", 7),
                    row("00000000:0BB9", nobody, "0A", 8),
                ],
                vec![],
                false,
            ),
            (
                "being made",
                vec![
                    row(here, there, "02", 7),
                    row("00000000:0BB8", nobody, "0A", 8),
                ],
                vec![],
                false,
            ),
            (
                "no listener",
                vec![row(here, there, "01", 7)],
                vec![],
                false,
            ),
        ] {
            let (tcp, tcp6): (Vec<&str>, Vec<&str>) = (
                tcp.iter().map(String::as_str).collect(),
                tcp6.iter().map(String::as_str).collect(),
            );
            let proc = process_with([("tcp", &tcp), ("tcp6", &tcp6)]);
            let seen = Tree::from(7).at(proc.path()).connections().unwrap();
            let found: Vec<_> = seen
                .found
                .iter()
                .map(|f| (f.socket.peer.to_string(), f.socket.is_accepted))
                .collect();
            assert_eq!(found, [("10.0.0.2:40960".to_owned(), expected)], "{what}");
        }
    }

    #[test]
    fn the_sockets_of_this_process() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (accepted, _) = listener.accept().unwrap();
        let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
        datagrams.connect("127.0.0.1:9").unwrap();
        let seen = Tree::from(std::process::id()).connections().unwrap();
        let has = |protocol, local: SocketAddr, peer: SocketAddr, is_accepted| {
            let expected = (protocol, local, peer, is_accepted);
            let mut sockets = seen.found.iter().map(|found| &found.socket);
            sockets.any(|s| (s.protocol, s.local, s.peer, s.is_accepted) == expected)
        };
        let here = stream.local_addr().unwrap();
        let there = listener.local_addr().unwrap();
        assert!(
            has(Protocol::Tcp, here, there, false) && has(Protocol::Tcp, there, here, true),
            "{seen:?}"
        );
        assert!(has(
            Protocol::Udp,
            datagrams.local_addr().unwrap(),
            "127.0.0.1:9".parse().unwrap(),
            false
        ));
        drop(accepted);
    }

    #[test]
    fn a_process_of_another_user_is_named() {
        let proc = tempfile::tempdir().unwrap();
        let process = proc.path().join("7");
        fs::create_dir_all(process.join("task/7")).unwrap();
        fs::write(process.join("task/7/children"), "").unwrap();
        // A file in place of the folder: root could read any folder.
        fs::write(process.join("fd"), "").unwrap();
        let seen = Tree::from(7).at(proc.path()).connections().unwrap();
        assert_eq!(seen.unreadable.len(), 1);
        assert_eq!(seen.unreadable[0].0, 7);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_a_panic(text in ".{0,200}") {
            let _ = lines(&text, Protocol::Tcp).count();
            let _ = lines(&text, Protocol::Udp).count();
        }
    }
}
