//! The fields in which proxies say who the client is: `X-Forwarded-*`, and
//! `Forwarded` (RFC 7239). Which of a request's own are passed on, and which are
//! added, is decided here, once for the primary, shadows and recordings.

use std::net::IpAddr;

use capture::reads_as;

use super::{RequestHead, is_token};

/// What becomes of the forwarded fields that a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Forwarding {
    /// Passed on as they came; none is added.
    #[default]
    Off,
    /// The client's address is added to them: for a mirror behind another proxy, which is believed.
    Append,
    /// Taken out, and written anew: for a mirror that clients connect to.
    Replace,
}

/// A field in which a proxy speaks of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForwardedField {
    /// `X-Forwarded-For`.
    For,
    /// `X-Forwarded-Proto`.
    Proto,
    /// `X-Forwarded-Host`.
    Host,
    /// `Forwarded`.
    Standard,
    /// Another `X-Forwarded-*`, or one of `X-Real-IP`, `X-Client-IP` and `Client-IP`.
    Other,
    /// Spelled so that an application can read it as one of them, such as `X_Forwarded_For`.
    Disguised,
}

impl ForwardedField {
    /// Which one `name` is, if any.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        const PREFIX: &str = "X-Forwarded";
        // Most fields begin with another letter.
        if !matches!(name.first(), Some(b'x' | b'X' | b'f' | b'F' | b'c' | b'C')) {
            return None;
        }
        let is = |known| reads_as(name, known);
        let prefixed = || {
            let rest = name.get(PREFIX.len()..)?;
            let whole = rest
                .first()
                .is_none_or(|next| !next.is_ascii_alphanumeric());
            (whole && reads_as(&name[..PREFIX.len()], PREFIX)).then_some(Self::Other)
        };
        let found = match name.len() {
            9 if is("Forwarded") => Self::Standard,
            9 if is("X-Real-IP") || is("Client-IP") => Self::Other,
            11 if is("X-Client-IP") => Self::Other,
            15 if is("X-Forwarded-For") => Self::For,
            16 if is("X-Forwarded-Host") => Self::Host,
            17 if is("X-Forwarded-Proto") => Self::Proto,
            _ => prefixed()?,
        };
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        Some(if name.iter().all(plain) {
            found
        } else {
            Self::Disguised
        })
    }
}

/// The peer of a connection.
#[derive(Debug, Clone, Copy)]
pub struct Hop {
    /// Its address. `None`: a Unix socket has none.
    pub client: Option<IpAddr>,
    /// It came over TLS.
    pub tls: bool,
}

/// The forwarded fields of one request as they are passed on.
#[derive(Debug, Clone, Default)]
pub struct Forwarded {
    mode: Forwarding,
    added: Vec<(&'static str, Vec<u8>)>,
}

impl Forwarded {
    /// Of the request that was read from `bytes` and came from `hop`.
    #[must_use]
    pub fn new(mode: Forwarding, hop: Hop, head: &RequestHead, bytes: &[u8]) -> Self {
        let mut forwarded = Self {
            mode,
            added: Vec::new(),
        };
        if mode == Forwarding::Off {
            return forwarded;
        }
        let came = |field| head.fields().forwarded(bytes, field);
        let chain = came(ForwardedField::For);
        let standard = came(ForwardedField::Standard);
        let of_origin = [ForwardedField::Proto, ForwardedField::Host];
        let any = !chain.is_empty()
            || !standard.is_empty()
            || of_origin.into_iter().any(|field| !came(field).is_empty());
        let client = hop.client.map(|client| client.to_string().into_bytes());
        let mut element: Vec<Vec<u8>> = hop.client.map(node).into_iter().collect();
        if mode == Forwarding::Append && any {
            // What the proxy in front said of protocol and host counts. Ours would hide it from applications that take
            // the last value, or `Forwarded` before the others.
            // Where it has no address both stay as they came: applications would take `unknown` at the end for the client.
            if client.is_some() || !chain.is_empty() {
                forwarded.add("X-Forwarded-For", joined(&chain, client));
            }
            if !standard.is_empty() {
                forwarded.add("Forwarded", joined(&standard, element.pop()));
            }
            return forwarded;
        }
        if let Some(client) = client {
            forwarded.add("X-Forwarded-For", client);
        }
        let proto: &[u8] = if hop.tls { b"https" } else { b"http" };
        forwarded.add("X-Forwarded-Proto", proto.to_vec());
        element.push([b"proto=", proto].concat());
        let host = head.fields().host.map(|host| host.bytes(bytes));
        if let Some(host) = host.filter(|host| !host.is_empty()) {
            forwarded.add("X-Forwarded-Host", host.to_vec());
            element.push([b"host=", &quoted(host)[..]].concat());
        }
        forwarded.add("Forwarded", element.join(&b';'));
        forwarded
    }

