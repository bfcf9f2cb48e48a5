//! What flight files say of an application, freed of the configuration that it was traced under.

use std::path::PathBuf;

use capacity::sim::Work;
use flight::Record;
use small_sort::SmallSort;

use crate::assumption::{Assumption, locks, of_lock, taken_for_granted};
use crate::cause::Signs;
use crate::costs::{Costs, Known, costs};
use crate::idle::without_idle;
use crate::recorded::{Patterns, requests, sampled_one_in};
use crate::server::Server;
use crate::stations::{Lock, Stations};
use crate::traced::{Size, Traced, traced};
use crate::{Cold, Figures, PredictError, ProcessTrace, Selection, generation, reading};

/// From here on a queue is as good as endless.
pub(crate) const SATURATED: f64 = 0.99;

/// An application: what its requests do, and how it was traced.
#[derive(Debug, Clone)]
pub struct Application {
    pub(crate) work: Work,
    pub(crate) traced: Traced,
    pub(crate) costs: Costs,
    pub(crate) recorded: Figures,
    /// Response times in the order of arrival.
    pub(crate) recorded_ns: Vec<u64>,
    pub(crate) signs: Signs,
    patterns: Patterns,
    processes: Vec<Origin>,
    pub(crate) assumptions: Vec<Assumption>,
    /// Of each process; by the number of their station.
    pub(crate) stations: usize,
    locks: Vec<Lock>,
    /// As [`capacity::sim::Scenario`] has it.
    pub(crate) io_growth: f64,
    /// What else [`Costs::cold`] might be, for intervals.
    pub(crate) cold_draws: Vec<Cold>,
}

/// A process that was traced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    pub pid: u32,
    /// Field 22 of `/proc/<pid>/stat`.
    pub start_ticks: u64,
    pub parent_pid: u32,
    /// It runs, and these numbers are those that it has in `/proc`.
    pub runs_here: bool,
    /// Its application's root folder, whichever the release.
    pub application: String,
}

impl Origin {
    fn of(process: &ProcessTrace) -> Self {
        let header = &process.flight.header;
        Self {
            pid: header.pid,
            start_ticks: header.start_ticks,
            parent_pid: header.parent_pid,
            runs_here: flight::runs_here(header),
            application: process.application().to_owned(),
        }
    }
}

impl Application {
    /// Reads flight files, and the events next to them.
    ///
    /// # Errors
    /// Files that cannot be read, and as for [`Application::of`].
    pub fn read(files: &[PathBuf], selection: &Selection) -> Result<Self, PredictError> {
        Self::of(reading::read(files)?, selection)
    }

    /// Of what processes left.
    ///
    /// # Errors
    /// No or too few requests, fibers, servers of different kinds or settings, a trace without an end to its queue.
    pub fn of(processes: Vec<ProcessTrace>, selection: &Selection) -> Result<Self, PredictError> {
        let processes = selection.of_application(processes)?;
        let jobs = count(&processes, |record| record.job);
        let wanted = |record: &Record| !record.job && selection.takes(record.arrival_wall_ns);
        let unused = processes
            .iter()
            .filter(|process| !process.flight.records.iter().any(wanted));
        let unused: Vec<Option<u32>> = unused.map(worker_index).collect();
        let (processes, left_out) = generation::latest(processes, wanted);
        let first = processes.first().ok_or(PredictError::NoRequests { jobs })?;
        processes.iter().try_for_each(usable)?;
        same(&processes)?;
        all_workers(&processes, &unused)?;
        let header = &first.flight.header;
        let server = Server::named(&header.server.name)?;
        let ruby = header.ruby_version.clone();
        let size = Size::of(&server, &processes)?;
        let complete_from = complete_from(&processes);
        let stations = Stations::of(&processes);
        let (mut taken, patterns) = requests(&processes, &stations, |record| {
            wanted(record) && record.start_mono_ns >= complete_from
        });
        if taken.len() < selection.least {
            let (found, needed) = (taken.len(), selection.least);
            return Err(PredictError::TooFew { found, needed });
        }
        let idle = without_idle(&mut taken);
        let mut traced = traced(server, ruby, &size, &taken);
        traced.left_out = left_out;
        let busiest = [
            ("the GVL", traced.utilisation_gvl),
            ("its threads", traced.utilisation_threads),
        ];
        for (what, utilisation) in busiest {
            if utilisation >= SATURATED {
                return Err(PredictError::Saturated { what, utilisation });
            }
        }
        let (costs, overhead) = costs(&traced.server, &processes, &taken);
        let (locks, about_locks) = locks(&taken);
        let mut work = Work::new();
        let start_ns = taken.first().map_or(0, |request| request.arrival_ns);
        for request in &taken {
            work.push(
                request.arrival_ns - start_ns,
                request.steps(&overhead, locks),
            );
        }
        let recorded_ns: Vec<u64> = taken.iter().map(|request| request.response_ns).collect();
        let answered_ns = taken.iter().map(|r| r.arrival_ns + r.response_ns).max();
        let span_ns = answered_ns.unwrap_or(0).saturating_sub(start_ns).max(1);
        let per_s = taken.len() as f64 * 1e9 / span_ns as f64;
        let recorded = Figures::of(&recorded_ns, per_s);
        let recorded = recorded.ok_or(PredictError::NoRequests { jobs })?;
        let mut assumptions = vec![Assumption::IoConstant];
        assumptions.extend(about_locks);
        let locks = stations.held(&work);
        assumptions.extend(locks.iter().filter_map(of_lock));
        let one_in = sampled_one_in(&processes);
        assumptions.extend(taken_for_granted(
            &traced, &costs, &patterns, one_in, &taken,
        ));
        assumptions.extend(size.assumption);
        if idle.pauses > 0 {
            assumptions.push(Assumption::Idle {
                pauses: idle.pauses,
                seconds: idle.ns as f64 / 1e9,
            });
        }
        let signs = Signs::of(&processes, &taken);
        Ok(Self {
            work,
            traced,
            costs,
            recorded,
            recorded_ns,
            signs,
            patterns,
            processes: processes.iter().map(Origin::of).collect(),
            assumptions,
            stations: stations.count(),
            locks,
            io_growth: 0.0,
            cold_draws: Vec::new(),
        })
    }

