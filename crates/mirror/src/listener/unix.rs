//! A Unix socket to listen on, and its file.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, Permissions, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType};
use rustix::net::{bind, connect, listen, socket_with};

use super::{BACKLOG, ListenError};

/// Mirrors that start one after the other at the same path, each removing the lock of the one before.
const MOST_HOLDERS: u32 = 100;

/// The file of a socket or of its lock: removed when this is dropped, unless another one has taken its place.
#[derive(Debug)]
pub(super) struct SocketFile {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|there| there == self.identity) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    let file = fs::symlink_metadata(path)?;
    Ok((file.dev(), file.ino()))
}

/// Listens at `path`. The socket of a process that has ended is replaced, that of a living one is not.
pub(super) fn open(path: &Path, mode: u32) -> Result<(UnixListener, SocketFile), ListenError> {
    let failed = |source: io::Error| error(path, source);
    let address = SocketAddrUnix::new(path).map_err(|errno| failed(errno.into()))?;
    let _lock = lock(path)?;
    remove_dead(path, &address)?;
    // A socket that is bound and does not listen yet looks dead to another mirror that starts: it gets its name last.
    let random = RandomState::new().hash_one(path) >> 32;
    let hidden = path.with_file_name(format!(".{random:x}"));
    let opened = || {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        bind(&socket, &SocketAddrUnix::new(&hidden)?)?;
        let identity = identity(&hidden)?;
        let file = |path: &Path| SocketFile {
            path: path.to_owned(),
            identity,
        };
        let _removed = file(&hidden);
        // Before it listens, so that no client without permission connects.
        fs::set_permissions(&hidden, Permissions::from_mode(mode))?;
        listen(&socket, BACKLOG)?;
        fs::hard_link(&hidden, path)?;
        Ok((UnixListener::from(socket), file(path)))
    };
    opened().map_err(|source: io::Error| match source.kind() {
        ErrorKind::AlreadyExists => living(path),
        _ => failed(source),
    })
}

/// A lock next to the socket while it is made. Without it two mirrors that find the same dead socket both remove it, and the
/// slower one removes the socket of the faster one.
fn lock(path: &Path) -> Result<Lock, ListenError> {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".lock");
    let lock = path.with_file_name(name);
    let failed = |source| match fs::symlink_metadata(&lock) {
        Ok(_) => ListenError::Unix {
            path: lock.clone(),
            source,
            remedy: "remove this lock file, or give another path for the socket",
        },
        Err(_) => error(path, source),
    };
    // In a folder that others may write to, the name may be a link or a pipe: neither followed nor waited for.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    for _ in 0..MOST_HOLDERS {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .custom_flags(flags.bits() as i32)
            .open(&lock)
            .map_err(failed)?;
        let held = file.metadata().map_err(failed)?;
        if !held.is_file() {
            return Err(failed(io::Error::other("it is no regular file")));
        }
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(living(path)),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        // The last holder removed the file: a lock on a file without a name excludes no other mirror.
        if identity(&lock).is_ok_and(|there| there == (held.dev(), held.ino())) {
            let name = SocketFile {
                path: lock,
                identity: (held.dev(), held.ino()),
            };
            return Ok(Lock {
                _name: name,
                _file: file,
            });
        }
    }
    Err(living(path))
}

/// Its name is removed first: see [`lock`].
struct Lock {
    _name: SocketFile,
    _file: File,
}

/// Removes the file where it is a socket without a listener.
fn remove_dead(path: &Path, address: &SocketAddrUnix) -> Result<(), ListenError> {
    let failed = |source, remedy| ListenError::Unix {
        path: path.to_owned(),
        source,
        remedy,
    };
    match fs::symlink_metadata(path) {
        Err(gone) if gone.kind() == ErrorKind::NotFound => return Ok(()),
        Err(other) => return Err(error(path, other)),
        Ok(file) if !file.file_type().is_socket() => {
            let why = io::Error::new(
                ErrorKind::AlreadyExists,
                "a file that is no socket is there",
            );
            return Err(failed(why, "give another path, or remove the file"));
        }
        Ok(_) => {}
    }
    // Without waiting: a listener whose queue is full is alive.
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let connected = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)
        .and_then(|socket| connect(&socket, address));
    match connected {
        Err(rustix::io::Errno::CONNREFUSED) => {
            fs::remove_file(path).map_err(|source| error(path, source))
        }
        Err(rustix::io::Errno::NOENT) => Ok(()),
        Ok(()) | Err(rustix::io::Errno::AGAIN) => Err(living(path)),
        Err(other) => Err(error(path, other.into())),
    }
}

