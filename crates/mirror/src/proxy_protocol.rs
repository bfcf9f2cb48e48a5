//! The PROXY protocol, versions 1 and 2: the header in which a TCP proxy says at
//! the beginning of a connection whose connection it passes on
//! (haproxy.org/download/3.0/doc/proxy-protocol.txt).
//!
//! Written here because of what a trusted address needs: the crates for it take
//! ports such as `+80` and `080`, or any byte after `PROXY` (proxy-header 0.1), do
//! not bound a header of version 2, or bring a second `thiserror` (ppp 2.3). Both
//! versions together are shorter than an adapter that checks again.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// How a header is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// A line of text.
    V1,
    /// Binary.
    V2,
}

/// A connection from a client; addresses that are IPv4 mapped into IPv6 are IPv4.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ends {
    client: SocketAddr,
    server: SocketAddr,
}

/// A header that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Bytes.
    pub length: usize,
    /// `None`: the proxy speaks for itself (LOCAL), or of no TCP connection (UNKNOWN, UNSPEC, Unix sockets,
    /// datagrams); then the connection's own ends count.
    pub ends: Option<Ends>,
}

/// Why a header is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The connection begins with something else.
    #[error(
        "the connection does not begin with a PROXY protocol header, which this listener needs: connect through the proxy that sends one"
    )]
    Missing,
    /// More bytes than any sender needs.
    #[error("the PROXY protocol header is longer than {0} bytes")]
    TooLong(usize),
    /// This part is not what the protocol says.
    #[error("the PROXY protocol header is malformed: {0}")]
    Part(&'static str),
}

const BEGINNING_V1: &[u8] = b"PROXY ";
const BEGINNING_V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// Of version 1, by its specification, the line's end counted.
const MOST_V1: usize = 107;
/// Before the addresses of version 2.
const FIXED_V2: usize = 16;
/// Most bytes of a header: the specification allows 64 KiB of extensions, and no sender comes near this.
pub(crate) const MOST: usize = 4096;

impl Ends {
    /// From `client` to `server`.
    #[must_use]
    pub fn new(client: SocketAddr, server: SocketAddr) -> Self {
        let canonical = |end: SocketAddr| SocketAddr::new(end.ip().to_canonical(), end.port());
        Self {
            client: canonical(client),
            server: canonical(server),
        }
    }

    /// Who connected.
    #[must_use]
    pub fn client(&self) -> SocketAddr {
        self.client
    }

    /// To what it connected.
    #[must_use]
    pub fn server(&self) -> SocketAddr {
        self.server
    }

    /// Both addresses in one family, as headers have them.
    fn addresses(&self) -> (IpAddr, IpAddr) {
        match (self.client.ip(), self.server.ip()) {
            (IpAddr::V4(client), IpAddr::V6(server)) => {
                (client.to_ipv6_mapped().into(), server.into())
            }
            (IpAddr::V6(client), IpAddr::V4(server)) => {
                (client.into(), server.to_ipv6_mapped().into())
            }
            same => same,
        }
    }
}

/// Reads the header that `bytes` begin with. `None`: it goes on beyond them.
///
/// # Errors
///
/// No header, whatever would follow.
pub fn read(bytes: &[u8]) -> Result<Option<Header>, Malformed> {
    let begins = |with: &[u8]| bytes.iter().zip(with).all(|(byte, known)| byte == known);
    if begins(BEGINNING_V2) {
        read_v2(bytes)
    } else if begins(BEGINNING_V1) {
        read_v1(bytes)
    } else {
        Err(Malformed::Missing)
    }
}

fn read_v1(bytes: &[u8]) -> Result<Option<Header>, Malformed> {
    let within = &bytes[..bytes.len().min(MOST_V1)];
    let Some(feed) = memchr::memchr(b'\n', within) else {
        return if within.len() < MOST_V1 {
            Ok(None)
        } else {
            Err(Malformed::TooLong(MOST_V1))
        };
    };
    let line = within[..feed].strip_suffix(b"\r");
    let line = line.ok_or(Malformed::Part("its line does not end with CR LF"))?;
    let text = |byte: &u8| byte.is_ascii_graphic() || *byte == b' ';
    if !line.iter().all(text) {
        return Err(Malformed::Part("a byte that is no text"));
    }
    let line = std::str::from_utf8(line).unwrap_or_default();
    let words: Vec<&str> = line.split(' ').collect();
    let ends = match words.as_slice() {
        // What follows may be anything.
        [_, "UNKNOWN", ..] => None,
        [_, "TCP4", rest @ ..] => Some(ends_v1::<Ipv4Addr>(rest)?),
        [_, "TCP6", rest @ ..] => Some(ends_v1::<Ipv6Addr>(rest)?),
        _ => {
            return Err(Malformed::Part(
                "a protocol other than TCP4, TCP6 and UNKNOWN",
            ));
        }
    };
    Ok(Some(Header {
        length: feed + 1,
        ends,
    }))
}

