//! `inspect --prometheus`: the counters of a folder as Prometheus reads them.

use crate::args::InspectArgs;
use crate::commands::flight_counters;
use crate::{Failure, output};

/// Prints them once.
pub fn print(args: &InspectArgs) -> Result<u8, Failure> {
    let own = flight_counters::own_folder();
    let folder = match args.sources.as_slice() {
        [] => &own,
        [folder] if !folder.is_file() => folder,
        _ => {
            return Err(Failure::usage(format!(
                "--prometheus adds up one folder of flight files, and what removed files had counted, which is kept in the same folder; name one folder, or none for {}",
                own.display()
            )));
        }
    };
    let reading = flight_counters::read(folder, args.application.as_deref())?;
    let shown = metrics::Shown {
        endpoints: args.limit.unwrap_or(::metrics::ENDPOINTS),
        opentelemetry: args.opentelemetry,
    };
    let families = metrics::families(&reading.sums, &reading.gauges, shown);
    output::print(&metrics::text(&families))?;
    Ok(0)
}
