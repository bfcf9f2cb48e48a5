//! A folder keeps the files of processes that are long gone: which of them belong together.

use flight::Record;
use small_sort::SmallSort;

use crate::ProcessTrace;

/// Processes of one server follow upon each other (phased restarts), and idle ones have gaps.
const TOGETHER_NS: u64 = 60_000_000_000;

/// The processes that served with the latest one, and how many others were left out. Those without a request that counts
/// are left out uncounted: they say nothing.
pub(crate) fn latest(
    processes: Vec<ProcessTrace>,
    counts: impl Fn(&Record) -> bool,
) -> (Vec<ProcessTrace>, usize) {
    let mut spans: Vec<(u64, u64, ProcessTrace)> = processes
        .into_iter()
        .filter_map(|process| {
            let (from, to) = span(&process.flight.records, &counts)?;
            Some((from, to, process))
        })
        .collect();
    // From the latest end backwards: a span that overlaps those taken so far belongs to them.
    spans.small_sort_by_key(|(_, to, _)| std::cmp::Reverse(*to));
    let mut reaches = spans.first().map_or(0, |(from, _, _)| *from);
    let found = spans.len();
    let taken: Vec<ProcessTrace> = spans
        .into_iter()
        .take_while(|(from, to, _)| {
            let together = to.saturating_add(TOGETHER_NS) >= reaches;
            reaches = reaches.min(*from);
            together
        })
        .map(|(_, _, process)| process)
        .collect();
    let left_out = found - taken.len();
    (taken, left_out)
}

/// From the first request to the end of the last, by the wall clock, which all files share over reboots.
fn span(records: &[Record], counts: impl Fn(&Record) -> bool) -> Option<(u64, u64)> {
    let requests = || records.iter().filter(|record| counts(record));
    let from = requests().map(|record| record.arrival_wall_ns).min()?;
    let ended = |record: &Record| record.arrival_wall_ns.saturating_add(record.wall_ns);
    Some((from, requests().map(ended).max()?))
}
