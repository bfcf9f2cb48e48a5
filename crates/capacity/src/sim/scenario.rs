//! The server that is simulated, and how requests come to it.

use crate::CapacityError;
use crate::error::{above_0, at_least_0};

/// The versions of Puma that accept connections differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PumaVersion {
    /// Up to 6.6: accepts nothing while all threads are taken; a busy worker
    /// of a cluster waits until one of its requests ends, at most 5 ms, before
    /// it accepts another.
    V6,
    /// 7.0.4 to 8.0: accepts whatever comes, also when all threads are taken;
    /// in a cluster of two or more workers a busy one sleeps first, in
    /// proportion to its load, at most 5 ms. 7.0.0 to 7.0.3 sleep otherwise and
    /// are not modelled.
    V7,
}

/// How a process takes work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Discipline {
    /// An acceptor thread per process in front of a pool of threads, and a
    /// reactor for connections that are kept.
    Puma { version: PumaVersion },
    /// Unicorn, Pitchfork, Passenger: a process takes a request from a queue that all
    /// share, and serves it on its one thread.
    OnePerProcess,
    /// One request per process too, but requests are dealt out in turn to
    /// queues of the processes' own.
    OnePerProcessOwnQueue,
}

/// What the server and the kernel add to each request's own steps, in
/// nanoseconds, as measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overheads {
    /// CPU under the GVL for each connection: of the acceptor's thread, and
    /// without one of the process that serves.
    pub accept_ns: u64,
    /// CPU under the GVL, of the serving thread, before the request's own steps.
    pub parse_ns: u64,
    /// CPU under the GVL, of the serving thread, after the request's own steps.
    pub write_ns: u64,
    /// CPU under the GVL, of the reactor's thread, for each request that comes
    /// over a kept connection (Puma).
    pub reactor_ns: u64,
    /// From the end of what a thread waits for until it asks for the GVL: the
    /// kernel wakes it up, no thread computes. After I/O, and when a sleeping
    /// acceptor, reactor or one-request-per-process server gets something to
    /// do; a thread that waits for another one of its process is queued by that
    /// one.
    pub wake_ns: u64,
    /// From the moment a thread leaves the GVL to another that waits until that
    /// one runs: the GVL is taken, and no thread computes.
    pub hand_over_ns: u64,
    /// CPU time that a serving thread's next stretch takes longer when it had
    /// to wait for the GVL and a core stays idle although it runs: the kernel
    /// woke it on that core while the one before it still ran on its own, and
    /// what both work on is in that one's caches. Charged in proportion where
    /// the idle part is less than a core, and not at all where none is.
    pub hand_over_cpu_ns: u64,
    /// The same for a serving thread that slept and found the GVL free.
    pub wake_cpu_ns: u64,
    /// Between client and server, both ways together: part of the response
    /// time, and of nothing inside the server.
    pub network_ns: u64,
}

/// A cgroup's CPU quota: so much CPU time of all processes in each period; who
/// has used it up waits for the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    pub quota_ns: u64,
    /// 100 ms unless it was set otherwise.
    pub period_ns: u64,
}

/// A configuration of the server on a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    pub discipline: Discipline,
    /// Processes that serve requests, each with a GVL of its own; 1 is Puma's
    /// single mode as well as a cluster of one (see `cluster`).
    pub processes: u16,
    /// Threads of each process that serve requests; one-request-per-process
    /// servers have one, whatever this says.
    pub threads: u16,
    /// Cores the server has, the generator's share removed; may be a fraction.
    pub cores: f64,
    pub quota: Option<Quota>,
    /// How many may hold each station of a process at once, by number.
    pub stations: Vec<u16>,
    pub overheads: Overheads,
    /// How long a thread may hold a GVL that others wait for: 100 ms, unless
    /// `RUBY_THREAD_TIMESLICE` says otherwise (Ruby 3.4 and later).
    pub quantum_ns: u64,
    /// The grain in which that time is counted: 10 ms from Ruby 3.3; as long as
    /// the quantum before.
    pub tick_ns: u64,
    /// By how much each further request in flight, of all processes together,
    /// lengthens I/O, relative to a request alone: 0.1 makes it 10 % longer for
    /// the second, 20 % for the third. 0: constant.
    pub io_growth: f64,
    /// Whether clients keep their connections for further requests.
    pub keep_alive: bool,
    /// Whether a busy worker of Puma up to 6.6 waits before it accepts: from 6.5
    /// on in a cluster, `-w 1` included; in 6.0 to 6.4 always; in 5 only where
    /// `wait_for_less_busy_worker` is set.
    pub cluster: bool,
    /// Connections that may wait to be accepted; further ones are refused.
    pub backlog: u32,
}

