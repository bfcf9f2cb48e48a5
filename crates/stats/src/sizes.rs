//! Among arms that perform the same, the smallest.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// An estimate with its interval, in the unit of the caller.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Range {
    pub low: f64,
    pub estimate: f64,
    pub high: f64,
}

/// What an arm costs to run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Size {
    /// Proportional set size of the whole process tree, in bytes.
    pub pss: Range,
    pub processes: u32,
    pub threads: u32,
}

/// The index of the smallest: least PSS, except that arms whose PSS interval
/// reaches the least one's are ranked by fewer processes, then by fewer
/// threads, then by PSS after all. `None` without candidates.
pub fn smallest(candidates: &[Size]) -> Option<usize> {
    let leanest = candidates
        .iter()
        .min_by(|a, b| a.pss.estimate.total_cmp(&b.pss.estimate))?;
    let close = |size: &Size| size.pss.low <= leanest.pss.high;
    let cheaper = |a: &Size, b: &Size| -> Ordering {
        (a.processes, a.threads)
            .cmp(&(b.processes, b.threads))
            .then(a.pss.estimate.total_cmp(&b.pss.estimate))
    };
    let contenders = candidates.iter().enumerate().filter(|(_, s)| close(s));
    contenders
        .min_by(|(_, a), (_, b)| cheaper(a, b))
        .map(|(index, _)| index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(pss: f64, processes: u32, threads: u32) -> Size {
        Size {
            pss: Range {
                low: pss - 10.0,
                estimate: pss,
                high: pss + 10.0,
            },
            processes,
            threads,
        }
    }

    #[test]
    fn memory_beyond_its_interval_goes_first() {
        assert_eq!(smallest(&[size(300.0, 1, 5), size(200.0, 4, 9)]), Some(1));
    }

    #[test]
    fn within_it_processes_then_threads() {
        let arms = [size(200.0, 3, 3), size(215.0, 2, 9), size(210.0, 2, 5)];
        assert_eq!(smallest(&arms), Some(2));
        assert_eq!(smallest(&[]), None);
    }
}
