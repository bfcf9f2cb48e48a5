//! Aged memory of a configuration: whether it still grew, and how many of its processes fit.

use super::growth::later_half;
use run::{Aged, AgedArm, Document, Fits, LateCourse, LateGrowth, Trial};
use stats::summary;

/// Level of the intervals.
const ALPHA: f64 = 0.05;

/// Share of the machine's memory that a server may need; a machine that swaps is of no use.
const USABLE_MEMORY: f64 = 0.85;

/// What a server may need of the machine's memory, bytes.
pub fn usable_bytes(document: &Document) -> u64 {
    (document.host.memory_bytes as f64 * USABLE_MEMORY) as u64
}

/// Of these trials of an arm that count; `None` where no age was asked for.
pub fn aged(trials: &[&Trial], document: &Document) -> Option<AgedArm> {
    document.plan.age?;
    let found: Vec<(&Trial, &Aged)> = trials
        .iter()
        .filter_map(|trial| Some((*trial, trial.memory.as_ref()?.aged.as_ref()?)))
        .collect();
    let reached = || found.iter().filter(|(_, aged)| aged.pss_bytes.is_some());
    let trials_aged = reached().count();
    Some(AgedArm {
        trials: trials_aged as u32,
        not_aged: (trials.len() - trials_aged) as u32,
        why_not: found
            .iter()
            .rev()
            .find_map(|(_, aged)| aged.why_not.clone()),
        late_growth: late_growth(reached().map(|(trial, _)| *trial), document.plan.margin),
        fits: fits(reached().copied(), document),
    })
}

/// Interval of the mean of the memory that is compared, bytes; `None` below two trials.
pub fn interval(trials: &[&Trial]) -> Option<(u64, u64)> {
    let of_trial = |trial: &&Trial| Some(trial.memory.as_ref()?.compared_bytes()? as f64);
    let found: Vec<f64> = trials.iter().filter_map(of_trial).collect();
    let (mean, half) = stats::mean_and_half(&found, ALPHA)?;
    Some(((mean - half).max(0.0) as u64, (mean + half) as u64))
}

/// Bytes per thousand requests in the second half of the requests of a trial that was aged.
pub fn late_pace(trial: &Trial) -> Option<f64> {
    let memory = trial.memory.as_ref()?;
    stats::growth_per_thousand(&later_half(memory, memory.aged.as_ref()?))
}

fn late_growth<'t>(trials: impl Iterator<Item = &'t Trial>, margin: f64) -> Option<LateGrowth> {
    let share = |trial: &Trial| {
        let memory = trial.memory.as_ref()?;
        let samples = later_half(memory, memory.aged.as_ref()?);
        let (first, last) = (samples.first()?, samples.last()?);
        let added = late_pace(trial)? * (last.0 - first.0) as f64 / 1_000.0;
        (first.1 > 0.0).then(|| added / first.1)
    };
    let shares: Vec<f64> = trials.filter_map(share).collect();
    let (share, half) = stats::mean_and_half(&shares, ALPHA)?;
    let interval = (share - half, share + half);
    Some(LateGrowth {
        share,
        interval,
        course: match interval {
            (low, _) if low > margin => LateCourse::Growing,
            (_, high) if high <= margin => LateCourse::Flat,
            _ => LateCourse::Undecided,
        },
    })
}