impl Scenario {
    /// Puma 6.6, with Ruby's times, without overheads, quota, stations, kept
    /// connections or I/O that lengthens.
    #[must_use]
    pub fn new(processes: u16, threads: u16, cores: f64) -> Self {
        Self {
            discipline: Discipline::Puma {
                version: PumaVersion::V6,
            },
            processes,
            threads,
            cores,
            quota: None,
            stations: Vec::new(),
            overheads: Overheads::default(),
            quantum_ns: 100_000_000,
            tick_ns: 10_000_000,
            io_growth: 0.0,
            keep_alive: false,
            cluster: processes > 1,
            backlog: u32::MAX,
        }
    }

    /// Threads of a process that serve requests.
    pub(super) fn serving_threads(&self) -> u16 {
        match self.discipline {
            Discipline::Puma { .. } => self.threads,
            Discipline::OnePerProcess | Discipline::OnePerProcessOwnQueue => 1,
        }
    }

    /// Whatever may ask for a GVL: serving threads, acceptors and reactors.
    pub(super) fn tasks(&self) -> u64 {
        u64::from(self.processes) * (u64::from(self.serving_threads()) + 2)
    }

    pub(super) fn check(&self) -> Result<(), CapacityError> {
        above_0("the number of processes", f64::from(self.processes))?;
        above_0("the number of threads", f64::from(self.serving_threads()))?;
        above_0("the number of cores", self.cores)?;
        at_least_0("the growth of I/O with concurrency", self.io_growth)?;
        for (name, ns) in [
            ("the quantum, in nanoseconds,", self.quantum_ns),
            ("the tick, in nanoseconds,", self.tick_ns),
        ] {
            above_0(name, ns as f64)?;
        }
        // Else a thread that is interrupted again and again would never be done.
        let cold_ns = self.overheads.hand_over_cpu_ns;
        let cold_ns = cold_ns.max(self.overheads.wake_cpu_ns);
        if cold_ns > self.quantum_ns / 2 {
            return Err(CapacityError::OutOfRange {
                name: "the CPU time that a hand-over or a wake-up costs, in nanoseconds,",
                value: cold_ns as f64,
                limits: "at most half the quantum",
            });
        }
        if let Some(quota) = self.quota {
            above_0("the CPU quota, in nanoseconds,", quota.quota_ns as f64)?;
            above_0(
                "the quota's period, in nanoseconds,",
                quota.period_ns as f64,
            )?;
        }
        if self.stations.len() > 64 {
            return Err(CapacityError::OutOfRange {
                name: "the number of stations",
                value: self.stations.len() as f64,
                limits: "64 or fewer",
            });
        }
        for &places in &self.stations {
            above_0("the places of a station", f64::from(places))?;
        }
        Ok(())
    }
}

/// When requests come.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrivals {
    /// As in the trace, `speed` times as fast.
    Recorded { speed: f64 },
    /// At these times, in nanoseconds from the start; the work's requests in
    /// their order, from the first again where there are more times.
    Given(Vec<u64>),
    /// A Poisson process of this rate, the work's requests in their order, from
    /// the first again where they do not suffice.
    Poisson { per_s: f64, requests: usize },
    /// Each connection sends its next request after the answer and a think time
    /// (exponential of this mean; 0 is none), also before its first.
    Closed {
        connections: u32,
        think_ns: u64,
        requests: usize,
    },
}
