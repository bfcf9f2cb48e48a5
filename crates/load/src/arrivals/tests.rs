use std::time::Duration;

use proptest::prelude::*;
use rand::RngExt;

use super::*;

/// Pins generator and sampling: a run repeated with a newer Powerband must
/// ask at the same instants, so an upgrade that changes them is refused.
#[test]
fn poisson_arrivals_never_change() {
    let first: Vec<u64> = Arrivals::poisson(1000.0, 42).offsets_ns().take(5).collect();
    assert_eq!(first, GOLDEN);
}

const GOLDEN: [u64; 5] = [1_173_671, 2_227_005, 4_634_322, 4_868_329, 7_563_832];

#[test]
fn poisson_gaps_have_the_mean_and_the_spread_of_an_exponential() {
    let rate = 250.0;
    let count = 200_000;
    let at: Vec<u64> = Arrivals::poisson(rate, 1)
        .offsets_ns()
        .take(count)
        .collect();
    let gaps: Vec<f64> = at.windows(2).map(|w| (w[1] - w[0]) as f64 / 1e9).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|g| (g - mean).powi(2)).sum::<f64>() / (gaps.len() - 1) as f64;
    // Five standard errors; an exponential's deviation is its mean.
    assert!((mean * rate - 1.0).abs() < 5.0 / (count as f64).sqrt());
    assert!((variance.sqrt() * rate - 1.0).abs() < 0.02);
}

#[test]
fn constant_arrivals_do_not_drift() {
    let at = Arrivals::constant(3.0).offsets_ns().nth(3_000_000).unwrap();
    assert!(at.abs_diff(1_000_000_000_000_000) <= 1);
}

proptest! {
    #[test]
    fn offsets_never_decrease_and_repeat(rate in 0.01f64..1e6, seed: u64) {
        let arrivals = Arrivals::poisson(rate, seed);
        let first: Vec<u64> = arrivals.offsets_ns().take(300).collect();
        prop_assert!(first.is_sorted());
        prop_assert_eq!(&first, &arrivals.offsets_ns().take(300).collect::<Vec<_>>());
        let other = Arrivals::poisson(rate, seed ^ 1);
        prop_assert_ne!(&first, &other.offsets_ns().take(300).collect::<Vec<_>>());
    }
}

fn part(from: f64, to: f64, length_ms: u64) -> Part {
    Part::ramp(from, to, Duration::from_millis(length_ms))
}

#[test]
fn a_ramp_from_nothing_is_a_parabola_and_then_holds() {
    let arrivals = Arrivals::even(Profile::holding(&[part(0.0, 8.0, 1000)]));
    let at: Vec<u64> = arrivals.offsets_ns().take(7).collect();
    // 4t² = n: sqrt(n) / 2 seconds.
    let expected = [0, 500_000_000, 707_106_781, 866_025_403];
    assert_eq!(at[..4], expected);
    assert_eq!(at[4..], [1_000_000_000, 1_125_000_000, 1_250_000_000]);
    assert_eq!(arrivals.ends_after_ns(), None);
    assert!((arrivals.rate() - 4.0).abs() < 1e-12);
    assert_eq!(arrivals.highest_rate(), 8.0);
    assert_eq!(arrivals.rate_at(250_000_000), 2.0);
    assert_eq!(arrivals.rate_at(5_000_000_000), 8.0);
}

#[test]
fn a_ramp_to_nothing_ends() {
    let arrivals = Arrivals::even(Profile::holding(&[part(8.0, 0.0, 1000)]));
    let at: Vec<u64> = arrivals.offsets_ns().collect();
    assert_eq!(at.len(), 4);
    assert_eq!(at[3], 500_000_000);
    assert_eq!(arrivals.ends_after_ns(), Some(1_000_000_000));
}

#[test]
fn bursts_leave_out_what_is_off_and_repeat() {
    let profile = Profile::repeating(&[part(0.0, 0.0, 900), part(20.0, 20.0, 100)]);
    let arrivals = Arrivals::even(profile);
    let at: Vec<u64> = arrivals.offsets_ns().take(4).collect();
    let ms = 1_000_000;
    assert_eq!(at, [900 * ms, 950 * ms, 1_900 * ms, 1_950 * ms]);
    assert!((arrivals.rate() - 2.0).abs() < 1e-12);
    assert_eq!(arrivals.rate_at(1_950 * ms), 20.0);
    assert_eq!(arrivals.rate_at(2_000 * ms), 0.0);
}

/// Ten hours at about a million a second, in rounds of two seconds.
#[test]
fn rounds_do_not_drift() {
    let profile = Profile::repeating(&[part(1.5e6, 1.5e6, 1000), part(0.5e6, 0.5e6, 1000)]);
    for round in [1_u64, 777, 18_000] {
        for arrival in [0_u64, 1, 999_999, 1_499_999, 1_500_000, 1_999_999] {
            let within_ns = if arrival < 1_500_000 {
                arrival * 2_000 / 3
            } else {
                1_000_000_000 + (arrival - 1_500_000) * 2_000
            };
            let exact = round * 2_000_000_000 + within_ns;
            let at = profile.offset_ns((round * 2_000_000 + arrival) as f64);
            assert!(at.unwrap().abs_diff(exact) <= 1, "{at:?} for {exact}");
        }
    }
}

