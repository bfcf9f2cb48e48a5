//! Objectives that are out of reach at any rate: pages that fail, and pages whose time without any wait is above the limit.

use crate::judge::{self, Tally};
use run::{ArmSummary, Document, EndpointProfile, Feasibility, Profile, Window};

/// Why no rate meets the latency limit: in every arm with trials more requests fail than may be over it. Timeouts do not count,
/// since they may be of the rate.
pub fn failures(document: &Document) -> Option<String> {
    let limit = document.plan.objective.latency?;
    let windows = |of: Option<&ArmSummary>| -> Vec<&Window> {
        let mine = document.trials.iter().filter(|t| t.counts());
        let mine = mine.filter(|t| of.is_none_or(|arm| t.arm == arm.name));
        mine.filter_map(|t| t.objective.as_ref()).collect()
    };
    let breaks = |arm: &ArmSummary| {
        let windows = windows(Some(arm));
        let errors: Vec<(u64, u64)> = windows.iter().map(|w| (w.errors, w.requests)).collect();
        let judged = judge::rate_of(&errors, limit.allowed_violation_rate(), document.seed);
        judged.is_some_and(|(standing, ..)| standing == Feasibility::Breaks)
    };
    let mut tried = document.arms.iter().filter(|arm| arm.trials > 0).peekable();
    tried.peek()?;
    if !tried.all(breaks) {
        return None;
    }
    let all = windows(None).into_iter();
    let page =
        Tally::of(all.map(|window| (window, false))).worst_page("where latency is measured")?;
    Some(format!(
        "{page}, and a failed request counts as over the limit, so no rate keeps {limit}: {}",
        judge::CORRECT_THE_PAGE
    ))
}

/// Why the latency limit is hardly in reach, where the pilot's profile says so and every arm with trials breaks it. The
/// profile has means at full load: evidence, which a trial that may keep the limit contradicts.
pub fn out_of_reach(document: &Document) -> Option<String> {
    let limit = document.plan.objective.latency?;
    let profile = document.profile.as_ref()?;
    // An arm may also break another limit, of memory for instance.
    let breaks = |arm: &ArmSummary| {
        let interval = arm.violation_interval;
        interval.is_some_and(|(low, _)| low > limit.allowed_violation_rate())
    };
    let mut tried = document.arms.iter().filter(|arm| arm.trials > 0).peekable();
    tried.peek()?;
    if !tried.all(breaks) {
        return None;
    }
    let all: u64 = profile.endpoints.iter().map(|of| of.requests).sum();
    let slow = || {
        let slow = |of: &&EndpointProfile| alone_ms(profile, of) > limit.limit_ms;
        profile.endpoints.iter().filter(slow)
    };
    let share = slow().map(|of| of.requests).sum::<u64>() as f64 / all.max(1) as f64;
    let slowest = slow().max_by(|a, b| alone_ms(profile, a).total_cmp(&alone_ms(profile, b)))?;
    (share > limit.allowed_violation_rate()).then(|| {
        let (waits, rest) = match slowest.lock_wait_ms {
            Some(_) => ("the GVL or a lock", "I/O"),
            None => ("the GVL", "I/O and locks"),
        };
        format!(
            "on average, at full load, {} takes {:.0} ms without any wait for {waits} ({:.0} ms of {rest}), above the limit of \
             {:.0} ms; {:.1} % of the requests are of such pages, where {:.2} % may take longer than the limit, and every \
             configuration that was tried breaks it. More time or blocks will hardly change that: make the page faster, leave \
             it out of the workload, or give a limit that it can keep",
            slowest.name,
            alone_ms(profile, slowest),
            slowest.io_ms,
            limit.limit_ms,
            100.0 * share,
            100.0 * limit.allowed_violation_rate()
        )
    })
}