    /// The CPU time of all the server's processes over the requests of this trace, for the cost of its own threads: what is
    /// not in any request's thread is the acceptor's and the reactor's. Ignored where the events of these are there.
    #[must_use]
    pub fn with_process_cpu(mut self, cpu_ns: u64) -> Self {
        let requests = self.traced.requests as u64;
        if let (Some(cpu_ms), true) = (self.traced.cpu_ms, self.costs.front != Known::Events) {
            let each_ns = cpu_ns / requests.max(1);
            self.costs.accept_ns = each_ns.saturating_sub((cpu_ms * 1e6) as u64);
            self.costs.reactor_ns = self.costs.accept_ns;
            self.costs.front = Known::ProcessCpu;
            self.assumptions
                .retain(|a| !matches!(a, Assumption::FrontAssumed { .. }));
        }
        self
    }

    /// The configuration that was traced.
    #[must_use]
    pub fn traced(&self) -> &Traced {
        &self.traced
    }

    /// What server and kernel add.
    #[must_use]
    pub fn costs(&self) -> &Costs {
        &self.costs
    }

    /// What else it might cost that threads move between cores.
    #[must_use]
    pub fn cold_draws(&self) -> &[Cold] {
        &self.cold_draws
    }

    /// Response times as recorded: from the proxy's stamp where there is one, else from when a thread took the request.
    #[must_use]
    pub fn recorded(&self) -> &Figures {
        &self.recorded
    }

    /// Where the requests' steps are from.
    #[must_use]
    pub fn patterns(&self) -> &Patterns {
        &self.patterns
    }

    /// The processes that were traced, and may still run.
    #[must_use]
    pub fn processes(&self) -> &[Origin] {
        &self.processes
    }

    /// What is taken for granted.
    #[must_use]
    pub fn assumptions(&self) -> &[Assumption] {
        &self.assumptions
    }

    /// Locks of each process that are simulated.
    #[must_use]
    pub fn locks(&self) -> &[Lock] {
        &self.locks
    }

    /// Its requests, in the order of arrival.
    #[must_use]
    pub fn work(&self) -> &Work {
        &self.work
    }

    /// Whether most requests have their steps from bursts.
    #[must_use]
    pub fn has_bursts(&self) -> bool {
        self.patterns.own + self.patterns.borrowed > self.patterns.typical
    }
}

fn count(processes: &[ProcessTrace], of: impl Fn(&Record) -> bool) -> usize {
    let records = processes.iter().flat_map(|process| &process.flight.records);
    records.filter(|record| of(record)).count()
}

/// Where a ring has turned, what other processes have from before is a part of the traffic only.
fn complete_from(processes: &[ProcessTrace]) -> u64 {
    let turned = |process: &&ProcessTrace| {
        let first = process.flight.records.first();
        first.is_some_and(|record| record.index > 0)
    };
    let turned = processes.iter().filter(turned);
    let reach = turned.map(|process| process.flight.reaches_back_to());
    reach.max().unwrap_or(0)
}

fn worker_index(process: &ProcessTrace) -> Option<u32> {
    process.flight.header.server.worker_index
}

/// A worker whose file was not given served requests, too. One that served none has a file.
fn all_workers(processes: &[ProcessTrace], unused: &[Option<u32>]) -> Result<(), PredictError> {
    let said = processes.first().map(|p| &p.flight.header.server);
    let Some(workers) = said.and_then(|server| server.workers) else {
        return Ok(());
    };
    let mut found: Vec<Option<u32>> = processes.iter().map(worker_index).collect();
    found.extend(unused);
    // Without an index, as of Unicorn, each file is a worker's.
    let unnumbered = found.iter().filter(|index| index.is_none()).count();
    found.retain(Option::is_some);
    found.sort_unstable();
    found.dedup();
    let found = found.len() + unnumbered;
    match found < workers as usize {
        true => Err(PredictError::WorkersMissing { found, workers }),
        false => Ok(()),
    }
}

fn usable(process: &ProcessTrace) -> Result<(), PredictError> {
    let header = &process.flight.header;
    if header.fiber_scheduler {
        return Err(PredictError::Fibers);
    }
    if !header.gvl_hook || !header.measures("held_ns") {
        return Err(PredictError::NotSplit { pid: header.pid });
    }
    Ok(())
}

fn same(processes: &[ProcessTrace]) -> Result<(), PredictError> {
    let several = reading::applications(processes).len() > 1;
    let named = |process: &ProcessTrace| {
        let (header, server) = (&process.flight.header, &process.flight.header.server);
        let of = |what: Option<u32>| what.map_or("?".to_owned(), |n| n.to_string());
        let application = match several {
            true => format!("{}: ", process.application()),
            false => String::new(),
        };
        format!(
            "{application}{} on Ruby {} with {} workers of {} threads",
            server.name,
            header.ruby_version,
            of(server.workers),
            of(server.max_threads)
        )
    };
    let mut found: Vec<String> = processes.iter().map(named).collect();
    found.small_sort();
    found.dedup();
    match found.len() {
        0 | 1 => Ok(()),
        _ => Err(PredictError::Mixed { found }),
    }
}
