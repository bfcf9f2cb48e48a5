//! What memory is fitted from: what was given, and the traced server where it still runs.

use super::ask::Wanted;
use crate::Failure;
use ::predict::Application;
use capacity::{Config, MemoryModel, Observation};

/// The fit, and what it was made from.
#[derive(Debug, Clone)]
pub struct Fitted {
    pub model: MemoryModel,
    pub from: String,
}

/// `None` when nothing says anything.
pub fn measured(application: &Application, wanted: &Wanted) -> Result<Option<Fitted>, Failure> {
    let mut seen = wanted.measured_memory.clone();
    let mut from = match seen.len() {
        0 => Vec::new(),
        1 => vec!["one configuration that was given".to_owned()],
        many => vec![format!("{many} configurations that were given")],
    };
    if let Some(running) = running(application) {
        seen.push(running);
        from.push("the traced server, which still runs".to_owned());
    }
    if seen.is_empty() {
        return Ok(None);
    }
    let model = capacity::fit(&seen).map_err(|e| Failure::usage(e.to_string()))?;
    let mut from = from.join(" and ");
    from.push_str(match model.basis {
        capacity::Basis::Full => "",
        capacity::Basis::AssumedThread => "; a thread is assumed to weigh 2 % of a process",
        capacity::Basis::NothingShared => {
            "; nothing is assumed to be shared between processes, so that more of them take at most the memory given"
        }
        capacity::Basis::OnePoint => {
            "; nothing is assumed to be shared between processes, so that more of them take at most the memory given; a thread is assumed to \
             weigh 2 % of a process"
        }
    });
    Ok(Some(Fitted { model, from }))
}

/// PSS of the traced server's processes, its master included, where all of them live.
fn running(application: &Application) -> Option<Observation> {
    let traced = application.traced();
    let processes = application.processes();
    if processes.iter().filter(|of| of.runs_here).count() != usize::from(traced.processes) {
        return None;
    }
    let mut pids: Vec<u32> = processes.iter().map(|of| of.pid).collect();
    if traced.cluster {
        // A worker whose master has died is a child of the first process.
        pids.extend(
            processes
                .iter()
                .map(|of| of.parent_pid)
                .filter(|&pid| pid > 1),
        );
        pids.sort_unstable();
        pids.dedup();
    }
    let memory = host::memory::sample(&pids).ok()?;
    (memory.unreadable.is_empty() && memory.pss_bytes > 0).then_some(Observation {
        config: Config {
            workers: traced.processes,
            threads: traced.threads,
        },
        pss_bytes: memory.pss_bytes as f64,
    })
}
