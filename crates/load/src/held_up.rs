//! What delayed the generator, and what to do about it.

use std::fmt;
use std::time::Duration;

use crate::outcome::Outcome;

/// Share of the window that the generator waits for a core before other processes are named as the cause.
const WORTH_NAMING: f64 = 0.01;

/// What delayed the generator; prints as the cause with its remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeldUp {
    /// Its own work, or nothing that is known.
    ByItself,
    /// Other work on this machine had the cores.
    ByOthers(Waited),
    /// It was late although some cores are kept free for it.
    OnOwnCores {
        /// Those.
        cores: Vec<u32>,
        /// For them.
        waited: Waited,
        /// Other processes had them for longer than it did.
        by_others: bool,
    },
}

/// How long the generator waited for a core, and who used the CPU meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waited {
    /// On a core, within the window.
    pub ran: Duration,
    /// For one.
    pub waited: Duration,
    /// [`Outcome::others`].
    pub others: Vec<String>,
}

impl Outcome {
    /// A generator that waits longer for a core than it runs is held up by others, whatever the rate.
    pub(crate) fn held_up(&self) -> HeldUp {
        let waited = Waited {
            ran: self.generator_cpu_in_window,
            waited: self.generator_waited_in_window,
            others: self.others.clone(),
        };
        // A generator that hardly runs hardly waits either.
        let by_others =
            waited.waited > waited.ran && waited.waited > self.window().mul_f64(WORTH_NAMING);
        match (self.own_cores.is_empty(), by_others) {
            (true, false) => HeldUp::ByItself,
            (true, true) => HeldUp::ByOthers(waited),
            (false, by_others) => HeldUp::OnOwnCores {
                cores: self.own_cores.clone(),
                waited,
                by_others,
            },
        }
    }
}

impl fmt::Display for HeldUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HeldUp::ByItself => f.write_str(
                "ask for a lower rate; with four cores or more, keep one free for it (taskset; --generator-core true where powerband starts \
                 the server)",
            ),
            HeldUp::ByOthers(waited) => write!(
                f,
                "the generator had too little of the CPU (it ran for {} and waited {} for a core{}): end other programs, or measure on a \
                 quiet machine; where none is busy, the server has the CPU: ask for a lower rate, or with four cores or more keep one free \
                 for the generator (taskset; --generator-core true where powerband starts the server)",
                seconds(waited.ran),
                seconds(waited.waited),
                waited.most()
            ),
            HeldUp::OnOwnCores {
                cores,
                waited,
                by_others: true,
            } => write!(
                f,
                "{} is kept free of the server, but other processes used it (the generator ran for {} and waited {} for it{}): end \
                 the other work, or measure on a quiet machine",
                named(cores),
                seconds(waited.ran),
                seconds(waited.waited),
                waited.most()
            ),
            HeldUp::OnOwnCores { cores, waited, .. } => write!(
                f,
                "it has {} to itself already (it ran for {} and waited {} for it{}): ask for a lower rate, or measure on a machine \
                 with faster cores",
                named(cores),
                seconds(waited.ran),
                seconds(waited.waited),
                waited.most()
            ),
        }
    }
}

impl Waited {
    fn most(&self) -> String {
        match self.others.is_empty() {
            true => String::new(),
            false => format!(
                "; of other programs most used by {}",
                self.others.join(", ")
            ),
        }
    }
}

fn seconds(time: Duration) -> String {
    format!("{:.2} s", time.as_secs_f64())
}

/// `core 3`, `cores 2, 3`.
fn named(cores: &[u32]) -> String {
    let numbers: Vec<String> = cores.iter().map(u32::to_string).collect();
    let word = if cores.len() == 1 { "core" } else { "cores" };
    format!("{word} {}", numbers.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second's run whose requests started late.
    fn late(ran_ms: u64, waited_ms: u64) -> Outcome {
        let mut outcome = Outcome::empty();
        outcome.ended_ns = 1_000_000_000;
        outcome.stalled = 1;
        outcome.generator_cpu_in_window = Duration::from_millis(ran_ms);
        outcome.generator_waited_in_window = Duration::from_millis(waited_ms);
        outcome.response.record_n(20_000, 1000).unwrap();
        outcome.lateness.record_n(3_000, 1000).unwrap();
        outcome
    }

    fn said(outcome: &Outcome) -> [String; 2] {
        let troubles = [outcome.generator_ok(), outcome.generator_ok_at(0.99)];
        troubles.map(|trouble| trouble.unwrap_err().to_string())
    }

    #[test]
    fn the_remedy_fits_what_held_the_generator_up() {
        for own in said(&late(200, 150)) {
            assert!(own.ends_with("ask for a lower rate; with four cores or more, keep one free for it (taskset; --generator-core true where powerband starts the server)"), "{own}");
        }
        for others in said(&late(200, 1_500)) {
            assert!(others.contains("waited 1.50 s for a core)"), "{others}");
            assert!(
                others.contains("end other programs, or measure on a quiet machine"),
                "{others}"
            );
            assert!(
                others.contains("where none is busy, the server has the CPU: ask for a lower rate"),
                "{others}"
            );
        }
    }

    #[test]
    fn a_generator_with_its_own_core_is_not_advised_to_get_one() {
        let own_core = |waited_ms, others: &[&str]| {
            let mut outcome = late(200, waited_ms);
            outcome.own_cores = vec![3];
            outcome.others = others.iter().map(ToString::to_string).collect();
            said(&outcome)
        };
        let ffmpeg = "ffmpeg (PID 812) 43 % of a core";
        for said in own_core(1_500, &[ffmpeg]) {
            assert!(said.contains("but other processes used it"), "{said}");
            assert!(
                said.contains(&format!("for it; of other programs most used by {ffmpeg})")),
                "{said}"
            );
            assert!(said.contains("end the other work"), "{said}");
            assert!(!said.contains("generator-core"), "{said}");
        }
        for said in own_core(150, &[]) {
            assert!(said.contains("core 3 to itself already"), "{said}");
            assert!(
                said.contains("waited 0.15 s for it): ask for a lower rate"),
                "{said}"
            );
            assert!(!said.contains("generator-core"), "{said}");
        }
    }

    #[test]
    fn other_processes_are_named_without_a_core_for_the_generator_too() {
        let mut outcome = late(200, 1_500);
        outcome.others = vec!["cc1 (2 processes) 90 % of a core".to_owned()];
        for said in said(&outcome) {
            assert!(
                said.contains("; of other programs most used by cc1 (2 processes)"),
                "{said}"
            );
        }
    }
}
