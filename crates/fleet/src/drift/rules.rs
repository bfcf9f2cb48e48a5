//! The assumptions as alerting rules for Prometheus.

use super::{Assumption, Assumptions, drift_query};
use run::drift::Figure;
use std::fmt::Write;

/// The period of each rule, and for how long an assumption has to be broken.
const PERIOD: &str = "1h";

/// A file of rules. `matchers` are further label matchers of every query.
pub fn drift_rules(assumptions: &Assumptions, matchers: &str) -> String {
    let Assumptions {
        run,
        started_at,
        settings,
        ..
    } = assumptions;
    let mut text = format!(
        "# Whether what the run {run} assumed still holds: written by powerband drift --rules.\n\
         # The run is of {started_at}, and its configuration is {settings}.\n\
         groups:\n  - name: powerband-drift\n    rules:\n"
    );
    for one in &assumptions.all {
        let query = drift_query(one.figure, assumptions, matchers, PERIOD);
        let high = format!("({query}) > {}", one.high);
        let expression = match one.low {
            Some(low) => format!("{high} or ({query}) < {low}"),
            None => high,
        };
        let summary = format!(
            "{{{{ $labels.job }}}}: {}; the command powerband tune --since {run} finds out whether {settings} is still right",
            broken(one)
        );
        let _ = write!(
            text,
            "      - alert: ConfigurationDrift\n        expr: {}\n        for: {PERIOD}\n        \
             labels: {{severity: info, figure: {}}}\n        annotations: {{summary: {}}}\n",
            scalar(&expression),
            one.figure.name(),
            scalar(&summary)
        );
    }
    text
}

/// What a broken assumption means, with Prometheus' template of the value.
fn broken(one: &Assumption) -> String {
    const VALUE: &str = "{{ $value | humanize }}";
    const SHARE: &str = "{{ $value | humanizePercentage }}";
    let assumed = one.assumed;
    match one.figure {
        Figure::Mix => format!(
            "{SHARE} of the requests are for other endpoints than in the run ({:.0}% then)",
            assumed * 100.0
        ),
        Figure::Held => {
            format!("a request holds the GVL for {VALUE} ms ({assumed:.2} ms in the run)")
        }
        Figure::IoShare => format!(
            "{SHARE} of a request's work is I/O ({:.0}% in the run), on which the useful number of threads depends",
            assumed * 100.0
        ),
        Figure::LockWait => {
            format!("a request waits for locks for {VALUE} ms ({assumed:.2} ms in the run)")
        }
        Figure::Rate => format!(
            "the busiest five minutes had {VALUE} requests a second and process; the run advises more capacity at {assumed:.1}"
        ),
        Figure::Memory => format!(
            "a process has {{{{ $value | humanize1024 }}}}B of resident memory ({:.0} MiB in the run)",
            assumed / f64::from(1 << 20)
        ),
        Figure::Settings => {
            format!("{VALUE} instances have other threads or workers than the answer of the run")
        }
    }
}

/// A double-quoted scalar of YAML: every string of JSON is one.
fn scalar(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
