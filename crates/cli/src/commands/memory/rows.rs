//! `--csv`: a row for each sample.

use crate::commands::untouched_file::{emptied, open};
use crate::{Failure, output};
use run::memory::{Document, Sample};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

const HEAD: [&str; 12] = [
    "at_s",
    "pid",
    "name",
    "rss_bytes",
    "anonymous_bytes",
    "file_bytes",
    "shared_bytes",
    "swap_bytes",
    "pss_bytes",
    "uss_bytes",
    "requests",
    "worker",
];
/// In place of a pid: all processes together.
const ALL: &str = "all";

/// Where rows go.
pub struct Rows {
    path: PathBuf,
    /// `None`: stdout.
    file: Option<File>,
}

impl Rows {
    /// Opens the file before anything is read, so that a wrong name costs no time.
    pub fn open(path: &Path) -> Result<Rows, Failure> {
        let path = path.to_owned();
        let file = match path == Path::new("-") {
            true => None,
            false => Some(open(&path).map_err(|e| unwritable(&path, &e.to_string()))?),
        };
        Ok(Rows { path, file })
    }

    pub fn is_stdout(&self) -> bool {
        self.file.is_none()
    }

    /// All at once.
    pub fn write(self, document: &Document) -> Result<(), Failure> {
        let failed = |why: String| unwritable(&self.path, &why);
        let Some(mut file) = self.file else {
            return output::print(&String::from_utf8_lossy(&csv(document).map_err(failed)?));
        };
        emptied(&file).map_err(|e| failed(e.to_string()))?;
        file.write_all(&csv(document).map_err(failed)?)
            .map_err(|e| failed(e.to_string()))
    }
}

fn csv(document: &Document) -> Result<Vec<u8>, String> {
    let mut rows = csv::Writer::from_writer(Vec::new());
    let failed = |e: csv::Error| e.to_string();
    rows.write_record(HEAD).map_err(failed)?;
    for sample in &document.samples {
        rows.write_record(row(sample, ALL, "", None))
            .map_err(failed)?;
    }
    for process in &document.processes {
        for sample in &process.samples {
            let pid = process.pid.to_string();
            rows.write_record(row(sample, &pid, &process.name, process.worker))
                .map_err(failed)?;
        }
    }
    rows.into_inner().map_err(|e| e.to_string())
}

fn row(sample: &Sample, pid: &str, name: &str, worker: Option<u32>) -> [String; HEAD.len()] {
    let text = |value: Option<u64>| value.map_or_else(String::new, |value| value.to_string());
    [
        format!("{:.3}", sample.at_s),
        pid.to_owned(),
        name.to_owned(),
        sample.rss_bytes.to_string(),
        text(sample.anonymous_bytes),
        text(sample.file_bytes),
        text(sample.shared_bytes),
        text(sample.swap_bytes),
        text(sample.pss_bytes),
        text(sample.uss_bytes),
        text(sample.requests),
        text(worker.map(u64::from)),
    ]
}

fn unwritable(path: &Path, why: &str) -> Failure {
    Failure::usage(format!(
        "--csv = {:?}: {why}; name a file that can be written",
        path.display().to_string()
    ))
}
