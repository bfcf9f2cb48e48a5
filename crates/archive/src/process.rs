//! The process that a row is of, and what that process measures.

use crate::column::{Column, Value, integer};
use flight::{CallKind, Header, PerCall};
use std::sync::Arc;

/// The exporter that wrote a row.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Writer {
    /// The name of this host or pod.
    pub instance: String,
    /// The version of the service; empty where it is not known.
    pub version: String,
}

/// The group of processes that a row is of.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Service {
    pub writer: Arc<Writer>,
    pub application: String,
    pub arm: String,
}

/// A process of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    pub service: Service,
    pub pid: u32,
    pub worker: Option<u32>,
    pub measured: Measured,
    /// Unix time less `CLOCK_MONOTONIC`, nanoseconds.
    pub boot_ns: u64,
}

/// Which fields of its records say something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// Whether time is split by the GVL.
    pub split: bool,
    pub lock_wait: bool,
    pub cpu: bool,
    pub gc: bool,
    pub gc_major: bool,
    pub allocations: bool,
    pub server: bool,
    pub calls: PerCall<bool>,
}

impl Service {
    pub fn of(header: &Header, writer: &Arc<Writer>) -> Service {
        Service {
            writer: Arc::clone(writer),
            application: flight::application_of(&header.app_root).to_owned(),
            arm: header.about.arm.clone(),
        }
    }
}

impl Process {
    pub fn of(header: &Header, writer: &Arc<Writer>) -> Process {
        Process {
            service: Service::of(header, writer),
            pid: header.pid,
            worker: header.server.worker_index,
            measured: Measured::by(header),
            boot_ns: header
                .created_wall_ns
                .saturating_sub(header.created_mono_ns),
        }
    }

    /// Unix time in microseconds of an instant of the process's `CLOCK_MONOTONIC`.
    pub fn at_us(&self, mono_ns: u64) -> i64 {
        integer(self.boot_ns.saturating_add(mono_ns) / 1_000)
    }
}

impl Measured {
    /// Everything.
    #[cfg(test)]
    pub fn all() -> Measured {
        Measured {
            split: true,
            lock_wait: true,
            cpu: true,
            gc: true,
            gc_major: true,
            allocations: true,
            server: true,
            calls: PerCall::from_fn(|_| true),
        }
    }

    fn by(header: &Header) -> Measured {
        let is = |field| metrics::measures(header, field);
        Measured {
            split: is("held_ns"),
            lock_wait: is("lock_wait_ns"),
            cpu: is("cpu_ns"),
            gc: is("gc_ns"),
            gc_major: is("gc_major_us"),
            allocations: is("allocations"),
            server: is("server_held_us"),
            calls: PerCall::from_fn(|kind: CallKind| is(kind.field())),
        }
    }
}

/// A row of one service.
pub trait OfService: Sized + 'static {
    fn service(&self) -> &Service;

    /// The columns that say which service it is.
    const SERVICE: &'static [Column<Self>] = &[
        Column {
            name: "instance",
            about: "the host or pod whose exporter wrote the row",
            value: Value::Text(|row| some(&row.service().writer.instance)),
        },
        Column {
            name: "version",
            about: "the version of the service, `service.version`",
            value: Value::Text(|row| some(&row.service().writer.version)),
        },
        Column {
            name: "application",
            about: "the root folder of the application, without its release",
            value: Value::Text(|row| some(&row.service().application)),
        },
        Column {
            name: "arm",
            about: "the arm of an experiment, `POWERBAND_ARM`",
            value: Value::Text(|row| some(&row.service().arm)),
        },
    ];
}

/// A row of one process.
pub trait OfProcess: Sized + 'static {
    fn process(&self) -> &Process;

    /// The columns that say which process of its service it is.
    const PROCESS: &'static [Column<Self>] = &[
        Column {
            name: "pid",
            about: "the number of the process, in its PID namespace",
            value: Value::Integer(|row| Some(row.process().pid.into())),
        },
        Column {
            name: "worker",
            about: "Puma's index of the worker",
            value: Value::Integer(|row| row.process().worker.map(i64::from)),
        },
    ];
}

impl<R: OfProcess> OfService for R {
    fn service(&self) -> &Service {
        &self.process().service
    }
}

/// A text that is known.
pub fn some(text: &str) -> Option<&str> {
    (!text.is_empty()).then_some(text)
}
