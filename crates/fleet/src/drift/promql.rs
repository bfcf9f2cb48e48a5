//! The query of each figure, one value for each job of Prometheus.

use super::Assumptions;
use run::Settings;
use run::drift::Figure;

/// The query of a figure over a period, as `1d`. `matchers` are further label matchers, as `job="shop"`.
pub fn drift_query(
    figure: Figure,
    assumptions: &Assumptions,
    matchers: &str,
    period: &str,
) -> String {
    let family = |name: &str, labels: &str| {
        let given = [labels, matchers].into_iter().filter(|one| !one.is_empty());
        let given: Vec<&str> = given.collect();
        match given.is_empty() {
            true => format!("powerband_{name}"),
            false => format!("powerband_{name}{{{}}}", given.join(",")),
        }
    };
    let rate = |name: &str, labels: &str| {
        let family = family(name, labels);
        format!("sum by (job) (rate({family}[{period}]))")
    };
    let requests = rate("requests_total", "");
    let part = |state: &str| rate("request_seconds_total", &format!("state=\"{state}\""));
    let mean = |name: &str| {
        let family = family(name, "");
        format!("sum by (job) (avg_over_time({family}[{period}]))")
    };
    match figure {
        Figure::Mix => {
            let endpoints = family("endpoint_requests_total", "");
            let shares = format!(
                "(sum by (job, endpoint) (rate({endpoints}[{period}])) / on (job) group_left () {requests})"
            );
            other_requests(&shares, &requests, &assumptions.mix)
        }
        Figure::Held => format!("1000 * {} / {requests}", part("held")),
        Figure::IoShare => {
            let work = rate("request_seconds_total", "state=~\"held|io\"");
            format!("{} / {work}", part("io"))
        }
        Figure::LockWait => format!("1000 * {} / {requests}", part("lock_wait")),
        Figure::Rate => {
            let requests = family("requests_total", "");
            let processes = family("processes", "");
            format!(
                "max_over_time((sum by (job) (rate({requests}[5m])) / (sum by (job) ({processes}) > 0))[{period}:5m])"
            )
        }
        Figure::Memory => format!(
            "{} / ({} > 0)",
            mean("resident_memory_bytes"),
            mean("processes")
        ),
        Figure::Settings => other_settings(assumptions.settings, &family),
    }
}

/// One less the sum of the smaller share of each endpoint. Without an endpoint of the run it is one.
fn other_requests(shares: &str, requests: &str, mix: &[(String, f64)]) -> String {
    let of_run = mix.iter().map(|(name, share)| {
        let name = quoted(&name.replace('$', "$$"));
        format!("label_replace(vector({share:.6}), \"endpoint\", {name}, \"\", \"\")")
    });
    let of_run = format!("({})", of_run.collect::<Vec<_>>().join(" or "));
    let on = "on (endpoint) group_left ()";
    format!(
        "1 - (sum by (job) ({shares} + {on} {of_run} - abs({shares} - {on} {of_run})) / 2 or 0 * {requests})"
    )
}

/// An empty label: the server's setting is not known.
fn other_settings(settings: Settings, family: &dyn Fn(&str, &str) -> String) -> String {
    let (threads, workers) = (settings.threads, settings.workers);
    let threads = family("server_info", &format!("threads!~\"{threads}|\""));
    let workers = family("server_info", &format!("workers!~\"{workers}|\""));
    let known = family("server_info", "threads!=\"\"");
    format!(
        "count by (job) (count by (job, instance) ({threads} or {workers})) or 0 * count by (job) ({known})"
    )
}

/// A string of PromQL, whose escapes are those of Go.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '\\' | '"' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
