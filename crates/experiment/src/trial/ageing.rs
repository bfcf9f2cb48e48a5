//! Ageing: after the windows the closed loop goes on until the server has answered the plan's number of requests in the trial. Its
//! memory then is comparable with that of every other trial.

use super::drive::Driver;
use crate::error::Failure;
use run::{Age, Aged, Memory, UsageSample};
use std::time::{Duration, Instant};

/// How many times as long as expected by the trial's own rate it may take, where nothing else limits it.
const SLACK: f64 = 10.0;
/// Of any limit of time, at least: a few requests need no precise one.
const LEAST: Duration = Duration::from_secs(5);
/// Samples of the ageing, by the expected time.
const SAMPLES: f64 = 40.0;
/// Between two of them, at least: each reads the exact memory of all processes.
const SHORTEST_SLICE: Duration = Duration::from_millis(250);
/// A server may reach the age within its windows, where memory is read seldom. The last reading before the age counts from this share
/// of the age on.
const NEAR: f64 = 0.9;

/// Drives the closed loop on to the age, at about this many answers a second. `windows` is what the windows have shown, and
/// `processes` how many the configuration has.
pub fn age(
    driver: &Driver<'_>,
    age: Age,
    per_s: f64,
    windows: &Memory,
    processes: u32,
) -> Result<Aged, Failure> {
    let mut aged = Aged {
        requests: driver.answered(),
        seconds: 0.0,
        pss_bytes: None,
        process_bytes: None,
        why_not: None,
        samples: Vec::new(),
    };
    let missing = age.requests.saturating_sub(driver.answered());
    if missing > 0 {
        if per_s <= 0.0 {
            return Ok(Aged::none("it answered nothing at full load"));
        }
        let expected_s = missing as f64 / per_s;
        let most_s = age.most_s.unwrap_or(f64::INFINITY);
        if expected_s > most_s {
            aged.why_not = Some(too_long(age.requests, expected_s, most_s));
            return Ok(aged);
        }
        let longest = Duration::from_secs_f64((SLACK * expected_s).min(most_s)).max(LEAST);
        let slice = Duration::from_secs_f64(expected_s / SAMPLES).max(SHORTEST_SLICE);
        let began = Instant::now();
        // Requests without an answer are asked again, as long as any is answered.
        loop {
            let missing = age.requests.saturating_sub(driver.answered());
            let left = longest.saturating_sub(began.elapsed());
            if missing == 0 || left.is_zero() {
                break;
            }
            let driven = driver.requests(missing, left, slice)?;
            aged.samples.extend(driven.samples);
            if driven.outcome.counts.completed == 0 {
                break;
            }
        }
        aged.seconds = began.elapsed().as_secs_f64();
        aged.requests = driver.answered();
    }
    let end = host::memory::sample_tree(super::tree(driver.server()));
    let end = end.ok().filter(|end| end.unreadable.is_empty());
    take(&mut aged, age.requests, windows, end, processes);
    Ok(aged)
}

fn too_long(requests: u64, expected_s: f64, most_s: f64) -> String {
    format!(
        "at its rate {} takes {expected_s:.0} s after the windows, at most {most_s:.0} s may be spent on it",
        run::counted(requests, "request")
    )
}

