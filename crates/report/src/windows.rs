//! The lengths of a run's windows, and what set them.

use run::{Document, Stage, Trial, sentence_case};

/// Sentences that go on from a sentence without its full stop; empty for a run without windows.
pub fn sentences(document: &Document) -> String {
    let timing = &document.plan.timing;
    if timing.saturation_s <= 0.0 {
        return String::new();
    }
    let lengths = format!(
        ". Windows of a trial: {:.1} s at full load, {:.1} s at the common rate, for latency",
        timing.saturation_s, timing.objective_s
    );
    let first = first_s(document).map_or_else(String::new, |first_s| {
        format!(
            " ({first_s:.1} s in the first blocks of the deciding comparison, whose noise set the length of the others)"
        )
    });
    let known = document.known.as_ref().map_or_else(String::new, |known| {
        let sentence = known.sentence(timing.saturation_s);
        format!(". {}", sentence_case(&sentence))
    });
    format!("{lengths}{first}{known}")
}

/// The length of the closed loop in the first block of the deciding comparison, where the last block had another.
fn first_s(document: &Document) -> Option<f64> {
    let deciding = |t: &&Trial| t.stage == Stage::Confirm && t.counts();
    let mut windows = document.trials.iter().filter(deciding);
    let first_s = windows.next()?.saturation.as_ref()?.seconds;
    let last_s = windows.next_back()?.saturation.as_ref()?.seconds;
    ((last_s - first_s).abs() >= 0.1).then_some(first_s)
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{Known, KnownNoise};

    #[test]
    fn other_lengths_and_what_was_known_are_said() {
        let text = include_bytes!("../../../contract/samples/run/tune.json");
        let mut document: Document = serde_json::from_slice(text).unwrap();
        let plain = sentences(&document);
        assert!(
            plain.starts_with(". Windows of a trial: ") && !plain.contains("noise"),
            "{plain}"
        );
        let mut confirm = document
            .trials
            .iter_mut()
            .filter(|t| t.stage == Stage::Confirm);
        confirm.next().unwrap().saturation.as_mut().unwrap().seconds = 9.5;
        document.known = Some(Known {
            runs: vec!["20261120-214512-tune-1f3a".to_owned()],
            noise: Some(KnownNoise {
                sd_log_ratio: 0.04,
                freedom: 8,
            }),
            around_windows_s: None,
            arms: Vec::new(),
        });
        let said = sentences(&document);
        assert!(said.contains(" (9.5 s in the first blocks"), "{said}");
        assert!(
            said.contains(
                ". Known from earlier runs of this application (20261120-214512-tune-1f3a): "
            ),
            "{said}"
        );
        document.plan.timing.saturation_s = 0.0;
        assert_eq!(sentences(&document), "");
    }
}