fn living(path: &Path) -> ListenError {
    ListenError::Unix {
        path: path.to_owned(),
        source: io::Error::new(ErrorKind::AddrInUse, "another process listens there"),
        remedy: "end that process first, or give another path",
    }
}

pub(super) fn error(path: &Path, source: io::Error) -> ListenError {
    ListenError::Unix {
        path: path.to_owned(),
        source,
        remedy: "give a path in a folder that is there and in which this user may make files",
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    const MODE: u32 = 0o660;

    fn refusal(path: &Path) -> String {
        open(path, MODE).unwrap_err().to_string()
    }

    #[test]
    fn a_socket_has_its_mode_and_is_removed_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        for mode in [0o600, 0o660, 0o666] {
            let (_socket, file) = open(&path, mode).unwrap();
            assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, mode);
            UnixStream::connect(&path).unwrap();
            drop(file);
            assert!(!path.exists());
        }
    }

    #[test]
    fn a_dead_socket_is_replaced_and_a_living_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists());
        let (socket, file) = open(&path, MODE).unwrap();
        let said = refusal(&path);
        assert!(said.contains("another process listens there"), "{said}");
        // The file of another socket is not this one's to remove.
        fs::remove_file(&path).unwrap();
        let other = UnixListener::bind(&path).unwrap();
        drop((socket, file));
        assert!(path.exists());
        drop(other);
    }

    #[test]
    fn of_several_that_start_at_once_one_listens() {
        const STARTING: usize = 4;
        for dead in [false, true].repeat(50) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("s");
            if dead {
                drop(UnixListener::bind(&path).unwrap());
            }
            let barrier = std::sync::Barrier::new(STARTING);
            let start = || {
                barrier.wait();
                open(&path, MODE)
            };
            let opened: Vec<_> = std::thread::scope(|scope| {
                let starting: Vec<_> = (0..STARTING).map(|_| scope.spawn(start)).collect();
                let ended = starting.into_iter().map(|thread| thread.join().unwrap());
                ended.collect()
            });
            assert_eq!(opened.iter().filter(|one| one.is_ok()).count(), 1);
            // Nothing but the socket's own file is left.
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
            UnixStream::connect(&path).unwrap();
        }
    }

    #[test]
    fn a_lock_that_is_no_regular_file_is_refused_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let (path, lock) = (folder.path().join("s"), folder.path().join(".s.lock"));
        let target = folder.path().join("target");
        std::os::unix::fs::symlink(&target, &lock).unwrap();
        assert!(refusal(&path).contains(".s.lock"), "{}", refusal(&path));
        assert!(!target.exists(), "a link is not followed");
        fs::remove_file(&lock).unwrap();
        let fifo = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, &lock, fifo.0, fifo.1, 0).unwrap();
        let said = refusal(&path);
        assert!(
            said.contains(".s.lock") && said.contains("remove this lock file"),
            "{said}"
        );
        // With a reader it opens, and is no regular file.
        let mut reader = OpenOptions::new();
        reader
            .read(true)
            .custom_flags(OFlags::NONBLOCK.bits() as i32);
        let _reader = reader.open(&lock).unwrap();
        assert!(refusal(&path).contains("no regular file"));
        assert!(!path.exists());
    }

    #[test]
    fn another_kind_of_file_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        fs::write(&path, "precious").unwrap();
        let said = refusal(&path);
        assert!(said.contains("no socket is there"), "{said}");
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        let said = refusal(&folder.path().join("none/s"));
        assert!(said.contains("give a path in a folder"), "{said}");
    }
}
