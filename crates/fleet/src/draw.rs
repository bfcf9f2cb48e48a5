//! The arm of a unit, from a keyed hash of experiment, unit and period: no coordinator is needed, and a unit that starts again within the
//! period gets the same arm.

use crate::experiment::{Arm, Experiment, UnitKind};
use crate::label::Label;
use ring::hmac;
use run::production::Halted;

/// One draw.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drawn {
    /// From 0 to 1, without 1.
    pub number: f64,
    /// The arm's place in the experiment.
    pub arm: usize,
    /// Identifies the draw of a process.
    pub start: u32,
}

/// The draw of a unit in a period.
pub fn draw(experiment: &Experiment, unit: &str, period: u64) -> Drawn {
    let text = format!("{}\n{period}\n{unit}", experiment.digest());
    let tag = hmac::sign(&experiment.hmac_key(), text.as_bytes());
    let mut bytes = [0; 8];
    bytes.copy_from_slice(&tag.as_ref()[..8]);
    // 53 bits, which a number from 0 to 1 holds exactly.
    let number = (u64::from_be_bytes(bytes) >> 11) as f64 / (1_u64 << 53) as f64;
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&tag.as_ref()[8..12]);
    let start = u32::from_be_bytes(bytes);
    let mut below = 0.0;
    let within = |(_, arm): &(usize, &Arm)| {
        below += arm.share;
        number < below
    };
    let mut others = experiment.arms.iter().enumerate().skip(1);
    let arm = others.find(within).map_or(0, |(place, _)| place);
    Drawn { number, arm, start }
}

/// On which side of the experiment an instant is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outside {
    Before,
    After,
}

/// The arm that a unit runs, and how it got it.
#[derive(Debug, Clone, PartialEq)]
pub struct Assigned<'a> {
    /// The arm that runs.
    pub arm: &'a Arm,
    /// Its label; an error if there is none, because the instant is outside of the experiment and the first arm runs.
    pub label: Result<Label, Outside>,
    /// The draw and its period; `None` outside of the experiment.
    pub drawn: Option<(Drawn, u64)>,
}

