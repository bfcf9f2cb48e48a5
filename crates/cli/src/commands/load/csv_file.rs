//! `--csv`: a row an interval, written as it ends, so that an interrupted run leaves what it measured.

use super::interval::Interval;
use crate::commands::untouched_file::{emptied, open};
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

const HEAD: [&str; 10] = [
    "start_s", "length_s", "asked", "sent", "ok", "failed", "p50_ms", "p90_ms", "p99_ms", "max_ms",
];

/// Rows of CSV in a file or on stdout.
pub struct CsvFile {
    path: PathBuf,
    to: To,
}

enum To {
    /// Until the first row: a run that is refused leaves an older file as it is.
    Untouched(File),
    Rows(Box<csv::Writer<Box<dyn Write + Send>>>),
    /// The reader of stdout has closed it.
    Gone,
}

impl CsvFile {
    /// `-` is stdout.
    pub fn create(path: &Path) -> Result<CsvFile, String> {
        let to = if path == Path::new("-") {
            To::Rows(rows(Box::new(std::io::stdout())))
        } else {
            To::Untouched(open(path).map_err(|e| told(path, &e))?)
        };
        let mut file = CsvFile {
            path: path.to_owned(),
            to,
        };
        if let To::Rows(_) = file.to {
            file.write(&HEAD.map(str::to_owned))?;
        }
        Ok(file)
    }

    fn begin(&mut self) -> Result<(), String> {
        let To::Untouched(file) = &self.to else {
            return Ok(());
        };
        let file = file
            .try_clone()
            .and_then(|file| emptied(&file).map(|()| file));
        let file = file.map_err(|e| told(&self.path, &e))?;
        self.to = To::Rows(rows(Box::new(file)));
        self.write(&HEAD.map(str::to_owned))
    }

    /// One interval. A latency is empty when nothing ended, `inf` when that request failed.
    pub fn row(&mut self, interval: &Interval) -> Result<(), String> {
        self.begin()?;
        let slice = &interval.slice;
        let ms = |us: u64| match us {
            _ if slice.ok + slice.errors == 0 => String::new(),
            us if us >= load::INFINITE_FROM_US => "inf".to_owned(),
            us => format!("{:.3}", us as f64 / 1e3),
        };
        let seconds = |ns: u64| format!("{:.3}", ns as f64 / 1e9);
        self.write(&[
            seconds(slice.start_ns),
            seconds(slice.length_ns),
            slice.due.to_string(),
            slice.sent.to_string(),
            slice.ok.to_string(),
            slice.errors.to_string(),
            ms(slice.p50_us),
            ms(interval.p90_us),
            ms(slice.p99_us),
            ms(interval.max_us),
        ])
    }

    fn write(&mut self, row: &[String]) -> Result<(), String> {
        let To::Rows(writer) = &mut self.to else {
            return Ok(());
        };
        let written = writer.write_record(row).map_err(|e| match e.into_kind() {
            csv::ErrorKind::Io(e) => e,
            kind => std::io::Error::other(format!("{kind:?}")),
        });
        match written.and_then(|()| writer.flush()) {
            // `--csv - | head` is ordinary use, and the run goes on.
            Err(e) if e.kind() == ErrorKind::BrokenPipe && self.path == Path::new("-") => {
                self.to = To::Gone;
                Ok(())
            }
            written => written.map_err(|e| told(&self.path, &e)),
        }
    }
}

fn rows(to: Box<dyn Write + Send>) -> Box<csv::Writer<Box<dyn Write + Send>>> {
    Box::new(csv::Writer::from_writer(to))
}

fn told(path: &Path, error: &std::io::Error) -> String {
    format!(
        "--csv = {:?}: {error}; name a file that can be written, or - for stdout",
        path.display().to_string()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::Slice;
    use std::time::Duration;

    fn interval() -> Interval {
        Interval {
            elapsed: Duration::from_secs(1),
            slice: Slice {
                start_ns: 0,
                length_ns: 1_000_000_000,
                due: 3,
                sent: 3,
                ok: 3,
                errors: 0,
                mean_us: 1e3,
                p50_us: 1_000,
                p99_us: 1_000,
            },
            p90_us: 1_000,
            max_us: 1_000,
            requests: 3,
            behind: Duration::ZERO,
            draining: false,
        }
    }

    struct Closed;

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Err(ErrorKind::BrokenPipe.into())
        }
    }

    #[test]
    fn a_reader_that_goes_away_is_no_failure_and_a_closed_pipe_elsewhere_is() {
        let to = |name: &str| CsvFile {
            path: name.into(),
            to: To::Rows(rows(Box::new(Closed))),
        };
        let mut stdout = to("-");
        assert_eq!(stdout.row(&interval()), Ok(()));
        assert!(matches!(stdout.to, To::Gone));
        assert_eq!(stdout.row(&interval()), Ok(()));
        assert!(to("rows.csv").row(&interval()).is_err());
    }

    #[test]
    fn an_older_file_stands_until_the_first_row() {
        let path = std::env::temp_dir().join(format!("powerband-csv-{}", std::process::id()));
        let old = "an older file that is longer than what will be in it afterwards".repeat(9);
        std::fs::write(&path, &old).unwrap();
        let mut file = CsvFile::create(&path).unwrap();
        let before = std::fs::read_to_string(&path).unwrap();
        file.row(&interval()).unwrap();
        let after = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(before, old);
        assert!(
            after.starts_with("start_s,") && after.ends_with(",1.000\n"),
            "{after}"
        );
        assert_eq!(after.lines().count(), 2);
    }
}
