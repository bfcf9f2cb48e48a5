//! What a server that was started is asked through: whether it is ready, what it runs with, its end.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::time::Duration;

use crate::control::{PumaStatus, StatusError};
use crate::guard::Guard;
use crate::passenger_status::PassengerStatus;
use crate::read_back::ReadBack;
use crate::spec::Settings;

/// How far a server has come that answers already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Progress {
    /// It can serve with all that it was asked for.
    Complete,
    /// What is still missing, for a person.
    Missing(String),
    /// It never will.
    Hopeless(&'static str),
}

/// One implementation for each kind of server; `pid` is its main process.
pub(crate) trait Handle: Debug + Send + Sync {
    fn progress(&self, pid: u32) -> Progress;

    fn puma_status(&self) -> Result<PumaStatus, StatusError> {
        Err(StatusError::NotPuma)
    }

    fn passenger_status(&self) -> Result<PassengerStatus, StatusError> {
        Err(StatusError::NotPassenger)
    }

    fn read_back(&self, asked: Settings, pid: u32) -> Result<ReadBack, StatusError>;

    /// The processes that serve, as far as the server names them; the main one may be left out.
    fn workers(&self, pid: u32) -> BTreeSet<u32>;

    /// Whether workers end and are replaced while the server serves, as it is set to do.
    fn replaces_workers(&self) -> bool {
        false
    }

    /// What has ended, where the server replaces nothing; for a person.
    fn ended(&self, _pid: u32) -> Option<String> {
        None
    }

    /// Asks for an orderly end, before any signal is sent to the whole tree, and waits for it.
    fn end(&self, guard: &mut Guard, id: u32, grace: Duration);
}
