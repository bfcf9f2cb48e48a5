//! Questions of what if: the same application with slower I/O or a faster processor, more traffic, more cores.

use capacity::sim::Step;

use crate::{Bench, Cold, Machine};

/// What would be different. Factors are of times, and of the traffic; 1 changes nothing.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WhatIf {
    /// 2: I/O takes twice as long.
    pub io: f64,
    /// 0.8: CPU work takes 80 % of its time, the server's own as well.
    pub cpu: f64,
    /// 2: twice as many requests come; for questions about rates.
    pub traffic: f64,
    /// Cores more, or fewer.
    pub cores: f64,
}

impl Default for WhatIf {
    fn default() -> Self {
        Self {
            io: 1.0,
            cpu: 1.0,
            traffic: 1.0,
            cores: 0.0,
        }
    }
}

impl Bench {
    /// This bench, were it so. The findings of the self-check stay.
    #[must_use]
    pub fn what_if(&self, question: WhatIf) -> Self {
        let cores = self.machine.cores + question.cores;
        let mut changed = self.on(Machine {
            cores,
            ..self.machine
        });
        let times = |ns: u64, factor: f64| (ns as f64 * factor).round() as u64;
        let application = &mut changed.application;
        application.work = application.work.map(|step| match step {
            Step::Io(ns) => Step::Io(times(ns, question.io)),
            Step::Held(ns) => Step::Held(times(ns, question.cpu)),
            Step::Native(ns) => Step::Native(times(ns, question.cpu)),
            other => other,
        });
        let cold = |cold: Cold| Cold {
            hand_over_ns: times(cold.hand_over_ns, question.cpu),
            wake_ns: times(cold.wake_ns, question.cpu),
        };
        let costs = &mut application.costs;
        costs.cold = costs.cold.map(cold);
        let varied = changed.varied.iter_mut();
        varied.for_each(|(draw, _)| *draw = cold(*draw));
        costs.accept_ns = times(costs.accept_ns, question.cpu);
        costs.reactor_ns = times(costs.reactor_ns, question.cpu);
        changed
    }
}
