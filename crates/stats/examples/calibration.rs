//! Prints the tables of `docs/calibration.md`:
//!
//! ```sh
//! cargo run --release -p powerband-stats --example calibration -- [EXPERIMENTS A ROW, 20000]
//! ```

#[path = "../tests/procedure/experiments.rs"]
mod experiments;
#[path = "../tests/procedure/machine.rs"]
mod machine;

use experiments::{From, PLANS};
use machine::{DRIFTING, HOSTILE, MACHINES, QUIET};
use stats::{binomial_at_least, binomial_at_most};
use std::io::{self, Write};

type Printed = io::Result<()>;
type Table = fn(&mut dyn Write, u32) -> Printed;

fn main() -> Printed {
    let runs: u32 = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(20_000);
    let tables: [(&str, Table); 6] = [
        ("errors", errors),
        ("coverage", coverage),
        ("power", power),
        ("equivalence", equivalence),
        ("race", race),
        ("calibrate", calibrate),
    ];
    let only = std::env::args().nth(2);
    let out = &mut io::stdout().lock();
    writeln!(out, "{runs} experiments a row.")?;
    for (name, table) in tables {
        if only.as_deref().is_none_or(|only| only == name) {
            writeln!(out)?;
            table(out, runs)?;
        }
    }
    Ok(())
}

fn head(out: &mut dyn Write, columns: &[&str]) -> Printed {
    writeln!(out, "| {} |", columns.join(" | "))?;
    writeln!(out, "|{}", "---|".repeat(columns.len()))
}

fn percent(count: u32, runs: u32) -> f64 {
    f64::from(count) / f64::from(runs) * 100.0
}

fn errors(out: &mut dyn Write, runs: u32) -> Printed {
    let columns = [
        "machine",
        "blocks",
        "identical arms called different",
        "p of so many at 5 %",
    ];
    head(out, &columns)?;
    for machine in MACHINES {
        for blocks in PLANS {
            let wrong = experiments::false_positives(machine, blocks, runs, u64::from(blocks));
            let p = binomial_at_least(wrong, runs, experiments::ALPHA);
            let (name, share) = (machine.name, percent(wrong, runs));
            writeln!(
                out,
                "| {name} | {blocks} | {wrong} ({share:.2} %) | {p:.3} |"
            )?;
        }
    }
    Ok(())
}

const EFFECTS: [f64; 5] = [0.0, 0.05, -0.05, 0.2, -0.2];

fn coverage(out: &mut dyn Write, runs: u32) -> Printed {
    let columns = [
        "machine",
        "blocks",
        "claimed",
        "covers: 0 %",
        "+5 %",
        "-5 %",
        "+20 %",
        "-20 %",
        "least p of so few",
    ];
    head(out, &columns)?;
    for machine in MACHINES {
        for blocks in PLANS {
            let (mut least, mut claimed, mut cells) = (1.0_f64, 0.0, String::new());
            for (index, effect) in EFFECTS.into_iter().enumerate() {
                let seed = 1_000 + u64::from(blocks) * 10 + index as u64;
                let (covered, confidence) =
                    experiments::coverage(machine, blocks, effect.ln_1p(), runs, seed);
                least = least.min(binomial_at_most(covered, runs, confidence));
                claimed = confidence * 100.0;
                cells += &format!(" {:.2} % |", percent(covered, runs));
            }
            let name = machine.name;
            writeln!(
                out,
                "| {name} | {blocks} | {claimed:.2} % |{cells} {least:.3} |"
            )?;
        }
    }
    Ok(())
}

