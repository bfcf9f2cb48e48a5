//! Memory: swap, pressure, the cgroup's limit, huge pages.

use super::per_cent;
use crate::check::{Outcome, Severity};
use crate::facts::HostFacts;
use crate::serving::ServingFacts;

/// Swap in use beyond this share of the memory is more than what was never needed.
const SWAP_LIMIT: f64 = 0.02;
/// Pages a second. A few pages come back without harm; this many mean a request a second that waits for the disk.
const SWAPPING_LIMIT_PER_S: f64 = 1.0;
/// Waiting for memory is nothing that a host with enough of it does at all; a burst may.
const PRESSURE_LIMIT: f64 = 0.01;
/// Of a cgroup's limit. The start of one more worker takes the rest.
const GROUP_LIMIT: f64 = crate::group_use::USABLE_SHARE;

pub(super) fn swap(facts: &HostFacts) -> Outcome {
    let remedy = "stop other programs, lower the number of processes, or add memory";
    let why = "A page that has to come back from disk takes as long as a whole request, and hits any request by chance: the \
               slowest response times are then those of the disk.";
    let used_mib = facts.swap_used_bytes / (1 << 20);
    let rate = facts.swapped_pages_per_s();
    let swapped = facts
        .swapped_pages
        .zip(facts.observed)
        .map(|(pages, span)| {
            format!(
                "{pages} pages went to or came from swap in {:.0} s ({:.1} a second); ",
                span.as_secs_f64(),
                rate.unwrap_or(0.0)
            )
        })
        .unwrap_or_default();
    if rate.is_some_and(|rate| rate > SWAPPING_LIMIT_PER_S) {
        let evidence = format!("{swapped}{used_mib} MiB are in it");
        let what = "the host is swapping";
        return Outcome::found(Severity::SpoilsMeasurements, what, evidence, why, remedy);
    }
    let limit = facts.memory_total_bytes as f64 * SWAP_LIMIT;
    if facts.swap_used_bytes as f64 > limit {
        let total_mib = facts.memory_total_bytes / (1 << 20);
        let evidence = format!("{used_mib} MiB are in swap, on a host of {total_mib} MiB");
        let what = "the host has swapped";
        return Outcome::found(Severity::SpoilsMeasurements, what, evidence, why, remedy);
    }
    Outcome::fine(format!("{swapped}{used_mib} MiB are in swap"))
}

pub(super) fn pressure(facts: &HostFacts) -> Outcome {
    let Some(pressure) = facts.memory_pressure else {
        return Outcome::not_known(NO_PRESSURE);
    };
    let evidence = format!(
        "a process waited for memory in {} of the last minute",
        per_cent(pressure.some_60s)
    );
    if pressure.some_60s <= PRESSURE_LIMIT {
        return Outcome::Fine(evidence);
    }
    Outcome::found(
        Severity::SpoilsMeasurements,
        "memory is short, so that processes wait for it",
        evidence,
        "The kernel takes pages from programs and reads them again from disk, even without swap: code and files that \
         were in memory are not any more.",
        "stop other programs, lower the number of processes, or add memory",
    )
}

/// Why there is no pressure to look at.
pub(super) const NO_PRESSURE: &str = "this kernel does not report pressure (/proc/pressure; Linux 4.20 and later, unless it is switched off)";

pub(super) fn limit(facts: &HostFacts) -> Outcome {
    let Some(memory) = facts.group_memory else {
        return match facts.memory_limit_bytes {
            None => Outcome::fine("no cgroup limits the memory"),
            Some(_) => Outcome::not_known("the cgroup with the limit does not say what it uses"),
        };
    };
    let mib = |bytes: u64| bytes / (1 << 20);
    let evidence = format!(
        "{} of {} MiB that the cgroup may have ({}), file cache that is not in use left out",
        mib(memory.used_bytes),
        mib(memory.limit_bytes),
        per_cent(memory.share())
    );
    if memory.share() <= GROUP_LIMIT {
        return Outcome::Fine(evidence);
    }
    Outcome::found(
        Severity::HarmsServer,
        "the cgroup's memory limit is nearly reached",
        evidence,
        "At the limit the kernel first takes away file cache, which makes everything wait for the disk, and then kills \
         a process.",
        "raise the limit, or lower the number of workers or of threads; see what a worker takes with powerband tune",
    )
}

