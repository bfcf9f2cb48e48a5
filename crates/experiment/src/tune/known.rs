//! The configurations that earlier runs measured: their place among the candidates, and what a search expects of them. Pure. The
//! deciding comparison measures all of its arms anew.

use super::candidate::CandidateArm;
use super::model;
use crate::request::Arm;
use run::{Document, KnownArm, Least, Settings};
use small_sort::SmallSort;
use stats::summary;

/// A configuration that earlier runs measured, with today's in the same run.
#[derive(Debug, Clone, Copy, PartialEq)]
struct OverToday {
    settings: Settings,
    /// Answers a second at full load over today's, the geometric mean of the runs.
    ratio: f64,
    /// In one of them.
    breaks: bool,
}

/// The configurations with today's in the same run, the highest capacity first.
fn over_today(document: &Document) -> Vec<OverToday> {
    let today = document.plan.baseline;
    let arms = document.known.as_ref().map_or(&[][..], |known| &known.arms);
    let over = |arm: &KnownArm| {
        let of_today = |one: &&KnownArm| one.run == arm.run && one.settings == today;
        let today = arms.iter().find(of_today)?;
        Some((arm.capacity_per_s / today.capacity_per_s).ln())
    };
    let mut found: Vec<OverToday> = Vec::new();
    for arm in arms {
        if arm.settings == today || found.iter().any(|one| one.settings == arm.settings) {
            continue;
        }
        let same = || arms.iter().filter(|one| one.settings == arm.settings);
        let logs: Vec<f64> = same().filter_map(over).collect();
        found.extend(summary::mean(&logs).map(|log| OverToday {
            settings: arm.settings,
            ratio: log.exp(),
            breaks: same().any(|one| one.breaks),
        }));
    }
    found.small_sort_by(|one, other| other.ratio.total_cmp(&one.ratio));
    found
}

/// The candidates in the order in which they are worth a trial: those that were better than today's by more than the margin, in at
/// most half of the places; what the model chose; what it chose although an earlier run found it worse, or beyond a limit. Where the
/// smallest is wanted, more capacity is no reason: only what broke a limit comes last.
pub fn candidates(
    document: &Document,
    chosen: Vec<CandidateArm>,
    fits: impl Fn(Settings) -> bool,
    most: usize,
) -> Vec<CandidateArm> {
    let known = over_today(document);
    let margin = 1.0 + document.plan.margin;
    let wants_small = matches!(
        document.plan.objective.least,
        Some(Least::Memory | Least::Processes)
    );
    let better =
        |one: &&OverToday| !wants_small && one.ratio > margin && !one.breaks && fits(one.settings);
    let better = known.iter().filter(better).map(|one| CandidateArm {
        arm: Arm::of(one.settings),
        because: "better than today's settings in an earlier run",
    });
    let is_worse = |arm: &Arm| {
        let of_arm = |one: &&OverToday| one.settings == arm.settings;
        known
            .iter()
            .find(of_arm)
            .is_some_and(|one| one.breaks || !wants_small && one.ratio * margin < 1.0)
    };
    let mut candidates: Vec<CandidateArm> = better.take(most.div_ceil(2)).collect();
    let (worse, others): (Vec<_>, Vec<_>) = chosen.into_iter().partition(|one| is_worse(&one.arm));
    for one in others.into_iter().chain(worse) {
        if candidates.iter().all(|other| other.arm != one.arm) {
            candidates.push(one);
        }
    }
    candidates.truncate(most);
    candidates
}

/// What is expected of settings before they are tried: by earlier runs, else by the model.
#[derive(Debug)]
pub struct Expected<'d> {
    document: &'d Document,
    over_today: Vec<OverToday>,
    /// What the model predicts of today's settings.
    todays_per_s: Option<f64>,
}

