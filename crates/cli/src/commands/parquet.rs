//! What the commands that write Parquet files say when they cannot.

use archive::StoreError;
use std::io::ErrorKind;

/// What is wrong with a name that becomes a part of paths.
pub fn name_refused(flag: &str, name: &str) -> Option<String> {
    (!archive::is_name(name)).then(|| {
        format!(
            "{flag} = {name:?}: --parquet makes it a part of paths; {}",
            archive::NAMES
        )
    })
}

/// The message, with the remedy.
pub fn remedied(why: &StoreError) -> String {
    let remedy = match why {
        StoreError::Io { source, .. } => match source.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                "; free some room, or name a folder on another disk"
            }
            ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                "; name a folder that this user can write"
            }
            ErrorKind::NotADirectory | ErrorKind::AlreadyExists => "; name a folder, not a file",
            _ => "",
        },
        _ => "",
    };
    format!("{why}{remedy}")
}

#[cfg(test)]
mod tests {
    use super::remedied;

    #[test]
    fn a_file_in_the_folders_place_has_its_remedy() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let why = archive::Store::open(file.path(), "shop", "app1").unwrap_err();
        let said = remedied(&why);
        assert!(said.starts_with("cannot create "), "{said}");
        assert!(said.ends_with("; name a folder, not a file"), "{said}");
    }
}
