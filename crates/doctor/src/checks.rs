//! Every check of an application: facts in, what is wrong or fine or not known out. Pure.
//!
//! `docs/doctor.md` lists them with their thresholds and where these are from.

mod configuration;
mod pools;
mod ruby;
#[cfg(test)]
mod samples;
mod workers;

use host::{Checked, Severity};

use crate::application::ApplicationFacts;

/// What the application's configuration says.
#[must_use]
pub fn of_application(facts: &ApplicationFacts) -> Vec<Checked> {
    vec![
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
    ]
}

/// The same mistake harms a server that runs, and spoils what would be measured of one that does not.
fn either(facts: &ApplicationFacts) -> Severity {
    match facts.pid {
        Some(_) => Severity::HarmsServer,
        None => Severity::SpoilsMeasurements,
    }
}