    fn add(&mut self, name: &'static str, value: Vec<u8>) {
        self.added.push((name, value));
    }

    /// Whether a field of the request is passed on where it stands.
    pub(super) fn passes(&self, field: ForwardedField) -> bool {
        use ForwardedField::{Host, Other, Proto};
        match self.mode {
            Forwarding::Off => true,
            Forwarding::Append => matches!(field, Proto | Host | Other),
            Forwarding::Replace => false,
        }
    }

    /// Name and value of those that follow the request's fields.
    pub(super) fn added(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.added
            .iter()
            .map(|(name, value)| (*name, value.as_slice()))
    }
}

/// One list of all, without empty ones.
fn joined(came: &[&[u8]], own: Option<Vec<u8>>) -> Vec<u8> {
    let all = came.iter().copied().chain(own.as_deref());
    let all: Vec<&[u8]> = all.filter(|value| !value.is_empty()).collect();
    all.join(&b", "[..])
}

/// An address as `Forwarded` has it: IPv6 in brackets, which are no token.
fn node(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => format!("for={address}").into_bytes(),
        IpAddr::V6(address) => format!("for=\"[{address}]\"").into_bytes(),
    }
}

/// A token as it is, anything else in quotes: a host has neither quotes nor backslashes.
fn quoted(host: &[u8]) -> Vec<u8> {
    if is_token(host) {
        host.to_vec()
    } else {
        [b"\"", host, b"\""].concat()
    }
}

#[cfg(test)]
mod tests {
    use bytes::BytesMut;

    use super::super::HeadLimits;
    use super::*;

