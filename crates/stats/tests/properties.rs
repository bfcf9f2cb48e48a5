//! What must hold for any sample.

use proptest::prelude::*;
use stats::{
    Better, Look, Noise, Rule, SignedRank, Standing, Verdict, ViolationRule, compare, mde, meets,
};

fn pairs() -> impl Strategy<Value = Vec<(f64, f64)>> {
    let rate = || (-0.4_f64..0.4).prop_map(|x| 100.0 * x.exp());
    prop::collection::vec((rate(), rate()), 1..20)
}

/// Whole numbers, so that there are ties and zeros.
fn coarse_pairs() -> impl Strategy<Value = Vec<(f64, f64)>> {
    let rate = || (95_i32..106).prop_map(f64::from);
    prop::collection::vec((rate(), rate()), 1..20)
}

fn mirrored(verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Better => Verdict::Worse,
        Verdict::Worse => Verdict::Better,
        same => same,
    }
}

proptest! {
    #[test]
    fn swapping_the_arms_mirrors_everything(pairs in prop_oneof![pairs(), coarse_pairs()]) {
        let swapped: Vec<(f64, f64)> = pairs.iter().map(|(a, b)| (*b, *a)).collect();
        let (there, back) = (
            compare(&pairs, &Rule::default()).unwrap(),
            compare(&swapped, &Rule::default()).unwrap(),
        );
        prop_assert_eq!(there.verdict, mirrored(back.verdict));
        prop_assert!((there.ratio * back.ratio - 1.0).abs() < 1e-12);
        prop_assert!((there.p - back.p).abs() < 1e-12);
        prop_assert!((there.p_equivalence - back.p_equivalence).abs() < 1e-12);
        if let (Some(a), Some(b)) = (there.interval, back.interval) {
            prop_assert!((a.low * b.high - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn p_is_a_probability_and_the_interval_holds_the_estimate(
        pairs in prop_oneof![pairs(), coarse_pairs()], alpha in 0.01_f64..0.4,
    ) {
        let rule = Rule { alpha, overall: alpha, ..Rule::default() };
        let c = compare(&pairs, &rule).unwrap();
        prop_assert!(c.p > 0.0 && c.p <= 1.0);
        prop_assert!(c.p_equivalence > 0.0 && c.p_equivalence <= 1.0);
        if let Some(i) = c.interval {
            prop_assert!(i.low <= c.ratio * (1.0 + 1e-12) && c.ratio <= i.high * (1.0 + 1e-12));
            prop_assert!(i.confidence >= 1.0 - alpha);
        }
    }

    /// The interval is the test inverted: it leaves out 1 exactly when the
    /// test rejects.
    #[test]
    fn test_and_interval_agree(pairs in pairs(), alpha in 0.01_f64..0.4) {
        let rule = Rule { alpha, overall: alpha, ..Rule::default() };
        let c = compare(&pairs, &rule).unwrap();
        let outside = c.interval.is_some_and(|i| i.low > 1.0 || i.high < 1.0);
        prop_assert_eq!(outside, c.p <= alpha);
    }

    #[test]
    fn tails_share_what_is_seen(sample in prop::collection::vec(-5_i32..6, 1..16)) {
        let sample: Vec<f64> = sample.into_iter().map(f64::from).collect();
        let test = SignedRank::of(&sample).unwrap();
        // Both tails include the value seen, so together they exceed 1.
        prop_assert!(test.p_less() + test.p_greater() >= 1.0 - 1e-12);
    }

    #[test]
    fn violation_intervals_hold_the_rate(
        blocks in prop::collection::vec((0_u64..50, 50_u64..3_000), 1..12),
        objective_rate in 0.001_f64..0.2,
    ) {
        let rule = ViolationRule { objective_rate, alpha: 0.05, seed: 1 };
        let found = meets(&blocks, &rule).unwrap();
        let interval = found.interval;
        prop_assert!(0.0 <= interval.low && interval.high <= 1.0);
        prop_assert!(interval.low <= found.rate && found.rate <= interval.high);
        let inside = interval.low <= objective_rate && objective_rate < interval.high;
        prop_assert_eq!(found.standing == Standing::Unclear, inside);
    }

    #[test]
    fn a_violation_more_never_lowers_the_bound(
        requests in prop::collection::vec(50_u64..3_000, 1..12),
        at in 0_usize..12,
    ) {
        let rule = ViolationRule { objective_rate: 0.01, alpha: 0.05, seed: 1 };
        let mut blocks: Vec<(u64, u64)> = requests.into_iter().map(|n| (0, n)).collect();
        let without = meets(&blocks, &rule).unwrap().interval.high;
        let at = at % blocks.len();
        blocks[at].0 = 1;
        prop_assert!(without <= meets(&blocks, &rule).unwrap().interval.high);
    }

    #[test]
    fn lower_is_better_is_the_same_evidence(pairs in pairs()) {
        let higher = compare(&pairs, &Rule::default()).unwrap();
        let lower = compare(&pairs, &Rule { better: Better::Lower, ..Rule::default() }).unwrap();
        prop_assert_eq!(higher.verdict, mirrored(lower.verdict));
        prop_assert_eq!(higher.ratio, lower.ratio);
    }
}

#[test]
fn detectable_effects_grow_with_scatter_and_shrink_with_blocks() {
    let of = |blocks: u32, sd: f64| {
        let look = Look {
            blocks,
            alpha: 0.05,
            overall: 0.05,
        };
        mde(&[look], Noise::assumed(sd), 0.0, 0.8, 3)
    };
    let effects = [6, 8, 10, 16, 24, 40].map(|blocks| of(blocks, 0.04));
    assert!(effects.windows(2).all(|w| w[0] > w[1]), "{effects:?}");
    let scatters = [0.005, 0.01, 0.04, 0.2].map(|sd| of(8, sd));
    assert!(scatters.windows(2).all(|w| w[0] < w[1]), "{scatters:?}");
}
