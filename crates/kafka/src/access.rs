//! How brokers are reached: authorities to trust, and a login that no message shows.

use crate::Address;
use std::fmt;
use std::path::PathBuf;

/// How a login is proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mechanism {
    /// The password itself.
    Plain,
    /// A proof that does not show it.
    ScramSha256,
    /// The same with a longer digest.
    ScramSha512,
}

impl Mechanism {
    pub(crate) fn of(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "plain" => Some(Self::Plain),
            "scram-sha-256" => Some(Self::ScramSha256),
            "scram-sha-512" => Some(Self::ScramSha512),
            _ => None,
        }
    }
}

/// A user and a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    pub(crate) user: String,
    pub(crate) password: String,
}

impl Login {
    /// Reads a line `user:password`.
    ///
    /// # Errors
    /// There is no such line.
    pub fn parse(text: &str) -> Result<Self, AccessError> {
        let line = text.trim_end_matches(['\n', '\r']);
        match line.split_once(':') {
            Some((user, password))
                if !user.is_empty() && !password.is_empty() && !line.contains(['\n', '\r']) =>
            {
                Ok(Self {
                    user: user.to_owned(),
                    password: password.to_owned(),
                })
            }
            _ => Err(AccessError::NoLogin),
        }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Login")
    }
}

/// What is given in addition to the address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// A PEM file of authorities in place of the system's.
    pub ca: Option<PathBuf>,
    /// User and password, where the brokers want a login.
    pub login: Option<Login>,
}

/// What is wrong with it, and the remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{}; {}", self.what(), self.remedy())]
pub enum AccessError {
    /// The text is not one line `user:password`.
    NoLogin,
    /// A password for a connection that others can read.
    InTheOpen,
    /// Authorities for a connection without TLS.
    NoTls,
}

impl AccessError {
    /// What is wrong.
    #[must_use]
    pub fn what(self) -> &'static str {
        match self {
            Self::NoLogin => "it does not hold one line user:password",
            Self::InTheOpen => "a login would go over the network without encryption",
            Self::NoTls => "--kafka-ca belongs to a kafka+tls:// address",
        }
    }

    /// What to do.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            Self::NoLogin => "give one line with user:password",
            Self::InTheOpen => "give a kafka+tls:// address",
            Self::NoTls => "give one, or leave the flag out",
        }
    }
}

impl Access {
    /// Whether it goes with this address.
    ///
    /// # Errors
    /// It does not.
    pub fn fits(&self, address: &Address) -> Result<(), AccessError> {
        if self.login.is_some() && !address.tls && !address.is_loopback() {
            return Err(AccessError::InTheOpen);
        }
        if self.ca.is_some() && !address.tls {
            return Err(AccessError::NoTls);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_one_line_that_is_not_shown() {
        let login = Login::parse("user:pass:word\r\n").unwrap();
        assert_eq!((&*login.user, &*login.password), ("user", "pass:word"));
        assert!(!format!("{login:?}").contains("pass"));
        for wrong in ["", "user", ":password", "user:", "a:b\nc:d"] {
            assert_eq!(Login::parse(wrong), Err(AccessError::NoLogin), "{wrong:?}");
        }
    }

    #[test]
    fn a_login_is_sent_encrypted_or_to_this_machine() {
        let with = |ca: Option<&str>, address: &str| {
            let access = Access {
                ca: ca.map(PathBuf::from),
                login: Login::parse("a:b").ok(),
            };
            access.fits(&Address::parse(address).unwrap())
        };
        assert!(with(None, "kafka://127.0.0.1:1/t").is_ok());
        assert!(with(Some("ca.pem"), "kafka+tls://a.test:1/t").is_ok());
        assert_eq!(
            with(None, "kafka://127.0.0.1:1,a.test:1/t"),
            Err(AccessError::InTheOpen)
        );
        assert_eq!(
            with(Some("ca.pem"), "kafka://127.0.0.1:1/t"),
            Err(AccessError::NoTls)
        );
    }
}
