//! `inspect --prometheus`: the counters of a folder as Prometheus reads them.

use super::own;
use crate::args::InspectArgs;
use crate::commands::flight_counters;
use crate::{Failure, output};

/// Prints them once.
pub fn print(args: &InspectArgs) -> Result<u8, Failure> {
    let folder = match args.sources.as_slice() {
        [] => None,
        [folder] if !folder.is_file() => Some(folder.as_path()),
        _ => {
            return Err(Failure::usage(format!(
                "--prometheus adds up one folder of flight files, and what removed files had counted, which is kept in the same folder; name one folder, or one of such folders by user, of which it takes this user's, or none for {}",
                flight_counters::with_files(None).display()
            )));
        }
    };
    let application = args.application.as_deref().filter(|of| *of != own::ALL);
    let reading = flight_counters::read(folder, application)?;
    let shown = metrics::Shown {
        endpoints: args.limit.unwrap_or(::metrics::ENDPOINTS),
        opentelemetry: args.opentelemetry,
    };
    let families = metrics::families(&reading.sums, &reading.gauges, shown);
    output::print(&metrics::text(&families))?;
    Ok(0)
}
