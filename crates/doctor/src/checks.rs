//! Every check of an application: facts in, what is wrong or fine or not known out. Pure.
//!
//! `docs/doctor.md` lists them with their thresholds and where these are from.

mod configuration;
mod pools;
mod ruby;
mod runs;
#[cfg(test)]
mod samples;
mod workers;

use host::{Checked, Outcome, Severity};

use crate::application::ApplicationFacts;
use crate::server_command::{PROCESSES, SERVERS};

pub(crate) use runs::{other_runs, runs_under_way};

/// The check's name.
pub(crate) const BOOT: &str = "boot";

/// What the application's configuration says.
#[must_use]
pub fn of_application(facts: &ApplicationFacts) -> Vec<Checked> {
    let mut checked = boot(facts);
    checked.extend(server(facts));
    checked.extend([
        Checked::new("environment", configuration::environment(facts)),
        Checked::new("log-level", configuration::log_level(facts)),
        Checked::new("profiling", configuration::profiling(facts)),
        Checked::new("injected-code", configuration::injected_code(facts)),
        Checked::new("pool", pools::pool(facts)),
        Checked::new("connections", pools::connections(facts)),
        Checked::new("workers", workers::workers(facts)),
        Checked::new("malloc-arenas", ruby::malloc_arenas(facts)),
        Checked::new("gc-settings", ruby::gc_settings(facts)),
        Checked::new("yjit", ruby::yjit(facts)),
    ]);
    checked
}

/// Only of a server that does not serve yet: what is not there is no conclusion.
fn boot(facts: &ApplicationFacts) -> Vec<Checked> {
    let booting = facts.pid.filter(|_| facts.booting).map(|pid| {
        Outcome::found(
            Severity::Note,
            format!("the server is still booting: run powerband doctor --pid {pid} again when it serves requests"),
            format!("process {pid} is a Puma that has not started its server thread yet"),
            "Its threads, its workers and its log are not there yet, so that the checks of these cannot be made.",
            "wait until Puma prints \"Listening on\" and its workers have booted; if it never does, its log says why",
        )
    });
    booting
        .map(|found| Checked::new(BOOT, found))
        .into_iter()
        .collect()
}

/// For a process that is not a known server: the checks do not know its threads and workers.
fn server(facts: &ApplicationFacts) -> Option<Checked> {
    let command = facts.unknown_server.as_ref()?;
    let pid = facts.pid?;
    let found = Outcome::found(
        Severity::Note,
        format!("process {pid} is no {SERVERS}"),
        format!("it is a Ruby that was started with: {command}"),
        "Threads and workers of another program are not known. What is found in its environment, memory and collector holds for any \
         Ruby.",
        format!("if another process serves the requests, name that one: {PROCESSES}"),
    );
    Some(Checked::new("server", found))
}

/// The same mistake harms a server that runs, and spoils what would be measured of one that does not.
fn either(facts: &ApplicationFacts) -> Severity {
    match facts.pid {
        Some(_) => Severity::HarmsServer,
        None => Severity::SpoilsMeasurements,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::samples::application;

    #[test]
    fn a_ruby_that_is_no_known_server_is_named() {
        let said = |facts: &ApplicationFacts| {
            let checked = of_application(facts).into_iter();
            checked
                .filter(|one| one.check == "server")
                .find_map(|one| one.outcome.into_finding())
        };
        let mut facts = application();
        facts.pid = Some(7);
        assert_eq!(said(&facts), None);
        facts.unknown_server = Some("ruby -e sleep".to_owned());
        let found = said(&facts).unwrap();
        assert_eq!(found.severity, Severity::Note);
        assert!(
            found.evidence.ends_with("ruby -e sleep"),
            "{}",
            found.evidence
        );
    }

    #[test]
    fn a_server_that_boots_is_said_to_boot_and_others_have_no_such_check() {
        let boots = |facts: &ApplicationFacts| {
            let checked = of_application(facts);
            checked.iter().filter(|one| one.check == BOOT).count()
        };
        let mut facts = application();
        facts.pid = Some(7);
        assert_eq!(boots(&facts), 0);
        facts.booting = true;
        assert_eq!(boots(&facts), 1);
    }
}
