//! What stands in front of a server that runs.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use crate::nginx::{self, FrontReadBack, Nginx};
use crate::port;
use crate::read_back::Mismatch;
use crate::running::{Running, Service};

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

impl Running {
    /// Where clients ask: the port on 127.0.0.1, the front's where there is one.
    pub fn port(&self) -> u16 {
        self.front
            .as_ref()
            .map_or(self.upstream_port, |front| front.port)
    }

    /// Where clients ask: the front's address where there is one.
    pub fn addr(&self) -> SocketAddr {
        port::loopback(self.port())
    }

    /// The server's own address, past what stands in front of it.
    pub fn upstream_addr(&self) -> SocketAddr {
        port::loopback(self.upstream_port)
    }

    /// `https` where the front talks TLS, else `http`.
    pub fn scheme(&self) -> &'static str {
        if self.certificate().is_some() {
            "https"
        } else {
            "http"
        }
    }

    /// What clients are to trust where [`Running::scheme`] is `https`: a file of one certificate, for 127.0.0.1 and
    /// `localhost`, signed by itself.
    pub fn certificate(&self) -> Option<&Path> {
        self.front.as_ref()?.certificate.as_deref()
    }

    /// The front's main process.
    pub fn front_pid(&self) -> Option<u32> {
        Some(self.front.as_ref()?.process.pid)
    }

    /// What stands in front runs with, and what of that was not asked; `None` where nothing does.
    pub fn read_back_front(&self) -> Option<(FrontReadBack, Option<Mismatch>)> {
        self.front.as_ref().map(Front::read_back)
    }
}
