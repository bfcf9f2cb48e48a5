//! What goes of a measurement's folder once its figures are on disk: nearly all of its bytes.

use crate::flights;
use crate::request::Experiment;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// What stays of each end of a server's log: the boot, and what was last.
const LOG_BYTES: usize = 64 << 10;

/// Deletes what the agent wrote, and the middle of the server's log.
pub fn discard(measured: &Path, experiment: &Experiment) {
    if experiment.keep_flights {
        return;
    }
    // What stays takes room and does no other harm.
    let _ = std::fs::remove_dir_all(measured.join(flights::FOLDER));
    let _ = shorten(&measured.join("server.log"));
}

fn shorten(log: &Path) -> io::Result<()> {
    let mut file = File::open(log)?;
    let found = file.metadata()?;
    // What is little longer stays whole.
    if found.len() <= 3 * LOG_BYTES as u64 {
        return Ok(());
    }
    let mut begin = vec![0; LOG_BYTES];
    file.read_exact(&mut begin)?;
    file.seek(SeekFrom::Start(found.len() - LOG_BYTES as u64))?;
    let mut end = vec![0; LOG_BYTES];
    file.read_exact(&mut end)?;
    // Whole lines.
    let last = begin.iter().rposition(|byte| *byte == b'\n');
    begin.truncate(last.map_or(LOG_BYTES, |at| at + 1));
    let first = end.iter().position(|byte| *byte == b'\n');
    end.drain(..first.map_or(0, |at| at + 1));
    let removed = found.len() - (begin.len() + end.len()) as u64;
    let new = log.with_extension("log.new");
    let mut shortened = File::options().write(true).create_new(true).open(&new)?;
    shortened.set_permissions(found.permissions())?;
    shortened.write_all(&begin)?;
    writeln!(
        shortened,
        "({removed} bytes were removed here; --keep-flights keeps them)"
    )?;
    shortened.write_all(&end)?;
    std::fs::rename(&new, log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_log_keeps_both_ends_and_a_short_one_all() {
        let dir = tempfile::tempdir().unwrap();
        let log = dir.path().join("server.log");
        let short = "a line\n".repeat(10);
        std::fs::write(&log, &short).unwrap();
        shorten(&log).unwrap();
        assert_eq!(std::fs::read_to_string(&log).unwrap(), short);
        let lines: String = (0..100_000).map(|n| format!("line {n}\n")).collect();
        std::fs::write(&log, &lines).unwrap();
        shorten(&log).unwrap();
        let left = std::fs::read_to_string(&log).unwrap();
        assert!(left.starts_with("line 0\n") && left.ends_with("line 99999\n"));
        let cut = left.lines().position(|line| line.starts_with('(')).unwrap();
        let (said, rest): (Vec<&str>, Vec<&str>) =
            left.lines().partition(|line| line.starts_with('('));
        let kept: usize = rest.iter().map(|line| line.len() + 1).sum();
        let removed = lines.len() - kept;
        assert_eq!(
            said,
            [format!(
                "({removed} bytes were removed here; --keep-flights keeps them)"
            )]
        );
        assert!(kept <= 2 * LOG_BYTES && rest.iter().all(|line| line.starts_with("line ")));
        assert_eq!(rest[cut - 1], format!("line {}", cut - 1));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
