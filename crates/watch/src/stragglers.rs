//! Workers unlike their siblings.

use crate::process_row::ProcessRow;
use std::collections::HashMap;

/// Below so many requests a mean says little.
const FEW: u64 = 50;
/// A worker that takes so many times as long is named.
const UNLIKE: f64 = 1.5;
/// More resident memory than the siblings' mean that is worth a line.
const MUCH_BYTES: f64 = 100.0 * 1024.0 * 1024.0;

/// By what each process is unlike its siblings, in the order of the processes.
pub fn stragglers(processes: &[ProcessRow]) -> Vec<Vec<String>> {
    let unlike = processes.iter().map(|row| {
        let family = &row.process.family;
        let siblings: Vec<&ProcessRow> = processes
            .iter()
            .filter(|other| other.process.family == *family && other.process.pid != row.process.pid)
            .collect();
        if siblings.is_empty() || row.process.worker.is_none() {
            return Vec::new();
        }
        let whys = [
            stuck(row, &siblings),
            slow(row, &siblings),
            large(row, &siblings),
        ];
        let name = &row.process.name;
        let said = whys.into_iter().flatten();
        said.map(|why| format!("{name} {why}")).collect()
    });
    unlike.collect()
}

fn stuck(row: &ProcessRow, siblings: &[&ProcessRow]) -> Option<String> {
    let ended: u64 = siblings.iter().map(|sibling| sibling.sums.requests).sum();
    let mean = ended as f64 / siblings.len() as f64;
    let is = row.sums.requests == 0 && row.serving_throughout && mean >= 10.0;
    is.then(|| {
        format!(
            "ended no request and has {} in progress; its siblings ended {mean:.0} each",
            row.process.in_flight
        )
    })
}

/// Compares the same endpoints, because workers that got different requests take different times.
fn slow(row: &ProcessRow, siblings: &[&ProcessRow]) -> Option<String> {
    let mut theirs: HashMap<&str, (u64, u64)> = HashMap::new();
    for (name, sums) in siblings.iter().flat_map(|sibling| &sibling.endpoints) {
        let sum = theirs.entry(name).or_default();
        sum.0 += sums.requests;
        sum.1 += sums.wall.total();
    }
    let (mut requests, mut others, mut took, mut expected) = (0, 0, 0.0, 0.0);
    for (name, sums) in &row.endpoints {
        if let Some((count, wall)) = theirs.get(name.as_str()) {
            requests += sums.requests;
            others += count;
            took += sums.wall.total() as f64;
            expected += *wall as f64 / *count as f64 * sums.requests as f64;
        }
    }
    let is = requests >= FEW && others >= FEW && took >= UNLIKE * expected && expected > 0.0;
    is.then(|| {
        let ms = |ns: f64| ns / 1e6 / requests as f64;
        format!(
            "takes {:.1} times as long as its siblings for the same endpoints: {:.1} ms, not {:.1} ms, over {requests} requests",
            took / expected,
            ms(took),
            ms(expected)
        )
    })
}

fn large(row: &ProcessRow, siblings: &[&ProcessRow]) -> Option<String> {
    let own = row.process.rss_bytes?;
    let theirs: Option<Vec<u64>> = siblings.iter().map(|s| s.process.rss_bytes).collect();
    let theirs = theirs?;
    let mean = theirs.iter().sum::<u64>() as f64 / theirs.len() as f64;
    let is = own as f64 >= UNLIKE * mean && own as f64 - mean >= MUCH_BYTES;
    is.then(|| {
        format!(
            "has {} resident, its siblings {} on average",
            report::bytes(own),
            report::bytes(mean as u64)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reading::Process;
    use crate::samples::{process, served};
    use std::time::Duration;

    fn of(processes: Vec<Process>) -> Vec<(u32, String)> {
        let rows = processes
            .iter()
            .map(|process| ProcessRow::between(None, process, Duration::from_secs(5)));
        let unlike = stragglers(&rows.collect::<Vec<_>>());
        let named = processes.iter().zip(unlike);
        named
            .flat_map(|(process, whys)| whys.into_iter().map(|why| (process.pid, why)))
            .collect()
    }

    #[test]
    fn a_slow_worker_is_named_with_its_figures() {
        let found = of(vec![
            process(1, 0, &[("a", served(100, 10, 5))]),
            process(2, 1, &[("a", served(100, 10, 5))]),
            process(3, 2, &[("a", served(100, 30, 5))]),
        ]);
        let whys = "worker 2 (3) takes 2.0 times as long as its siblings for the same endpoints: 40.0 ms, not 20.0 ms, over 100 requests";
        assert_eq!(found, [(3, whys.to_owned())]);
    }

    #[test]
    fn other_endpoints_and_few_requests_are_no_difference() {
        let mix = [("a", served(100, 10, 5)), ("b", served(1, 90, 5))];
        let other = [("a", served(1, 10, 5)), ("b", served(100, 90, 5))];
        assert_eq!(of(vec![process(1, 0, &mix), process(2, 1, &other)]), []);
        let few = [("a", served(20, 90, 5))];
        assert_eq!(of(vec![process(1, 0, &mix), process(2, 1, &few)]), []);
    }

    #[test]
    fn a_large_worker_is_named() {
        let sized = |pid, mib: u64| {
            let mut process = process(pid, pid, &[]);
            process.rss_bytes = Some(mib << 20);
            process
        };
        let found = of(vec![sized(1, 200), sized(2, 200), sized(3, 400)]);
        let why = "worker 3 (3) has 400 MiB resident, its siblings 200 MiB on average";
        assert_eq!(found, [(3, why.to_owned())]);
    }
}
