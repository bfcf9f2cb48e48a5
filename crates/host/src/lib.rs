//! What a process tree takes and what its host really has: memory and CPU from `/proc`, cores and limits
//! from affinity and cgroups, and whatever on the host would spoil a measurement or harm a server.
//!
//! Parsers take text and drivers fetch it; the roots of `/proc`, `/sys` and the cgroups are parameters
//! ([`Roots`], [`Tree::at`]). Processes that vanish while they are being looked at are no error. Of the host it changes nothing but
//! the control group of a pod ([`pod`]). Starting, pinning and ending processes is left to others.

pub mod cgroup;
pub mod check;
pub mod checks;
pub mod cores;
pub mod cpu;
pub mod disk;
pub mod elf;
mod error;
pub mod facts;
mod group_memory;
mod group_use;
mod mappings;
pub mod memory;
pub mod monitor;
mod other_work;
pub mod pod;
mod pressure;
pub mod process;
pub mod procfs;
mod roots;
pub mod serving;
pub mod smaps;
pub mod sockets;
mod text;
mod tree;
mod warning;

pub use check::{Checked, Finding, Known, Outcome, Severity};
pub use cores::Cores;
pub use cpu::TreeCpu;
pub use error::HostError;
pub use facts::HostFacts;
pub use group_memory::{GroupMemory, group_memory};
pub use group_use::{MemoryUse, Throttling, USABLE_SHARE};
pub use mappings::{Mappings, ProcessStatus, mappings, process_status};
pub use memory::{ProcessMemory, TreeMemory};
pub use monitor::{Monitor, Sample};
pub use other_work::{OtherWork, OtherWorkSoFar};
pub use pod::PodGroup;
pub use pressure::{Pressure, parse_pressure};
pub use process::ProcessFacts;
pub use roots::Roots;
pub use serving::ServingFacts;
pub use smaps::{Mapped, Maps, Part};
pub use sockets::{Connection, Connections};
pub use tree::Tree;
pub use warning::warnings;
