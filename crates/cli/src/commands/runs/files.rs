//! `runs --parquet`: a file for each table of each run. A run that is written again replaces its files.

use crate::commands::parquet::remedied;
use crate::{Failure, output};
use run::runs::Kept;
use std::path::Path;

const FLAG: &str = "--parquet";

/// Writes the files of the runs that have a document of `tune`, `compare`, `sweep` or `check`.
pub fn written(folder: &Path, service: &str, runs: &[Kept]) -> Result<u8, Failure> {
    if !archive::is_name(service) {
        return Err(Failure::usage(format!(
            "--service = {service:?}: {FLAG} makes it a part of paths; {}",
            archive::NAMES
        )));
    }
    let failed = |e: archive::StoreError| Failure::usage(format!("{FLAG}: {}", remedied(&e)));
    let mut files = 0;
    for run in runs {
        let Some(document) = run.experiment() else {
            continue;
        };
        for part in archive::parts_of(&document).map_err(failed)? {
            archive::write_named(folder, service, &document.id, &part).map_err(failed)?;
            files += 1;
        }
    }
    output::say(&format!("files written: {files}"));
    Ok(0)
}