impl<'d> Expected<'d> {
    pub fn of(document: &'d Document) -> Expected<'d> {
        Expected {
            document,
            over_today: over_today(document),
            todays_per_s: predicted_per_s(document, document.plan.baseline),
        }
    }

    /// Answers a second at full load.
    pub fn per_s(&self, settings: Settings) -> Option<f64> {
        let mut known = self.over_today.iter();
        let measured = known.find(|one| one.settings == settings);
        match measured.zip(self.todays_per_s) {
            Some((measured, todays_per_s)) => Some(measured.ratio * todays_per_s),
            None => predicted_per_s(self.document, settings),
        }
    }
}

fn predicted_per_s(document: &Document, settings: Settings) -> Option<f64> {
    Some(model::foreseen(document, settings)?.capacity_per_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Foreseen, Known, Model, ModelKind};

    fn settings(threads: u16) -> Settings {
        Settings {
            workers: 0,
            threads,
            preload: false,
        }
    }

    /// Two runs: one thread carried 100 a second, then 200; the model expects the same of everything.
    fn document(arms: &[(&str, u16, f64, bool)]) -> Document {
        let mut document = crate::sample::document("tune");
        document.plan.baseline = settings(1);
        let known = |(run, threads, capacity_per_s, breaks): &(&str, u16, f64, bool)| KnownArm {
            run: (*run).to_owned(),
            settings: settings(*threads),
            capacity_per_s: *capacity_per_s,
            breaks: *breaks,
        };
        let mut all: Vec<KnownArm> = arms.iter().map(known).collect();
        all.extend([
            known(&("a", 1, 100.0, false)),
            known(&("b", 1, 200.0, false)),
        ]);
        document.known = Some(Known {
            runs: vec!["b".to_owned(), "a".to_owned()],
            noise: None,
            around_windows_s: None,
            arms: all,
        });
        let foreseen = |threads| Foreseen {
            workers: 0,
            threads,
            capacity_per_s: 50.0,
            p50_ms: None,
            p99_ms: None,
        };
        document.model = Some(Model {
            kind: ModelKind::Formulas,
            reason: None,
            trace: None,
            predictions: (1..=9).map(foreseen).collect(),
            contradiction: None,
            score: None,
        });
        document
    }

    fn ordered(document: &Document, chosen: &[u16], most: usize) -> Vec<u16> {
        let chosen = chosen.iter().map(|threads| CandidateArm {
            arm: Arm::of(settings(*threads)),
            because: "the model",
        });
        let found = candidates(document, chosen.collect(), |of| of.threads < 9, most);
        found.iter().map(|one| one.arm.settings.threads).collect()
    }

    #[test]
    fn what_was_better_comes_first_and_what_was_worse_last() {
        let document = document(&[
            ("a", 2, 150.0, false),
            ("b", 3, 340.0, false),
            ("a", 4, 60.0, false),
            ("a", 5, 101.0, false),
            ("a", 6, 190.0, true),
            ("a", 9, 190.0, false),
        ]);
        // 1.7 and 1.5 times today's; 6 broke a limit, 9 does not fit, 5 is within the margin.
        assert_eq!(ordered(&document, &[4, 6, 7, 3], 8), [3, 2, 7, 4, 6]);
        assert_eq!(ordered(&document, &[4, 6, 7, 3], 2), [3, 7]);
        assert_eq!(ordered(&document, &[4], 1), [3]);
    }

    /// The smallest that carries the rate is no worse for carrying less than today's.
    #[test]
    fn where_the_smallest_is_wanted_only_what_broke_a_limit_comes_last() {
        let mut document = document(&[
            ("a", 2, 60.0, false),
            ("a", 3, 190.0, true),
            ("a", 4, 190.0, false),
        ]);
        let orders = [
            (Some(Least::Memory), [2, 7, 3]),
            (Some(Least::Processes), [2, 7, 3]),
            (Some(Least::Latency), [4, 7, 3]),
            (None, [4, 7, 3]),
        ];
        for (least, order) in orders {
            document.plan.objective.least = least;
            assert_eq!(ordered(&document, &[3, 2, 7], 4)[..3], order, "{least:?}");
        }
    }

    /// Of a run that did not have today's settings nothing is known by comparison.
    #[test]
    fn ratios_are_within_a_run_and_their_mean_over_runs() {
        let two = document(&[
            ("a", 2, 150.0, false),
            ("b", 2, 400.0, false),
            ("c", 3, 9e9, false),
        ]);
        let mean = (1.5_f64 * 2.0).sqrt();
        let expected = |threads| Expected::of(&two).per_s(settings(threads)).unwrap();
        assert!((expected(2) - 50.0 * mean).abs() < 1e-9);
        assert_eq!((expected(3), expected(1)), (50.0, 50.0));
        assert_eq!(ordered(&two, &[3, 4], 4), [2, 3, 4]);
        let none = Document { known: None, ..two };
        assert_eq!(ordered(&none, &[3, 4], 1), [3]);
    }
}