/// Takes the memory from what was seen up to so many requests.
fn take(
    aged: &mut Aged,
    requests: u64,
    windows: &Memory,
    end: Option<host::memory::TreeMemory>,
    processes: u32,
) {
    if aged.requests < requests {
        aged.why_not = Some(format!(
            "{} of {} were answered in {:.0} s after the windows",
            run::grouped(aged.requests),
            run::counted(requests, "request"),
            aged.seconds
        ));
        return;
    }
    let Some(end) = end else {
        aged.why_not = Some("the memory of its processes cannot be read".to_owned());
        return;
    };
    let all = windows.samples.iter().chain(&aged.samples);
    let seen: Vec<&UsageSample> = all
        .filter(|s| s.pss_bytes.is_some() && s.requests.is_some_and(|at| at <= requests))
        .collect();
    // A quick server has answered them within its windows; what it holds at the end is of more.
    let of_end = (aged.seconds > 0.0).then_some(end.pss_bytes);
    aged.pss_bytes = seen.iter().filter_map(|s| s.pss_bytes).chain(of_end).max();
    if of_end.is_none() {
        let read_at = seen.iter().filter_map(|s| s.requests).max().unwrap_or(0);
        if (read_at as f64) < NEAR * requests as f64 {
            aged.pss_bytes = None;
            aged.why_not = Some(format!(
                "it had answered {} by the end of its windows, and no memory was read shortly before {}: give an --age of more than that",
                run::counted(aged.requests, "request"),
                run::grouped(requests)
            ));
            return;
        }
        aged.requests = read_at;
    }
    let mut own: Vec<u64> = end.processes.iter().map(|p| p.uss_bytes).collect();
    own.sort_unstable_by(|one, other| other.cmp(one));
    own.truncate(processes as usize);
    let sum: u64 = own.iter().sum();
    aged.process_bytes = sum.checked_div(own.len() as u64).filter(|own| *own > 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::memory::{ProcessMemory, TreeMemory};

    const MIB: u64 = 1 << 20;

    fn sample(requests: u64, mib: u64) -> UsageSample {
        UsageSample {
            at_s: requests as f64 / 100.0,
            requests: Some(requests),
            rss_bytes: mib * MIB,
            pss_bytes: Some(mib * MIB),
            cpu_s: 0.0,
        }
    }

    /// A trial whose windows ended at 2,000 requests and 200 MiB, and which was driven on to so many.
    fn taken(answered: u64, requests: u64, readable: bool) -> Aged {
        let document = crate::sample::document("compare");
        let mut trials = document.trials.into_iter();
        let mut windows = trials.find_map(|trial| trial.memory).unwrap();
        windows.samples = [sample(1_000, 100), sample(2_000, 200)].to_vec();
        let mut aged = Aged {
            requests: answered,
            seconds: if answered > 2_000 { 10.0 } else { 0.0 },
            pss_bytes: None,
            process_bytes: None,
            why_not: None,
            samples: Vec::new(),
        };
        if answered > 2_000 {
            aged.samples = [sample(3_000, 290), sample(answered, 270)].to_vec();
        }
        let process = |mib: u64| ProcessMemory {
            pid: 1,
            name: "ruby".to_owned(),
            pss_bytes: mib * MIB,
            uss_bytes: mib * MIB,
            rss_bytes: mib * MIB,
        };
        let end = TreeMemory {
            pss_bytes: 280 * MIB,
            processes: [process(30), process(110), process(130)].to_vec(),
            ..TreeMemory::default()
        };
        take(&mut aged, requests, &windows, readable.then_some(end), 2);
        aged
    }

    #[test]
    fn the_largest_up_to_the_age_counts_and_the_master_is_no_process() {
        let aged = taken(4_000, 4_000, true);
        assert_eq!(aged.pss_bytes, Some(290 * MIB));
        assert_eq!(aged.process_bytes, Some(120 * MIB));
        assert_eq!((aged.requests, aged.why_not), (4_000, None));
    }

    #[test]
    fn what_was_answered_after_the_age_does_not_count() {
        let aged = taken(2_000, 1_100, true);
        assert_eq!((aged.pss_bytes, aged.requests), (Some(100 * MIB), 1_000));
        for far in [900, 1_500] {
            let aged = taken(2_000, far, true);
            assert_eq!(aged.pss_bytes, None);
            let why = aged.why_not.unwrap();
            assert!(why.starts_with("it had answered 2,000 requests"), "{why}");
        }
    }

    #[test]
    fn what_did_not_come_to_the_age_has_no_aged_memory() {
        let aged = taken(3_999, 4_000, true);
        assert_eq!(aged.pss_bytes, None);
        assert_eq!(
            aged.why_not.unwrap(),
            "3,999 of 4,000 requests were answered in 10 s after the windows"
        );
        assert_eq!(taken(4_000, 4_000, false).pss_bytes, None);
    }
}
