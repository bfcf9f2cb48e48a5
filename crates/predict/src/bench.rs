//! An application on a machine, and what it would do there.

use capacity::CapacityError;
use capacity::sim::{Arrivals, Outcome, Overheads, Quota, Scenario, Work, simulate};

use crate::application::SATURATED;
use crate::cold::scaled;
use crate::{
    Application, Assumption, Cold, Figures, ModelError, PredictError, SelfCheck, Server, Within,
    bootstrap,
};

/// What the server runs on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Machine {
    /// Cores that the server has, the load generator's share taken off; may be a fraction.
    pub cores: f64,
    /// Of its control group.
    pub quota: Option<Quota>,
    /// Whether clients keep their connections; `None`: as the trace says, and not where it does not.
    pub keep_alive: Option<bool>,
}

/// A configuration of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Point {
    /// 1 is Puma's single mode, unless a cluster of one was traced.
    pub processes: u16,
    /// 1 where the server has one request per process.
    pub threads: u16,
}

/// How requests come. The application's come one after the other in the order of the trace, from its first again where they
/// do not suffice, the same for every configuration.
#[derive(Debug, Clone, PartialEq)]
pub enum OfferedLoad {
    Poisson {
        rate_per_s: f64,
        requests: usize,
    },
    /// At these times from the start: those of a trial, to be scored against.
    Given {
        arrivals_ns: Vec<u64>,
    },
    /// Each connection sends as soon as it has its answer.
    Closed {
        connections: u32,
        requests: usize,
    },
}

impl OfferedLoad {
    fn arrivals(&self) -> Arrivals {
        match self {
            Self::Poisson {
                rate_per_s,
                requests,
            } => Arrivals::Poisson {
                per_s: *rate_per_s,
                requests: *requests,
            },
            Self::Given { arrivals_ns } => Arrivals::Given(arrivals_ns.clone()),
            Self::Closed {
                connections,
                requests,
            } => Arrivals::Closed {
                connections: *connections,
                think_ns: 0,
                requests: *requests,
            },
        }
    }
}

/// What a configuration would do. Means are of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// Response times are from the arrival at the server to the answer.
    pub figures: Figures,
    /// Of that: before a thread began, waiting for the GVL since, and waiting for a core.
    pub queue_ms: f64,
    pub gvl_wait_ms: f64,
    pub core_wait_ms: f64,
    pub io_ms: f64,
    pub cpu_ms: f64,
    /// Stretches that began on another core: after a wait for the GVL, and after sleeping.
    pub cold_hand_overs: f64,
    pub cold_wakes: f64,
    /// 0 to 1.
    pub utilisation_gvl: f64,
    pub utilisation_cores: f64,
    pub utilisation_threads: f64,
    /// Of the busiest lock.
    pub utilisation_lock: f64,
    /// In the order of arrival.
    pub response_ns: Vec<u64>,
}

impl Prediction {
    fn of(outcome: Outcome) -> Option<Self> {
        let each_ms = |sum_ns: u64| sum_ns as f64 / 1e6 / outcome.answered.max(1) as f64;
        Some(Self {
            figures: Figures::of(&outcome.response_ns, outcome.throughput_per_s())?,
            queue_ms: each_ms(outcome.queue_ns),
            gvl_wait_ms: each_ms(outcome.gvl_wait_ns),
            core_wait_ms: each_ms(outcome.core_wait_ns),
            io_ms: each_ms(outcome.io_ns),
            cpu_ms: each_ms(outcome.cpu_ns),
            cold_hand_overs: outcome.cold_hand_overs / outcome.answered.max(1) as f64,
            cold_wakes: outcome.cold_wakes / outcome.answered.max(1) as f64,
            utilisation_gvl: outcome.gvl_utilisation,
            utilisation_cores: outcome.core_utilisation,
            utilisation_threads: outcome.thread_utilisation,
            utilisation_lock: outcome.station_utilisation,
            response_ns: outcome.response_ns,
        })
    }

    /// Of GVL, cores, locks and threads, the busiest: where it nears 1 the queue has no end, and response times say how long the
    /// simulation was rather than anything else.
    #[must_use]
    pub fn busiest(&self) -> f64 {
        self.utilisation_gvl
            .max(self.utilisation_cores)
            .max(self.utilisation_threads)
            .max(self.utilisation_lock)
    }

    /// Whether response times are of a queue without an end.
    #[must_use]
    pub fn is_saturated(&self) -> bool {
        self.busiest() >= SATURATED
    }
}

