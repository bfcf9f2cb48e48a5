//! Parquet files of what is new, one for each table and day at each rotation. The rings of the flight files are the buffer: while files
//! cannot be written nothing more is read, and a killed exporter goes on where its last files end.

use super::background::Background;
use super::reports::Reports;
use super::source::Source;
use super::wanted::Files;
use crate::commands::inspect::now_ns;
use crate::commands::parquet::remedied;
use crate::{Failure, output};
use archive::{Batch, Intake, Limits, Store, StoreError};
use flight::{FlightError, Header, Life};
use jiff::{Timestamp, ToSpan, tz::TimeZone};
use std::io::ErrorKind;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

const FLAG: &str = "--parquet";
/// How often new requests are read. The default ring of 16,384 then suffices for 3,200 requests a second in a process.
const LOOK: Duration = Duration::from_secs(5);
/// How long the end waits for the last files: as for the last push.
const LAST: Duration = Duration::from_secs(5);
const MINUTE_NS: u64 = 60_000_000_000;

/// What has yet to be written, and where to.
#[derive(Debug)]
pub struct Recording {
    folder: PathBuf,
    rotate_ns: u64,
    days: u16,
    bytes: u64,
    store: Store,
    intake: Intake,
    batch: Batch,
}

impl Recording {
    pub fn new(source: &Source, files: &Files) -> Result<Recording, Failure> {
        let (store, positions) =
            Store::open(&files.folder, &files.service, &files.instance).map_err(refused)?;
        let wanted = archive::Wanted {
            folder: source.folder(),
            application: source
                .application()
                .map(|root| flight::application_of(root).to_owned()),
            sample: files.sample,
            writer: Arc::new(archive::Writer {
                instance: files.instance.clone(),
                version: files.version.clone(),
            }),
        };
        Ok(Recording {
            folder: files.folder.clone(),
            rotate_ns: u64::try_from(files.rotate.as_nanos()).unwrap_or(u64::MAX),
            days: files.days,
            bytes: files.bytes,
            store,
            intake: Intake::new(wanted, positions, now_ns()),
            batch: Batch::default(),
        })
    }

    /// Reads everything that is new, writes it, and removes old files.
    pub fn once(&mut self) -> Result<(), Failure> {
        self.rest()
            .and_then(|()| self.prune())
            .map_err(Failure::no_answer)
    }

    fn rest(&mut self) -> Result<(), String> {
        self.look()?;
        self.minute()?;
        self.commit()?;
        self.store.finish().map_err(|e| remedied(&e))
    }

    /// Reads again and again, in a separate thread: a slow disk delays no scrape.
    pub fn started(self) -> Result<Background, Failure> {
        let given_up = format!(
            "{FLAG}: the last files were not written within {} s; the next start reads their rows again where the flight files still have them",
            LAST.as_secs()
        );
        Background::started("parquet", LAST, given_up, move |end| self.until(end))
    }

    fn until(mut self, end: &Receiver<()>) {
        let mut reports = Reports::new(FLAG, "files are written again");
        let mut prunings = Reports::new(FLAG, "old files are removed again");
        let mut minute = now_ns() / MINUTE_NS;
        let mut rotation = now_ns() / self.rotate_ns;
        loop {
            // Full: its files could not be written.
            let mut done = match self.batch.is_full() {
                true => self.commit(),
                false => self.look(),
            };
            if done.is_ok() && now_ns() / MINUTE_NS != minute {
                minute = now_ns() / MINUTE_NS;
                done = self.minute();
            }
            if done.is_ok() && now_ns() / self.rotate_ns != rotation {
                done = self.commit();
                if done.is_ok() {
                    rotation = now_ns() / self.rotate_ns;
                    let rotate = Duration::from_nanos(self.rotate_ns);
                    if let Some(line) = prunings.line(self.prune().err(), rotate) {
                        output::error(&line);
                    }
                }
            }
            if let Some(line) = reports.line(done.err(), LOOK) {
                output::error(&line);
            }
            if end.recv_timeout(LOOK) != Err(RecvTimeoutError::Timeout) {
                break;
            }
        }
        // The rest of a minute and of a rotation.
        match self.rest() {
            Ok(()) => {
                if let Err(why) = self.prune() {
                    output::error(&format!("{FLAG}: {why}"));
                }
            }
            Err(why) => output::error(&format!("{FLAG}: {why}; the last files were not written")),
        }
    }

