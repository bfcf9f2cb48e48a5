//! Families as text exposition 0.0.4.

use exposition::{Text, join, label, seconds};

use crate::family::{Family, Labels, Value};

/// The text of a scrape.
#[must_use]
pub fn text(families: &[Family]) -> String {
    // Names are whole.
    let mut text = Text::new("");
    for family in families {
        text.family(&family.name, family.kind.word(), &family.help);
        for sample in &family.samples {
            let labels = labels(&sample.labels);
            match &sample.value {
                Value::Number(number) => text.sample(&labels, number),
                Value::Nanoseconds(ns) => text.sample(&labels, seconds(*ns)),
                Value::Durations(of) => {
                    text.histogram_at(&labels, of.up_to.iter().copied(), of.count, of.sum_ns);
                }
            }
        }
    }
    text.finish()
}

fn labels(labels: &Labels) -> String {
    let all = labels.iter().map(|(name, value)| label(name, value));
    all.reduce(|all, one| join(&all, &one)).unwrap_or_default()
}
