//! How fast the simulator is: requests a second on one core, for typical
//! requests under several servers, and 64 configurations of a trace of 20,000
//! requests on two cores.
//!
//!     cargo run --release -p powerband-capacity --example simulate

use std::io::Write;
use std::time::Instant;

use capacity::sim::{
    Arrivals, Discipline, Outcome, Overheads, PumaVersion, Scenario, Station, Step, Work, simulate,
};
use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};
use rand_pcg::Pcg64;

const TRACE: usize = 20_000;
const ROUNDS: usize = 5;
const PER_S: f64 = 60.0;

fn main() -> std::io::Result<()> {
    let work = trace();
    let steps: usize = (0..work.len()).map(|n| work.steps(n).count()).sum();
    let mut page = format!(
        "{} requests of {:.1} steps; medians of {ROUNDS} rounds\n",
        work.len(),
        steps as f64 / work.len() as f64
    );
    let rate = Arrivals::Recorded { speed: 1.0 };
    for (name, scenario) in servers() {
        let seconds = median(|| once(&work, &scenario, &rate));
        let per_s = work.len() as f64 / seconds;
        page.push_str(&format!("{per_s:>12.0} requests/s on one core: {name}\n"));
    }
    let grid = grid();
    let seconds = median(|| sweep(&work, &grid));
    page.push_str(&format!(
        "{seconds:>12.2} s for {} configurations of the trace on two cores\n",
        grid.len()
    ));
    std::io::stdout().write_all(page.as_bytes())
}

/// Four bursts under the GVL around three waits, one of them with a place of a
/// pool: 9 steps, 7 ms held and 12 ms of waiting.
fn trace() -> Work {
    let mut random = Pcg64::seed_from_u64(1);
    let mut part = |mean_ns: f64| {
        let part: f64 = Exp1.sample(&mut random);
        (part * mean_ns) as u64
    };
    let pool = Station(0);
    let mut work = Work::new();
    let mut at_ns = 0;
    for _ in 0..TRACE {
        at_ns += part(1e9 / PER_S);
        work.push(
            at_ns,
            [
                Step::Held(part(1.5e6)),
                Step::Io(part(2e6)),
                Step::Held(part(1.5e6)),
                Step::Acquire(pool),
                Step::Io(part(6e6)),
                Step::Release(pool),
                Step::Held(part(2e6)),
                Step::Io(part(4e6)),
                Step::Held(part(2e6)),
            ],
        );
    }
    work
}

fn puma(version: PumaVersion, processes: u16, threads: u16) -> Scenario {
    Scenario {
        discipline: Discipline::Puma { version },
        stations: vec![threads],
        overheads: Overheads {
            accept_ns: 40_000,
            parse_ns: 80_000,
            write_ns: 60_000,
            reactor_ns: 30_000,
            wake_ns: 50_000,
            hand_over_ns: 10_000,
            hand_over_cpu_ns: 100_000,
            wake_cpu_ns: 50_000,
            network_ns: 100_000,
        },
        ..Scenario::new(processes, threads, 2.0)
    }
}

fn servers() -> [(&'static str, Scenario); 6] {
    let kept = Scenario {
        keep_alive: true,
        ..puma(PumaVersion::V7, 2, 3)
    };
    let unicorn = Scenario {
        discipline: Discipline::OnePerProcess,
        ..puma(PumaVersion::V6, 4, 1)
    };
    [
        (
            "Puma 6.6, one process of 5 threads",
            puma(PumaVersion::V6, 1, 5),
        ),
        (
            "Puma 6.6, 2 workers of 3 threads",
            puma(PumaVersion::V6, 2, 3),
        ),
        (
            "Puma 6.6, 16 workers of 5 threads",
            puma(PumaVersion::V6, 16, 5),
        ),
        (
            "Puma 7 and 8, 2 workers of 3 threads",
            puma(PumaVersion::V7, 2, 3),
        ),
        (
            "Puma 7 and 8, 2 workers of 3 threads, kept connections",
            kept,
        ),
        ("one request per process, 4 processes", unicorn),
    ]
}

/// 1 to 8 workers of 1 to 8 threads.
fn grid() -> Vec<Scenario> {
    let of = |processes| (1..=8).map(move |threads| puma(PumaVersion::V6, processes, threads));
    (1..=8).flat_map(of).collect()
}

fn once(work: &Work, scenario: &Scenario, arrivals: &Arrivals) -> Outcome {
    simulate(work, scenario, arrivals, 1).unwrap_or_default()
}

fn sweep(work: &Work, grid: &[Scenario]) -> u64 {
    let arrivals = Arrivals::Recorded { speed: 1.0 };
    let half = |first: usize| {
        let arrivals = &arrivals;
        let own = grid.iter().skip(first).step_by(2);
        move || {
            own.map(|scenario| once(work, scenario, arrivals).answered)
                .sum::<u64>()
        }
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(half(1));
        half(0)() + other.join().unwrap_or(0)
    })
}

/// Seconds that one of several goes takes.
fn median<T>(mut once: impl FnMut() -> T) -> f64 {
    let mut seconds: Vec<f64> = (0..ROUNDS)
        .map(|_| {
            let begun = Instant::now();
            std::hint::black_box(once());
            begun.elapsed().as_secs_f64()
        })
        .collect();
    seconds.sort_by(f64::total_cmp);
    seconds[ROUNDS / 2]
}