    fn look(&mut self) -> Result<(), String> {
        while !self
            .intake
            .look(&self.kept_us(), &mut self.batch)
            .or_else(not_there)?
        {
            self.commit()?;
        }
        Ok(())
    }

    fn minute(&mut self) -> Result<(), String> {
        let days = self.kept_us();
        let minute = self
            .intake
            .minute(now_ns(), &days, &living, &mut self.batch);
        minute.map(|()| true).or_else(not_there).map(drop)
    }

    fn commit(&mut self) -> Result<(), String> {
        if !self.batch.is_empty() {
            let parts = self.batch.parts().map_err(|e| e.to_string())?;
            let positions = self.intake.positions();
            let committed = self.store.commit(&parts, positions, Timestamp::now());
            committed.map_err(|e| remedied(&e))?;
        }
        let lost = std::mem::take(&mut self.batch).lost;
        if lost != archive::Lost::default() {
            output::error(&format!(
                "{FLAG}: {} requests and {} collections were overwritten in the flight files before they were read; counters have them",
                lost.requests, lost.collections
            ));
        }
        Ok(())
    }

    fn prune(&self) -> Result<(), String> {
        let limits = Limits {
            oldest_day: self.oldest(Timestamp::now()).to_zoned(TimeZone::UTC).date(),
            bytes: self.bytes,
        };
        archive::prune(&self.folder, limits).map(drop).map_err(|e| {
            format!("{e}; files beyond --keep and --max-size stay until this user can remove them")
        })
    }

    /// From the oldest day that stays to a day from now. A request that is later is in a damaged flight file.
    fn kept_us(&self) -> RangeInclusive<i64> {
        let now = Timestamp::now();
        let to = now.checked_add(24.hours()).unwrap_or(Timestamp::MAX);
        self.oldest(now).as_microsecond()..=to.as_microsecond()
    }

    /// The beginning of the oldest day that stays.
    fn oldest(&self, now: Timestamp) -> Timestamp {
        let today = now.to_zoned(TimeZone::UTC).date();
        let oldest = today
            .checked_sub(i64::from(self.days).days())
            .unwrap_or(today);
        let begins = oldest.to_zoned(TimeZone::UTC);
        begins.map_or(Timestamp::MIN, |begins| begins.timestamp())
    }
}

/// Files may come.
fn not_there(why: FlightError) -> Result<bool, String> {
    match &why {
        FlightError::Io { source, .. } if source.kind() == ErrorKind::NotFound => Ok(true),
        _ => Err(why.to_string()),
    }
}

fn living(path: &Path, header: &Header) -> Option<Option<u64>> {
    let lives = flight::life(path, header) == Life::Runs;
    lives.then(|| {
        let here = flight::runs_here(header);
        here.then(|| host::memory::rss(header.pid)).flatten()
    })
}

fn refused(why: StoreError) -> Failure {
    Failure::no_answer(format!("{FLAG}: {}", remedied(&why)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contract/samples/flight");

    #[test]
    fn a_file_that_cannot_be_removed_fails_no_commit() {
        let folder = tempfile::tempdir().unwrap();
        let flights = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(SAMPLES).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, flights.path().join(path.file_name().unwrap())).unwrap();
        }
        let day = folder.path().join("gc/service=other/day=2020-01-01");
        fs::create_dir_all(&day).unwrap();
        let old = day.join("a-20200101T130000.000000Z.parquet");
        fs::write(&old, "x").unwrap();
        let allow = |path: &Path, mode| {
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        };
        allow(&day, 0o555);
        for path in [folder.path(), &folder.path().join("gc"), flights.path()] {
            allow(path, 0o777);
        }
        let files = Files {
            folder: folder.path().to_owned(),
            service: "shop".to_owned(),
            instance: "app1".to_owned(),
            version: String::new(),
            sample: 1,
            rotate: Duration::from_secs(3600),
            days: 3650,
            bytes: 0,
        };
        let source = Source::new(Some(flights.path().to_owned()), None, 20);
        testkit::as_nobody(|| {
            let mut recording = Recording::new(&source, &files).unwrap();
            recording.rest().unwrap();
            let why = recording.prune().unwrap_err();
            assert!(why.contains("cannot remove"), "{why}");
            assert!(
                why.contains("stay until this user can remove them"),
                "{why}"
            );
        });
        assert!(folder.path().join("requests/service=shop").is_dir());
        assert!(old.exists());
        allow(&day, 0o755);
    }
}
