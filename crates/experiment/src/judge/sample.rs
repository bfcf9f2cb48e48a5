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

/// A trial of the arm "today" that was aged to 20,000 requests, with its resident set by requests; its windows ended at 4,000. Of its
/// memory at the age a quarter belongs to one process.
pub fn aged_trial(block: u32, bytes_at: impl Fn(u64) -> u64) -> Trial {
    let mut trial = leaking(block, 0.0, 1);
    let memory = trial.memory.as_mut().unwrap();
    let model = memory.samples[0];
    let at = |requests: u64| {
        // No two trials are quite alike, but at the age.
        let off = requests % 20_000 * u64::from(block * block % 5);
        run::UsageSample {
            requests: Some(requests),
            rss_bytes: bytes_at(requests) + off,
            pss_bytes: Some(bytes_at(requests) + off),
            ..model
        }
    };
    memory.samples = (1..=4).map(|thousand| at(1_000 * thousand)).collect();
    memory.pss_bytes = bytes_at(4_000);
    let of_age = bytes_at(20_000);
    memory.aged = Some(run::Aged {
        requests: 20_000,
        seconds: 100.0,
        pss_bytes: Some(of_age),
        process_bytes: Some(of_age / 4 + u64::from(block) * 1_000),
        why_not: None,
        samples: (5..=20).map(|thousand| at(1_000 * thousand)).collect(),
    });
    trial
}
