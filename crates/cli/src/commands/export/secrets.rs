//! What proves to a receiver who pushes.

use crate::Failure;
use crate::client::credentials;
use std::path::PathBuf;

/// The file that a secret is read from, before each push: it may be replaced while the exporter runs.
#[derive(Debug, Clone)]
pub enum Secrets {
    None,
    Token(PathBuf),
    Headers(PathBuf),
}

impl Secrets {
    /// Names and values of headers.
    pub fn headers(&self) -> Result<Vec<(String, String)>, Failure> {
        match self {
            Secrets::None => Ok(Vec::new()),
            Secrets::Token(file) => {
                let flag = "--token-file";
                let value = credentials::bearer(flag, &credentials::read(file, flag)?)?;
                Ok(vec![("Authorization".to_owned(), value)])
            }
            Secrets::Headers(file) => {
                let flag = "--header-file";
                credentials::headers(flag, &credentials::read(file, flag)?)
            }
        }
    }
}
