//! Recorded traffic as a workload: `traffic.pbc`, or whatever file another tool wrote.

use super::{Asked, Problem};
use capture::Traffic;
use load::{RecordedRequest, Workload};
use std::fs::File;
use std::path::Path;

/// A recording, ready to be sent.
#[derive(Debug)]
pub struct Recording {
    /// Its requests, in their order, on the connections that they came on where the file knows them.
    pub workload: Workload,
    /// When each is due, from the first on; `None` where the file does not say.
    pub instants_ns: Option<Vec<u64>>,
    /// What the sender has to know, in sentences.
    pub notes: Vec<String>,
}

/// Which `Host` its requests are sent with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hosts {
    /// The target's.
    Target,
    /// Each its own, where the file has it.
    Recorded,
}

/// Reads a recording of any format.
///
/// # Errors
/// That it cannot be read, or each request that cannot be sent.
pub fn read_recording(file: &Path, asked: &Asked, hosts: Hosts) -> Result<Recording, Vec<Problem>> {
    recording(
        read_traffic(file, asked)?,
        &file.display().to_string(),
        hosts,
    )
}

/// Reads the traffic of a file of any format.
///
/// # Errors
/// That it cannot be read.
pub fn read_traffic(file: &Path, asked: &Asked) -> Result<Traffic, Vec<Problem>> {
    let wrong = |what: String, remedy: &str| vec![Problem::of(asked, what, remedy)];
    let opened = File::open(file).and_then(|opened| match opened.metadata()?.is_dir() {
        true => Err(std::io::ErrorKind::IsADirectory.into()),
        false => Ok(opened),
    });
    let opened = opened.map_err(|e| wrong(e.to_string(), "name a file that can be read"))?;
    Traffic::read_from(opened)
        .map_err(|e| wrong(e.to_string(), "docs/traffic.md lists the formats"))
}

/// Of traffic that was read, from a place of this name.
///
/// # Errors
/// Each request that cannot be sent.
pub fn recording(traffic: Traffic, name: &str, hosts: Hosts) -> Result<Recording, Vec<Problem>> {
    let instants_ns = traffic.timed.then(|| traffic.instants_ns());
    let left_out = (traffic.skipped.count > 0).then(|| {
        let skipped = &traffic.skipped;
        format!("some of the recording was left out: {name}: {skipped}")
    });
    let unredacted = capture::unredacted(&traffic.unredacted);
    let unredacted = unredacted.map(|said| format!("{name}: {said}"));
    let connections: Option<Vec<u64>> = traffic.requests.iter().map(|r| r.connection).collect();
    let requests = traffic.requests.into_iter().map(|recorded| {
        let request = RecordedRequest {
            method: recorded.method,
            path: recorded.path,
            headers: recorded.headers,
            body: recorded.body,
            status: recorded.status,
            host: recorded.host.filter(|_| hosts == Hosts::Recorded),
        };
        (recorded.place, request)
    });
    let told = |p: load::WorkloadProblem| {
        Problem::with(format!("{} in {name}: {}", p.key, p.value), p.remedy)
    };
    let mut workload = Workload::from_recorded(requests, capture::name_of)
        .map_err(|found| found.into_iter().map(told).collect::<Vec<_>>())?;
    if let Some(connections) = connections {
        workload = workload.on_connections(connections);
    }
    let statuses = workload.lacks_statuses().then(|| load::NO_STATUSES.into());
    let notes = [left_out, unredacted, statuses];
    Ok(Recording {
        workload,
        instants_ns,
        notes: notes.into_iter().flatten().collect(),
    })
}
