//! What it costs a process that its threads run now on this core and now on that one.
//!
//! The kernel wakes the next holder of the GVL on a core that is idle, while the one before still runs on its own; a thread that
//! wakes up after I/O may find itself elsewhere, too. Their common data is in the other core's caches, and the next stretch is
//! slower. With every core busy no thread moves. So a configuration that leaves no core idle takes less CPU time for the same
//! requests than one that does, and the trace has in its steps what was paid at the configuration that was traced.

use capacity::sim::{Arrivals, Step, Work, simulate};

use crate::{Application, Assumption, Bench, Machine, OfferedLoad, Point, PredictError};

/// CPU time that a stretch under the GVL takes longer while a core stays idle, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cold {
    /// Where the thread had waited for the GVL.
    pub hand_over_ns: u64,
    /// Where it had slept, and found the GVL free.
    pub wake_ns: u64,
}

/// Closed loops of the traced configuration whose CPU time was measured twice: with every core, and with each process kept on
/// one, where nothing can move.
#[derive(Debug, Clone, PartialEq)]
pub struct ColdMeasured {
    /// Connections of the loop that keeps all threads busy.
    pub connections: u32,
    /// What the server had of the machine during that loop, and during one of a single connection.
    pub crowded_on: Machine,
    pub alone_on: Machine,
    /// CPU time a request, in nanoseconds, beyond that of the busy loop on one core a process: with all cores, and with one
    /// connection and all cores. Each time it was measured.
    pub beyond_ns: Vec<[f64; 2]>,
}

/// More is no matter of caches.
const MOST_NS: f64 = 5e6;
/// At most so much of what requests held the GVL is taken for a cost of moving.
const LEAST_SCALE: f64 = 0.25;
/// Costs change what the simulator counts, and that the costs: a few times is enough.
const ROUNDS: usize = 4;
/// Of a closed loop: its counts are then good to about a percent.
const REQUESTS: usize = 5_000;

impl Application {
    /// This application with what moving costs, taken out of its steps by [`Bench::new`] as often as threads moved in the trace.
    /// Intervals are of `draws` in turn, what else it might cost.
    #[must_use]
    pub fn with_cold(mut self, cold: Cold, draws: Vec<Cold>) -> Self {
        self.costs.cold = Some(cold);
        self.cold_draws = draws;
        self.assumptions.retain(|a| *a != Assumption::ColdAsTraced);
        self
    }

    /// The same from measurements: the two costs that, times what the simulator counts in both loops, come nearest to what was
    /// measured. Never below 0. `machine` is the one that was traced on.
    ///
    /// # Errors
    /// As for [`Bench::new`].
    pub fn with_cold_measured(
        self,
        machine: Machine,
        measured: &ColdMeasured,
    ) -> Result<Self, PredictError> {
        let times = measured.beyond_ns.len().max(1) as f64;
        let mean = |of: usize| measured.beyond_ns.iter().map(|b| b[of]).sum::<f64>() / times;
        let mut cold = Cold::default();
        let mut counts = [[0.0; 2]; 2];
        for _ in 0..ROUNDS {
            let bench = Bench::new(self.clone().with_cold(cold, Vec::new()), machine)?;
            counts = [
                bench.on(measured.crowded_on).moved(measured.connections)?,
                bench.on(measured.alone_on).moved(1)?,
            ];
            cold = solve(counts, [mean(0), mean(1)]);
        }
        let draws = measured.beyond_ns.iter();
        let draws = draws.map(|beyond| solve(counts, *beyond)).collect();
        Ok(self.with_cold(cold, draws))
    }
}

impl Bench {
    /// Stretches of a request that began elsewhere in a closed loop of the traced configuration: handed over, and woken up.
    fn moved(&self, connections: u32) -> Result<[f64; 2], PredictError> {
        let offered = OfferedLoad::Closed {
            connections,
            requests: REQUESTS,
        };
        let found = self.predict(self.traced_point(), &offered, 0)?;
        Ok([found.cold_hand_overs, found.cold_wakes])
    }

    /// The configuration that was traced.
    #[must_use]
    pub fn traced_point(&self) -> Point {
        let traced = &self.application.traced;
        Point {
            processes: traced.processes,
            threads: traced.threads,
        }
    }

