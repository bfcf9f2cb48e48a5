//! Simulated machines: the throughput of one trial after another, as
//! logarithms, on hosts whose level moves while arms are being measured.
//!
//! A trial takes about a quarter of a minute, so a dozen are "within minutes".
//! No figure here was fitted: each machine is worse in its own way than what a
//! host shared with others has been seen to do (the same server, unchanged,
//! gave 16,100 and 18,400 requests a second minutes apart, which is 13 %).

use rand::RngExt;
use rand_distr::{Distribution, StandardNormal, StudentT};
use rand_pcg::Pcg64;

/// What moves the level, each as a share from one trial to the next.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    pub name: &'static str,
    /// Independent noise of a trial.
    pub noise: f64,
    /// Degrees of freedom of that noise; `None` is normal.
    pub tails: Option<f64>,
    /// Step of a random walk.
    pub walk: f64,
    /// Standard deviation of an autoregressive part, correlated by 0.8.
    pub wave: f64,
    /// Probability that a neighbour comes or goes before a trial, and by how
    /// much the level then jumps.
    pub jumps: (f64, f64),
    /// How much slower each further trial of a block is than the one before it.
    pub tires: f64,
}

const CORRELATION: f64 = 0.8;

/// Nothing but noise.
pub const QUIET: Machine = Machine {
    name: "quiet",
    noise: 0.015,
    tails: None,
    walk: 0.0,
    wave: 0.0,
    jumps: (0.0, 0.0),
    tires: 0.0,
};

/// The level wanders by 15 % within minutes, smoothly.
pub const DRIFTING: Machine = Machine {
    name: "drifting",
    noise: 0.015,
    tails: None,
    walk: 0.03,
    wave: 0.05,
    jumps: (0.0, 0.0),
    tires: 0.0,
};

/// Neighbours come and go, noise has heavy tails, the second one in a
/// block is slower, and the level wanders too.
pub const HOSTILE: Machine = Machine {
    name: "hostile",
    noise: 0.02,
    tails: Some(3.0),
    walk: 0.02,
    wave: 0.04,
    jumps: (0.06, 0.15),
    tires: 0.02,
};

pub const MACHINES: [Machine; 3] = [QUIET, DRIFTING, HOSTILE];

/// A machine at work.
pub struct Host {
    machine: Machine,
    /// Independent noise of a trial, as its windows are now.
    pub noise: f64,
    level: f64,
    wave: f64,
    tails: Option<StudentT<f64>>,
}

impl Host {
    pub fn new(machine: Machine, rng: &mut Pcg64) -> Self {
        let normal: f64 = StandardNormal.sample(rng);
        Self {
            machine,
            noise: machine.noise,
            level: 0.0,
            wave: machine.wave * normal,
            tails: machine.tails.map(|df| StudentT::new(df).unwrap()),
        }
    }

    /// The next trial's log throughput, `place` trials into its block.
    fn trial(&mut self, place: usize, rng: &mut Pcg64) -> f64 {
        let m = self.machine;
        let normal = |rng: &mut Pcg64| -> f64 { StandardNormal.sample(rng) };
        self.level += m.walk * normal(rng);
        let innovation = m.wave * (1.0 - CORRELATION * CORRELATION).sqrt();
        self.wave = CORRELATION * self.wave + innovation * normal(rng);
        if m.jumps.0 > 0.0 && rng.random_bool(m.jumps.0) {
            self.level += m.jumps.1 * normal(rng);
        }
        let noise = match &self.tails {
            Some(t) => t.sample(rng),
            None => normal(rng),
        };
        self.level + self.wave + self.noise * noise - m.tires * place as f64
    }

    /// One block: the arms' log throughputs, in the order of `effects`, each
    /// measured when the plan's random order says.
    pub fn block(&mut self, effects: &[f64], rng: &mut Pcg64) -> Vec<f64> {
        self.ordered_block(effects, rng).0
    }

    /// The same, and the order.
    pub fn ordered_block(&mut self, effects: &[f64], rng: &mut Pcg64) -> (Vec<f64>, Vec<usize>) {
        let order = stats::block_orders(effects.len(), 1, rng.random()).swap_remove(0);
        let mut measured = vec![0.0; effects.len()];
        for (place, &arm) in order.iter().enumerate() {
            measured[arm] = effects[arm] + self.trial(place, rng);
        }
        (measured, order)
    }

    /// `blocks` of a baseline and a candidate that is better by `effect`, as
    /// throughputs.
    pub fn pairs(&mut self, blocks: u32, effect: f64, rng: &mut Pcg64) -> Vec<(f64, f64)> {
        let pair = |_| {
            let block = self.block(&[0.0, effect], rng);
            (100.0 * block[0].exp(), 100.0 * block[1].exp())
        };
        (0..blocks).map(pair).collect()
    }

    /// The log ratio of two trials of the same arm one after the other, each a
    /// block of its own, as the pilot has them.
    pub fn pilot(&mut self, rng: &mut Pcg64) -> f64 {
        let first = self.trial(0, rng);
        self.trial(0, rng) - first
    }
}
