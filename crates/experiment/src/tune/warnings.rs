//! What a reader must know before believing a verdict.

use crate::idle_threads::{self, Waited};
use crate::procedure::Procedure;
use crate::rates::figure;
use crate::request::{Arm, Experiment};
use crate::{budget, judge, layout, proof};
use run::{Document, Feasibility, Kind, Pinning, Redirects, TrialStatus};

/// Says so when the chosen configuration may yet break the memory limit. That latency is not proven stands in the answer.
pub fn warn_of_limits(document: &mut Document, chosen: &Arm) {
    let Some(limit) = document.plan.objective.max_memory_bytes else {
        return;
    };
    let mut arms = document.arms.iter();
    let arm = arms.find(|arm| arm.name == chosen.name);
    let growing =
        arm.and_then(|arm| Some((arm.thousands_until(limit)?, arm.growth_bytes_per_thousand?)));
    if let Some((thousands, growth)) = growing {
        let remedy = match document.plan.age {
            Some(_) => "a longer --age",
            None => "--age 50k-requests",
        };
        let mib = |bytes: f64| bytes / f64::from(1 << 20);
        let today = document.arms.first().filter(|arm| arm.name != chosen.name);
        let today = today.and_then(|arm| arm.growth_bytes_per_thousand);
        let today = today.map_or_else(String::new, |growth| {
            format!(" (today's settings: {:.1})", mib(growth.max(0.0)))
        });
        document.warnings.push(format!(
            "memory of {chosen} grew by {:.1} MiB per thousand requests in its trials{today}, as memory often does after a start; if it \
             went on at that pace it would pass the limit of {} MiB after {thousands:.0} thousand more; {remedy} shows \
             whether it levels off",
            mib(growth),
            limit >> 20,
        ));
    }
}

/// What was seen of an arm of which it is not proven that it keeps the latency limit; `called` is its name on the page.
pub fn unproven(document: &Document, arm: &Arm, called: String) -> Option<String> {
    let limit = document.plan.objective.latency?;
    let arm = document
        .arms
        .iter()
        .find(|a| a.name == arm.name && a.feasible == Feasibility::Unclear)?;
    let seen = match arm.violation_interval {
        Some(_) => proof::seen(document, arm)?,
        None => "no latency window of it counts".to_owned(),
    };
    Some(format!(
        "that {called} keeps {limit} is not proven: {seen}; {}",
        proof::remedy(document, Some(arm))
    ))
}

/// Says so when the chosen configuration is at an end of what the user allowed: values beyond it were not tried.
pub fn warn_of_ends(document: &mut Document, experiment: &Experiment, chosen: &Arm) {
    let of = chosen.settings;
    let ends = [
        end("thread", experiment.threads.as_deref(), of.threads, 1),
        end("worker", experiment.workers.as_deref(), of.workers, 0),
    ];
    document.warnings.extend(ends.into_iter().flatten());
}

/// `least` is the smallest value that there is.
fn end(what: &str, allowed: Option<&[u16]>, value: u16, least: u16) -> Option<String> {
    let allowed = allowed.filter(|values| values.len() > 1)?;
    let (which, beyond) = if allowed.iter().max() == Some(&value) {
        ("largest", "more")
    } else if allowed.iter().min() == Some(&value) && value > least {
        ("smallest", "fewer")
    } else {
        return None;
    };
    Some(format!(
        "{} is the {which} allowed (--{what}s): {beyond} may be better, and were not tried",
        run::counted(value, what)
    ))
}

/// What a reader must know before believing it.
pub fn warn(procedure: &mut Procedure<'_>) {
    let host_warnings = procedure.host_warnings();
    let caveats = procedure.trials.sending_caveats();
    let asked = procedure.experiment;
    let document = &mut procedure.store.document;
    let counted = document.trials.iter().filter(|t| t.counts()).count();
    let unsteady = document
        .trials
        .iter()
        .filter(|t| t.status == TrialStatus::NotSteady)
        .count();
    if unsteady * 4 > counted {
        let remedy = match judge::any_grows(document) {
            // No window is long enough for what does not level off.
            true => "as long as memory grows with the requests, none can be",
            false => "longer windows (--window, --budget) would help",
        };
        document.warnings.push(format!(
            "{unsteady} of {counted} trials were not steady after their warm-up; {remedy}"
        ));
    }
    let failures: u64 = document
        .trials
        .iter()
        .filter_map(|t| t.saturation.as_ref())
        .map(|w| w.errors + w.timeouts)
        .sum();
    if failures > 0 {
        let failed = run::counted(failures, "request");
        document.warnings.push(format!(
            "{failed} failed at full load: they count as infinitely late, and not as capacity"
        ));
    }
    let mut redirects = Redirects::default();
    let counted = document.trials.iter().filter(|t| t.counts());
    let windows = counted.flat_map(|t| t.saturation.iter().chain(&t.objective));
    for page in windows.flat_map(|w| &w.endpoints) {
        redirects.add(
            &page.name,
            page.requests.saturating_sub(page.failures),
            &page.redirects,
        );
    }
    document.warnings.extend(caveats);
    let overloads = overloads(document);
    document.warnings.extend(overloads);
    let few_cores = few_cores(&document.plan.pinning);
    document.warnings.extend(few_cores);
    document.warnings.extend(redirects.warnings());
    if idle_threads::reach_puma(asked) {
        document.warnings.extend(parked(document));
    }
    if let Some(calibration) = document.calibration.as_ref().filter(|c| c.allowance > 0.0) {
        let warning = crate::calibrate::sentence(calibration, document.plan.margin);
        document.warnings.push(warning);
    }
    document.warnings.push(format!(
        "measured on this host with the application's {} environment; Powerband switches off neither mail nor jobs that requests start",
        document.plan.environment
    ));
    document.warnings.extend(host_warnings);
}

