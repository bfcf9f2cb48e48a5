//! What a server that was started is asked through: whether it is ready, what it runs with, its end.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::Duration;

use crate::control::{Control, PumaStatus, StatusError};
use crate::guard::Guard;
use crate::passenger::{Passenger, PassengerStatus};
use crate::read_back::{self, ReadBack};
use crate::spec::{PumaOptions, Settings};
use crate::unicorn::{self, Unicorn};

#[derive(Debug, Clone)]
pub(crate) enum Handle {
    /// Nothing is known of it but its process.
    Silent,
    Puma {
        control: Control,
        /// What Puma writes once it has booted.
        effective: PathBuf,
        asked: PumaOptions,
    },
    Unicorn(Unicorn),
    Passenger(Passenger),
}

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

impl Handle {
    /// `pid` is its main process.
    pub(crate) fn progress(&self, pid: u32) -> Progress {
        match self {
            Handle::Silent => Progress::Complete,
            Handle::Puma {
                control, effective, ..
            } => match control.status() {
                Ok(status) if status.is_complete() && effective.exists() => Progress::Complete,
                Ok(status) => {
                    let (booted, of) = (status.booted(), status.workers.len());
                    Progress::Missing(format!("{booted} of {of} workers have booted"))
                }
                Err(error) => Progress::Missing(error.to_string()),
            },
            Handle::Unicorn(unicorn) => unicorn.progress(pid),
            Handle::Passenger(passenger) => passenger.progress(),
        }
    }

    pub(crate) fn puma_status(&self) -> Result<PumaStatus, StatusError> {
        match self {
            Handle::Puma { control, .. } => control.status(),
            Handle::Silent => Err(StatusError::NoControl),
            Handle::Unicorn(_) | Handle::Passenger(_) => Err(StatusError::NotPuma),
        }
    }

    pub(crate) fn passenger_status(&self) -> Result<PassengerStatus, StatusError> {
        match self {
            Handle::Passenger(passenger) => passenger.status(),
            _ => Err(StatusError::NotPassenger),
        }
    }

    pub(crate) fn read_back(&self, asked: Settings, pid: u32) -> Result<ReadBack, StatusError> {
        match self {
            Handle::Silent => Err(StatusError::NoControl),
            Handle::Puma {
                control,
                effective,
                asked: options,
            } => {
                let status = control.status()?;
                Ok(read_back::of_puma(asked, *options, &status, effective))
            }
            Handle::Unicorn(unicorn) => Ok(unicorn.read_back(asked, pid)),
            Handle::Passenger(passenger) => passenger.read_back(asked),
        }
    }

    /// The processes that serve, as far as the server names them; the main one may be left out.
    pub(crate) fn workers(&self, pid: u32) -> BTreeSet<u32> {
        match self {
            Handle::Silent => BTreeSet::new(),
            Handle::Puma { control, .. } => {
                let workers = control.status().map(|status| status.workers);
                let pids = workers.unwrap_or_default().into_iter();
                pids.filter_map(|worker| worker.pid).collect()
            }
            Handle::Unicorn(unicorn) => unicorn.workers(pid),
            Handle::Passenger(passenger) => passenger.workers(),
        }
    }

    /// Asks for an orderly end, before any signal is sent to the whole tree, and waits for it.
    ///
    /// Puma is asked over its control socket. In single mode SIGTERM runs the stop inside the
    /// signal's handler, and in 2 to 5 of 48 stops (Ruby 3.3.8, Puma 6.6) the handler waited until
    /// the grace was over for a server thread that was stuck closing Puma's own pipe; asked over
    /// the socket, none of 48 did. A cluster's workers get SIGTERM from their master all the same,
    /// and about one stop in eight has a worker stuck at the same place: it is killed after the
    /// grace.
    pub(crate) fn end(&self, guard: &mut Guard, id: u32, grace: Duration) {
        match self {
            Handle::Silent => {}
            Handle::Puma { control, .. } => {
                if control.stop() {
                    guard.wait_exit(id, grace);
                }
            }
            Handle::Unicorn(_) => {
                if guard.signal(id, unicorn::ORDERLY_END) {
                    guard.wait_exit(id, grace);
                }
            }
            Handle::Passenger(passenger) => passenger.end(guard, id, grace),
        }
    }
}
