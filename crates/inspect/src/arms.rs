//! Arms of an interval side by side. The unit of evidence is the pod: requests of one pod share its node, its neighbours and
//! its start, so that many requests of two pods are two observations.

use crate::of_process::{OfProcess, Place};
use run::inspect::{Against, Arm, ArmPod, OverPods};
use small_sort::SmallSort;
use std::collections::{BTreeMap, BTreeSet};

/// Level of all intervals of a reading together.
const ALPHA: f64 = 0.05;

/// Each arm, the one with the most pods first; empty where no process has an arm, none served a request, or the processes are of
/// several applications, whose requests are not comparable. `by_file`: each saved file is of one pod.
pub(crate) fn arms(all: &[OfProcess], by_file: bool) -> Vec<Arm> {
    let applications: BTreeSet<&str> = all
        .iter()
        .map(|of| flight::application_of(&of.process.app_root))
        .collect();
    if applications.len() > 1 || all.iter().all(|of| of.place.arm.is_empty()) {
        return Vec::new();
    }
    let mut by_arm: BTreeMap<&str, BTreeMap<String, Vec<&OfProcess>>> = BTreeMap::new();
    for of in all.iter().filter(|of| of.place.requests > 0) {
        let pods = by_arm.entry(&of.place.arm).or_default();
        pods.entry(pod_of(of, by_file)).or_default().push(of);
    }
    let mut arms: Vec<Arm> = by_arm
        .into_iter()
        .map(|(name, pods)| {
            let pods = pods.into_values().map(|of| pod(&of, by_file));
            arm(name, pods.collect())
        })
        .collect();
    // Of as many pods the first by name, so that the reference stays the same between two readings.
    arms.small_sort_by_key(|arm| std::cmp::Reverse(arm.pods.len()));
    if let Some((reference, others)) = arms.split_first_mut() {
        // Bonferroni: all differences hold together with 95 %.
        let alpha = ALPHA / others.len().max(1) as f64;
        for other in others {
            other.against = Some(against(other, reference, alpha));
        }
    }
    arms
}

/// Containers of one pod have a PID namespace each, so that a file that was saved in the pod says more. Without one, processes
/// of a pod share a PID namespace; where it is not recorded each process stands for itself.
fn pod_of(of: &OfProcess, by_file: bool) -> String {
    match (
        of.place.saved_in.as_ref().filter(|_| by_file),
        of.place.origin,
    ) {
        (Some(file), _) => format!("file {file}"),
        (None, Some(origin)) => format!("{} {}", origin.boot(), origin.pid_namespace),
        (None, None) => format!("{} {}", of.process.started_at, of.process.pid),
    }
}

fn pod(all: &[&OfProcess], by_file: bool) -> ArmPod {
    let origin = all[0].place.origin;
    let shared = origin.filter(|_| all.iter().all(|one| one.place.origin == origin));
    let sum = |of: fn(&Place) -> u64| all.iter().map(|one| of(&one.place)).sum::<u64>();
    let requests = sum(|place| place.requests);
    ArmPod {
        file: all[0].place.saved_in.clone().filter(|_| by_file),
        pid_namespace: shared.map(|origin| origin.pid_namespace),
        pids: all.iter().map(|one| one.process.pid).collect(),
        requests,
        errors: sum(|place| place.errors),
        wall_ms: sum(|place| place.wall_ns) as f64 / 1e6 / requests as f64,
    }
}

fn arm(name: &str, pods: Vec<ArmPod>) -> Arm {
    let half = stats::mean_and_half(&logs(&pods), ALPHA).map(|(_, half)| half);
    let spread = Spread::of(&pods);
    Arm {
        arm: name.to_owned(),
        requests: pods.iter().map(|pod| pod.requests).sum(),
        errors: pods.iter().map(|pod| pod.errors).sum(),
        wall_ms: over_pods(spread.mean, half),
        pods,
        against: None,
    }
}

/// Welch's interval of the difference of two means of logarithms: neither the spreads nor the numbers of pods have to be equal.
fn against(other: &Arm, reference: &Arm, alpha: f64) -> Against {
    let (mine, theirs) = (Spread::of(&other.pods), Spread::of(&reference.pods));
    let (n, m) = (other.pods.len() as f64, reference.pods.len() as f64);
    let half = mine.sd.zip(theirs.sd).map(|(mine, theirs)| {
        let (a, b) = (mine.powi(2) / n, theirs.powi(2) / m);
        let squares = a.powi(2) / (n - 1.0) + b.powi(2) / (m - 1.0);
        // Rounded down, which makes the interval wider; without any spread the smaller arm's.
        let df = if squares > 0.0 {
            (a + b).powi(2) / squares
        } else {
            n.min(m) - 1.0
        };
        stats::student_two_sided(alpha, (df as u32).max(1)) * (a + b).sqrt()
    });
    let short = [other, reference]
        .into_iter()
        .find(|arm| arm.pods.len() < 2);
    Against {
        arm: reference.arm.clone(),
        ratio: over_pods(mine.mean - theirs.mean, half),
        why_not: short.map(|arm| {
            let name = if arm.arm.is_empty() {
                "(no arm)"
            } else {
                &arm.arm
            };
            format!("{name} has one pod; an interval needs two pods of each arm")
        }),
    }
}

/// Of the logarithms of pods' means.
struct Spread {
    mean: f64,
    sd: Option<f64>,
}

impl Spread {
    fn of(pods: &[ArmPod]) -> Self {
        let logs = logs(pods);
        Self {
            mean: stats::summary::mean(&logs).unwrap_or_default(),
            sd: stats::summary::sd(&logs),
        }
    }
}

/// A mean of zero has no logarithm; below a nanosecond nothing is measured.
fn logs(pods: &[ArmPod]) -> Vec<f64> {
    pods.iter().map(|pod| pod.wall_ms.max(1e-6).ln()).collect()
}

fn over_pods(log: f64, half: Option<f64>) -> OverPods {
    OverPods {
        estimate: log.exp(),
        low: half.map(|half| (log - half).exp()),
        high: half.map(|half| (log + half).exp()),
    }
}
