//! What stands in front of a server that runs.

use std::path::PathBuf;

use crate::nginx::{self, Nginx};
use crate::read_back::{FrontReadBack, Mismatch};
use crate::service::Service;

#[derive(Debug)]
pub(crate) struct Front {
    pub(crate) port: u16,
    pub(crate) process: Service,
    pub(crate) asked: Nginx,
    pub(crate) version: String,
    pub(crate) certificate: Option<PathBuf>,
}

impl Front {
    pub(crate) fn read_back(&self) -> (FrontReadBack, Option<Mismatch>) {
        let workers = nginx::workers(self.process.pid);
        let read = FrontReadBack {
            version: self.version.clone(),
            workers,
        };
        (read, nginx::mismatches(&self.asked, workers))
    }
}
