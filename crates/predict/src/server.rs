//! Which server it is, and how that takes its work.

use capacity::sim::{Discipline, PumaVersion};

use crate::PredictError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Puma {
        major: u16,
        minor: u16,
        patch: u16,
    },
    /// One request per process.
    Unicorn,
    Pitchfork,
    Passenger,
}

/// A server by name and version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Server {
    /// As the agent wrote it: `puma 6.6.0`.
    pub name: String,
    pub kind: Kind,
}

impl Server {
    /// # Errors
    /// A server that is not simulated.
    pub fn named(name: &str) -> Result<Self, PredictError> {
        let unknown = || PredictError::UnknownServer {
            name: match name {
                "" => "what served these requests".to_owned(),
                name => name.to_owned(),
            },
        };
        let mut words = name.split_whitespace();
        let kind = match words.next() {
            Some("puma") => puma(words.next().unwrap_or("")).ok_or_else(unknown)?,
            Some("unicorn") => Kind::Unicorn,
            Some("pitchfork") => Kind::Pitchfork,
            Some("passenger") => Kind::Passenger,
            _ => return Err(unknown()),
        };
        let name = name.to_owned();
        Ok(Self { name, kind })
    }

    pub(crate) fn discipline(&self) -> Discipline {
        match self.kind {
            Kind::Puma { major, .. } => Discipline::Puma {
                version: match major {
                    ..=6 => PumaVersion::V6,
                    _ => PumaVersion::V7,
                },
            },
            // Workers of Unicorn and Pitchfork take connections of one socket. Passenger's core gives a request to an idle
            // process, and else keeps it in a queue for all.
            Kind::Unicorn | Kind::Pitchfork | Kind::Passenger => Discipline::OnePerProcess,
        }
    }

    /// Whether a worker that is busy waits before it accepts, Puma's workers or not.
    pub(crate) fn waits_when_busy(&self, cluster: bool) -> bool {
        match self.kind {
            Kind::Puma {
                major: 6, minor, ..
            } if minor < 5 => true,
            // 5 asks for a setting that is hardly known.
            Kind::Puma { major: ..=5, .. } => false,
            _ => cluster,
        }
    }

    /// Whether a thread that has answered waits for the next request of a kept connection, as Puma's do up to version 6.
    pub(crate) fn occupied_by_kept(&self) -> bool {
        matches!(self.kind, Kind::Puma { major: ..=6, .. })
    }

    /// Whether a process serves several requests at a time.
    #[must_use]
    pub fn has_threads(&self) -> bool {
        matches!(self.kind, Kind::Puma { .. })
    }

    /// What of its way to accept is not what is simulated.
    pub(crate) fn unlike_the_model(&self) -> Option<String> {
        match self.kind {
            Kind::Puma {
                major: 7,
                minor: 0,
                patch: 0..=3,
            } => Some(
                "it accepts as Puma 7.0.4 does; 7.0.0 to 7.0.3 sleep in another way".to_owned(),
            ),
            Kind::Puma { major: 9.., .. } => Some(format!(
                "{} accepts as Puma 8 does, the newest that was looked at",
                self.name
            )),
            _ => None,
        }
    }
}

fn puma(version: &str) -> Option<Kind> {
    let mut numbers = version
        .split(|c: char| !c.is_ascii_digit())
        .filter(|part| !part.is_empty())
        .map(|part| part.parse::<u16>().ok());
    let mut next = || numbers.next().flatten();
    let (major, minor, patch) = (next()?, next().unwrap_or(0), next().unwrap_or(0));
    (major >= 5).then_some(Kind::Puma {
        major,
        minor,
        patch,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_by_their_names() {
        let kind = |name| Server::named(name).map(|server| server.kind);
        let puma = |major, minor, patch| {
            Ok(Kind::Puma {
                major,
                minor,
                patch,
            })
        };
        assert_eq!(kind("puma 6.6.0"), puma(6, 6, 0));
        assert_eq!(kind("puma 8.0.0.rc1"), puma(8, 0, 0));
        assert_eq!(kind("unicorn 6.1.0"), Ok(Kind::Unicorn));
        assert_eq!(kind("pitchfork 0.18.1"), Ok(Kind::Pitchfork));
        assert_eq!(kind("passenger"), Ok(Kind::Passenger));
        for other in ["", "falcon 0.47", "puma", "puma 3.12.6", "sidekiq 7.3"] {
            assert!(kind(other).is_err(), "{other}");
        }
    }

    #[test]
    fn who_waits_before_accepting() {
        let waits = |name, cluster| Server::named(name).unwrap().waits_when_busy(cluster);
        assert!(waits("puma 6.4.2", false) && waits("puma 6.6.0", true));
        assert!(!waits("puma 6.6.0", false) && !waits("puma 5.6.0", true));
    }
}