    /// Takes what moving cost in the trace off the requests' steps: simulated, they pay it again.
    pub(crate) fn warm_up(&mut self) -> Result<(), PredictError> {
        let Some(cold) = self.application.costs.cold else {
            return Ok(());
        };
        let scale = self.warm_scale(cold)?;
        let draws = self.application.cold_draws.clone();
        let drawn = draws.into_iter().map(|draw| {
            let relative = self.warm_scale(draw)? / scale;
            Ok((draw, relative))
        });
        self.varied = drawn.collect::<Result<_, PredictError>>()?;
        self.application.work = scaled(&self.application.work, scale);
        Ok(())
    }

    /// What is left of the held steps without it.
    fn warm_scale(&self, cold: Cold) -> Result<f64, PredictError> {
        let whole = &self.application.work;
        let held_ns = held_ns(whole).max(1.0);
        let scenario = self.scenario_with(self.traced_point(), cold);
        let recorded = Arrivals::Recorded { speed: 1.0 };
        let mut scale = 1.0;
        for _ in 0..ROUNDS {
            let outcome = simulate(&scaled(whole, scale), &scenario, &recorded, 0)?;
            scale = (1.0 - outcome.cold_ns as f64 / held_ns).max(LEAST_SCALE);
        }
        Ok(scale)
    }
}

pub(crate) fn scaled(work: &Work, scale: f64) -> Work {
    if scale == 1.0 {
        return work.clone();
    }
    work.map(|step| match step {
        Step::Held(ns) => Step::Held((ns as f64 * scale).round() as u64),
        other => other,
    })
}

fn held_ns(work: &Work) -> f64 {
    let steps = (0..work.len()).flat_map(|request| work.steps(request));
    let held = steps.map(|step| match step {
        Step::Held(ns) => ns as f64,
        _ => 0.0,
    });
    held.sum()
}

/// The costs, at least 0, whose products with the counts (a row for each loop) come nearest to what was measured.
fn solve(counts: [[f64; 2]; 2], beyond_ns: [f64; 2]) -> Cold {
    let [[a, b], [c, d]] = counts;
    let [e, f] = beyond_ns;
    let det = a * d - b * c;
    let exact = [(e * d - b * f) / det, (a * f - e * c) / det];
    let alone = |x: f64, y: f64| match x * x + y * y {
        0.0 => 0.0,
        squares => ((x * e + y * f) / squares).max(0.0),
    };
    let off = |[x, y]: [f64; 2]| (a * x + b * y - e).powi(2) + (c * x + d * y - f).powi(2);
    // Where both cannot be distinguished, or one came out below 0: the better one alone.
    let singular = det.abs() < 1e-6 * (a * a + b * b + c * c + d * d);
    let [hand_over, wake] = match !singular && exact.iter().all(|x| *x >= 0.0) {
        true => exact,
        false => {
            let (first, second) = ([alone(a, c), 0.0], [0.0, alone(b, d)]);
            if off(first) <= off(second) {
                first
            } else {
                second
            }
        }
    };
    let whole = |ns: f64| ns.min(MOST_NS).round() as u64;
    Cold {
        hand_over_ns: whole(hand_over),
        wake_ns: whole(wake),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cold(hand_over_ns: u64, wake_ns: u64) -> Cold {
        Cold {
            hand_over_ns,
            wake_ns,
        }
    }

    /// 10 × 300 + 2 × 150 = 3,300 and 1 × 300 + 8 × 150 = 1,500.
    #[test]
    fn two_loops_tell_two_costs() {
        let counts = [[10.0, 2.0], [1.0, 8.0]];
        assert_eq!(solve(counts, [3_300.0, 1_500.0]), cold(300, 150));
        assert_eq!(solve(counts, [0.0, 0.0]), cold(0, 0));
        assert_eq!(solve(counts, [-500.0, -900.0]), cold(0, 0));
    }

    /// One below 0 is 0, and the other what both loops say best: (10 × 1,000 + 1 × -200) / 101 of the first.
    #[test]
    fn no_cost_is_below_nothing() {
        let counts = [[10.0, 2.0], [1.0, 8.0]];
        assert_eq!(solve(counts, [1_000.0, -200.0]), cold(97, 0));
        assert_eq!(solve(counts, [-200.0, 1_000.0]), cold(0, 112));
    }

    #[test]
    fn what_cannot_be_told_apart_is_one_cost() {
        assert_eq!(
            solve([[4.0, 0.0], [2.0, 0.0]], [400.0, 200.0]),
            cold(100, 0)
        );
        assert_eq!(solve([[0.0; 2]; 2], [400.0, 200.0]), cold(0, 0));
        // Nor is anything longer than caches can explain.
        assert_eq!(
            solve([[1.0, 0.0], [0.0, 1.0]], [9e6, 0.0]),
            cold(5_000_000, 0)
        );
    }
}
