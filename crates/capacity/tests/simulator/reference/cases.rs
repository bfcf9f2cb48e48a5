//! Random scenarios, small enough to look at everybody.

use capacity::sim::{
    Arrivals, Discipline, Outcome, Overheads, PumaVersion, Quota, Scenario, Station, Step, Work,
    simulate,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

#[derive(Debug, Clone)]
pub struct Case {
    pub work: Work,
    pub scenario: Scenario,
    pub arrivals: Arrivals,
    pub seed: u64,
}

impl Case {
    pub fn simulate(&self) -> Outcome {
        simulate(&self.work, &self.scenario, &self.arrivals, self.seed).expect("simulated")
    }

    pub fn requests(&self) -> usize {
        match &self.arrivals {
            Arrivals::Given(times) => times.len(),
            Arrivals::Closed { requests, .. } => *requests,
            _ => self.work.len(),
        }
    }

    pub fn is_puma(&self) -> bool {
        matches!(self.scenario.discipline, Discipline::Puma { .. })
    }

    pub fn version(&self) -> PumaVersion {
        match self.scenario.discipline {
            Discipline::Puma { version } => version,
            _ => PumaVersion::V7,
        }
    }

    /// Serving threads of all processes.
    pub fn threads(&self) -> u32 {
        let per_process = if self.is_puma() {
            self.scenario.threads
        } else {
            1
        };
        u32::from(self.scenario.processes) * u32::from(per_process)
    }
}

/// Times in odd nanoseconds, so that two things seldom happen at once.
fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (1_u64..9_000_000).prop_map(Step::Held),
        3 => (1_u64..20_000_000).prop_map(Step::Io),
        1 => (1_u64..9_000_000).prop_map(Step::Native),
        // Longer than a quantum.
        1 => (30_000_000_u64..90_000_000).prop_map(Step::Held),
    ]
}

/// Steps in a row, some of them with a place of a station.
fn steps(stations: usize) -> impl Strategy<Value = Vec<Step>> {
    let section = (option::of(0..4_usize), vec(step(), 0..4), any::<bool>());
    vec(section, 0..4).prop_map(move |sections| {
        let mut all = Vec::new();
        let mut kept = false;
        for (station, inner, released) in sections {
            // A request that keeps a place takes no other, so that no ring of
            // waiters forms.
            let station = station.filter(|&station| station < stations && !kept);
            let station = station.map(|station| Station(station as u8));
            all.extend(station.map(Step::Acquire));
            all.extend(inner);
            kept |= station.is_some() && !released;
            all.extend(station.filter(|_| released).map(Step::Release));
        }
        all
    })
}

fn overheads() -> impl Strategy<Value = Overheads> {
    let ns = || prop_oneof![Just(0), 1_u64..900_000];
    let cold = (ns(), ns());
    let ns = (ns(), ns(), ns(), ns(), ns(), ns(), ns());
    (ns, cold).prop_map(|(ns, cold)| Overheads {
        accept_ns: ns.0,
        parse_ns: ns.1,
        write_ns: ns.2,
        reactor_ns: ns.3,
        wake_ns: ns.4,
        hand_over_ns: ns.5,
        hand_over_cpu_ns: cold.0,
        wake_cpu_ns: cold.1,
        network_ns: ns.6,
    })
}

fn discipline() -> impl Strategy<Value = Discipline> {
    prop_oneof![
        3 => Just(Discipline::Puma { version: PumaVersion::V6 }),
        3 => Just(Discipline::Puma { version: PumaVersion::V7 }),
        1 => Just(Discipline::OnePerProcess),
        1 => Just(Discipline::OnePerProcessOwnQueue),
    ]
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let shape = (1..4_u16, 1..4_u16, 0.3..4.0_f64, discipline());
    let quota = option::weighted(
        0.3,
        (5_000_000_u64..60_000_000, 50_000_000_u64..100_000_000),
    );
    let times = prop_oneof![
        Just((100_000_000, 10_000_000)),
        (11_000_000_u64..40_000_000, 3_000_000_u64..9_000_000),
    ];
    let rest = (
        vec(1..3_u16, 0..3),
        overheads(),
        prop_oneof![Just(0.0), 0.01..0.3],
    );
    let flags = (
        any::<bool>(),
        any::<bool>(),
        prop_oneof![3 => Just(u32::MAX), 1 => 1..4_u32],
    );
    (shape, quota, times, rest, flags).prop_map(|(shape, quota, times, rest, flags)| Scenario {
        discipline: shape.3,
        quota: quota.map(|(quota_ns, period_ns)| Quota {
            quota_ns,
            period_ns,
        }),
        stations: rest.0,
        overheads: rest.1,
        quantum_ns: times.0,
        tick_ns: times.1,
        io_growth: rest.2,
        keep_alive: flags.0,
        cluster: flags.1,
        backlog: flags.2,
        ..Scenario::new(shape.0, shape.1, shape.2)
    })
}

fn arrivals() -> impl Strategy<Value = Arrivals> {
    let given = vec(0_u64..25_000_000, 1..40).prop_map(|gaps| {
        let mut at = 0;
        let times = gaps.iter().map(|gap| {
            at += gap;
            at
        });
        Arrivals::Given(times.collect())
    });
    // Who thinks not at all comes at the same instant as others: then a rounding
    // of the speeds that the two simulators do differently decides who is first.
    let think = 1_000_000_u64..30_000_000;
    let closed = (1_u32..8, think, 1_usize..40);
    let closed = closed.prop_map(|(connections, think_ns, requests)| Arrivals::Closed {
        connections,
        think_ns,
        requests,
    });
    prop_oneof![given, closed]
}

pub fn cases() -> impl Strategy<Value = Case> {
    let of = |scenario: Scenario| {
        let work = vec(steps(scenario.stations.len()), 1..12);
        (Just(scenario), work, arrivals(), any::<u64>())
    };
    scenario()
        .prop_flat_map(of)
        .prop_map(|(scenario, requests, arrivals, seed)| {
            let mut work = Work::new();
            requests.into_iter().for_each(|steps| work.push(0, steps));
            Case {
                work,
                scenario,
                arrivals,
                seed,
            }
        })
}
