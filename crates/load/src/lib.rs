//! Schedule -> requests -> histograms: drives HTTP/1.1 traffic at one server
//! and measures what its users would see. Latency counts from the instant at
//! which a request was due, failures count as infinite latency, and the
//! generator reports its own delay apart.
//!
//! [`run`] blocks the calling thread: one epoll set, one timer, no other
//! threads. It starts no server, judges no result and prints nothing. What is
//! measured and how is described in `docs/load.md`.

mod arrivals;
mod broken;
mod check;
mod chunked;
mod classes;
mod clock;
mod connection;
mod course;
mod endpoint;
mod engine;
mod errors;
mod failure;
mod hanging;
mod header;
mod held_up;
mod histogram;
mod https;
mod keeping;
mod limits;
mod observer;
mod outcome;
mod parser;
mod plan;
mod recorded;
mod recorded_statuses;
mod sendable;
mod sequence;
mod session;
mod sum;
mod tally;
mod target;
mod target_error;
mod template;
mod think;
mod timer;
mod tls_settings;
mod transport;
mod workload;
mod workload_file;

pub use arrivals::{Arrivals, Offsets, Part, Profile, ProfileProblem, Spacing};
pub use broken::BrokenPage;
pub use check::{GeneratorTrouble, LATE, MAX_CPU_SHARE, MAX_LATE_P50, MAX_LATE_P99};
pub use classes::{ByClass, StatusClass};
pub use course::Interval;
pub use endpoint::{EndpointOutcome, Redirect, ToHttps};
pub use engine::run;
pub use errors::Errors;
pub use failure::{FirstFailure, TIMED_OUT};
pub use hanging::HangingPage;
pub use header::{Header, HeaderProblem};
pub use histogram::{HIGHEST_US, INFINITE_FROM_US, finite_mean_us, new_histogram, quantile_us};
pub use https::{Https, asked_for_https, https, shown_location, takes_forwarded};
pub use keeping::KEEP_LIMIT;
pub use observer::{Observer, Progress, Silent};
pub use outcome::{Answered, Counts, FIRST_ARRIVALS, LateAnswers, MAX_SLICES, Outcome, Slice};
pub use parser::{Answer, Fed, HEAD_LIMIT, HEADER_LIMIT, Kept, ParseError, ResponseParser};
pub use plan::{DEFAULT_MAX_CONNECTIONS, LoadError, Mode, Plan, Stop};
pub use recorded::{OTHER, RecordedRequest};
pub use recorded_statuses::{NO_STATUSES, RecordedStatuses, StatusChange};
pub use sequence::{DECK, Sequence};
pub use target::{Address, Target};
pub use target_error::TargetError;
pub use think::Think;
pub use tls_settings::TlsOptions;
pub use workload::{MAX_NAMES, Request, Workload, WorkloadProblem};
