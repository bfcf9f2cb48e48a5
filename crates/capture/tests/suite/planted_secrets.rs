//! No planted secret is left in a redacted request, for many generated requests. The long run:
//! `cargo test --release -p powerband-capture --test suite planted_secrets -- --ignored --nocapture`.

use crate::planted::{Choices, holds};
use capture::Rules;
use capture::file::Record;
use std::io::Write;

/// SplitMix64: a request is made again from the seed and its number.
fn generator(seed: u64, number: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed ^ number.wrapping_mul(0xd134_2543_de82_ef95);
    move |bound| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((z ^ (z >> 31)) % bound as u64).unwrap_or_default()
    }
}

#[derive(Debug, Default)]
struct Counts {
    planted: u64,
    bodies: u64,
    bodies_kept: u64,
}

fn run(seed: u64, requests: u64) -> Counts {
    let rules = Rules::new(&["X-Configured".into()], &["Configured".into()], &[]);
    let mut counts = Counts::default();
    for number in 0..requests {
        let mut next = generator(seed, number);
        let before = Choices(&mut next).exchange();
        let mut after = before.clone();
        after.redact(&rules);
        let context = || {
            format!(
                "seed {seed}, request {number}:\n{}\n{}",
                shown(&before),
                shown(&after)
            )
        };
        assert!(
            !holds(&rmp_serde::to_vec_named(&after).unwrap()),
            "{}",
            context()
        );
        // What is redacted has nothing left to redact, and what holds no secret is as it was.
        let mut twice = after.clone();
        twice.redact(&rules);
        assert_eq!(twice, after, "{}", context());
        assert_eq!(before.headers[..2], after.headers[..2], "{}", context());
        assert_eq!(before.method, after.method);
        counts.planted += u64::from(holds(&rmp_serde::to_vec_named(&before).unwrap()));
        counts.bodies += u64::from(!before.body.is_empty());
        counts.bodies_kept += u64::from(!after.body.is_empty());
    }
    counts
}

fn shown(exchange: &capture::Exchange) -> String {
    let headers = exchange.headers.iter().map(|field| {
        let value = String::from_utf8_lossy(&field.value);
        format!("{}: {value}\n", field.name)
    });
    let headers: String = headers.collect();
    let body = String::from_utf8_lossy(&exchange.body);
    format!(
        "{} {}\n{headers}\n{body}\n",
        exchange.method, exchange.target
    )
}

fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |text| text.parse().unwrap())
}

#[test]
fn no_planted_secret_is_left() {
    let counts = run(1, 20_000);
    // The generator does plant, and redaction does not drop everything.
    assert!(counts.planted > 19_000, "{counts:?}");
    assert!(counts.bodies_kept * 5 > counts.bodies, "{counts:?}");
}

#[test]
#[ignore = "a million requests: for a release build"]
fn no_planted_secret_is_left_in_a_long_run() {
    let seed = from_environment("SEED", 20_261_123);
    let requests = from_environment("COUNT", 1_000_000);
    let began = std::time::Instant::now();
    let counts = run(seed, requests);
    writeln!(
        std::io::stdout(),
        "{requests} requests, seed {seed}, {:.0} s: {counts:?}",
        began.elapsed().as_secs_f64()
    )
    .unwrap();
}
