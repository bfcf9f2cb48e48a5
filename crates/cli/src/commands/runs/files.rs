//! `runs --parquet`: a file for each table of each run. A run that is written again replaces its files.

use super::NOT_READABLE;
use crate::commands::parquet::{name_refused, remedied};
use crate::{Failure, output};
use run::runs::{Kept, Standing};
use std::path::Path;

const FLAG: &str = "--parquet";

/// Writes the files of the runs that have a document of `tune`, `compare`, `sweep` or `check`.
pub fn written(folder: &Path, service: &str, runs: &[Kept]) -> Result<u8, Failure> {
    if let Some(why) = name_refused("--service", service) {
        return Err(Failure::usage(why));
    }
    let failed = |e: archive::StoreError| Failure::usage(format!("{FLAG}: {}", remedied(&e)));
    let mut files = 0;
    for run in runs {
        if let Some(why) = left_out(run) {
            output::error(&why);
        }
        let Some(document) = run.experiment() else {
            continue;
        };
        for part in archive::parts_of(&document).map_err(failed)? {
            // Not the document's, which may be any text.
            archive::write_named(folder, service, &run.id, &part).map_err(failed)?;
            files += 1;
        }
    }
    output::say(&format!("files written: {files}"));
    Ok(0)
}

/// The line on a run that cannot be read.
fn left_out(run: &Kept) -> Option<String> {
    let why = match run.standing {
        Standing::NotReadable => NOT_READABLE,
        _ => run.unreadable.as_deref()?,
    };
    Some(format!("{FLAG}: the run {} is left out: {why}", run.id))
}

#[cfg(test)]
mod tests {
    use super::{left_out, written};
    use run::runs::kept;
    use std::fs;

    const SAMPLE: &str = include_str!("../../../../../contract/samples/run/tune.json");

    #[test]
    fn files_have_the_names_of_the_runs_folders() {
        let folder = tempfile::tempdir().unwrap();
        let (runs, parquet) = (folder.path().join("runs"), folder.path().join("parquet"));
        let mut document: serde_json::Value = serde_json::from_str(SAMPLE).unwrap();
        document["id"] = "../../../escaped".into();
        let run = runs.join("20261120-214512-tune-1f3a");
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("run.json"), document.to_string()).unwrap();
        assert_eq!(written(&parquet, "shop", &kept(&runs).unwrap()).unwrap(), 0);
        assert!(!parquet.join("escaped.parquet").exists());
        let day = fs::read_dir(parquet.join("trials/service=shop"))
            .unwrap()
            .next();
        let file = day
            .unwrap()
            .unwrap()
            .path()
            .join("20261120-214512-tune-1f3a.parquet");
        assert!(file.is_file());
    }

    #[test]
    fn a_run_that_cannot_be_read_is_named() {
        let runs = tempfile::tempdir().unwrap();
        let run = runs.path().join("20261120-214512-tune-1f3a");
        fs::create_dir(&run).unwrap();
        fs::write(run.join("run.json"), "{}").unwrap();
        let said = left_out(&kept(runs.path()).unwrap()[0]).unwrap();
        assert!(
            said.starts_with("--parquet: the run 20261120-214512-tune-1f3a is left out: "),
            "{said}"
        );
    }
}
