//! The host and the workload as documents describe them.

use crate::request::Experiment;
use run::{Host, WorkloadEntry};
use std::collections::HashMap;

/// The requests and the share of each.
pub fn workload(experiment: &Experiment) -> Vec<WorkloadEntry> {
    let requests = experiment.workload.requests();
    let total: f64 = requests.iter().map(|r| r.weight).sum();
    let mut entries: Vec<WorkloadEntry> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    // A recording has thousands of requests: those with the same name make one entry.
    let recorded = experiment.workload.order().is_some();
    for request in requests {
        let share = request.weight / total;
        if let Some(index) = known.get(request.name.as_str()).filter(|_| recorded) {
            entries[*index].share += share;
            continue;
        }
        known.insert(&request.name, entries.len());
        entries.push(WorkloadEntry {
            name: request.name.clone(),
            method: request.method.clone(),
            path: request.path.clone(),
            share,
        });
    }
    entries
}

/// This host, with its load before the run.
pub fn host_of_run() -> Host {
    match host::facts::collect() {
        Ok(facts) => Host {
            cpu_model: facts.cpu_model.clone().unwrap_or_default(),
            cores: facts.cores as u32,
            effective_cores: facts.effective_cores,
            memory_bytes: facts
                .memory_limit_bytes
                .map_or(facts.memory_total_bytes, |limit| {
                    limit.min(facts.memory_total_bytes)
                }),
            kernel: facts.kernel.clone(),
            load_average: facts.load_average_1m.unwrap_or(0.0),
        },
        // Without /proc nothing else would work either; the first trial says so.
        Err(_) => Host {
            cpu_model: String::new(),
            cores: 1,
            effective_cores: 1.0,
            memory_bytes: 0,
            kernel: String::new(),
            load_average: 0.0,
        },
    }
}
