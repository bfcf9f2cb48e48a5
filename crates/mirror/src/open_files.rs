//! Open files: the limit of this process, and how many clients it leaves room for.

use std::fmt;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A client's connection, and the one to its primary.
const PER_CLIENT: u64 = 2;
/// For everything but clients and shadows: listeners, event queues, a recording and a log with the next file of each, the
/// status page and its clients, names that are looked up, a configuration that is read again, and the connections
/// that are being closed.
const RESERVE: u64 = 48;

/// What this process may open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenFiles {
    /// `None`: any number.
    limit: Option<u64>,
    /// Open already.
    open: u64,
}

/// Descriptors of this process; `None` where the system does not say.
#[must_use]
pub fn open_now() -> Option<u64> {
    std::fs::read_dir("/proc/self/fd")
        .ok()
        .map(|open| open.count() as u64)
}

/// Clients, shadows and everything else need more than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "{limit} files may be open, and {needed} are needed: {shadows} for connections to shadows, {others} for everything \
     else, 2 for each client; raise the limit (ulimit -Hn, LimitNOFILE) or lower --shadow-connections"
)]
pub struct NoRoom {
    limit: u64,
    needed: u64,
    shadows: u64,
    others: u64,
}

impl OpenFiles {
    /// Raises the soft limit to the hard one. Not for a process that starts servers: they would inherit it, and some
    /// programs close every descriptor up to the limit, or cannot wait for one above 1023.
    #[must_use]
    pub fn raise() -> Self {
        let open = open_now().unwrap_or(64);
        let limit = getrlimit(Resource::Nofile);
        if limit.current != limit.maximum {
            let raised = Rlimit {
                current: limit.maximum,
                maximum: limit.maximum,
            };
            // Refused where the hard limit is above fs.nr_open: the limit that is in force is read below.
            let _ = setrlimit(Resource::Nofile, raised);
        }
        Self {
            limit: getrlimit(Resource::Nofile).current,
            open,
        }
    }

    /// How many there may be; `None`: any number.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        self.limit
    }

    /// How many clients fit in addition to so many connections to shadows.
    #[must_use]
    pub fn clients(&self, shadows: u64) -> usize {
        let Some(limit) = self.limit else {
            return usize::MAX;
        };
        let others = self.others() + shadows;
        usize::try_from(limit.saturating_sub(others) / PER_CLIENT).unwrap_or(usize::MAX)
    }

    /// Refuses so many connections to shadows where they leave no room for a client.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn check(&self, shadows: u64) -> Result<(), NoRoom> {
        match self.limit {
            Some(limit) if self.clients(shadows) == 0 => Err(NoRoom {
                limit,
                needed: self.others() + shadows + PER_CLIENT,
                shadows,
                others: self.others(),
            }),
            _ => Ok(()),
        }
    }

    fn others(&self) -> u64 {
        self.open + RESERVE
    }
}

impl fmt::Display for OpenFiles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.limit {
            Some(limit) => write!(f, "{limit} files may be open: ulimit -n, LimitNOFILE"),
            None => f.write_str("any number of files may be open"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limited(limit: u64) -> OpenFiles {
        OpenFiles {
            limit: Some(limit),
            open: 4,
        }
    }

    #[test]
    fn clients_get_what_shadows_and_everything_else_leave() {
        for (limit, shadows, clients) in [
            (100, 0, 24),
            (1024, 0, 486),
            (1024, 64, 454),
            (53, 0, 0),
            (54, 0, 1),
            (0, 0, 0),
            (100, 1000, 0),
        ] {
            assert_eq!(
                limited(limit).clients(shadows),
                clients,
                "{limit} {shadows}"
            );
            assert_eq!(limited(limit).check(shadows).is_ok(), clients > 0);
        }
        let unlimited = OpenFiles {
            limit: None,
            open: 4,
        };
        assert_eq!(unlimited.clients(1 << 20), usize::MAX);
    }

    #[test]
    fn too_low_a_limit_is_named_with_what_is_needed() {
        let said = limited(100).check(64).unwrap_err().to_string();
        for part in [
            "100 files",
            "118 are needed",
            "64 for connections to shadows",
        ] {
            assert!(said.contains(part), "{said}");
        }
    }

    #[test]
    fn the_soft_limit_is_raised_to_the_hard_one() {
        let files = OpenFiles::raise();
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
        assert_eq!(files.limit, limit.maximum);
    }
}
