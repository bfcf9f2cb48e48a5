//! What unit tests judge and word: the runs of the contract's samples, which were really measured.

use crate::request::Arm;
use run::{
    ArmRates, Document, Growth, LatencyObjective, RateEnding, RatePurpose, RateSearch, RateTrial,
    Settings,
};

/// One of `compare`, `sweep` and `tune`.
pub fn document(kind: &str) -> Document {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contract/samples/run");
    let text = std::fs::read(format!("{folder}/{kind}.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// What a host on which identical arms differ by this share gave.
pub fn calibration(allowance: f64) -> run::Calibration {
    run::Calibration {
        fitness: run::Fitness::Widened,
        settings: run::Settings::PUMA_DEFAULT,
        blocks: 10,
        ratio: 1.01,
        low: 1.0,
        high: 1.0 + allowance,
        p: 0.04,
        runs: 5,
        false_positives: 2,
        p_false_positives: 0.04,
        allowance,
        sd_log_ratio: 0.01,
        sd_log_level: 0.02,
        second_over_first: 1.0,
        p_order: 1.0,
    }
}

/// Of an application that keeps 20 kB of every request.
pub fn growth() -> Growth {
    Growth {
        bytes_per_thousand: 21_495_808.0,
        interval: (21_181_235.0, 21_810_380.0),
        trials: 9,
        resident_bytes: (214 << 20, 1_322 << 20),
        requests: 63_000,
    }
}

pub const OBJECTIVE: LatencyObjective = LatencyObjective {
    percentile: 99.0,
    limit_ms: 250.0,
};

/// What a search of one process with so many threads may have come to.
pub fn rates(threads: u16, ending: RateEnding, met: f64, ends: Option<(f64, f64)>) -> ArmRates {
    let settings = Settings {
        threads,
        workers: 0,
        preload: false,
    };
    ArmRates {
        arm: Arm::of(settings).name,
        called: None,
        settings,
        search: RateSearch {
            objective: OBJECTIVE,
            ending,
            met_per_s: Some(met),
            decided: true,
            broke_per_s: Some(1.08 * met),
            low_per_s: ends.map(|e| e.0),
            high_per_s: ends.map(|e| e.1),
            confidence: 0.95,
            saturated_per_s: None,
            saturated_connections: None,
            doubted_per_s: None,
            plan_for_per_s: None,
            at_least: None,
            curve: Vec::new(),
            redirects: Vec::new(),
            trials: Vec::new(),
            took_s: 0.0,
            out_of_reach: None,
            warnings: Vec::new(),
        },
    }
}

/// A window at this rate in which every request was in time.
pub fn rate_window(asked_per_s: f64, requests: u64) -> RateTrial {
    RateTrial {
        purpose: RatePurpose::Assure,
        asked_per_s,
        seconds: 10.0,
        requests,
        in_time: requests,
        late: 0,
        failed: 0,
        p50_ms: None,
        p99_ms: None,
        utilisation: None,
        generator_cpu: 0.0,
        lateness_p99_ms: None,
        recovery_s: 0.0,
        recovered: true,
        refused: None,
    }
}
