//! Files of the kernel as text.

use crate::error::HostError;
use std::path::Path;

pub(crate) fn read(path: &Path) -> Result<String, HostError> {
    std::fs::read_to_string(path).map_err(|e| HostError::io(path, e))
}
