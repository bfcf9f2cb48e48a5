//! A server simulated request by request: what its users would see of another
//! number of processes and threads.
//!
//! Discrete events on integer nanoseconds, in the order of (time, sequence);
//! the same seed gives the same outcome for ever, and the same arrivals and
//! think times whatever the configuration (common random numbers). What is
//! modelled, what is left out, and where each fact is from:
//! `docs/simulator.md`.

mod arrivals;
mod calendar;
mod cores;
mod events;
mod fifo;
mod front;
mod machine;
mod outcome;
mod process_per_request;
mod puma;
mod request;
mod scenario;
mod service;
mod serving;
mod work;

pub use outcome::{Outcome, REFUSED_NS};
pub use scenario::{Arrivals, Discipline, Overheads, PumaVersion, Quota, Scenario};
pub use work::{LONGEST_STEP_NS, Station, Step, Work};

use crate::CapacityError;
use arrivals::ArrivalStream;
use machine::Machine;

/// Lets `work` come to the server of `scenario` as `arrivals` say.
///
/// # Errors
/// Work that is empty, out of order or names a station that is not there; a
/// configuration that is none; a rate, a speed or a number of requests that is
/// not above 0.
pub fn simulate(
    work: &Work,
    scenario: &Scenario,
    arrivals: &Arrivals,
    seed: u64,
) -> Result<Outcome, CapacityError> {
    scenario.check()?;
    work.check(scenario.stations.len())?;
    let stream = ArrivalStream::new(work, scenario, arrivals, seed)?;
    check_span(work, scenario, &stream)?;
    Machine::new(work, scenario, stream, seed).run()
}

/// No sum of times may exceed what 64 bits hold: whatever happens one after the
/// other, at the slowest, is to fit.
fn check_span(
    work: &Work,
    scenario: &Scenario,
    stream: &ArrivalStream<'_>,
) -> Result<(), CapacityError> {
    const LONGEST_NS: f64 = (1_u64 << 59) as f64;
    let requests = stream.requests() as f64;
    let rounds = (requests / work.len() as f64).ceil();
    let (cpu_ns, io_ns) = work.totals_ns();
    let own = &scenario.overheads;
    let each = [own.accept_ns, own.parse_ns, own.write_ns, own.reactor_ns];
    let each_ns: f64 = each.iter().map(|&ns| ns as f64).sum();
    let quota = scenario
        .quota
        .map_or(1.0, |quota| quota.quota_ns as f64 / quota.period_ns as f64);
    let slowest = quota.min(scenario.cores).min(1.0);
    let steps = work.step_count() as f64 * rounds + 8.0 * requests;
    let quantum_ns = scenario.quantum_ns.max(scenario.tick_ns) as f64;
    let own_ns = cpu_ns * rounds + each_ns * requests;
    let switches = steps + own_ns / slowest / quantum_ns;
    // Costing half a quantum at most, each turn is at least as long without it.
    let cold_ns = own.hand_over_cpu_ns.max(own.wake_cpu_ns) as f64;
    let cpu_ns = own_ns + cold_ns * 2.0 * switches;
    let kernel_ns = (own.wake_ns as f64 + own.hand_over_ns as f64) * switches;
    let waits_ns = kernel_ns + own.network_ns as f64 * requests;
    let io_ns = io_ns * rounds * (1.0 + scenario.io_growth * scenario.tasks() as f64);
    let span_ns = stream.last_ns() + io_ns + waits_ns + cpu_ns / slowest;
    if cpu_ns < cores::MOST_CPU_NS as f64 && span_ns < LONGEST_NS {
        return Ok(());
    }
    let years = span_ns.max(cpu_ns) / (365.25 * 86_400e9);
    Err(CapacityError::TooLong { years })
}
