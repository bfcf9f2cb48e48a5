//! Whether an arm keeps the limits.

use super::{equal_requests, growth, memory_bytes};
use run::{Document, Feasibility, Objective, Trial};
use stats::{Standing, ViolationRule};

/// One minus the confidence of the interval of violations.
pub const VIOLATION_ALPHA: f64 = 0.05;
/// Share of failed requests at full load beyond which an arm's capacity is no capacity.
pub(super) const MOST_FAILURES: f64 = 0.01;

/// Whether an arm keeps the limits, from these trials of it that count: its latency at the common rate, its memory, and
/// that it answers at full load at all. Memory that grows is judged after as many requests as that of the others, or the
/// quicker of two equal leaks would break a limit that the slower keeps.
pub fn feasibility(trials: &[&Trial], document: &Document) -> Feasible {
    let (objective, seed) = (&document.plan.objective, document.seed);
    let mut found = Feasible {
        standing: Feasibility::Meets,
        violations: None,
        requests: 0,
        why: None,
        fails: false,
        other_open: false,
    };
    let failures: Vec<(u64, u64)> = trials
        .iter()
        .filter_map(|t| t.saturation.as_ref())
        .map(|w| (w.errors + w.timeouts, w.requests))
        .collect();
    let failing = rate_of(&failures, MOST_FAILURES, seed);
    if let Some((Feasibility::Breaks, rate, _)) = failing {
        found.fails = true;
        found.breaks(format!(
            "{:.1} % of its requests failed at full load, {:.0} % may",
            rate * 100.0,
            MOST_FAILURES * 100.0
        ));
    }
    if let Some(latency) = objective.latency {
        let late: Vec<(u64, u64)> = trials
            .iter()
            .filter_map(|t| t.objective.as_ref())
            .filter_map(|w| Some((w.violations?, w.requests)))
            .collect();
        match rate_of(&late, latency.allowed_violation_rate(), seed) {
            Some((standing, rate, interval)) => {
                found.violations = Some((rate, interval));
                found.requests = late.iter().map(|(_, requests)| requests).sum();
                match standing {
                    Feasibility::Breaks => {
                        let windows = trials.iter().filter_map(|t| t.objective.as_ref());
                        let failed: u64 = windows.map(|w| w.errors + w.timeouts).sum();
                        let over: u64 = late.iter().map(|(over, _)| over).sum();
                        // Mostly the failures that are known from full load are no further reason.
                        if found.fails && failed * 2 > over {
                            found.standing = Feasibility::Breaks;
                        } else {
                            let allowed = latency.allowed_violation_rate();
                            let (seen, allowed) = beside(allowed * 100.0, rate * 100.0, 1);
                            // Late generators leave fewer windows than trials.
                            let valid = match late.len() < trials.len() {
                                true => format!(
                                    " (latency is valid in {} of its {})",
                                    late.len(),
                                    run::counted(trials.len(), "trial")
                                ),
                                false => String::new(),
                            };
                            found.breaks(format!(
                                "{seen} % of its {} {}took longer than {} ms, {allowed} % may{valid}",
                                run::counted(found.requests, "request"),
                                if failed > 0 { "failed or " } else { "" },
                                latency.limit_ms
                            ));
                        }
                    }
                    Feasibility::Unclear => found.unclear(),
                    Feasibility::Meets => {}
                }
            }
            // Without one latency window that counts, nothing is known of the limit.
            None => found.unclear(),
        }
    }
    if let Some(rate) = objective.must_carry_per_s {
        // A short window ends before a queue that only grows has become too long.
        let carried: Vec<f64> = trials.iter().filter_map(|t| t.capacity_per_s()).collect();
        let most = carried.iter().copied().fold(0.0, f64::max);
        if !carried.is_empty() && most < rate {
            let (most, rate) = beside(rate, most, 1);
            found.breaks(format!("it answers {most} of {rate} requests a second"));
        } else if carried.iter().any(|carried| *carried < rate) {
            found.other_open = true;
            found.unclear();
        }
    }
    if let Some(limit) = objective.max_memory_bytes {
        let (grows, after) = (growth(trials).is_some(), equal_requests(&document.trials));
        let pss: Vec<u64> = trials
            .iter()
            .filter_map(|trial| {
                let over = || trial.memory.as_ref()?.against_limit(limit);
                let compared = memory_bytes(trial, grows, after).map(|bytes| bytes as u64);
                compared.or_else(over)
            })
            .collect();
        let all_known = document.plan.age.is_none() || pss.len() == trials.len();
        // PSS repeats within a few per cent, so the range of what was seen stands for its interval.
        match (pss.iter().min(), pss.iter().max()) {
            (Some(least), _) if *least > limit => {
                let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
                let (least, limit) = beside(mib(limit), mib(*least), 0);
                found.breaks(format!(
                    "it needs at least {least} MiB of memory, {limit} MiB are allowed"
                ));
            }
            (Some(_), Some(most)) if *most <= limit && all_known => {}
            _ => {
                found.other_open = true;
                found.unclear();
            }
        }
    }
    found
}

/// A figure and its limit. The figure has at least so many decimals, and as many more, up to four, as distinguish it from the
/// limit.
fn beside(limit: f64, figure: f64, decimals: usize) -> (String, f64) {
    // 0.1 is 0.09999999999 after a subtraction.
    let limit = (limit * 1e4).round() / 1e4;
    let shown = |decimals: usize| format!("{figure:.decimals$}");
    let differs = |shown: &String| shown.parse() != Ok(limit);
    let figure = (decimals..4).map(shown).find(differs);
    (figure.unwrap_or_else(|| shown(4)), limit)
}

