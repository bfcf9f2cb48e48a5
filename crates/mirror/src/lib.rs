//! Live traffic -> the primary, and copies of it -> shadows.
//!
//! Two halves that share nothing but a queue. `proxy` serves the client: it reads
//! a request, gives it to the primary, and gives the primary's answer back. It
//! never waits for anything else. It passes what it has served to a `Tap`:
//! `shadow` gives the same request to the shadows on a thread of its own and
//! compares their answers with the primary's. Writing files, printing and
//! judging are left to others.

pub mod cause;
mod count;
pub mod counts;
pub mod dialer;
mod digest;
mod exposition;
mod headers;
pub mod http1;
mod latency;
mod listener;
mod open_files;
pub mod proxy;
pub mod proxy_protocol;
pub mod settings;
pub mod shadow;
pub mod socket;
pub mod stream;
pub mod taken;
pub mod tls;

pub use cause::{Cause, Causes, Effect};
pub use counts::{Counts, ShadowSnapshot, Snapshot};
pub use exposition::exposition;
pub use headers::{Headers, Offered};
pub use listener::{Address, ListenError};
pub use open_files::{NoRoom, OpenFiles, open_now};
pub use settings::{
    Client, Destination, Filter, Limits, Listen, ListenAt, Primary, Rewrite, Sample, Settings,
    Shadow, Upstream,
};
pub use shadow::{Shadows, ShadowsError};
pub use taken::{Admission, Head, Nobody, PrimaryAnswer, Taken, Tap};
