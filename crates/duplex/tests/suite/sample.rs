//! The golden sample of the duplex document: what a seeded log comes to.

use crate::support::{answer, compared, differing, dropped, late, spoil, traffic};
use capture::{Outcome, Pair};
use serde_json::Value;

/// A candidate that is faster, has a rounding error and breaks now and then; another that is slow; a twin.
fn log() -> Vec<Pair> {
    let mut pairs = traffic(6_000, &[0.91, 1.08, 1.0], 20_261_122);
    let differ = |pair: &mut Pair, shadow: usize, kind: &str, sides: [&str; 2]| {
        let mut one = differing(kind);
        [one.primary, one.shadow] = sides.map(str::to_owned);
        pair.shadows[shadow].differences.push(one);
    };
    for pair in &mut pairs {
        if pair.endpoint == "GET /" {
            for shadow in 0..3 {
                differ(
                    pair,
                    shadow,
                    "line <meta name=\"csrf-token\" content=\"…",
                    ["…\"pX2\">", "…\"q81\">"],
                );
            }
        }
        if pair.endpoint == "GET /orders/:id" && pair.id % 8 == 0 {
            differ(pair, 0, "json /lines/*/price", ["12.50", "12.5"]);
        }
    }
    spoil(&mut pairs, 0, 150, || Outcome::Answered(answer(3.0, 500)));
    spoil(&mut pairs[5..], 1, 40, dropped);
    spoil(&mut pairs[9..], 1, 90, late);
    pairs
}

/// The same to nine digits: the last ones are the platform's.
fn near(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| near(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, value)| b.get(key).is_some_and(|other| near(value, other)))
        }
        (a, b) => a == b,
    }
}

#[test]
fn the_sample_is_what_this_code_makes_of_its_log() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../contract/samples/duplex/three.json"
    );
    let document = compared(&["new", "slow", "twin"], &log());
    let text = serde_json::to_string_pretty(&document).unwrap() + "\n";
    if std::env::var_os("POWERBAND_BLESS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let committed: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let made = serde_json::from_str(&text).unwrap();
    assert!(
        near(&committed, &made),
        "not what the code makes of it; POWERBAND_BLESS=1 writes it anew:\n{text}"
    );
}
