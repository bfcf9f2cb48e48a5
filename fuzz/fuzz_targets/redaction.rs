//! Redaction of requests with planted secrets. The input chooses the request: names, notations, types and positions. No secret is
//! left in what is written, and redacting twice changes no more than once.

#![no_main]

use capture::file::Record;
use capture::{Exchange, Rules};
use libfuzzer_sys::fuzz_target;
use planted::{Choices, holds};

#[path = "../../crates/capture/tests/support/planted.rs"]
mod planted;

fuzz_target!(|data: &[u8]| {
    let mut bytes = data.iter();
    // Two bytes where one cannot reach every choice; an input that has ended chooses the first of everything.
    let mut byte = || bytes.next().map_or(0, |byte| usize::from(*byte));
    let mut choose = |bound: usize| if bound > 256 { byte() << 8 | byte() } else { byte() };
    let before = Choices(&mut choose).exchange();
    let rules = Rules::new(&["X-Configured".into()], &["Configured".into()], &[]);
    let mut after = before.clone();
    after.redact(&rules);
    assert!(!secret_is_left(&after), "{before:?}\n{after:?}");
    let mut twice = after.clone();
    twice.redact(&rules);
    assert_eq!(twice, after, "{before:?}");
});

fn secret_is_left(exchange: &Exchange) -> bool {
    let in_headers = exchange.headers.iter().any(|field| holds(field.name.as_bytes()) || holds(&field.value));
    in_headers || holds(exchange.target.as_bytes()) || holds(&exchange.body)
}