/// Ten hours from a million a second to nothing: near the end, where the rate
/// is a small difference of large numbers, instants are still exact.
#[test]
fn the_end_of_a_long_fall_is_exact() {
    let hours = 36_000_000;
    let profile = Profile::holding(&[part(1e6, 0.0, hours)]);
    for left in [1.0, 10.0, 1_000.0] {
        let exact_ns = 36_000e9 - f64::sqrt(2.0 * left * 36_000.0 / 1e6) * 1e9;
        let at = profile.offset_ns(1.8e10 - left).unwrap();
        assert!((at as f64 - exact_ns).abs() < 2.0, "{at} for {exact_ns}");
    }
}

/// Thirds of requests a second have no exact sum; integers do.
#[test]
fn many_parts_add_up() {
    let thirds = |n: u64| 1_000_000 + n % 7 * 100_001;
    let parts: Vec<Part> = (0..100_000)
        .map(|n| part(thirds(n) as f64 / 3.0, thirds(n) as f64 / 3.0, 101))
        .collect();
    let profile = Profile::holding(&parts);
    let exact = (0..100_000).map(thirds).sum::<u64>() as f64 * 101.0 / 3_000.0;
    let end_ns = 100_000 * 101_000_000;
    assert!((profile.due_before(end_ns) - exact).abs() < 4e-6);
}

#[test]
fn a_recording_has_its_own_figures() {
    let second = 1_000_000_000;
    let arrivals = |offsets: &[u64], speed| Arrivals::Recorded {
        offsets: offsets.into(),
        speed,
    };
    let recorded = arrivals(&[0, second, second, 3 * second], 2.0);
    let at: Vec<u64> = recorded.offsets_ns().collect();
    assert_eq!(at, [0, second / 2, second / 2, 3 * second / 2]);
    // Four arrivals in four gaps of a second, at twice the speed.
    assert_eq!(recorded.ends_after_ns(), Some(2 * second));
    assert_eq!(recorded.rate(), 2.0);
    assert_eq!(recorded.highest_rate(), 3.0);
    assert_eq!(recorded.mean_rate_between(0, second / 2), 2.0);
    assert_eq!(arrivals(&[5], 1.0).ends_after_ns(), Some(second + 5));
    assert!(recorded.problem().is_none());
    let problem = |offsets: &[u64], speed| arrivals(offsets, speed).problem().map(|p| p.0);
    assert_eq!(problem(&[], 1.0), Some("recording"));
    assert_eq!(problem(&[2, 1], 1.0), Some("recording"));
    assert_eq!(problem(&[1, 2], 0.0), Some("speed"));
}

#[test]
fn profiles_that_cannot_be_are_refused() {
    let rates = [0.0, -1.0, f64::NAN, f64::INFINITY, 2e7, 1e-9];
    let steady = rates.map(Profile::constant);
    let mixed = rates[1..5]
        .iter()
        .map(|rate| Profile::holding(&[part(*rate, 5.0, 10)]));
    let empty = [
        Profile::holding(&[]),
        Profile::repeating(&[]),
        Profile::repeating(&[part(5.0, 5.0, 0)]),
        Profile::repeating(&[part(0.0, 0.0, 9)]),
    ];
    for profile in steady.into_iter().chain(mixed).chain(empty) {
        let problem = Arrivals::even(profile.clone()).problem();
        assert_eq!(problem.map(|p| p.0), Some("rate"), "{profile:?}");
    }
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let rate = || prop_oneof![1 => Just(0.0), 4 => 0.0..500.0];
    let one = (rate(), rate(), 1u64..1500, any::<bool>())
        .prop_map(|(from, to, ms, flat)| part(from, if flat { from } else { to }, ms));
    prop::collection::vec(one, 1..6)
}

fn profile_of(parts: &[Part], repeats: bool) -> Profile {
    if repeats {
        Profile::repeating(parts)
    } else {
        Profile::holding(parts)
    }
}

/// The rate, looked up by walking along the parts.
fn naive_rate(parts: &[Part], repeats: bool, mut at_s: f64) -> f64 {
    let total: f64 = parts.iter().map(|p| p.length.as_secs_f64()).sum();
    if repeats {
        at_s %= total;
    }
    for part in parts {
        let length = part.length.as_secs_f64();
        if at_s < length {
            return part.from + (part.to - part.from) * at_s / length;
        }
        at_s -= length;
    }
    parts[parts.len() - 1].to
}

const WINDOW_S: f64 = 4.0;
const STEP_S: f64 = 0.000_25;

