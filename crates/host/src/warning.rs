//! What on a host spoils a measurement. Pure.

use serde::{Deserialize, Serialize};

use crate::facts::HostFacts;

/// A share of the effective cores: other work beyond it is felt by what is measured.
const LOAD_LIMIT: f64 = 0.5;
/// Stolen time beyond it moves throughput by as much as the differences that a run looks for.
const STEAL_LIMIT: f64 = 0.02;
/// Swap in use beyond this share of the memory is more than what was never needed.
const SWAP_LIMIT: f64 = 0.02;

/// Something that spoils a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    /// What is wrong, in a clause.
    pub what: String,
    /// The numbers that say so.
    pub evidence: String,
    /// What to do about it.
    pub remedy: String,
}

/// What these facts say against measuring on this host.
#[must_use]
pub fn warnings(facts: &HostFacts) -> Vec<Warning> {
    let found = [
        swapping(facts),
        load(facts),
        steal(facts),
        governor(facts),
        clocksource(facts),
    ];
    found.into_iter().flatten().collect()
}

fn warning(what: &str, evidence: String, remedy: &str) -> Option<Warning> {
    Some(Warning {
        what: what.to_owned(),
        evidence,
        remedy: remedy.to_owned(),
    })
}

fn swapping(facts: &HostFacts) -> Option<Warning> {
    let remedy = "stop other programs, lower the number of processes, or add memory";
    let used_mib = facts.swap_used_bytes / (1 << 20);
    if let Some(pages) = facts.swapped_pages.filter(|&pages| pages > 0) {
        let evidence = format!("{pages} pages went to or came from swap; {used_mib} MiB are in it");
        return warning("the host is swapping", evidence, remedy);
    }
    let limit = facts.memory_total_bytes as f64 * SWAP_LIMIT;
    if facts.swap_used_bytes as f64 > limit {
        let total_mib = facts.memory_total_bytes / (1 << 20);
        let evidence = format!("{used_mib} MiB are in swap, on a host of {total_mib} MiB");
        return warning("the host has swapped", evidence, remedy);
    }
    None
}

fn load(facts: &HostFacts) -> Option<Warning> {
    let load = facts.load_average_1m?;
    if load <= LOAD_LIMIT * facts.effective_cores {
        return None;
    }
    let cores = facts.effective_cores;
    warning(
        "the host is busy with other work",
        format!("the load average over the last minute is {load:.2}, on {cores:.1} cores"),
        "stop other programs, or wait a minute if it was a build",
    )
}

fn steal(facts: &HostFacts) -> Option<Warning> {
    let share = facts.steal_share.filter(|&share| share > STEAL_LIMIT)?;
    warning(
        "the hypervisor gives CPU time to other machines",
        format!("{:.1} % of the CPU time was stolen", share * 100.0),
        "measure on a machine with dedicated cores, or at another hour; trust only comparisons \
         within one run",
    )
}

fn governor(facts: &HostFacts) -> Option<Warning> {
    let governor = facts.governor.as_deref()?;
    if !["powersave", "conservative"].contains(&governor) {
        return None;
    }
    warning(
        "the CPUs save power, so that their speed depends on the load",
        format!("the frequency governor is {governor}"),
        "cpupower frequency-set -g performance",
    )
}

fn clocksource(facts: &HostFacts) -> Option<Warning> {
    let source = facts.clocksource.as_deref()?;
    if !["acpi_pm", "hpet", "jiffies", "refined-jiffies"].contains(&source) {
        return None;
    }
    warning(
        "reading the clock takes a system call, which makes every timed event slower",
        format!("the clock source is {source}"),
        "boot with clocksource=tsc if this machine's TSC is stable",
    )
}
