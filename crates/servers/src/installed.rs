//! Programs that a server needs in addition to Ruby, and which package brings a missing one.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::error::StartError;
use crate::files::failed;

/// Where Debian puts what is for the administrator, which a user's `PATH` may lack.
const FOR_ADMINISTRATORS: [&str; 3] = ["/usr/local/sbin", "/usr/sbin", "/sbin"];

/// Finds `program`: a path as it is, a name on the `PATH` and in the administrator's folders. The answer is absolute.
///
/// # Errors
/// When it is nowhere; names `package`.
pub(crate) fn find(program: &Path, package: &'static str) -> Result<PathBuf, StartError> {
    let absent = || StartError::NotInstalled {
        what: program.display().to_string(),
        package,
    };
    if program.components().count() > 1 {
        if !program.is_file() {
            return Err(absent());
        }
        return std::path::absolute(program).map_err(failed("find", program));
    }
    let on_path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(OsStr::new(&on_path))
        .chain(FOR_ADMINISTRATORS.map(PathBuf::from))
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
        .ok_or_else(absent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_of_what_is_absent_is_named() {
        assert!(find(Path::new("sh"), "dash").is_ok());
        assert!(find(Path::new("/bin/sh"), "dash").is_ok());
        for absent in ["no-such-program", "/no/such/program"] {
            let message = find(Path::new(absent), "a-package")
                .unwrap_err()
                .to_string();
            assert!(
                message.contains(absent) && message.contains("a-package"),
                "{message}"
            );
        }
    }
}
