//! Simulated series whose course is known.

use super::*;
use rand::RngExt;
use rand_pcg::Pcg64;

const SERIES: u32 = 400;

/// A series of `count` readings at 0 to 1, as `height` has them, with noise that is `alike` the noise before it, of this standard
/// deviation.
fn series(
    count: usize,
    noise: f64,
    alike: f64,
    rng: &mut Pcg64,
    height: impl Fn(f64) -> f64,
) -> Vec<(f64, f64)> {
    let fresh = noise * (1.0 - alike * alike).sqrt() * 3.0_f64.sqrt();
    let mut off = noise * rng.random_range(-1.0..1.0);
    (0..count)
        .map(|i| {
            let x = i as f64 / count as f64;
            off = alike * off + fresh * rng.random_range(-1.0..1.0);
            (x, 1e8 * (height(x) + off))
        })
        .collect()
}

/// Of so many series, how many each course has.
fn counted(make: impl Fn(&mut Pcg64) -> Vec<(f64, f64)>) -> impl Fn(Course) -> u32 {
    let mut rng = crate::generator(3);
    let found: Vec<Course> = (0..SERIES)
        .map(|_| course(&make(&mut rng), 0.05).unwrap().course)
        .collect();
    move |of| found.iter().filter(|course| **course == of).count() as u32
}

/// At most 5 % of the series are called growing, or 10 % of them by chance.
fn rarely_growing(what: &str, make: impl Fn(&mut Pcg64) -> Vec<(f64, f64)>) {
    let growing = counted(make)(Course::Growing);
    let p = crate::binomial_at_least(growing, SERIES, 0.05);
    assert!(p > 0.01, "{what}: {growing} of {SERIES} are called growing");
}

#[test]
fn noise_alone_is_rarely_called_growing() {
    for count in [BLOCKS, 60, 600] {
        for (noise, alike) in [
            (0.001, 0.0),
            (0.01, 0.0),
            (0.03, 0.5),
            (0.02, 0.9),
            (0.05, 0.97),
        ] {
            rarely_growing(
                &format!("{count} readings, noise {noise}, alike {alike}"),
                |rng| series(count, noise, alike, rng, |_| 1.0),
            );
        }
    }
}

#[test]
fn little_noise_is_called_flat() {
    let of = counted(|rng| series(120, 0.005, 0.3, rng, |_| 1.0));
    assert!(of(Course::Flat) > SERIES * 9 / 10, "{}", of(Course::Flat));
}

#[test]
fn a_warm_up_that_saturates_is_rarely_called_growing() {
    for part in [0.02, 0.05, 0.1, 0.2, 0.3, 0.5] {
        rarely_growing(&format!("time constant {part}"), |rng| {
            series(120, 0.01, 0.5, rng, |x| 1.5 - 0.5 * (-x / part).exp())
        });
    }
}

#[test]
fn a_short_warm_up_ends_on_a_plateau_and_a_long_one_goes_on() {
    let short = counted(|rng| series(120, 0.005, 0.3, rng, |x| 1.5 - 0.5 * (-x / 0.08).exp()));
    assert!(
        short(Course::Plateau) > SERIES * 8 / 10,
        "{}",
        short(Course::Plateau)
    );
    let long = counted(|rng| series(120, 0.005, 0.3, rng, |x| 1.5 - 0.5 * (-x / 0.4).exp()));
    assert!(
        long(Course::WarmingUp) > SERIES * 8 / 10,
        "{}",
        long(Course::WarmingUp)
    );
}

#[test]
fn a_leak_is_called_growing() {
    for count in [40, 120, 600] {
        let of = counted(|rng| series(count, 0.01, 0.3, rng, |x| 1.0 + 0.3 * x));
        assert!(
            of(Course::Growing) > SERIES * 8 / 10,
            "{count}: {}",
            of(Course::Growing)
        );
    }
    let without_noise = series(60, 0.0, 0.0, &mut crate::generator(1), |x| 1.0 + 0.3 * x);
    let judged = course(&without_noise, 0.05).unwrap();
    assert_eq!(judged.course, Course::Growing);
    assert!((judged.whole.estimate / 0.3e8 - 1.0).abs() < 1e-6);
}

/// Four workers, of which each is replaced now and then and then grows back to its level.
#[test]
fn recycled_workers_are_rarely_called_growing() {
    rarely_growing("recycled workers", |rng| {
        let ends: Vec<f64> = (0..4).map(|_| rng.random_range(0.1..0.9)).collect();
        series(200, 0.005, 0.3, rng, |x| {
            let each = ends.iter().map(|end| {
                let young = x >= *end;
                let age = x - end;
                if young {
                    0.25 - 0.1 * (-age / 0.05).exp()
                } else {
                    0.25
                }
            });
            each.sum()
        })
    });
    // Each grows, and is ended at a size: together they have a level.
    rarely_growing("workers that grow until they are ended", |rng| {
        let phases: Vec<f64> = (0..4).map(|_| rng.random_range(0.0..1.0)).collect();
        series(200, 0.005, 0.3, rng, |x| {
            phases
                .iter()
                .map(|phase| 0.2 + 0.1 * (x * 6.0 + phase).fract())
                .sum()
        })
    });
}

#[test]
fn one_step_is_no_growth() {
    let step = |at: f64| {
        series(60, 0.0, 0.0, &mut crate::generator(1), |x| {
            if x < at { 1.0 } else { 1.2 }
        })
    };
    for at in [0.1, 0.3, 0.45] {
        assert_eq!(
            course(&step(at), 0.05).unwrap().course,
            Course::Plateau,
            "{at}"
        );
    }
    for at in [0.6, 0.9] {
        assert_ne!(
            course(&step(at), 0.05).unwrap().course,
            Course::Growing,
            "{at}"
        );
    }
    let falling = series(60, 0.0, 0.0, &mut crate::generator(1), |x| 1.2 - 0.3 * x);
    assert_eq!(course(&falling, 0.05).unwrap().course, Course::Shrinking);
}

#[test]
fn too_few_readings_and_one_instant_have_no_course() {
    let few: Vec<(f64, f64)> = (0..BLOCKS - 1).map(|i| (i as f64, 1.0)).collect();
    assert_eq!(course(&few, 0.05), None);
    assert_eq!(course(&[(1.0, 1.0); 40], 0.05), None);
}

/// Its interval of the later half lies above zero, so that "flat since" would contradict the figure.
#[test]
fn a_slow_rise_that_is_certain_is_no_plateau() {
    let creeping =
        |rng: &mut Pcg64| series(200, 1e-5, 0.0, rng, |x| 0.9 + 0.2 * x.min(0.3) + 0.006 * x);
    assert_eq!(counted(creeping)(Course::Plateau), 0);
    let level = |rng: &mut Pcg64| series(200, 1e-3, 0.0, rng, |x| 0.9 + 0.2 * x.min(0.3));
    let found = counted(level)(Course::Plateau);
    assert!(found > SERIES / 2, "{found}");
}
