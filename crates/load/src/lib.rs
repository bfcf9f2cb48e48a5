//! Schedule -> requests -> histograms: drives HTTP/1.1 traffic at one server
//! and measures what its users would see. Latency counts from the instant at
//! which a request was due, failures count as infinite latency, and the
//! generator reports its own delay apart.
//!
//! [`run`] blocks the calling thread: one epoll set, one timer, no other
//! threads. It starts no server, judges no result and prints nothing. What is
//! measured and how is described in `docs/load.md`.

mod arrivals;
mod check;
mod chunked;
mod clock;
mod connection;
mod engine;
mod limits;
mod observer;
mod outcome;
mod parser;
mod plan;
mod sequence;
mod tally;
mod template;
mod timer;
mod workload;
mod workload_file;

pub use arrivals::{Arrivals, Offsets};
pub use check::{GeneratorTrouble, LATE, MAX_CPU_SHARE, MAX_LATE_P50, MAX_LATE_P99};
pub use engine::run;
pub use observer::{Observer, Progress, Silent};
pub use outcome::{
    Counts, EndpointOutcome, Errors, FIRST_ARRIVALS, HIGHEST_US, MAX_SLICES, Outcome, Slice,
    new_histogram, quantile_us,
};
pub use parser::{Answer, Fed, HEAD_LIMIT, HEADER_LIMIT, ParseError, ResponseParser};
pub use plan::{DEFAULT_MAX_CONNECTIONS, LoadError, Mode, Plan, Stop};
pub use sequence::{DECK, Sequence};
pub use workload::{MAX_NAMES, Request, Workload, WorkloadProblem};