pub(super) fn huge_pages(facts: &ServingFacts) -> Outcome {
    let mode = match &facts.huge_pages {
        Ok(mode) if mode == "always" => mode,
        Ok(mode) => return Outcome::fine(format!("transparent huge pages: {mode}")),
        Err(why) => return Outcome::not_known(why.clone()),
    };
    let evidence = format!("transparent huge pages: {mode}");
    match &facts.process_takes_huge_pages {
        Ok(false) => Outcome::fine(format!(
            "{evidence}, but Ruby has switched them off for itself (THP_enabled: 0)"
        )),
        Ok(true) => Outcome::found(
            Severity::HarmsServer,
            "huge pages undo the sharing of memory between preforked workers",
            format!("{evidence}, and this Ruby takes part (THP_enabled: 1)"),
            "Workers share the parent's memory page by page until one of them writes to it. With huge pages the kernel \
             copies or joins up to 2 MiB where 4 KiB were written, so that memory which preloading saved is used again.",
            "echo madvise >/sys/kernel/mm/transparent_hugepage/enabled; CRuby since 2.6 opts out by itself, so see what \
             starts this one",
        ),
        Err(why) => Outcome::not_known(format!(
            "{evidence}; whether the server takes part is not known: {why}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::samples::{found, host, serving};
    use crate::group_use::MemoryUse;
    use crate::pressure::Pressure;
    use std::time::Duration;

    #[test]
    fn a_page_over_a_whole_run_is_no_swapping() {
        let with = |pages, span_s| HostFacts {
            swapped_pages: Some(pages),
            observed: Some(Duration::from_secs(span_s)),
            ..host()
        };
        let Outcome::Fine(evidence) = swap(&with(1, 900)) else {
            panic!("one page in a quarter of an hour is nothing")
        };
        assert!(evidence.contains("1 pages"), "{evidence}");
        assert!(matches!(swap(&with(1, 1)), Outcome::Fine(_)));
        let finding = found(swap(&with(45, 20)));
        assert_eq!(finding.severity, Severity::SpoilsMeasurements);
        let rate = "45 pages went to or came from swap in 20 s (2.2 a second)";
        assert!(finding.evidence.contains(rate), "{finding:?}");
        // A rate is of a span, and without one nothing is claimed.
        let spanless = HostFacts {
            observed: None,
            ..with(45, 20)
        };
        assert!(matches!(swap(&spanless), Outcome::Fine(_)));
        let full = HostFacts {
            swap_used_bytes: 1 << 30,
            ..with(0, 20)
        };
        assert!(found(swap(&full)).what.contains("has swapped"));
    }

    #[test]
    fn waiting_for_memory_counts_from_one_per_cent() {
        let with = |some_60s| HostFacts {
            memory_pressure: Some(Pressure {
                some_10s: 0.0,
                some_60s,
            }),
            ..host()
        };
        assert!(matches!(pressure(&with(0.01)), Outcome::Fine(_)));
        let finding = found(pressure(&with(0.011)));
        assert_eq!(finding.severity, Severity::SpoilsMeasurements);
        assert!(finding.evidence.contains("1.1 %"), "{finding:?}");
        let silent = HostFacts {
            memory_pressure: None,
            ..host()
        };
        assert!(matches!(pressure(&silent), Outcome::NotKnown(_)));
    }

    #[test]
    fn a_full_group_is_in_danger() {
        let with = |used_mib: u64| HostFacts {
            group_memory: Some(MemoryUse {
                used_bytes: used_mib << 20,
                limit_bytes: 1000 << 20,
            }),
            ..host()
        };
        assert!(matches!(limit(&with(900)), Outcome::Fine(_)));
        let finding = found(limit(&with(901)));
        assert_eq!(finding.severity, Severity::HarmsServer);
        assert!(finding.evidence.contains("901 of 1000 MiB"), "{finding:?}");
        assert!(matches!(limit(&host()), Outcome::Fine(_)));
        let silent = HostFacts {
            memory_limit_bytes: Some(1 << 30),
            ..host()
        };
        assert!(matches!(limit(&silent), Outcome::NotKnown(_)));
    }

    #[test]
    fn huge_pages_matter_where_the_process_takes_them() {
        let with = |mode: &str, takes: Result<bool, String>| ServingFacts {
            huge_pages: Ok(mode.to_owned()),
            process_takes_huge_pages: takes,
            ..serving()
        };
        let unknown = || Err("nobody asked".to_owned());
        assert!(matches!(
            huge_pages(&with("madvise", unknown())),
            Outcome::Fine(_)
        ));
        assert!(matches!(
            huge_pages(&with("always", Ok(false))),
            Outcome::Fine(_)
        ));
        assert!(matches!(
            huge_pages(&with("always", unknown())),
            Outcome::NotKnown(_)
        ));
        assert_eq!(
            found(huge_pages(&with("always", Ok(true)))).severity,
            Severity::HarmsServer
        );
    }
}
