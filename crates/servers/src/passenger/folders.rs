//! The folders of one start of Passenger, and as whom Apache serves.
//!
//! They are in the folder for temporary files, because the path of a socket holds 107 bytes and a run's folder may be
//! deep in private ones.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use crate::error::StartError;
use crate::files::{failed, nonce, private_dir};

/// Users that may serve in root's place, the usual one first.
const SERVANTS: [&str; 4] = ["www-data", "apache", "http", "nobody"];

/// So many hexadecimal digits: no other folder has the name, and the path stays short.
const NAME: usize = 16;
/// A socket's path holds 107 bytes, and Passenger adds `/passenger.1234567/agents.s/watchdog_api` to that of its
/// instances.
const LONGEST_TEMPORARY: usize = 107 - "/powerband-/instances".len() - NAME - 40;

#[derive(Debug)]
pub(super) struct Folders {
    /// Holds all of the others.
    pub(super) whole: PathBuf,
    pub(super) instances: PathBuf,
    pub(super) buffers: PathBuf,
    pub(super) run: PathBuf,
    /// Passenger's own temporary files: it writes the whole environment there when it cannot spawn a process.
    pub(super) temporary: PathBuf,
    /// What Apache serves as it is: the application's `public`, or nothing where Apache may not go there.
    pub(super) public: PathBuf,
    /// The user that Apache's processes serve as; `None` where they may not change user.
    pub(super) servant: Option<User>,
    /// This process's.
    pub(super) user: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct User {
    pub(super) name: String,
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl Folders {
    pub(super) fn make(app_dir: &Path) -> Result<Self, StartError> {
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        let users = || passwd.lines().filter_map(parse_user);
        let me = rustix::process::geteuid();
        let user = users().find(|user| user.uid == me.as_raw());
        let servant = SERVANTS
            .iter()
            .find_map(|name| users().find(|user| user.name == *name))
            .filter(|_| me.is_root());
        let whole = short_temporary().join(format!("powerband-{}", &nonce()?[..NAME]));
        let folders = ["instances", "buffers", "run", "tmp", "public"].map(|name| whole.join(name));
        for folder in &folders {
            private_dir(folder)?;
        }
        let [instances, buffers, run, temporary, own_public] = folders;
        if let Some(servant) = &servant {
            // To go through; the sockets are behind a name that Passenger makes.
            for folder in [&whole, &instances, &own_public] {
                let open = || {
                    chown(folder, None, Some(servant.gid))?;
                    fs::set_permissions(folder, fs::Permissions::from_mode(0o750))
                };
                open().map_err(failed("open to Apache the folder", folder))?;
            }
        }
        let public = app_dir.join("public");
        let open = |servant: &User| may_enter(&public, servant);
        let theirs = public.is_dir() && servant.as_ref().is_none_or(open);
        Ok(Folders {
            whole,
            instances,
            buffers,
            run,
            temporary,
            public: if theirs { public } else { own_public },
            servant,
            user: user.map(|user| user.name),
        })
    }
}

/// The folder for temporary files, or the usual one where its path is too long to hold sockets.
fn short_temporary() -> PathBuf {
    let temporary = std::env::temp_dir();
    if temporary.as_os_str().len() <= LONGEST_TEMPORARY {
        temporary
    } else {
        "/tmp".into()
    }
}

/// A line of `/etc/passwd`.
fn parse_user(line: &str) -> Option<User> {
    let fields: Vec<&str> = line.split(':').collect();
    Some(User {
        name: (*fields.first()?).to_string(),
        uid: fields.get(2)?.parse().ok()?,
        gid: fields.get(3)?.parse().ok()?,
    })
}

/// By the permissions of the folder and all above it; further groups and access lists are not looked at.
fn may_enter(folder: &Path, user: &User) -> bool {
    folder.canonicalize().is_ok_and(|real| {
        real.ancestors().all(|folder| {
            let Ok(meta) = fs::metadata(folder) else {
                return false;
            };
            let bit = match (meta.uid() == user.uid, meta.gid() == user.gid) {
                (true, _) => 0o100,
                (false, true) => 0o010,
                (false, false) => 0o001,
            };
            meta.mode() & bit != 0
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_folder_on_the_way_keeps_others_out() {
        let dir = tempfile::tempdir().unwrap();
        let inner = dir.path().join("public");
        fs::create_dir(&inner).unwrap();
        let of = |path: &Path| fs::metadata(path).unwrap();
        let owner = User {
            name: "me".into(),
            uid: of(&inner).uid(),
            gid: of(&inner).gid(),
        };
        let stranger = User {
            uid: owner.uid + 1,
            gid: owner.gid + 1,
            ..owner.clone()
        };
        let mode = |mode| fs::set_permissions(dir.path(), fs::Permissions::from_mode(mode));
        mode(0o700).unwrap();
        assert!(may_enter(&inner, &owner) && !may_enter(&inner, &stranger));
        mode(0o711).unwrap();
        assert!(may_enter(&inner, &stranger));
    }

    #[test]
    fn users_are_read() {
        let user = parse_user("www-data:x:33:34:www-data:/var/www:/usr/sbin/nologin").unwrap();
        assert_eq!(
            (user.name.as_str(), user.uid, user.gid),
            ("www-data", 33, 34)
        );
        assert_eq!(parse_user("+::"), None);
    }
}
