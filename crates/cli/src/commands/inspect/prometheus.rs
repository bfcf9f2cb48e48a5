//! `inspect --prometheus`: the counters of a folder as Prometheus reads them.

use crate::args::InspectArgs;
use crate::{Failure, output};
use flight::Life;
use metrics::MetricsError;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::Path;

const WHERE_TO_LOOK: &str =
    "start the server with powerband run -- CMD, or name the folder of its flight files";

/// `own` is the folder of this user's files where the agent writes.
pub fn print(args: &InspectArgs, own: &Path) -> Result<u8, Failure> {
    let folder = match args.sources.as_slice() {
        [] => own,
        [folder] if !folder.is_file() => folder,
        _ => {
            return Err(Failure::usage(format!(
                "--prometheus adds up one folder of flight files, and what removed files had counted, which is kept in the same folder; name one folder, or none for {}",
                own.display()
            )));
        }
    };
    let application = args.application.as_deref().map(flight::application_of);
    let here = RefCell::new(BTreeSet::new());
    let mut reading = ::metrics::read(folder, application, |path, header| {
        let runs = flight::life(path, header) == Life::Runs;
        if runs && flight::runs_here(header) {
            here.borrow_mut().insert(header.pid);
        }
        runs
    })
    .map_err(|e| match &e {
        MetricsError::Io { .. } => Failure::no_answer(format!("{e}; {WHERE_TO_LOOK}")),
        _ => Failure::no_answer(e.to_string()),
    })?;
    // A page of zeroes would take the place of the figures of earlier scrapes.
    if reading.sums == metrics::Sums::default() && reading.gauges.unrecorded.is_empty() {
        let whose = args
            .application
            .as_deref()
            .map_or(String::new(), |root| format!(" of {root}"));
        return Err(Failure::no_answer(format!(
            "no flight file{whose} is in {}; {WHERE_TO_LOOK}",
            folder.display()
        )));
    }
    let resident = here.into_inner().into_iter().filter_map(host::memory::rss);
    reading.gauges.resident_bytes = resident.reduce(|a, b| a + b);
    let shown = metrics::Shown {
        endpoints: args.limit.unwrap_or(::metrics::ENDPOINTS),
        opentelemetry: args.opentelemetry,
    };
    output::print(&::metrics::text(&reading.sums, &reading.gauges, shown))?;
    Ok(0)
}