/// The integral by adding up the rates at the middle of each step, and the most
/// that it can miss: a jump between two middles, or between the first or last
/// middle and its end of the stretch, counts with the whole step.
fn naive_integral(parts: &[Part], repeats: bool, from_s: f64, to_s: f64) -> (f64, f64) {
    let steps = ((to_s - from_s) / STEP_S).ceil();
    let step_s = (to_s - from_s) / steps;
    let rate_at = |at_s| naive_rate(parts, repeats, at_s);
    let mut sum = 0.0;
    let mut missed = 0.0;
    let mut before = rate_at(from_s);
    for n in 0..steps as u32 {
        let now = rate_at(from_s + (f64::from(n) + 0.5) * step_s);
        sum += now * step_s;
        missed += (now - before).abs() * step_s;
        before = now;
    }
    missed += (rate_at(to_s) - before).abs() * step_s;
    (sum, missed + 1e-3)
}

fn counted(arrivals: &Arrivals, from_s: f64, to_s: f64) -> f64 {
    let within = |at: &u64| (*at as f64) < to_s * 1e9;
    let due = arrivals.offsets_ns().take(10_000).take_while(within);
    due.filter(|at| *at as f64 >= from_s * 1e9).count() as f64
}

proptest! {
    #[test]
    fn every_stretch_holds_what_the_integral_says(
        parts in parts(),
        repeats: bool,
        seed: u64,
        start in 0.0..1.0f64,
        share in 0.01..1.0f64,
    ) {
        let from_s = start * WINDOW_S;
        let to_s = from_s + share * (WINDOW_S - from_s) + STEP_S;
        let profile = profile_of(&parts, repeats);
        let (exact, missed) = naive_integral(&parts, repeats, from_s, to_s);
        let (from_ns, to_ns) = ((from_s * 1e9) as u64, (to_s * 1e9) as u64);
        let said = profile.due_before(to_ns) - profile.due_before(from_ns);
        prop_assert!((said - exact).abs() <= missed, "{said} for {exact}");

        let even = counted(&Arrivals::even(profile.clone()), from_s, to_s);
        prop_assert!((even - exact).abs() <= 1.0 + missed, "{even} for {exact}");
        // Of few arrivals the tail is longer than a normal one.
        let random = counted(&Arrivals::random(profile, seed), from_s, to_s);
        prop_assert!((random - exact).abs() <= 5.0 * exact.sqrt() + 5.0, "{random} for {exact}");
    }

    #[test]
    fn offsets_of_any_profile_never_decrease(parts in parts(), repeats: bool, seed: u64) {
        let profile = profile_of(&parts, repeats);
        for arrivals in [Arrivals::even(profile.clone()), Arrivals::random(profile.clone(), seed)] {
            let at: Vec<u64> = arrivals.offsets_ns().take(2_000).collect();
            prop_assert!(at.is_sorted());
            if let Some(end) = arrivals.ends_after_ns() {
                prop_assert!(at.iter().all(|at| *at <= end));
            }
        }
    }

    #[test]
    fn instants_are_the_inverse_of_the_integral(
        parts in parts(),
        repeats: bool,
        units in 0.0..1e6f64,
    ) {
        let profile = profile_of(&parts, repeats);
        if let Some(at) = profile.offset_ns(units) {
            // A nanosecond's worth of arrivals.
            let back = profile.due_before(at);
            prop_assert!((back - units).abs() < 2e-6, "{back} for {units} at {at}");
        }
    }
}

/// Thinning (Lewis and Shedler 1979), which knows nothing of integrals: arrivals
/// at the highest rate, kept with the probability of the rate where they fall.
#[test]
fn poisson_arrivals_agree_with_thinning() {
    let parts = [
        part(10.0, 90.0, 500),
        part(40.0, 40.0, 200),
        part(100.0, 0.0, 300),
    ];
    let profile = Profile::holding(&parts);
    let runs = 2_000_u64;
    let mut ours = [0.0; 10];
    let mut thinned = [0.0; 10];
    for seed in 0..runs {
        for at in Arrivals::random(profile.clone(), seed).offsets_ns() {
            ours[(at / 100_000_000) as usize % 10] += 1.0;
        }
        let mut random = Pcg64::seed_from_u64(seed ^ 0xabcd_ef01);
        let mut at_s = 0.0;
        loop {
            let gap: f64 = Exp1.sample(&mut random);
            at_s += gap / 100.0;
            if at_s >= 1.0 {
                break;
            }
            if random.random::<f64>() * 100.0 < naive_rate(&parts, false, at_s) {
                thinned[(at_s * 10.0) as usize] += 1.0;
            }
        }
    }
    for (ours, thinned) in ours.iter().zip(thinned) {
        // The deviation of a difference of two Poisson counts.
        let deviation = f64::sqrt(ours + thinned);
        assert!((ours - thinned).abs() < 5.0 * deviation, "{ours} {thinned}");
    }
}
