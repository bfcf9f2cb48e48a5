//! The page of a comparison of which a configuration had the limits of a pod.

use crate::run_page::{holds, page, sample};
use run::{Document, Pod, Throttled};

fn limited() -> Document {
    let mut document = sample("compare");
    let throttled = |periods, throttled, stopped_ms| Throttled {
        periods,
        throttled,
        stopped_ms: Some(stopped_ms),
    };
    let arm = document.arms[1].name.clone();
    for trial in document.trials.iter_mut().filter(|t| t.arm == arm) {
        let window_s = trial.objective.as_ref().map_or(1.0, |w| w.seconds);
        trial.pod = Some(Pod {
            cpus: Some(0.5),
            memory_bytes: Some(512 << 20),
            saturation: Some(throttled(100, 93, 4000.0)),
            objective: Some(throttled(40, 10, 125.0 * window_s)),
            peak_bytes: Some(300 << 20),
            oom_kills: Some(0),
        });
    }
    document
}

#[test]
fn the_page_says_how_often_the_quota_stopped_the_server() {
    let mut document = sample("compare");
    assert!(!page(&document).contains("the limits of the pod"));
    document = limited();
    holds(
        &page(&document),
        &[
            "What the limits of the pod did",
            "242 93.0 % 25.0 % 125 ms/s 300 MiB",
            "This time is in the response times above",
        ],
    );
    let table = report::experiment_markdown(&document, "powerband compare");
    assert!(
        table.contains("| 242 | 93.0 % | 25.0 % | 125 ms/s | 300 MiB |"),
        "{table}"
    );
}
