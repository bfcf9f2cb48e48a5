//! What can go wrong with the folder of files.

use std::io;
use std::path::{Path, PathBuf};

/// What can go wrong with the folder.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot {action} {path}: {source}")]
    Io {
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error(
        "another exporter writes files of {service} as {instance} into {path}; end it, or give each exporter a name with --resource service.instance.id=NAME"
    )]
    Taken {
        service: String,
        instance: String,
        path: PathBuf,
    },
    #[error(
        "{path}, which says how far the exporter has read, is damaged: {why}; remove it, and the exporter reads again every request that the flight files still have"
    )]
    Damaged { path: PathBuf, why: String },
    #[error("rows cannot be encoded: {0}")]
    Encode(#[from] parquet::errors::ParquetError),
}

impl StoreError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_owned();
        move |source| StoreError::Io {
            action,
            path,
            source,
        }
    }
}