    /// The lines after the first one, as the next server gets them.
    fn passed(mode: Forwarding, client: &str, tls: bool, request: &str) -> Vec<String> {
        let mut head = RequestHead::default();
        let length = head.read(request.as_bytes(), HeadLimits::ANSWERS).unwrap();
        assert_eq!(length, Some(request.len()));
        let client = Some(client.parse().unwrap());
        let forwarded = Forwarded::new(mode, Hop { client, tls }, &head, request.as_bytes());
        let mut out = BytesMut::new();
        head.forward(request.as_bytes(), &forwarded, &mut out);
        let text = String::from_utf8(out.to_vec()).unwrap();
        let offered = crate::Offered::Read(head.fields(), request.as_bytes(), &forwarded);
        let kept = offered
            .iter()
            .map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value)));
        let lines: Vec<String> = text.lines().skip(1).map(str::to_owned).collect();
        let lines: Vec<String> = lines.into_iter().filter(|line| !line.is_empty()).collect();
        assert_eq!(kept.collect::<Vec<_>>(), lines, "shadows get the same");
        lines
    }

    fn request(lines: &str) -> String {
        format!("GET / HTTP/1.1\r\nHost: shop.example:80\r\n{lines}\r\n")
    }

    const FORGED: &str = "X-Forwarded-For: 1.1.1.1\r\nx_forwarded_for: 2.2.2.2\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\n\
        Forwarded: for=3.3.3.3\r\nFORWARDED: for=4.4.4.4;proto=https\r\nX-Forwarded-Port: 1\r\nX.Forwarded.Server: a\r\nX-Forwarded: b\r\n\
        X-Real-IP: 5.5.5.5\r\nX_Real_IP: 5.5.5.5\r\nClient-IP: 6.6.6.6\r\nX-Client-IP: 7.7.7.7\r\n";

    #[test]
    fn off_passes_everything_as_it_came() {
        let lines = passed(Forwarding::Off, "192.0.2.1", false, &request(FORGED));
        let came = request(FORGED);
        let came: Vec<&str> = came
            .lines()
            .skip(1)
            .filter(|line| !line.is_empty())
            .collect();
        assert_eq!(lines, came);
    }

    #[test]
    fn replace_takes_out_every_spelling_of_what_a_client_claims() {
        let forged =
            format!("{FORGED}Client-Ipx: a\r\nX-Forwardedx: b\r\nConnection: x-forwarded-for\r\n");
        let lines = passed(Forwarding::Replace, "192.0.2.1", false, &request(&forged));
        let expected = [
            "Host: shop.example:80",
            "Client-Ipx: a",
            "X-Forwardedx: b",
            "X-Forwarded-For: 192.0.2.1",
            "X-Forwarded-Proto: http",
            "X-Forwarded-Host: shop.example:80",
            "Forwarded: for=192.0.2.1;proto=http;host=\"shop.example:80\"",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn ipv6_is_quoted_in_forwarded_alone_and_a_missing_host_is_left_out() {
        let lines = passed(
            Forwarding::Replace,
            "2001:db8::1",
            true,
            "GET / HTTP/1.0\r\n\r\n",
        );
        let expected = [
            "X-Forwarded-For: 2001:db8::1",
            "X-Forwarded-Proto: https",
            "Forwarded: for=\"[2001:db8::1]\";proto=https",
        ];
        assert_eq!(lines, expected);
        let lines = passed(
            Forwarding::Append,
            "::1",
            false,
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        );
        assert_eq!(
            lines.last().unwrap(),
            "Forwarded: for=\"[::1]\";proto=http;host=a"
        );
    }

    #[test]
    fn append_adds_the_address_to_what_the_proxy_in_front_said() {
        for (came, expected) in [
            (
                "X-Forwarded-For: 1.1.1.1\r\nA: b\r\nx-forwarded-for: 2.2.2.2\r\nX-Forwarded-For:\r\nX_Forwarded_For: 9.9.9.9\r\n",
                vec!["A: b", "X-Forwarded-For: 1.1.1.1, 2.2.2.2, 192.0.2.1"],
            ),
            (
                "X-Forwarded-Proto: https\r\nX_Forwarded_Proto: http\r\nX-Real-IP: 1.1.1.1\r\n",
                vec![
                    "X-Forwarded-Proto: https",
                    "X-Real-IP: 1.1.1.1",
                    "X-Forwarded-For: 192.0.2.1",
                ],
            ),
            (
                "Forwarded: for=1.1.1.1;proto=https\r\nForwarded: for=2.2.2.2\r\n",
                vec![
                    "X-Forwarded-For: 192.0.2.1",
                    "Forwarded: for=1.1.1.1;proto=https, for=2.2.2.2, for=192.0.2.1",
                ],
            ),
            // A client cannot have its proxy's words taken out.
            (
                "X-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Proto: https\r\nConnection: x-forwarded-for, X-Forwarded-Proto\r\n",
                vec![
                    "X-Forwarded-Proto: https",
                    "X-Forwarded-For: 1.1.1.1, 192.0.2.1",
                ],
            ),
        ] {
            let lines = passed(Forwarding::Append, "192.0.2.1", false, &request(came));
            let expected: Vec<&str> = [vec!["Host: shop.example:80"], expected].concat();
            assert_eq!(lines, expected, "{came}");
        }
    }
}
