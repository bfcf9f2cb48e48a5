//! Which processes belong to a server that runs, wherever they have come to under its guard.

use std::collections::BTreeSet;

use crate::passenger;
use crate::proc;
use crate::running::Running;

/// Those that take requests from clients or hand them on, and run nothing of the application.
const WEB: [&str; 4] = ["apache2", "httpd", "nginx", passenger::AGENT];

/// The processes of one server, services and the guard excluded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerProcesses {
    /// Those that run the application, with what it started: Puma, Unicorn, Pitchfork, Falcon, Passenger's spawners.
    pub application: BTreeSet<u32>,
    /// Apache, nginx, and Passenger's own.
    pub web: BTreeSet<u32>,
}

impl ServerProcesses {
    /// All of them.
    pub fn all(&self) -> BTreeSet<u32> {
        &self.application | &self.web
    }
}

impl Running {
    /// The processes that belong to the server now, daemons that it left included.
    pub fn processes(&self) -> ServerProcesses {
        let mut pids: BTreeSet<u32> = proc::descendants(self.guard_pid()).into_iter().collect();
        for service in self.service_pids() {
            pids.remove(&service);
            for pid in proc::descendants(service) {
                pids.remove(&pid);
            }
        }
        pids.retain(|&pid| proc::stat(pid).is_some_and(|stat| !stat.is_dead()));
        let (web, application) = pids.into_iter().partition(|&pid| {
            proc::program(pid).is_some_and(|program| WEB.contains(&program.as_str()))
        });
        ServerProcesses { application, web }
    }

    /// The main processes of the services: the server's processes are the guard's descendants, less their
    /// trees.
    pub fn service_pids(&self) -> Vec<u32> {
        let services = self.stopping.services.iter();
        services.map(|service| service.pid).collect()
    }
}
