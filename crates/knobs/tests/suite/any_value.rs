//! Whatever a knob takes comes back the same when its shortest form is typed again.

use knobs::{CATALOGUE, Kind, Overlay, Value};
use proptest::prelude::*;

/// Text that a knob of this kind should take.
fn taken(kind: Kind) -> BoxedStrategy<String> {
    match kind {
        Kind::Whole { least, most, .. } => (least..=most).prop_map(|n| n.to_string()).boxed(),
        Kind::Counts { least, most, .. } => {
            let counts = proptest::collection::vec(least..=most, 1..4);
            let counts = counts.prop_map(|all| all.iter().map(u64::to_string).collect::<Vec<_>>());
            let ends = prop_oneof![Just(""), Just(",false")];
            let listed = (counts, ends).prop_map(|(all, end)| format!("{}{end}", all.join(",")));
            prop_oneof![8 => listed, 1 => Just("off".to_owned())].boxed()
        }
        Kind::Size { least, most } => size(least, most),
        Kind::Milliseconds { least, most } => (least..=most).prop_map(|n| format!("{n}ms")).boxed(),
        Kind::Number { over, most, .. } => (0.0f64..1.0)
            .prop_map(move |share| (most - share * (most - over)).to_string())
            .boxed(),
        Kind::Switch => prop_oneof![Just("on".to_owned()), Just("off".to_owned())].boxed(),
        Kind::OneOf(words) => proptest::sample::select(words)
            .prop_map(str::to_owned)
            .boxed(),
        Kind::Text => "[a-z]{1,8}:[a-z0-9]{1,8}(,[a-z]{1,8}:[0-9]{1,4}){0,3}".boxed(),
    }
}

/// In bytes, and in each unit of which the bounds leave room for a whole number.
fn size(least: u64, most: u64) -> BoxedStrategy<String> {
    let units = [("B", 0), ("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let in_unit = |(unit, shift): (&'static str, u32)| {
        let (from, to) = (least.div_ceil(1 << shift).max(1), most >> shift);
        (from <= to).then(|| (from..=to).prop_map(move |n| format!("{n}{unit}")).boxed())
    };
    proptest::strategy::Union::new(units.into_iter().filter_map(in_unit)).boxed()
}

fn knob_and_value() -> impl Strategy<Value = (usize, String)> {
    (0..CATALOGUE.len()).prop_flat_map(|index| (Just(index), taken(CATALOGUE[index].kind)))
}

proptest! {
    #[test]
    fn what_is_taken_round_trips((index, text) in knob_and_value()) {
        let knob = &CATALOGUE[index];
        let value = Value::parse(knob, &text).map_err(|w| TestCaseError::fail(w.to_string()))?;
        prop_assert_eq!(&Value::parse(knob, &value.typed), &Ok(value.clone()));
        let mut overlay = Overlay::default();
        overlay.set(knob.name, &text).unwrap();
        let shown = overlay.to_string();
        let again = knobs::parts(&shown);
        prop_assert_eq!(again.len(), 1, "{}", shown);
        prop_assert_eq!(again[0].value.as_deref(), Some(value.typed.as_str()));
    }

    #[test]
    fn no_text_at_all_makes_it_panic(text in ".{0,40}", index in 0..CATALOGUE.len()) {
        let _ = Value::parse(&CATALOGUE[index], &text);
        let mut overlay = Overlay::default();
        for part in knobs::parts(&text) {
            let _ = overlay.set(&part.name, part.value.as_deref().unwrap_or_default());
        }
        let _ = (knobs::masked(&text), overlay.name(), overlay.contradictions());
    }
}
