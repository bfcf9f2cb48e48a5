//! What has become of the records that were to be written.

use capture::file::{Counts, State};
use serde::Serialize;
use std::collections::BTreeMap;

/// The requests with `--record`.
pub const RECORDING: &str = "recording";
/// The pairs of answers with `--shadow-log`.
pub const SHADOW_LOG: &str = "shadow_log";

/// What has become of the records of one kind, in all files together.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Written {
    /// Whether they reach a file now, by [`State::word`].
    pub state: &'static str,
    /// In a file.
    pub records: u64,
    /// Of all files.
    pub bytes: u64,
    /// Files begun.
    pub files: u64,
    /// In none, by cause. Requests after the limit are not among them.
    pub lost: BTreeMap<&'static str, u64>,
}

impl Written {
    /// Of one recorder after another. `backlog`: records that none of them got, because the disk was too slow.
    pub fn of<'a>(recorders: impl IntoIterator<Item = &'a Counts>, backlog: u64) -> Written {
        let mut all = Written {
            state: State::default().word(),
            ..Written::default()
        };
        let mut lost = |cause, count| *all.lost.entry(cause).or_default() += count;
        lost("backlog", backlog);
        for counts in recorders {
            lost("no_space", counts.lost.no_space);
            lost("failed", counts.lost.failed);
            lost("too_large", counts.lost.too_large);
            lost("limit", counts.lost.limit);
            all.state = counts.state.word();
            all.records += counts.written;
            all.bytes += counts.bytes;
            all.files += u64::from(counts.files);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn counts_of_several_recorders_add_up_and_the_last_ones_state_holds() {
        let counts = |written, no_space, state| Counts {
            state,
            written,
            lost: capture::file::Lost {
                no_space,
                ..Default::default()
            },
            bytes: 10,
            files: 2,
            path: PathBuf::new(),
        };
        let both = [
            counts(3, 1, State::LimitReached),
            counts(4, 2, State::Paused),
        ];
        let found = Written::of(&both, 5);
        assert_eq!(
            (found.state, found.records, found.bytes, found.files),
            ("paused", 7, 20, 4)
        );
        let lost = [
            ("backlog", 5),
            ("failed", 0),
            ("limit", 0),
            ("no_space", 3),
            ("too_large", 0),
        ];
        assert_eq!(found.lost, lost.into_iter().collect());
    }
}
