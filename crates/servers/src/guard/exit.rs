//! How a process ended.

use std::fmt;

use rustix::process::WaitStatus;
use serde::{Deserialize, Serialize};

/// How a process ended: with a status of its own, or by a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// Exit status, 0 to 255.
    Code(i32),
    /// Number of the signal that killed it.
    Signal(i32),
}

impl Exit {
    /// `None` while the process is merely stopped or continued.
    pub(crate) fn of(status: WaitStatus) -> Option<Self> {
        status
            .exit_status()
            .map(Exit::Code)
            .or_else(|| status.terminating_signal().map(Exit::Signal))
    }

    /// Exit status 0.
    pub fn success(self) -> bool {
        self == Exit::Code(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Exit::Code(code) => write!(f, "exit status {code}"),
            Exit::Signal(number) => match signal_name(number) {
                Some(name) => write!(f, "killed by signal {number}, {name}"),
                None => write!(f, "killed by signal {number}"),
            },
        }
    }
}

fn signal_name(number: i32) -> Option<&'static str> {
    signal_hook::low_level::signal_name(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_status_or_signal_by_name() {
        assert_eq!(Exit::Code(3).to_string(), "exit status 3");
        assert_eq!(Exit::Signal(9).to_string(), "killed by signal 9, SIGKILL");
        assert_eq!(Exit::Signal(60).to_string(), "killed by signal 60");
    }
}