/// What a request takes that has the server to itself: its I/O, and what it held the GVL as far as it had a processor.
fn alone_ms(profile: &Profile, of: &EndpointProfile) -> f64 {
    let had = match profile.held_ms {
        held if held > 0.0 => (profile.cpu_ms / held).min(1.0),
        _ => 1.0,
    };
    of.io_ms + had * of.held_ms
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::LatencyObjective;

    fn document(io_ms: f64, share: u64) -> Document {
        let mut document = crate::sample::document("tune");
        document.plan.objective.latency = Some(LatencyObjective {
            percentile: 99.0,
            limit_ms: 250.0,
        });
        for arm in &mut document.arms {
            arm.trials = arm.trials.max(1);
            arm.feasible = Feasibility::Breaks;
            arm.violation_interval = Some((0.05, 0.15));
        }
        let page = |name: &str, requests, io_ms| EndpointProfile {
            name: name.to_owned(),
            requests,
            wall_ms: 9_000.0,
            held_ms: 20.0,
            gvl_wait_ms: 8_000.0,
            lock_wait_ms: Some(500.0),
            io_ms,
        };
        let profile = document.profile.as_mut().unwrap();
        (profile.held_ms, profile.cpu_ms) = (20.0, 10.0);
        profile.endpoints = vec![
            page("posts#index", 1_000 - share, 3.0),
            page("reports#show", share, io_ms),
        ];
        document
    }

    /// Waits for the GVL and for locks are the configuration's, and half of the time held was a core's.
    #[test]
    fn a_page_whose_io_is_longer_than_the_limit_is_named_with_its_figures() {
        let said = out_of_reach(&document(400.0, 100)).unwrap();
        assert!(
            said.starts_with(
                "on average, at full load, reports#show takes 410 ms without any wait for the GVL or a lock (400 ms of I/O), \
                 above the limit of 250 ms"
            ) && said.contains("10.0 % of the requests")
                && said.contains("1.00 % may"),
            "{said}"
        );
        assert_eq!(out_of_reach(&document(235.0, 100)), None);
        assert_eq!(
            out_of_reach(&document(400.0, 5)),
            None,
            "rarer than allowed"
        );
    }

    /// The I/O of a shared database at full load may be ten times that at the common rate.
    #[test]
    fn an_arm_that_may_keep_the_limit_is_stronger() {
        for (trials, interval, reached) in [
            (3, Some((0.0, 0.005)), true),
            (3, Some((0.005, 0.05)), true),
            (3, None, true),
            (0, None, false),
        ] {
            let mut document = document(400.0, 100);
            let arm = &mut document.arms[0];
            (arm.trials, arm.violation_interval) = (trials, interval);
            assert_eq!(
                out_of_reach(&document).is_none(),
                reached,
                "{trials} {interval:?}"
            );
        }
    }

    /// Every arm breaks the limit of memory, and may keep that of latency.
    #[test]
    fn another_limit_that_is_broken_is_no_evidence() {
        let mut document = document(400.0, 100);
        for arm in &mut document.arms {
            arm.violation_interval = Some((0.0, 0.02));
        }
        assert_eq!(out_of_reach(&document), None);
    }

    /// The sample, in which of a hundred requests for a page so many fail in each window, half of them without an answer in time.
    fn failing(failures: u64, spared: Option<&str>) -> Option<String> {
        let mut document = document(3.0, 100);
        for trial in &mut document.trials {
            let Some(window) = &mut trial.objective else {
                continue;
            };
            let failures = match spared == Some(&trial.arm) {
                true => 0,
                false => failures,
            };
            (window.requests, window.timeouts) = (200, failures / 2);
            window.errors = failures - window.timeouts;
            let model = window.endpoints[0].clone();
            let page = |name: &str, failures| run::EndpointWindow {
                name: name.to_owned(),
                requests: 100,
                failures,
                ..model.clone()
            };
            window.endpoints = vec![page("GET /", 0), page("GET /broken", failures)];
        }
        super::failures(&document)
    }

    #[test]
    fn a_page_that_fails_at_the_common_rate_keeps_every_rate_from_the_limit() {
        let said = failing(40, None).unwrap();
        assert!(
            said.starts_with(
                "GET /broken failed in 20.0 % of its requests where latency is measured ("
            ),
            "{said}"
        );
        assert!(
            said.contains("so no rate keeps p99 ≤ 250 ms: correct the page, or take it out"),
            "{said}"
        );
        assert_eq!(failing(0, None), None);
        assert_eq!(failing(2, None), None, "as few as may be late");
        let spared = crate::sample::document("tune").arms[0].name.clone();
        assert_eq!(failing(40, Some(&spared)), None, "one arm answers");
    }
}
