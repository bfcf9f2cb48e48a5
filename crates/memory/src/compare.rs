//! Two memory documents side by side.

use crate::judged;
use run::memory::{
    COMPARISON_SCHEMA, Comparison, Difference, Document, Growth, Measure, PartKind, Sample, Side,
};
use std::collections::BTreeMap;

/// Why there is nothing to compare.
#[derive(Debug, thiserror::Error)]
pub enum Incomparable {
    #[error(
        "{file} has {readings} readings, and a level needs {needed}: read for longer, or with a shorter --interval"
    )]
    TooShort {
        file: String,
        readings: u64,
        needed: u64,
    },
}

/// Compares the levels, both in the same measure. Documents come with their files' names.
///
/// # Errors
/// One of them has too few readings.
pub fn compared(
    before: (&str, &Document),
    after: (&str, &Document),
    version: &str,
) -> Result<Comparison, Incomparable> {
    // PSS and USS are read together.
    let exact = |document: &Document| document.growth.measure != Measure::Rss;
    let measure = match exact(before.1) && exact(after.1) {
        true => Measure::Pss,
        false => Measure::Rss,
    };
    let (before, after) = (side(before, measure)?, side(after, measure)?);
    let ((low_before, high_before), (low, high)) =
        (before.level_range_bytes, after.level_range_bytes);
    Ok(Comparison {
        schema: COMPARISON_SCHEMA.to_owned(),
        powerband_version: version.to_owned(),
        measure,
        factor: after.level_bytes / before.level_bytes.max(1.0),
        difference: match () {
            () if high < low_before => Difference::Less,
            () if low > high_before => Difference::More,
            () => Difference::NotClear,
        },
        before,
        after,
    })
}

fn side((file, document): (&str, &Document), measure: Measure) -> Result<Side, Incomparable> {
    let growth = judged::growth(&document.samples, measure);
    let Growth {
        level_bytes: Some(level_bytes),
        level_range_bytes: Some(level_range_bytes),
        ..
    } = growth
    else {
        return Err(Incomparable::TooShort {
            file: file.to_owned(),
            readings: growth.readings,
            needed: growth.readings_needed,
        });
    };
    let mut parts: BTreeMap<PartKind, u64> = BTreeMap::new();
    let at_end = || document.processes.iter().filter(|process| !process.ended);
    for part in at_end()
        .filter_map(|process| process.last.as_ref())
        .flat_map(|last| &last.parts)
    {
        *parts.entry(part.of).or_default() += part.rss_bytes;
    }
    let requests = |sample: Option<&Sample>| sample.and_then(|sample| sample.requests);
    let first = document
        .samples
        .iter()
        .find(|sample| sample.requests.is_some());
    let served = requests(document.samples.last()).zip(requests(first));
    Ok(Side {
        file: file.to_owned(),
        started_at: document.started_at.clone(),
        length_s: document.length_s,
        processes: at_end().count() as u64,
        requests: served.map(|(last, first)| last.saturating_sub(first)),
        level_bytes,
        level_range_bytes,
        course: growth.course,
        per_hour: growth.per_hour,
        parts: parts.into_iter().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Asked, document};
    use crate::recorded::Recorded;
    use crate::recorded::tests::{process, reading};
    use run::memory::Ending;
    use std::time::Duration;

    fn of(count: u64, exact: bool, kb: impl Fn(u64) -> u64) -> Document {
        let mut recorded = Recorded::default();
        for at_s in 0..count {
            recorded.add(&reading(
                at_s,
                vec![process(7, kb(at_s), exact, Some(at_s * 10))],
            ));
        }
        let asked = Asked {
            version: String::new(),
            started_at: String::new(),
            interval: Duration::from_secs(1),
            sources: Vec::new(),
            ending: Ending::TimeOver,
            group: None,
            not_known: Vec::new(),
        };
        document(&recorded, asked)
    }

    #[test]
    fn levels_differ_where_their_ranges_do_not_overlap() {
        let wave = |base: u64| move |at_s: u64| base + at_s % 7 * 100;
        let compare = |before: &Document, after: &Document| {
            compared(("before.json", before), ("after.json", after), "0.1.0").unwrap()
        };
        let (small, large) = (of(60, true, wave(80_000)), of(60, true, wave(100_000)));
        let less = compare(&large, &small);
        assert_eq!(
            (less.difference, less.measure),
            (Difference::Less, Measure::Pss)
        );
        assert!((less.factor - 0.8).abs() < 0.01, "{}", less.factor);
        assert_eq!(less.after.requests, Some(590));
        assert_eq!(less.after.parts.len(), 1);
        assert_eq!(compare(&small, &large).difference, Difference::More);
        assert_eq!(compare(&small, &small).difference, Difference::NotClear);
        // One side has no PSS.
        let by_rss = compare(&large, &of(60, false, wave(80_000)));
        assert_eq!(
            (by_rss.measure, by_rss.after.parts.len()),
            (Measure::Rss, 0)
        );
    }

    #[test]
    fn too_few_readings_have_no_level() {
        let refused = compared(
            ("a.json", &of(60, true, |_| 9)),
            ("b.json", &of(5, true, |_| 9)),
            "",
        );
        let expected = "b.json has 5 readings, and a level needs 20: read for longer, or with a shorter --interval";
        assert_eq!(refused.unwrap_err().to_string(), expected);
    }
}
