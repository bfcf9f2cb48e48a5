//! What a process tree takes and what its host really has: memory and CPU from `/proc`, cores and limits
//! from affinity and cgroups, and whatever on the host would spoil a measurement.
//!
//! Parsers take text and drivers fetch it; the roots of `/proc`, `/sys` and the cgroups are parameters
//! ([`Roots`], [`Tree::at`]). Processes that vanish while they are being looked at are no error. Starting,
//! pinning and ending processes is left to others.

pub mod cgroup;
pub mod cores;
pub mod cpu;
mod error;
pub mod facts;
pub mod memory;
pub mod monitor;
pub mod procfs;
mod roots;
mod tree;
mod warning;

pub use cores::Cores;
pub use cpu::TreeCpu;
pub use error::HostError;
pub use facts::HostFacts;
pub use memory::{ProcessMemory, TreeMemory};
pub use monitor::{Monitor, Sample};
pub use roots::Roots;
pub use tree::Tree;
pub use warning::{Warning, warnings};