/// An application on a machine.
#[derive(Debug, Clone)]
pub struct Bench {
    pub(crate) application: Application,
    pub(crate) machine: Machine,
    pub(crate) server: Server,
    pub(crate) check: SelfCheck,
    pub(crate) error: ModelError,
    /// What else moving between cores might cost, and how much longer or shorter held steps are then.
    pub(crate) varied: Vec<(Cold, f64)>,
    /// Response times of the self-check, in the order of arrival.
    pub(crate) replayed_ns: Vec<u64>,
    /// The self-check with connections kept where they are not said to be, or the reverse, where that comes much nearer.
    pub(crate) otherwise: Option<SelfCheck>,
}

/// From this part of the other's distance on, a self-check is much nearer.
const MUCH_NEARER: f64 = 0.7;

impl Bench {
    /// `machine` is the one that was traced on, as the self-check needs it; [`Bench::on`] asks about another.
    ///
    /// # Errors
    /// A machine that is none, or was busy throughout.
    pub fn new(application: Application, machine: Machine) -> Result<Self, PredictError> {
        let traced = &application.traced;
        let quota = machine.quota.map_or(f64::INFINITY, |quota| {
            quota.quota_ns as f64 / quota.period_ns as f64
        });
        let cores = machine.cores.min(quota);
        let utilisation = traced.busy_cores / cores;
        if cores > 0.0 && utilisation >= SATURATED {
            let what = "the cores";
            return Err(PredictError::Saturated { what, utilisation });
        }
        let server = traced.server.clone();
        let mut bench = Self {
            check: SelfCheck {
                recorded: application.recorded,
                predicted: application.recorded,
            },
            error: ModelError(application.recorded.map(|_| 0.0)),
            application,
            machine,
            server,
            varied: Vec::new(),
            replayed_ns: Vec::new(),
            otherwise: None,
        };
        bench.warm_up()?;
        bench.check_itself()?;
        bench.error = ModelError::of(&bench.check.logs(), bench.application.has_bursts());
        Ok(bench)
    }

    /// The self-check. Where it fails and the keep-alive behaviour of clients was not given, they keep their connections if the
    /// check passes so and comes much nearer to what was recorded: kept connections occupy Puma's threads while they wait for
    /// their next request. Where it fails so as well, it only shows that requests took longer than predicted, which may have
    /// another cause.
    fn check_itself(&mut self) -> Result<(), PredictError> {
        let asked = self.machine.keep_alive.or(self.application.costs.kept);
        self.replay()?;
        if !self.server.has_threads() || !self.check.failed() {
            return Ok(());
        }
        let mut other = self.on(Machine {
            keep_alive: Some(!asked.unwrap_or(false)),
            ..self.machine
        });
        other.replay()?;
        let (found, otherwise) = (self.check, other.check);
        if otherwise.distance() > MUCH_NEARER * found.distance() {
            return Ok(());
        }
        if asked.is_some() || otherwise.failed() {
            self.otherwise = Some(otherwise);
            return Ok(());
        }
        other.machine.keep_alive = None;
        other.application.costs.kept = Some(true);
        let assumption = Assumption::ConnectionsKept {
            kept: otherwise.error().mean_ms,
            opened: found.error().mean_ms,
        };
        other.application.assumptions.push(assumption);
        *self = other;
        Ok(())
    }

    /// The traced configuration under its own arrivals.
    fn replay(&mut self) -> Result<(), PredictError> {
        let scenario = self.scenario(self.traced_point());
        let arrivals = Arrivals::Recorded { speed: 1.0 };
        let outcome = simulate(&self.application.work, &scenario, &arrivals, 0)?;
        let predicted = Prediction::of(outcome).ok_or(CapacityError::NoRequests)?;
        self.check.predicted = predicted.figures;
        self.replayed_ns = predicted.response_ns;
        Ok(())
    }

    /// The same application on another machine; the findings of the self-check stay.
    #[must_use]
    pub fn on(&self, machine: Machine) -> Self {
        Self {
            machine,
            ..self.clone()
        }
    }

    /// The same application in another server.
    #[must_use]
    pub fn in_server(&self, server: Server) -> Self {
        Self {
            server,
            ..self.clone()
        }
    }

    #[must_use]
    pub fn application(&self) -> &Application {
        &self.application
    }

    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    /// The traced configuration under its own arrivals, against what was recorded.
    #[must_use]
    pub fn self_check(&self) -> &SelfCheck {
        &self.check
    }

    /// Response times of the traced configuration under its own arrivals, in their order.
    #[must_use]
    pub fn replayed_ns(&self) -> &[u64] {
        &self.replayed_ns
    }

    /// The error of the model that widens every interval.
    #[must_use]
    pub fn model_error(&self) -> &ModelError {
        &self.error
    }

    /// What `point` would do.
    ///
    /// # Errors
    /// A configuration, a rate or a number of requests that is none.
    pub fn predict(
        &self,
        point: Point,
        offered: &OfferedLoad,
        seed: u64,
    ) -> Result<Prediction, PredictError> {
        self.simulate(&self.application.work, point, offered, seed)
    }

