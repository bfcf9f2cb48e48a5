//! A recorder whose disk is full for a while: on a disk of the test's own, and on a small tmpfs where one can be mounted.

use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};

use crate::support::plain;
use capture::file::{About, Change, Created, Disk, Files, Limits, Reader, Recorder, Space, State};
use capture::{Exchange, Rules};

/// What a file has in it.
type Content = Rc<RefCell<Vec<u8>>>;

/// Files in memory, and how many bytes more fit.
#[derive(Debug, Clone, Default)]
struct Small {
    files: Rc<RefCell<Vec<Content>>>,
    left: Rc<Cell<usize>>,
    /// Of the filesystem.
    size: Rc<Cell<u64>>,
    quota: bool,
}

#[derive(Debug)]
struct Open {
    disk: Small,
    bytes: Content,
}

impl Write for Open {
    /// As a kernel does: what fits is written, and then nothing.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A reader that follows the file would find damage.
        assert!(
            bytes.iter().any(|byte| *byte != 0),
            "only records are written"
        );
        let fits = bytes.len().min(self.disk.left.get());
        if fits == 0 && !bytes.is_empty() {
            return Err(match self.disk.quota {
                true => ErrorKind::QuotaExceeded.into(),
                false => ErrorKind::StorageFull.into(),
            });
        }
        self.disk.left.set(self.disk.left.get() - fits);
        self.bytes.borrow_mut().extend_from_slice(&bytes[..fits]);
        Ok(fits)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Disk for Small {
    type File = Open;

    fn create_next(&self, _: &Path, from: u32) -> io::Result<Created<Open>> {
        let bytes = Content::default();
        self.files.borrow_mut().push(bytes.clone());
        let file = Open {
            disk: self.clone(),
            bytes,
        };
        Ok(Created {
            number: from,
            path: PathBuf::from(format!("traffic.{from}.pbc")),
            file,
            passed: 0,
        })
    }

    fn cut(&self, file: &mut Open, bytes: u64) -> io::Result<()> {
        let mut content = file.bytes.borrow_mut();
        self.left
            .set(self.left.get() + content.len() - bytes as usize);
        content.truncate(bytes as usize);
        Ok(())
    }

    fn remove(&self, _: &Path) {
        let removed = self.files.borrow_mut().pop().unwrap();
        self.left.set(self.left.get() + removed.borrow().len());
    }

    fn probe(&self, _: &Path, bytes: usize) -> io::Result<()> {
        match (bytes <= self.left.get(), self.quota) {
            (true, _) => Ok(()),
            (false, true) => Err(ErrorKind::QuotaExceeded.into()),
            (false, false) => Err(ErrorKind::StorageFull.into()),
        }
    }

    fn space(&self, _: &Path) -> Option<Space> {
        let (free, size) = (self.left.get() as u64, self.size.get());
        (!self.quota).then_some(Space { free, size })
    }
}

fn start(disk: &Small, limits: Limits, now: Instant) -> Recorder<Exchange, Small> {
    disk.left.set(64 << 20);
    disk.size.set(1 << 30);
    let (recorder, change) = start_with_space(disk, limits, now);
    assert!(change.is_none(), "{change:?}");
    recorder
}

/// With as much space as the disk has.
fn start_with_space(
    disk: &Small,
    limits: Limits,
    now: Instant,
) -> (Recorder<Exchange, Small>, Option<Change>) {
    let path = Path::new("traffic.pbc");
    let (rules, about) = (Rules::default(), About::default());
    Recorder::start_on(disk.clone(), path, limits, rules, 1_000, about, now)
}

fn ids(disk: &Small) -> Vec<Vec<u64>> {
    let files = disk.files.borrow();
    let ids = files.iter().map(|bytes| {
        let bytes = bytes.borrow();
        let mut reader = Reader::<_, Exchange>::new(bytes.as_slice()).unwrap();
        let ids = reader.by_ref().map(|record| record.unwrap().id).collect();
        assert_eq!(reader.damaged().count, 0, "{:?}", reader.damaged());
        ids
    });
    ids.collect()
}

#[test]
fn a_full_disk_pauses_the_recording_and_the_file_goes_on_behind_its_last_whole_block() {
    for quota in [false, true] {
        let disk = Small {
            quota,
            ..Small::default()
        };
        let mut now = Instant::now();
        let mut recorder = start(&disk, Limits::default(), now);
        let mut second = || {
            now += Duration::from_secs(2);
            now
        };
        assert!(recorder.take(&mut plain(1)).is_none());
        assert!(recorder.tick(second()).is_none());
        // Part of a block fits.
        disk.left.set(60);
        assert!(recorder.take(&mut plain(2)).is_none());
        let said = recorder.tick(second()).unwrap();
        assert!(matches!(said, Change::Paused { .. }), "{said:?}");
        let said = said.to_string();
        let expected = if quota {
            "the disk quota is used up"
        } else {
            "the disk is full"
        };
        assert!(
            said.contains(expected) && said.contains("traffic.0.pbc"),
            "{said}"
        );
        assert_eq!(said.contains("0 MiB are free"), !quota, "{said}");
        assert_eq!(ids(&disk), [[1]]);
        assert!(recorder.take(&mut plain(3)).is_none());
        assert!(recorder.tick(second()).is_none(), "said once");
        let counts = recorder.counts();
        assert_eq!((counts.state, counts.lost.no_space), (State::Paused, 2));
        disk.left.set(64 << 20);
        let said = recorder.tick(second()).unwrap();
        assert!(matches!(said, Change::Resumed { lost: 2, .. }), "{said:?}");
        assert!(recorder.take(&mut plain(4)).is_none());
        assert!(recorder.finish().is_none());
        assert_eq!(ids(&disk), [[1, 4]]);
        let counts = recorder.counts();
        assert_eq!((counts.written, counts.lost.no_space), (2, 2));
        assert_eq!(counts.bytes, disk.files.borrow()[0].borrow().len() as u64);
    }
}

#[test]
fn a_file_that_cannot_be_begun_for_want_of_space_leaves_none_without_a_head() {
    let disk = Small::default();
    let limits = Limits {
        age: Some(Duration::from_secs(60)),
        ..Limits::default()
    };
    let now = Instant::now();
    let mut recorder = start(&disk, limits, now);
    assert!(recorder.take(&mut plain(1)).is_none());
    assert!(recorder.tick(now + Duration::from_secs(2)).is_none());
    disk.left.set(9);
    let said = recorder.tick(now + Duration::from_secs(61));
    assert!(matches!(said, Some(Change::Paused { .. })), "{said:?}");
    assert_eq!(ids(&disk), [[1]]);
    // A little is not enough: the next block would fill it again.
    disk.left.set(1 << 20);
    assert!(recorder.tick(now + Duration::from_secs(70)).is_none());
    disk.left.set(64 << 20);
    let said = recorder.tick(now + Duration::from_secs(80));
    assert!(
        matches!(said, Some(Change::Resumed { lost: 0, .. })),
        "{said:?}"
    );
    assert!(recorder.take(&mut plain(2)).is_none());
    assert!(recorder.finish().is_none());
    assert_eq!(ids(&disk), [[1], [2]]);
}

#[test]
fn a_recording_that_starts_on_a_full_disk_is_paused_until_there_is_room() {
    let disk = Small::default();
    let now = Instant::now();
    let (mut recorder, change) = start_with_space(&disk, Limits::default(), now);
    assert!(matches!(change, Some(Change::Paused { .. })), "{change:?}");
    assert!(recorder.take(&mut plain(1)).is_none());
    let counts = recorder.counts();
    assert_eq!((counts.state, counts.files), (State::Paused, 0));
    disk.left.set(64 << 20);
    let said = recorder.tick(Instant::now() + Duration::from_secs(2));
    assert!(
        matches!(said, Some(Change::Resumed { lost: 1, .. })),
        "{said:?}"
    );
    assert!(recorder.take(&mut plain(2)).is_none());
    assert!(recorder.finish().is_none());
    assert_eq!(ids(&disk), [[2]]);
}

#[test]
fn a_disk_that_is_full_at_the_end_promises_no_resumption() {
    let disk = Small::default();
    let mut recorder = start(&disk, Limits::default(), Instant::now());
    disk.left.set(0);
    assert!(recorder.take(&mut plain(1)).is_none());
    let said = recorder.finish().unwrap().to_string();
    assert!(
        said.contains("the last 1 records are not written") && !said.contains("resumes"),
        "{said}"
    );
    let counts = recorder.counts();
    assert_eq!((counts.state, counts.lost.no_space), (State::Ended, 1));
}

#[test]
fn on_a_small_filesystem_a_share_of_it_is_room_enough() {
    let disk = Small::default();
    let now = Instant::now();
    let mut recorder = start(&disk, Limits::default(), now);
    disk.size.set(8 << 20);
    disk.left.set(0);
    assert!(recorder.take(&mut plain(1)).is_none());
    let said = recorder.tick(now + Duration::from_secs(2));
    assert!(matches!(said, Some(Change::Paused { .. })), "{said:?}");
    disk.left.set(400 << 10);
    let later = Instant::now() + Duration::from_secs(10);
    assert!(recorder.tick(later).is_none());
    disk.left.set(1 << 20);
    let said = recorder.tick(later + Duration::from_secs(2));
    assert!(matches!(said, Some(Change::Resumed { .. })), "{said:?}");
}

#[test]
fn a_probe_leaves_no_file_and_replaces_one_that_a_killed_mirror_left() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("traffic.pbc");
    for _ in 0..2 {
        Files.probe(&path, 1_000).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        std::fs::write(folder.path().join("traffic.pbc.probe"), "left").unwrap();
    }
}

