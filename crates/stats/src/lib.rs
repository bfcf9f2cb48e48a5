//! Samples in, estimates and verdicts out.
//!
//! Everything here is pure: no clock, no file, no network, no global random
//! generator. Whatever needs chance takes a seed and draws from a pinned
//! `Pcg64`, so that the same run folder gives the same verdict for ever.
//! Running trials, storing them and wording the outcome are left to others.
//! `docs/method.md` gives each method with its source and its assumptions.

mod binomial;
mod blocks;
mod calibrate;
mod compare;
mod course;
mod design;
mod error;
mod finalists;
mod growth;
mod interrupted;
mod mde;
mod order;
pub mod paired;
mod pilot;
mod race;
mod randomised;
mod ranking;
mod resolution;
mod scatter;
mod share;
mod signed_rank;
mod sizes;
mod slope;
mod steady;
mod student;
pub mod summary;
mod violation;

pub use binomial::{binomial_at_least, binomial_at_most};
pub use blocks::blocks_to_decide;
pub use calibrate::{Calibrated, EqualBlock, Fitness, RUN_OF, calibrate};
pub use compare::{Better, Comparison, Interval, Rule, Verdict, compare};
pub use course::{BLOCKS, Course, Judged, course, joined};
pub use design::{Look, looks};
pub use error::StatsError;
pub use finalists::{Second, left_over};
pub use growth::{Grown, Growth, MATERIAL_GROWTH, grown, growth, growth_per_thousand};
pub use interrupted::{Interrupted, interrupted};
pub use mde::{Noise, mde};
pub use order::block_orders;
pub use pilot::{DEFAULT_SD, EqualArms, Foreseen, foresee};
pub use race::{ArmSoFar, Dropped, RaceRule, Step, Why, step};
pub use randomised::{
    INTERIM_LEVEL, LAST_LEVEL, MOST_LOOKS, Observation, Randomised, Redraws, look_level,
    randomised, ratio_p,
};
pub use ranking::{Ranking, ranking};
pub use resolution::{effect_of_unit_noise, window_s};
pub use scatter::Scatter;
pub use share::{share, wilson};
pub use signed_rank::{RankInterval, SignedRank};
pub use sizes::{Range, Size, smallest};
pub use slope::{Slope, theil_sen};
pub use steady::{Figure, Flatness, Steadiness, Window, flat};
pub use student::{mean_and_half, two_sided as student_two_sided};
pub use violation::{Feasibility, Standing, ViolationRule, least_to_meet, meets, times_to_meet};

use rand::SeedableRng;
use rand_pcg::Pcg64;

/// The one generator of this crate. Its algorithm is part of the contract: a
/// plan that names its seed must order the same blocks in every version.
fn generator(seed: u64) -> Pcg64 {
    Pcg64::seed_from_u64(seed)
}