/// The arm of a unit that starts now.
pub fn assign<'a>(
    experiment: &'a Experiment,
    halted: &[Halted],
    unit: &str,
    now_s: i64,
) -> Assigned<'a> {
    let Some(period) = experiment.period_at(now_s) else {
        let outside = match now_s < experiment.starts_s {
            true => Outside::Before,
            false => Outside::After,
        };
        return Assigned {
            arm: &experiment.arms[0],
            label: Err(outside),
            drawn: None,
        };
    };
    let drawn = draw(experiment, unit, period);
    let name = &experiment.arms[drawn.arm].name;
    let is_halted = drawn.arm > 0 && halted.iter().any(|one| one.arm == *name);
    let arm = &experiment.arms[if is_halted { 0 } else { drawn.arm }];
    Assigned {
        arm,
        label: Ok(Label {
            arm: arm.name.clone(),
            digest: experiment.short_digest(),
            period: match experiment.unit {
                UnitKind::Process => u64::from(drawn.start),
                UnitKind::Pod | UnitKind::Host => period,
            },
            halted: is_halted.then(|| name.clone()),
        }),
        drawn: Some((drawn, period)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "name = 'threads'\nstarts = 2026-12-01T00:00:00Z\nlasts = '14d'\nperiod = '6h'\n\
                        [[arm]]\nname = 'today'\n[[arm]]\nname = 'five'\nshare = '20%'\n[arm.environment]\nRAILS_MAX_THREADS = 5\n\
                        [[arm]]\nname = 'two'\nshare = '10%'\n[arm.environment]\nRAILS_MAX_THREADS = 2\n";

    fn experiment(text: &str) -> Experiment {
        crate::read(text).unwrap()
    }

    fn halted(arm: &str) -> Halted {
        Halted {
            arm: arm.to_owned(),
            at: String::new(),
            reason: String::new(),
        }
    }

    #[test]
    fn the_shares_hold_over_units_and_over_periods() {
        let experiment = experiment(FILE);
        let mut of_units = [0_u32; 3];
        let mut of_periods = [0_u32; 3];
        for index in 0..2_000 {
            of_units[draw(&experiment, &format!("shop-7d9f-{index}"), 0).arm] += 1;
            of_periods[draw(&experiment, "shop-7d9f-0", index).arm] += 1;
        }
        for counts in [of_units, of_periods] {
            for (count, share) in counts.into_iter().zip([0.7, 0.2, 0.1]) {
                assert!(stats::ratio_p(count, 2_000, share) > 1e-4, "{counts:?}");
            }
        }
    }

    #[test]
    fn neighbouring_units_and_arms_of_two_experiments_are_independent() {
        let (one, other) = (
            experiment(FILE),
            experiment(&FILE.replace("threads'", "other'")),
        );
        let of = |experiment: &Experiment, unit: u64| {
            draw(experiment, &format!("web-{unit}"), 3).arm == 1
        };
        let both = (0..4_000)
            .filter(|&unit| of(&one, unit) && of(&other, unit))
            .count();
        let neighbours = (0..4_000)
            .filter(|&unit| of(&one, unit) && of(&one, unit + 1))
            .count();
        for count in [both, neighbours] {
            assert!(stats::ratio_p(count as u32, 4_000, 0.04) > 1e-4, "{count}");
        }
    }

    #[test]
    fn the_arm_stays_in_a_period_and_the_draw_is_pinned() {
        let experiment = experiment(FILE);
        let at = |hours: i64| experiment.starts_s + hours * 3600;
        let label = |hours| assign(&experiment, &[], "web-1", at(hours)).label;
        assert_eq!(label(0), label(5));
        assert_ne!(label(0), label(6));
        assert_eq!(label(-1), Err(Outside::Before));
        assert_eq!(label(14 * 24), Err(Outside::After));
        assert_eq!(assign(&experiment, &[], "web-1", at(-1)).arm.name, "today");
        // Another number here would give running fleets other arms.
        let numbers = [0, 1].map(|period| draw(&experiment, "web-1", period).number);
        assert_eq!(numbers, PINNED);
    }

    const PINNED: [f64; 2] = [0.321749021899302, 0.20345061363568573];

    #[test]
    fn each_start_of_a_process_is_a_draw_of_its_own() {
        let experiment = experiment(&FILE.replace("period", "unit = 'process'\nperiod"));
        let label = |unit: &str| {
            assign(&experiment, &[], unit, experiment.starts_s)
                .label
                .unwrap()
        };
        assert_ne!(label("web/1").period, label("web/2").period);
        assert_eq!(label("web/1"), label("web/1"));
    }

    #[test]
    fn a_halted_arm_is_drawn_and_not_run() {
        let experiment = experiment(FILE);
        let unit = (0..)
            .map(|n| format!("web-{n}"))
            .find(|unit| draw(&experiment, unit, 0).arm == 1);
        let unit = unit.unwrap();
        let now = experiment.starts_s;
        let assigned = assign(&experiment, &[halted("five")], &unit, now);
        assert_eq!(assigned.arm.name, "today");
        let label = assigned.label.unwrap().to_string();
        assert!(
            label.starts_with("today:") && label.ends_with(":0:five"),
            "{label}"
        );
        let others = assign(&experiment, &[halted("two"), halted("today")], &unit, now);
        assert_eq!(others.arm.name, "five");
    }

    #[test]
    fn the_longest_label_fits_into_the_flight_file() {
        let name = "n".repeat(20);
        let text = FILE
            .replace("today", &name)
            .replace("'five'", &format!("'{}'", "m".repeat(20)));
        let experiment = experiment(&text);
        let digest = experiment.short_digest();
        let label = Label {
            arm: name,
            digest,
            period: u64::from(u32::MAX),
            halted: Some("m".repeat(20)),
        };
        assert!(label.to_string().len() <= 63);
    }
}
