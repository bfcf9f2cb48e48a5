//! Capture files (`.pbc`): a head, then blocks of packed records, each of which
//! vouches for itself. `docs/formats.md` has the bytes.

mod block;
mod disk;
mod head;
mod input;
mod reader;
mod record;
mod recorder;
mod rotation;
mod state;
mod writer;

pub use disk::{Disk, Files, Space};
pub use head::{About, FileError, Head, Kind, unredacted};
pub use reader::{Damage, Damaged, Reader};
pub use record::Record;
pub use recorder::Recorder;
pub use rotation::{Created, Limits};
pub use state::{Change, Counts, Lost, State};
pub use writer::{WriteError, Writer};

pub(crate) use head::MAGIC;
