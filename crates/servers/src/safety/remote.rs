//! A service on another machine that a run may use (`--allow-remote`).

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

/// A host and a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remote {
    host: String,
    port: u16,
}

impl Remote {
    /// Whether it is this host, and this port if the port is known.
    pub fn is(&self, host: &str, port: Option<u16>) -> bool {
        self.host == canonical(host) && port.is_none_or(|port| port == self.port)
    }

    /// Resolves the name now.
    ///
    /// # Errors
    /// When the name cannot be resolved.
    pub fn resolve(&self) -> io::Result<Vec<SocketAddr>> {
        let found = (self.host.as_str(), self.port).to_socket_addrs()?;
        Ok(found.collect())
    }
}

/// Ignores the case of names and a dot at their end, and how an address is written.
fn canonical(host: &str) -> String {
    let host = host.trim().trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().to_string(),
        Err(_) => host.trim_end_matches('.').to_ascii_lowercase(),
    }
}

impl fmt::Display for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl FromStr for Remote {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (host, port) = text.trim().rsplit_once(':').ok_or("names no port")?;
        let port = port.parse().ok().filter(|&port| port != 0);
        let port = port.ok_or("does not end with a port from 1 to 65535")?;
        let is_address = host.starts_with('[') && host.ends_with(']');
        if host.contains(':') && !is_address {
            return Err("is no host and port; an IPv6 address stands in brackets".to_owned());
        }
        let host = canonical(host);
        let fits = |c: char| c.is_alphanumeric() || "-_.:".contains(c);
        if host.is_empty() || !host.chars().all(fits) {
            return Err("names no host".to_owned());
        }
        Ok(Remote { host, port })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_and_a_port_are_taken_and_nothing_else() {
        for (text, shown) in [
            ("db.staging:5432", "db.staging:5432"),
            ("DB.Staging.:5432", "db.staging:5432"),
            ("10.0.0.2:6379", "10.0.0.2:6379"),
            ("[2001:DB8::1]:5432", "[2001:db8::1]:5432"),
        ] {
            assert_eq!(text.parse::<Remote>().unwrap().to_string(), shown);
        }
        for text in [
            "",
            "true",
            "db",
            "db:",
            ":5432",
            "db:0",
            "db:70000",
            "2001:db8::1:5432",
            "postgres://db:5432",
            "db:5432/shop",
            "*:5432",
        ] {
            assert!(text.parse::<Remote>().is_err(), "{text}");
        }
    }

    #[test]
    fn it_is_one_port_of_one_host() {
        let remote: Remote = "db.staging:5432".parse().unwrap();
        assert!(remote.is("DB.staging", Some(5432)) && remote.is("db.staging.", None));
        assert!(!remote.is("db.staging", Some(6432)) && !remote.is("db.production", Some(5432)));
        let mapped: Remote = "10.0.0.2:5432".parse().unwrap();
        assert!(mapped.is("::ffff:10.0.0.2", Some(5432)));
        assert_eq!(
            mapped.resolve().unwrap(),
            ["10.0.0.2:5432".parse().unwrap()]
        );
    }
}
