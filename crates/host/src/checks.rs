//! Every check of the host: facts in, what is wrong or fine or not known out. Pure.
//!
//! `docs/doctor.md` lists them with their thresholds and where these are from.

mod cpu;
mod files;
mod memory;
mod network;
#[cfg(test)]
mod samples;

use crate::check::Checked;
use crate::facts::HostFacts;
use crate::serving::ServingFacts;

pub use cpu::LOAD;

/// What the host's own state says.
#[must_use]
pub fn of_host(facts: &HostFacts) -> Vec<Checked> {
    vec![
        Checked::new("swap", memory::swap(facts)),
        Checked::new("load", cpu::load(facts)),
        Checked::new("steal", cpu::steal(facts)),
        Checked::new("governor", cpu::governor(facts)),
        Checked::new("clock-source", cpu::clock_source(facts)),
        Checked::new("cpu-pressure", cpu::pressure(facts)),
        Checked::new("memory-pressure", memory::pressure(facts)),
        Checked::new("memory-limit", memory::limit(facts)),
        Checked::new("cpu-quota", cpu::quota(facts)),
        Checked::new("cpu-throttling", cpu::throttling(facts)),
    ]
}

/// What the kernel's limits would do to a server.
#[must_use]
pub fn of_serving(facts: &ServingFacts) -> Vec<Checked> {
    vec![
        Checked::new("conntrack", network::conntrack(facts)),
        Checked::new("ports", network::ports(facts)),
        Checked::new("listen-backlog", network::listen_backlog(facts)),
        Checked::new("syn-backlog", network::syn_backlog(facts)),
        Checked::new("open-files", files::open_files(facts)),
        Checked::new("system-files", files::system_files(facts)),
        Checked::new("huge-pages", memory::huge_pages(facts)),
    ]
}

/// `12.5 %`.
fn per_cent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}