    /// The same as the mean of the trace and `draws` others that it might have been, with a 90 % interval. Draws are the same
    /// for every configuration.
    ///
    /// # Errors
    /// As for [`Bench::predict`].
    pub fn predict_within(
        &self,
        point: Point,
        offered: &OfferedLoad,
        seed: u64,
        draws: u32,
    ) -> Result<(Prediction, Within), PredictError> {
        let drawn = (1..=u64::from(draws))
            .map(|nth| bootstrap::draw(&self.application.work, seed.wrapping_add(nth)));
        self.within(point, offered, seed, &drawn.collect::<Vec<_>>())
    }

    pub(crate) fn within(
        &self,
        point: Point,
        offered: &OfferedLoad,
        seed: u64,
        draws: &[Work],
    ) -> Result<(Prediction, Within), PredictError> {
        let mut prediction = self.predict(point, offered, seed)?;
        let mut drawn = vec![prediction.figures];
        for (nth, work) in draws.iter().enumerate() {
            drawn.push(self.simulate_draw(nth, work, point, offered, seed)?);
        }
        let count = drawn.len() as f64;
        let sum = drawn[1..]
            .iter()
            .fold(drawn[0], |sum, more| sum.zip(more, |a, b| a + b));
        prediction.figures = sum.map(|x| x / count);
        let within = Within::of(&prediction.figures, &drawn, &self.error);
        Ok((prediction, within))
    }

    pub(crate) fn simulate(
        &self,
        work: &Work,
        point: Point,
        offered: &OfferedLoad,
        seed: u64,
    ) -> Result<Prediction, PredictError> {
        let cold = self.application.costs.cold.unwrap_or_default();
        self.simulate_with(cold, work, point, offered, seed)
    }

    fn simulate_with(
        &self,
        cold: Cold,
        work: &Work,
        point: Point,
        offered: &OfferedLoad,
        seed: u64,
    ) -> Result<Prediction, PredictError> {
        let scenario = self.scenario_with(point, cold);
        let outcome = simulate(work, &scenario, &offered.arrivals(), seed)?;
        Ok(Prediction::of(outcome).ok_or(CapacityError::NoRequests)?)
    }

    /// The same for the nth draw of an interval: `work` is another trace, and moving between cores costs what else it might.
    pub(crate) fn simulate_draw(
        &self,
        nth: usize,
        work: &Work,
        point: Point,
        offered: &OfferedLoad,
        seed: u64,
    ) -> Result<Figures, PredictError> {
        if self.varied.is_empty() {
            return Ok(self.simulate(work, point, offered, seed)?.figures);
        }
        let (cold, scale) = self.varied[nth % self.varied.len()];
        let work = scaled(work, scale);
        let prediction = self.simulate_with(cold, &work, point, offered, seed)?;
        Ok(prediction.figures)
    }

    /// What is simulated of a configuration.
    #[must_use]
    pub fn scenario(&self, point: Point) -> Scenario {
        self.scenario_with(point, self.application.costs.cold.unwrap_or_default())
    }

    pub(crate) fn scenario_with(&self, point: Point, cold: Cold) -> Scenario {
        let Point { processes, threads } = point;
        let traced = &self.application.traced;
        let costs = &self.application.costs;
        let cluster = processes > 1 || traced.cluster && traced.processes == 1;
        let mut scenario = Scenario::new(processes, threads, self.machine.cores);
        // Up to 3.2 a thread that waits for the GVL has its holder interrupted after a quantum.
        if traced.ruby.starts_with("3.2.") {
            scenario.tick_ns = scenario.quantum_ns;
        }
        scenario.discipline = self.server.discipline();
        scenario.cluster = self.server.waits_when_busy(cluster);
        scenario.quota = self.machine.quota;
        scenario.stations = vec![1; self.application.stations];
        scenario.io_growth = self.application.io_growth;
        scenario.keep_alive =
            self.machine.keep_alive.or(costs.kept).unwrap_or(false) && self.server.has_threads();
        // Who serves one request at a time accepts it itself, which is in its parsing.
        let accept_ns = match self.server.has_threads() {
            true => costs.accept_ns,
            false => 0,
        };
        let hand_over_ns = costs.hand_over_ns.unwrap_or(0);
        // Parsing and writing are steps of the requests, and waking up after I/O is in its time as recorded.
        scenario.overheads = Overheads {
            accept_ns,
            reactor_ns: costs.reactor_ns,
            hand_over_ns,
            hand_over_cpu_ns: cold.hand_over_ns,
            wake_cpu_ns: cold.wake_ns,
            // The rest of the way in: no thread computes meanwhile.
            network_ns: costs
                .way_in_ns
                .map_or(0, |ns| ns.saturating_sub(accept_ns + 2 * hand_over_ns)),
            ..Overheads::default()
        };
        scenario
    }
}