/// How a rate stands to its limit, the rate, and its interval; `None` without requests.
pub fn rate_of(
    counts: &[(u64, u64)],
    limit: f64,
    seed: u64,
) -> Option<(Feasibility, f64, (f64, f64))> {
    let rule = ViolationRule {
        objective_rate: limit,
        alpha: VIOLATION_ALPHA,
        seed,
    };
    let judged = stats::meets(counts, &rule).ok()?;
    let standing = match judged.standing {
        Standing::Meets => Feasibility::Meets,
        Standing::Breaks => Feasibility::Breaks,
        Standing::Unclear => Feasibility::Unclear,
    };
    Some((
        standing,
        judged.rate,
        (judged.interval.low, judged.interval.high),
    ))
}

/// Whether an arm keeps the limits, and the figures behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Feasible {
    /// The judgement.
    pub standing: Feasibility,
    /// Violation rate and its interval, where there is a latency objective.
    pub violations: Option<(f64, (f64, f64))>,
    /// Requests of which that rate is.
    pub requests: u64,
    /// Which limits it breaks, and by how much.
    pub why: Option<String>,
    /// It fails too many of its requests, whatever the limits are.
    pub fails: bool,
    /// Whether it keeps a limit other than that of latency is not known.
    pub other_open: bool,
}

impl Feasible {
    /// What became of an arm that breaks a limit: which, as far as its trials show it.
    pub fn fate(&self) -> String {
        match (&self.why, self.fails) {
            (Some(why), true) => format!("failed: {why}"),
            (Some(why), false) => format!("breaks a limit: {why}"),
            (None, _) => "breaks a limit".to_owned(),
        }
    }

    /// Whether the estimate keeps the latency limit where nothing is proven.
    pub fn seems_to_meet(&self, objective: &Objective) -> bool {
        let allowed = objective
            .latency
            .map_or(1.0, |l| l.allowed_violation_rate());
        self.standing == Feasibility::Unclear
            && self.violations.is_some_and(|(rate, _)| rate <= allowed)
    }

    fn breaks(&mut self, why: String) {
        self.standing = Feasibility::Breaks;
        self.why = Some(match self.why.take() {
            Some(before) => format!("{before}, and {why}"),
            None => why,
        });
    }

    fn unclear(&mut self) {
        if self.standing == Feasibility::Meets {
            self.standing = Feasibility::Unclear;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_over_its_limit_does_not_look_equal_to_it() {
        let shown = |limit, figure, decimals| beside(limit, figure, decimals).0;
        assert_eq!(shown(1.0, 10.0, 1), "10.0");
        assert_eq!(shown(1.0, 1.04, 1), "1.04");
        assert_eq!(shown(300.0, 300.004, 0), "300.004");
        assert_eq!(shown(300.0, 312.4, 0), "312");
        assert_eq!(shown(80.0, 79.6, 1), "79.6");
        assert_eq!(shown(80.0, 80.0, 1), "80.0000");
        assert_eq!(beside(0.1 - 1e-12, 5.0, 1).1, 0.1);
    }

    #[test]
    fn every_broken_limit_is_named_with_its_figure_and_the_limit() {
        let mut document = crate::sample::document("tune");
        let name = document.arms[1].name.clone();
        document.plan.objective = Objective {
            latency: Some(run::LatencyObjective {
                percentile: 99.9,
                limit_ms: 250.0,
            }),
            max_memory_bytes: Some(8 << 20),
            least: None,
            must_carry_per_s: None,
        };
        for trial in document.trials.iter_mut().filter(|t| t.arm == name) {
            if let Some(window) = &mut trial.objective {
                (window.violations, window.errors) = (Some(window.requests), 0);
            }
            if let Some(memory) = &mut trial.memory {
                memory.pss_bytes = 9 << 20;
            }
        }
        let why = |document: &Document| {
            let mine = document.trials.iter();
            let mine = mine.filter(|t| t.arm == name && t.counts());
            feasibility(&mine.collect::<Vec<_>>(), document)
                .why
                .unwrap()
        };
        assert_eq!(
            why(&document),
            "100.0 % of its 136 requests took longer than 250 ms, 0.1 % may, and it needs at least 9 MiB of memory, 8 MiB are allowed"
        );
        let mut late = document.clone();
        let mine = late
            .trials
            .iter_mut()
            .filter(|t| t.arm == name && t.counts());
        let windows = mine.skip(1).map(|trial| trial.objective = None).count();
        let valid = format!(
            "0.1 % may (latency is valid in 1 of its {} trials)",
            windows + 1
        );
        assert!(why(&late).contains(&valid), "{}", why(&late));
        for trial in document.trials.iter_mut().filter(|t| t.arm == name) {
            if let Some(window) = &mut trial.objective {
                window.errors = 1;
            }
        }
        let said = why(&document);
        assert!(
            said.contains("requests failed or took longer than 250 ms"),
            "{said}"
        );
        for trial in document.trials.iter_mut().filter(|t| t.arm == name) {
            for window in trial.saturation.iter_mut().chain(&mut trial.objective) {
                window.errors = window.requests;
            }
        }
        assert_eq!(
            why(&document),
            "100.0 % of its requests failed at full load, 1 % may, and it needs at least 9 MiB of memory, 8 MiB are allowed"
        );
    }
}
