//! What an arm's knobs say in Puma's configuration.

use knobs::{Kind, Overlay, Program};
use servers::{PumaStatement, PumaValue};

/// Times are in seconds.
pub fn of(overlay: &Overlay) -> Vec<PumaStatement> {
    let statements = overlay.directives(Program::Puma).into_iter();
    let statement = |(name, text): (&'static str, String)| {
        let number: f64 = text.parse().ok()?;
        let knob = knobs::find(&format!("puma.{name}"))?;
        let value = match knob.kind {
            Kind::Switch => PumaValue::Switch(number == 1.0),
            Kind::Milliseconds { .. } => PumaValue::Number(number / 1e3),
            _ => PumaValue::Number(number),
        };
        Some(PumaStatement { name, value })
    };
    statements.filter_map(statement).collect()
}
