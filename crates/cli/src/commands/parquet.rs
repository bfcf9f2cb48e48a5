//! What the commands that write Parquet files say when they cannot.

use archive::StoreError;
use std::io::ErrorKind;

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
            _ => "",
        },
        _ => "",
    };
    format!("{why}{remedy}")
}
