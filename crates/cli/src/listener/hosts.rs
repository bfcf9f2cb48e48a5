//! Which names in `Host` fields are answered. A web site can make its own name resolve to this machine (DNS rebinding), so
//! that its page reads this listener as its own origin; the `Host` field has the site's name then.

use std::net::{IpAddr, SocketAddr};

/// The names and addresses that are answered.
#[derive(Debug, Clone)]
pub struct Hosts {
    listens: IpAddr,
    /// In lower case, without a dot at the end.
    named: Vec<String>,
}

impl Hosts {
    /// Those of a listener, and the ones that the user named.
    pub fn new(listens: SocketAddr, named: Vec<String>) -> Hosts {
        Hosts {
            listens: listens.ip().to_canonical(),
            named,
        }
    }

    /// Whether this `Host` is answered on a connection that came in at `local`. Without one (HTTP/1.0) it is: every
    /// browser sends it.
    pub fn allow(&self, host: Option<&[u8]>, local: IpAddr) -> bool {
        let Some(host) = host else {
            return true;
        };
        let host = std::str::from_utf8(host).ok().and_then(without_port);
        let Some(host) = host else {
            return false;
        };
        match address(&host) {
            Some(asked) => {
                asked.is_loopback()
                    || asked == self.listens
                    || asked == local.to_canonical()
                    || self.named.iter().any(|name| address(name) == Some(asked))
            }
            None => host == "localhost" || self.named.contains(&host),
        }
    }
}

/// A name or an address in the form in which they are compared; `None` where there is a port, or no host.
pub fn name(text: &str) -> Option<String> {
    if let Some(address) = address(text) {
        return Some(address.to_string());
    }
    without_port(text).filter(|_| !text.contains(':'))
}

fn without_port(text: &str) -> Option<String> {
    let end = match text.starts_with('[') {
        true => text.find(']')? + 1,
        false => text.find(':').unwrap_or(text.len()),
    };
    let (host, port) = text.split_at(end);
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    if !port.is_empty() && !port.strip_prefix(':').is_some_and(is_port) {
        return None;
    }
    let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    let is_host = address(&host).is_some() || (!host.is_empty() && host.bytes().all(is_name));
    is_host.then_some(host)
}

/// With or without brackets.
fn address(host: &str) -> Option<IpAddr> {
    let bare = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let address: IpAddr = bare.unwrap_or(host).parse().ok()?;
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_the_own_address_and_named_hosts_are_answered() {
        let named = vec![
            "mirror.internal".to_owned(),
            "192.0.2.9".to_owned(),
            "fd00::9".to_owned(),
        ];
        let hosts = Hosts::new("10.1.2.3:9400".parse().unwrap(), named);
        let local: IpAddr = "::ffff:10.1.2.4".parse().unwrap();
        for (host, allowed) in [
            ("localhost", true),
            ("localhost:9400", true),
            ("LocalHost.:80", true),
            ("127.0.0.1", true),
            ("127.0.0.1:9400", true),
            ("127.8.9.1:1", true),
            ("[::1]:9400", true),
            ("[::ffff:127.0.0.1]", true),
            ("10.1.2.3:9400", true),
            ("10.1.2.4", true),
            ("mirror.internal:9400", true),
            ("Mirror.Internal.", true),
            ("192.0.2.9:80", true),
            ("[FD00:0::9]:80", true),
            ("", false),
            (":9400", false),
            ("evil.example", false),
            ("evil.example:9400", false),
            ("127.0.0.1.evil.example", false),
            ("localhost.evil.example", false),
            ("evil.localhost", false),
            ("sub.mirror.internal", false),
            ("2130706433", false),
            ("0x7f.1", false),
            ("0.0.0.0", false),
            ("10.1.2.5", false),
            ("[::2]", false),
            ("localhost@evil.example", false),
            ("evil.example@localhost", false),
            ("localhost:x", false),
            ("localhost:+80", false),
            ("localhost:", false),
            ("[::1", false),
            ("[localhost]", false),
            ("localhost evil", false),
        ] {
            assert_eq!(hosts.allow(Some(host.as_bytes()), local), allowed, "{host}");
        }
        assert!(!hosts.allow(Some(b"\xff"), local));
        assert!(hosts.allow(None, local));
    }

    #[test]
    fn a_named_host_has_no_port() {
        assert_eq!(name("Mirror.Internal.").as_deref(), Some("mirror.internal"));
        assert_eq!(name("[::2]").as_deref(), Some("::2"));
        assert_eq!(name("FD00:0::9").as_deref(), Some("fd00::9"));
        for wrong in [
            "", ".", "a:80", "u@a", "http://a", "a/b", "a b", "*", "[::2]:80",
        ] {
            assert_eq!(name(wrong), None, "{wrong}");
        }
    }
}
