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
    /// What of the file could not be read.
    pub skipped: Option<String>,
}

/// Reads a recording of any format.
///
/// # Errors
/// That it cannot be read, or each request that cannot be sent.
pub fn read_recording(file: &Path, asked: &Asked) -> Result<Recording, Vec<Problem>> {
    let wrong = |what: String, remedy: &str| vec![Problem::of(asked, what, remedy)];
    let opened = File::open(file).and_then(|opened| match opened.metadata()?.is_dir() {
        true => Err(std::io::ErrorKind::IsADirectory.into()),
        false => Ok(opened),
    });
    let opened = opened.map_err(|e| wrong(e.to_string(), "name a file that can be read"))?;
    let traffic = Traffic::read_from(opened)
        .map_err(|e| wrong(e.to_string(), "docs/traffic.md lists the formats"))?;
    let name = file.display();
    let instants_ns = traffic.timed.then(|| traffic.instants_ns());
    let skipped = (traffic.skipped.count > 0).then(|| format!("{name}: {}", traffic.skipped));
    let connections: Option<Vec<u64>> = traffic.requests.iter().map(|r| r.connection).collect();
    let requests = traffic.requests.into_iter().map(|recorded| {
        let request = RecordedRequest {
            method: recorded.method,
            path: recorded.path,
            headers: recorded.headers,
            body: recorded.body,
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
    Ok(Recording {
        workload,
        instants_ns,
        skipped,
    })
}
