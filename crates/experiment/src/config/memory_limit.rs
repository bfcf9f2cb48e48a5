//! The memory that configurations may use: what was asked for, else what the cgroup that `tune` runs in allows.

use super::values::parse_size;
use super::{Asked, Problem};

/// Switches the cgroup's limit off.
const NONE: &str = "none";
const MIB: u64 = 1 << 20;

/// Bytes, and the cgroup's limit where these are a share of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryLimit {
    pub bytes: Option<u64>,
    pub of_cgroup: Option<u64>,
}

/// `of_cgroup` is the cgroup's limit, where it is to be kept.
pub fn resolve(asked: Option<&Asked>, of_cgroup: Option<u64>) -> Result<MemoryLimit, Problem> {
    match (asked, of_cgroup) {
        (Some(asked), _) if asked.text.trim() == NONE => Ok(MemoryLimit::default()),
        (Some(asked), _) => Ok(MemoryLimit {
            bytes: Some(parse_size(asked)?),
            of_cgroup: None,
        }),
        // In whole MiB, so that the same limit can be given by hand.
        (None, Some(limit)) => Ok(MemoryLimit {
            bytes: Some((limit as f64 * host::USABLE_SHARE) as u64 / MIB * MIB),
            of_cgroup,
        }),
        (None, None) => Ok(MemoryLimit::default()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cgroups_limit_counts_unless_another_or_none_is_asked_for() {
        let asked = |text: &str| Some(Asked::new(text, "--max-memory"));
        let found = |asked: Option<Asked>, of_cgroup| resolve(asked.as_ref(), of_cgroup).unwrap();
        let cgroup = Some(512 << 20);
        let usable = MemoryLimit {
            bytes: Some(460 << 20),
            of_cgroup: cgroup,
        };
        assert_eq!(found(None, cgroup), usable);
        let given = MemoryLimit {
            bytes: Some(300 << 20),
            of_cgroup: None,
        };
        assert_eq!(found(asked("300MiB"), cgroup), given);
        assert_eq!(found(asked("none"), cgroup), MemoryLimit::default());
        assert_eq!(found(None, None), MemoryLimit::default());
        assert!(resolve(asked("much").as_ref(), cgroup).is_err());
    }
}
