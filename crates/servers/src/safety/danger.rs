//! A reason to refuse a run, with its remedy.

use std::fmt;

use super::address::Endpoint;
use super::named::Found;
use super::remote::Remote;

/// A variable or key that points at another machine, or may do so.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Danger {
    /// The variable, or the file with its line and key.
    pub place: String,
    pub what: What,
}

/// The problem with a value. Only host and port of the value are shown: the rest may be secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    Elsewhere {
        host: String,
        /// `None` when the client uses a default that is not known here.
        port: Option<u16>,
    },
    /// The value cannot be judged, for this reason.
    Unclear(String),
}

impl Danger {
    pub(super) fn of(place: String, found: Found) -> Danger {
        let what = match found {
            Found::Elsewhere(Endpoint { host, port }) => What::Elsewhere { host, port },
            Found::Unclear(why) => What::Unclear(why),
        };
        Danger { place, what }
    }

    /// Whether the value cannot be judged.
    #[must_use]
    pub fn is_unclear(&self) -> bool {
        matches!(self.what, What::Unclear(_))
    }

    /// The message for a run with commands, such as `app.prepare`, that may have changed data by the time that their
    /// connections are seen.
    #[must_use]
    pub fn with_commands(&self, commands: &str) -> String {
        let Danger { place, what } = self;
        let What::Unclear(why) = what else {
            return self.to_string();
        };
        format!(
            "{place} {why}, so that it is not known what {commands} may change, and --allow-remote is not enough; write the \
             address in its place (a look-up in ENV is read too), or leave out {commands}"
        )
    }

    /// Whether the run may go on. A user who names any service accepts values that cannot be judged: a connection to a
    /// service that is not named ends the run anyway. `unclear` has them all.
    pub(super) fn is_allowed(&self, allowed: &[Remote]) -> bool {
        match &self.what {
            What::Elsewhere { host, port } => allowed.iter().any(|remote| remote.is(host, *port)),
            What::Unclear(_) => !allowed.is_empty(),
        }
    }
}

impl fmt::Display for Danger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.place;
        match &self.what {
            What::Elsewhere { host, port } => {
                let port = port.map_or_else(|| "PORT".to_owned(), |port| port.to_string());
                let at = match host.contains(':') {
                    true => format!("[{host}]:{port}"),
                    false => format!("{host}:{port}"),
                };
                write!(
                    f,
                    "{place} points at {host:?}, which is not this machine; point it at a local copy, or allow the run to use \
                     it with --allow-remote {at}"
                )
            }
            What::Unclear(why) => write!(
                f,
                "{place} {why}, so that it is not known where it leads; write a local address in its place, or name where it \
                 leads with --allow-remote HOST:PORT (localhost:5432 for a local one): connections to anything else then end \
                 the run"
            ),
        }
    }
}
