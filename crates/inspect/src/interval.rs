//! What was counted between two readings, process by process.

use crate::arms::arms;
use crate::instant::rfc3339;
use crate::of_process::OfProcess;
use crate::reading::Reading;
use run::inspect::{Interval, IntervalProcess, Process, ProcessChange, ProcessState};
use small_sort::SmallSort;

/// The interval of a reading with a baseline.
pub(crate) fn interval(reading: &mut Reading, span_s: f64) -> Option<Interval> {
    let baseline = reading.baseline.as_ref()?;
    let mut all = std::mem::take(&mut reading.of_processes);
    all.small_sort_by(|a, b| {
        let order = |of: &OfProcess| (of.process.worker, of.process.started_at.clone());
        order(a).cmp(&order(b))
    });
    let wall = all.iter().fold(0_u64, |sum, of| {
        sum.saturating_add(of.group.sums.wall.total())
    });
    let count = |of: &dyn Fn(&OfProcess) -> bool| all.iter().filter(|p| of(p)).count() as u64;
    let ended =
        |of: &OfProcess| matches!(of.process.state, ProcessState::Closed | ProcessState::Died);
    Some(Interval {
        since: rfc3339(baseline.read_at_ns),
        continued: count(&|of| !of.change.started && !ended(of)),
        started: count(&|of| of.change.started),
        ended: count(&ended),
        gone: baseline.gone,
        arms: arms(&all, reading.saved_in.len() > 1),
        processes: all
            .into_iter()
            .map(|of| IntervalProcess {
                pid: of.process.pid,
                worker: of.process.worker,
                change: match of.change.started {
                    true => ProcessChange::Started,
                    false => ProcessChange::Continued,
                },
                state: of.process.state,
                traffic: of
                    .group
                    .into_traffic(&name(&of.process), wall, Some(span_s), false),
            })
            .collect(),
    })
}

fn name(process: &Process) -> String {
    match process.worker {
        Some(worker) => format!("worker {worker} ({})", process.pid),
        None => format!("process {}", process.pid),
    }
}
