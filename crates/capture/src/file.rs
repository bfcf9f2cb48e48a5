//! Capture files (`.pbc`): a head, then blocks of packed records, each of which
//! vouches for itself. `docs/formats.md` has the bytes.

mod block;
mod head;
mod input;
mod reader;
mod record;
mod recorder;
mod rotation;
mod writer;

pub use head::{About, FileError, Head, Kind};
pub use reader::{Damage, Damaged, Reader};
pub use record::Record;
pub use recorder::{Counts, Recorder, Stopped};
pub use rotation::Limits;
pub use writer::{WriteError, Writer};

pub(crate) use head::MAGIC;