/// The system's own words and files.
#[test]
fn a_small_tmpfs_that_fills_up_and_has_room_again() {
    let folder = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"])
        .arg(folder.path())
        .output();
    let why = match mounted {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        Err(error) => Some(error.to_string()),
    };
    if let Some(why) = why {
        let _ = writeln!(
            io::stderr(),
            "skipped: a tmpfs cannot be mounted here: {why}"
        );
        return;
    }
    let unmounted = Unmount(folder.path().to_owned());
    let (filler, path) = (
        folder.path().join("filler"),
        folder.path().join("traffic.pbc"),
    );
    let now = Instant::now();
    let (rules, about) = (Rules::default(), About::default());
    let (mut recorder, change) =
        Recorder::<Exchange>::start(&path, Limits::default(), rules, 1_000, about, now);
    assert!(change.is_none(), "{change:?}");
    assert!(recorder.take(&mut plain(1)).is_none());
    assert!(recorder.tick(now + Duration::from_secs(2)).is_none());
    // A page is left in the recording's own block, perhaps; many records need more.
    let filled = std::fs::write(&filler, vec![1; 32 << 20]).unwrap_err();
    assert_eq!(filled.kind(), ErrorKind::StorageFull);
    let mut said = None;
    for id in 2..100_000 {
        said = recorder.take(&mut plain(id));
        if said.is_some() {
            break;
        }
    }
    let said = said.unwrap();
    assert!(
        matches!(said, Change::Paused { free: Some(_), .. }),
        "{said:?}"
    );
    assert!(
        said.to_string()
            .contains("the disk is full (No space left on device"),
        "{said}"
    );
    std::fs::remove_file(&filler).unwrap();
    // It looks again a second after the disk was found full.
    let said = recorder.tick(Instant::now() + Duration::from_secs(2));
    assert!(matches!(said, Some(Change::Resumed { .. })), "{said:?}");
    assert!(recorder.take(&mut plain(1_000_000)).is_none());
    assert!(recorder.finish().is_none());
    let mut reader = Reader::<_, Exchange>::new(std::fs::File::open(&path).unwrap()).unwrap();
    let ids: Vec<u64> = reader.by_ref().map(|record| record.unwrap().id).collect();
    assert_eq!(reader.damaged().count, 0, "{:?}", reader.damaged());
    assert_eq!((ids[0], ids[ids.len() - 1]), (1, 1_000_000));
    assert_eq!(ids.len() as u64, recorder.counts().written);
    drop(unmounted);
}

struct Unmount(PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
