//! Trials made up for tests of what is judged.

use run::{Stage, Trial};

/// A trial of the arm "today", in which so many bytes are kept for each request; `quick`: how many times 4,000 requests it serves.
pub fn leaking(block: u32, bytes_a_request: f64, quick: u64) -> Trial {
    let document = crate::sample::document("compare");
    let mut trials = document.trials.into_iter();
    let mut trial = trials.find(|t| t.memory.is_some() && t.counts()).unwrap();
    (trial.stage, trial.block, trial.arm) = (Stage::Confirm, block, "today".to_owned());
    let memory = trial.memory.as_mut().unwrap();
    let mut model = memory.samples[0];
    (model.requests, model.pss_bytes) = (Some(0), None);
    // From 100 MiB on, a thousand requests of warm-up, and no two trials quite alike.
    let pace = bytes_a_request * (1.0 + (f64::from(block * block % 5) - 2.0) / 1e3);
    let at = |step: u64| {
        let requests = quick * (1_000 + 100 * step);
        let rss_bytes = (104_857_600.0 + requests as f64 * pace) as u64;
        let requests = Some(requests);
        run::UsageSample {
            requests,
            rss_bytes,
            ..model
        }
    };
    memory.samples = (0..=30).map(at).collect();
    let last = memory.samples.last_mut().unwrap();
    last.pss_bytes = Some(last.rss_bytes);
    memory.pss_bytes = last.rss_bytes;
    let samples = super::resident(&memory.samples);
    memory.growth_bytes_per_thousand = stats::growth_per_thousand(&samples).unwrap();
    trial
}