/// Where connections are kept: the trial in which requests queued longest while threads were idle.
fn parked(document: &Document) -> Option<String> {
    let kept = document.plan.sending.as_ref().is_some_and(|s| s.keep_alive);
    let seen = document.trials.iter().filter(|t| kept && t.counts());
    idle_threads::sentence(seen.filter_map(|trial| {
        let (split, window) = (trial.split.as_ref()?, trial.saturation.as_ref()?);
        Waited::of(trial.settings, split, window.seconds)
    }))
}

/// Of named configurations, those that the common rate was too much for; a search leaves such arms out by their limits.
fn overloads(document: &Document) -> Vec<String> {
    let Some(per_s) = document
        .plan
        .rate_per_s
        .filter(|_| document.kind != Kind::Tune)
    else {
        return Vec::new();
    };
    let arms = document.arms.iter();
    let overloaded = arms.filter_map(|arm| Some((arm, arm.capacity_per_s.filter(|c| *c < per_s)?)));
    let said = overloaded.map(|(arm, capacity)| {
        let name = arm.label.clone().unwrap_or_else(|| arm.settings.to_string());
        format!(
            "the common rate, {}/s, is more than {name} answers at full load ({}/s): its latency is that of an overload; --rate {} \
             shows that of normal use",
            figure(per_s),
            figure(capacity),
            figure((budget::OBJECTIVE_LOAD * capacity).floor())
        )
    });
    said.collect()
}

/// A core that was asked for is missed by the server where there are few.
fn few_cores(pinning: &Pinning) -> Option<String> {
    let (server, generator) = (pinning.server_cores.len(), pinning.generator_cores.len());
    let missed = generator > 0 && !layout::can_spare_one(server + generator);
    missed.then(|| {
        format!(
            "the server had {server} of {} cores: with all of them, as it may have in production, the answer may be another \
             (--generator-core false)",
            server + generator
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn an_answer_at_an_end_of_what_was_allowed_says_so() {
        let said = |allowed: &[u16], value| end("thread", Some(allowed), value, 1);
        let largest =
            "6 threads is the largest allowed (--threads): more may be better, and were not tried";
        assert_eq!(said(&[1, 3, 6], 6).as_deref(), Some(largest));
        assert!(said(&[3, 6], 3).unwrap().contains("smallest allowed"));
        assert_eq!(said(&[1, 3, 6], 3), None);
        assert_eq!(said(&[1, 3, 6], 1), None, "there are no fewer");
        assert_eq!(said(&[6], 6), None, "nothing was to be chosen");
        assert_eq!(end("thread", None, 6, 1), None);
    }

    #[test]
    fn a_rate_that_is_too_much_for_an_arm_is_said() {
        let mut document = sample::document("compare");
        document.plan.rate_per_s = Some(177.0);
        for arm in &mut document.arms {
            arm.capacity_per_s = Some(200.0);
        }
        assert!(overloads(&document).is_empty());
        document.arms[1].capacity_per_s = Some(163.0);
        let said = overloads(&document);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            said[0].contains("177/s")
                && said[0].contains("163/s")
                && said[0].contains("--rate 114 shows"),
            "{said:?}"
        );
    }

    #[test]
    fn a_server_that_misses_one_of_few_cores_is_said() {
        let pinning = |server: u32| Pinning {
            server_cores: (0..server).collect(),
            generator_cores: vec![server],
            reason: String::new(),
        };
        assert!(few_cores(&pinning(1)).unwrap().contains("1 of 2 cores"));
        assert_eq!(few_cores(&pinning(3)), None);
        assert_eq!(few_cores(&layout::shared("")), None);
    }

    #[test]
    fn a_latency_that_is_not_proven_is_never_proven_by_longer_windows_where_memory_grows() {
        let mut document = sample::document("tune");
        let chosen = Arm::of(document.arms[1].settings);
        document.arms[1].feasible = Feasibility::Unclear;
        let said = |document: &Document| unproven(document, &chosen, chosen.to_string()).unwrap();
        let steady = said(&document);
        assert!(
            steady.ends_with("about 1,470 requests would prove it if none of them is late (--window 6s --budget 15m)"),
            "{steady}"
        );
        document.arms[1].growth = Some(sample::growth());
        let growing = said(&document);
        assert!(growing.contains("longer windows would not"), "{growing}");
    }

    #[test]
    fn a_queue_beside_idle_threads_is_explained_where_connections_are_kept() {
        let mut document = sample::document("tune");
        let index = document
            .trials
            .iter()
            .position(|t| t.counts() && t.split.is_some() && t.saturation.is_some());
        let trial = &mut document.trials[index.unwrap()];
        let (Some(split), Some(window)) = (&mut trial.split, &mut trial.saturation) else {
            panic!("no window");
        };
        let threads = f64::from(trial.settings.concurrency());
        window.seconds = 10.0;
        split.requests = 100;
        split.wall_ms = 0.35 * 10_000.0 * threads;
        split.queue_ms = Some(3.0 * split.wall_ms);
        let waited = format!("waited {:.0} ms for a thread", 3.0 * split.wall_ms / 100.0);
        document.trials.swap(0, index.unwrap());
        document.trials.truncate(1);
        assert_eq!(parked(&document), None, "nobody says that they are kept");
        document.plan.sending = Some(run::Sending {
            keep_alive: true,
            ..run::Sending::default()
        });
        let said = parked(&document).unwrap();
        for part in [waited.as_str(), "only 35 % of the time", "--keep-alive"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        document.trials[0].split.as_mut().unwrap().wall_ms *= 2.5;
        assert_eq!(parked(&document), None, "its threads are busy");
    }
}