/// Every process more or less takes or gives back what one holds for itself.
fn fits<'t>(
    trials: impl Iterator<Item = (&'t Trial, &'t Aged)>,
    document: &Document,
) -> Option<Fits> {
    let asked = document.plan.objective.max_memory_bytes;
    let limit_bytes = asked.unwrap_or_else(|| usable_bytes(document));
    let in_trial = |(trial, aged): (&Trial, &Aged)| {
        let left = limit_bytes as f64 - aged.pss_bytes? as f64;
        Some(f64::from(trial.settings.processes()) + left / aged.process_bytes? as f64)
    };
    let found: Vec<f64> = trials.filter_map(in_trial).collect();
    let whole = |processes: f64| processes.max(0.0).floor() as u32;
    Some(Fits {
        processes: whole(summary::mean(&found)?),
        interval: stats::mean_and_half(&found, ALPHA)
            .map(|(mean, half)| (whole(mean - half), whole(mean + half))),
        limit_bytes,
        is_asked: asked.is_some(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::sample::aged_trial;
    use crate::judge::{feasibility, growth, memory_bytes};
    use run::{Age, Feasibility};

    const MIB: u64 = 1 << 20;

    fn document(limit_mib: u64, trials: &[Trial]) -> Document {
        let mut document = crate::sample::document("compare");
        document.plan.age = Some(Age {
            requests: 20_000,
            most_s: None,
        });
        document.plan.objective.latency = None;
        document.plan.objective.max_memory_bytes = Some(limit_mib * MIB);
        document.trials = trials.to_vec();
        document
    }

    fn judged(limit_mib: u64, trials: &[Trial]) -> AgedArm {
        let document = document(limit_mib, trials);
        aged(&document.trials.iter().collect::<Vec<_>>(), &document).unwrap()
    }

    /// Bytes by requests: 100 MiB, and up to 100 MiB more until so many requests.
    fn until(plateau: u64) -> impl Fn(u64) -> u64 {
        move |requests| 100 * MIB + 100 * MIB * requests.min(plateau) / plateau
    }

    #[test]
    fn a_plateau_before_the_second_half_is_flat_and_a_leak_grows() {
        let six = |plateau| -> Vec<Trial> {
            (1..=6)
                .map(|block| aged_trial(block, until(plateau)))
                .collect()
        };
        let course = |plateau| judged(1_024, &six(plateau)).late_growth.unwrap().course;
        assert_eq!(course(8_000), LateCourse::Flat);
        assert_eq!(course(20_000), LateCourse::Growing);
        let late = judged(1_024, &six(20_000)).late_growth.unwrap();
        // From 150 to 200 MiB.
        assert!((late.share - 1.0 / 3.0).abs() < 0.02, "{late:?}");
        let (levelled, leaks) = (six(8_000), six(20_000));
        assert_eq!(growth(&levelled.iter().collect::<Vec<_>>()), None);
        let found = growth(&leaks.iter().collect::<Vec<_>>()).unwrap();
        assert_eq!(found.requests, 20_000);
        assert_eq!(judged(1_024, &six(8_000)[..1]).late_growth, None);
    }

    #[test]
    fn as_many_processes_fit_as_their_own_memory_allows() {
        let trials: Vec<Trial> = (1..=6)
            .map(|block| aged_trial(block, until(8_000)))
            .collect();
        let processes = trials[0].settings.processes();
        let fits = judged(500, &trials).fits.unwrap();
        // 200 MiB are taken, 300 MiB are left for processes of 50 MiB each.
        assert_eq!((fits.limit_bytes, fits.is_asked), (500 * MIB, true));
        let (low, high) = fits.interval.unwrap();
        assert!(low <= fits.processes && fits.processes <= high, "{fits:?}");
        assert!(fits.processes.abs_diff(processes + 6) <= 1, "{fits:?}");
        let tight = judged(50, &trials).fits.unwrap();
        assert!(tight.processes < processes, "{tight:?}");
        let mut machine = document(1, &trials);
        machine.plan.objective.max_memory_bytes = None;
        let fits = aged(&machine.trials.iter().collect::<Vec<_>>(), &machine);
        let fits = fits.unwrap().fits.unwrap();
        assert_eq!(
            (fits.limit_bytes, fits.is_asked),
            (usable_bytes(&machine), false)
        );
    }

    #[test]
    fn the_aged_memory_is_compared_and_held_against_the_limit() {
        let trials: Vec<Trial> = (1..=6)
            .map(|block| aged_trial(block, until(8_000)))
            .collect();
        let standing = |limit_mib, trials: &[Trial]| {
            let document = document(limit_mib, trials);
            feasibility(&document.trials.iter().collect::<Vec<_>>(), &document).standing
        };
        let windows = trials[0].memory.as_ref().unwrap().pss_bytes;
        assert!(windows < 160 * MIB, "{windows}");
        assert_eq!(
            memory_bytes(&trials[0], true, Some(1)),
            Some(200.0 * MIB as f64)
        );
        assert_eq!(standing(190, &trials), Feasibility::Breaks);
        assert_eq!(standing(210, &trials), Feasibility::Meets);

        let mut one = trials.clone();
        one[0].memory.as_mut().unwrap().aged = Some(Aged::none("too slow"));
        assert_eq!(
            standing(210, &one),
            Feasibility::Unclear,
            "one is not known"
        );

        let mut cut = trials.clone();
        for trial in &mut cut {
            let aged = trial.memory.as_mut().unwrap().aged.as_mut().unwrap();
            (aged.pss_bytes, aged.why_not) = (None, Some("too slow".to_owned()));
        }
        assert_eq!(memory_bytes(&cut[0], false, None), None);
        assert_eq!(standing(210, &cut), Feasibility::Unclear);
        assert_eq!(
            standing(90, &cut),
            Feasibility::Breaks,
            "before its age already"
        );
        let found = judged(210, &cut);
        assert_eq!((found.trials, found.not_aged, found.fits), (0, 6, None));
        assert_eq!(found.why_not.as_deref(), Some("too slow"));
    }

    #[test]
    fn the_mean_memory_of_several_trials_has_an_interval() {
        let of = |plateaus: &[u64]| {
            let trials: Vec<Trial> = plateaus
                .iter()
                .zip(1..)
                .map(|(plateau, block)| aged_trial(block, until(*plateau)))
                .collect();
            interval(&trials.iter().collect::<Vec<_>>())
        };
        assert_eq!(of(&[8_000]), None);
        let same = of(&[8_000, 8_000]).unwrap();
        assert_eq!(same, (200 * MIB, 200 * MIB));
        let (low, high) = of(&[8_000, 40_000, 8_000]).unwrap();
        assert!(low < 180 * MIB && high > 200 * MIB, "{low} {high}");
    }

    #[test]
    fn without_an_age_nothing_is_said_of_it() {
        let mut document = document(210, &[]);
        document.plan.age = None;
        assert_eq!(aged(&[], &document), None);
    }
}