fn power(out: &mut dyn Write, runs: u32) -> Printed {
    let columns = [
        "machine",
        "blocks",
        "effect printed from",
        "found",
        "p of so few at 80 %",
    ];
    head(out, &columns)?;
    let sources = [
        ("1 pilot pair", From::Pilot),
        ("10 A/A blocks", From::EqualArms(10)),
        ("the data", From::Data),
    ];
    for machine in MACHINES {
        for blocks in PLANS {
            for (index, (source, from)) in sources.into_iter().enumerate() {
                let seed = 2_000 + u64::from(blocks) * 10 + index as u64;
                let found = experiments::powered(machine, blocks, from, runs, seed);
                let p = binomial_at_most(found, runs, experiments::POWER);
                let (name, share) = (machine.name, percent(found, runs));
                writeln!(
                    out,
                    "| {name} | {blocks} | {source} | {share:.1} % | {p:.3} |"
                )?;
            }
        }
    }
    Ok(())
}

fn equivalence(out: &mut dyn Write, runs: u32) -> Printed {
    let columns = [
        "machine",
        "blocks",
        "margin",
        "true effect",
        "called equivalent",
        "p of so many at 5 %",
    ];
    head(out, &columns)?;
    for (machine, margin) in [(QUIET, 0.03), (DRIFTING, 0.1), (HOSTILE, 0.2)] {
        for blocks in PLANS {
            for sign in [1.0, -1.0] {
                let seed = 3_000 + u64::from(blocks) * 10 + u64::from(sign > 0.0);
                let wrong =
                    experiments::wrongly_equivalent(machine, blocks, margin, sign, runs, seed);
                let p = binomial_at_least(wrong, runs, experiments::ALPHA);
                let effect = (sign * f64::ln_1p(margin)).exp_m1() * 100.0;
                writeln!(
                    out,
                    "| {} | {blocks} | {:.0} % | {effect:+.1} % | {:.2} % | {p:.3} |",
                    machine.name,
                    margin * 100.0,
                    percent(wrong, runs)
                )?;
            }
        }
    }
    Ok(())
}

fn race(out: &mut dyn Write, runs: u32) -> Printed {
    let columns = [
        "machine",
        "identical arms",
        "confirmed on",
        "winner called better or worse",
        "p of so many at 5 %",
        "ahead in the rounds",
        "on fresh blocks",
    ];
    head(out, &columns)?;
    for machine in MACHINES {
        for (arms, blocks) in [(5, 6), (8, 9)] {
            let wrong = experiments::false_winners(machine, arms, blocks, runs, 4_000);
            let p = binomial_at_least(wrong, runs, experiments::ALPHA);
            let (raced, fresh) = experiments::flattery(machine, arms, runs, 4_001);
            writeln!(
                out,
                "| {} | {arms} | {blocks} blocks | {:.2} % | {p:.3} | {:+.1} % | {:+.1} % |",
                machine.name,
                percent(wrong, runs),
                raced.exp_m1() * 100.0,
                fresh.exp_m1() * 100.0
            )?;
        }
    }
    Ok(())
}

fn calibrate(out: &mut dyn Write, runs: u32) -> Printed {
    let columns = [
        "machine",
        "identical arms differ by",
        "A/A blocks",
        "sound",
        "widened",
        "refused",
        "six blocks err without",
        "with calibration",
        "after widening",
    ];
    head(out, &columns)?;
    let hosts = [
        (QUIET, 0.0),
        (QUIET, 0.02),
        (QUIET, 0.05),
        (DRIFTING, 0.0),
        (DRIFTING, 0.05),
        (DRIFTING, 0.15),
        (HOSTILE, 0.0),
    ];
    // The law of the count is worked out anew for each.
    let runs = runs.min(2_000);
    for (machine, bias) in hosts {
        for aa_blocks in [6, 10, 16] {
            let o = experiments::calibrated(machine, aa_blocks, f64::ln_1p(bias), runs, 5_000);
            let share = |count: u32| percent(count, runs);
            writeln!(
                out,
                "| {} | {:.0} % | {aa_blocks} | {:.1} % | {:.1} % | {:.1} % | {:.1} % | {:.1} % | {} of {} |",
                machine.name,
                bias * 100.0,
                share(o.sound),
                share(o.widened),
                share(o.refused),
                share(o.wrong_without),
                share(o.wrong),
                o.wrong_widened,
                o.widened
            )?;
        }
    }
    Ok(())
}