fn ends_v1<A: FromStr + Into<IpAddr>>(words: &[&str]) -> Result<Ends, Malformed> {
    let [client, server, client_port, server_port] = words else {
        return Err(Malformed::Part("not two addresses and two ports"));
    };
    let end = |address: &str, port: &str| {
        let address: A = address
            .parse()
            .map_err(|_| Malformed::Part("an address that is not one of its protocol"))?;
        // The standard library also reads "+80" and "080".
        let plain = port == "0" || port.starts_with(|first| matches!(first, '1'..='9'));
        let port = port.parse().ok().filter(|_| plain);
        let port = port.ok_or(Malformed::Part("a port that is not 0 to 65535"))?;
        Ok(SocketAddr::new(address.into(), port))
    };
    Ok(Ends::new(
        end(client, client_port)?,
        end(server, server_port)?,
    ))
}

fn read_v2(bytes: &[u8]) -> Result<Option<Header>, Malformed> {
    let Some((fixed, rest)) = bytes.split_first_chunk::<FIXED_V2>() else {
        return Ok(None);
    };
    let [.., command, family, high, low] = *fixed;
    let length = usize::from(u16::from_be_bytes([high, low]));
    let local = match command {
        0x20 => true,
        0x21 => false,
        _ => {
            return Err(Malformed::Part(
                "a version other than 2, or an unknown command",
            ));
        }
    };
    if FIXED_V2 + length > MOST {
        return Err(Malformed::TooLong(MOST));
    }
    // For LOCAL the family means nothing. Extensions follow the addresses, and are passed over.
    let addresses = match family {
        _ if local => 0,
        0x00 => 0,
        0x11 | 0x12 => 12,
        0x21 | 0x22 => 36,
        0x31 | 0x32 => 216,
        _ => return Err(Malformed::Part("an unknown address family or transport")),
    };
    if length < addresses {
        return Err(Malformed::Part("fewer bytes than its addresses have"));
    }
    let Some(block) = rest.get(..length) else {
        return Ok(None);
    };
    let ends = match family {
        _ if local => None,
        0x11 => ends_v2::<4>(block),
        0x21 => ends_v2::<16>(block),
        _ => None,
    };
    Ok(Some(Header {
        length: FIXED_V2 + length,
        ends,
    }))
}

/// Two addresses of `SIZE` bytes and two ports.
fn ends_v2<const SIZE: usize>(block: &[u8]) -> Option<Ends>
where
    IpAddr: From<[u8; SIZE]>,
{
    let (client, rest) = block.split_first_chunk::<SIZE>()?;
    let (server, rest) = rest.split_first_chunk::<SIZE>()?;
    let (client_port, rest) = rest.split_first_chunk()?;
    let server_port = rest.first_chunk()?;
    let end = |address: [u8; SIZE], port| SocketAddr::new(address.into(), u16::from_be_bytes(port));
    Some(Ends::new(
        end(*client, *client_port),
        end(*server, *server_port),
    ))
}

/// The header for a connection with these ends. `None`: they have no addresses, as those of a Unix socket.
#[must_use]
pub fn write(version: Version, ends: Option<&Ends>) -> Vec<u8> {
    let Some(ends) = ends else {
        return match version {
            Version::V1 => b"PROXY UNKNOWN\r\n".to_vec(),
            Version::V2 => [BEGINNING_V2, &[0x21, 0x00, 0, 0]].concat(),
        };
    };
    let (client, server) = ends.addresses();
    let ports = (ends.client.port(), ends.server.port());
    match version {
        Version::V1 => {
            let protocol = if client.is_ipv4() { "TCP4" } else { "TCP6" };
            format!(
                "PROXY {protocol} {client} {server} {} {}\r\n",
                ports.0, ports.1
            )
            .into_bytes()
        }
        Version::V2 => {
            let family: [u8; 3] = if client.is_ipv4() {
                [0x11, 0, 12]
            } else {
                [0x21, 0, 36]
            };
            let mut header = [BEGINNING_V2, &[0x21], &family].concat();
            for address in [client, server] {
                match address {
                    IpAddr::V4(address) => header.extend(address.octets()),
                    IpAddr::V6(address) => header.extend(address.octets()),
                }
            }
            header.extend(ports.0.to_be_bytes());
            header.extend(ports.1.to_be_bytes());
            header
        }
    }
}

#[cfg(test)]
mod tests;
