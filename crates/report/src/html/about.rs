//! The end of the page: what was measured where, and how to repeat and check it.

use super::inside::Inside;
use crate::readable::Readable;
use maud::{Markup, html};

pub fn about(document: &Readable, inside: &Inside<'_>) -> Markup {
    html! {
        h2 { "Check this" }
        dl {
            @for (label, text) in known(document) { dt { (label) } dd { (text) } }
            dt { "every figure" } dd { (inside.said()) }
        }
    }
}

/// What the document knows of its making.
fn known(document: &Readable) -> Vec<(&'static str, String)> {
    match document {
        Readable::Run(run) => of_run(run),
        Readable::Load(load) => vec![
            ("server", load.asked.url.clone()),
            ("begun", load.started_at.clone()),
            ("version", version(&load.powerband_version)),
            ("seed", load.asked.seed.to_string()),
        ],
        Readable::Capacity(found) => vec![
            ("begun", found.started_at.clone()),
            ("host", host(&found.host)),
            ("version", version(&found.powerband_version)),
            ("seed", found.seed.to_string()),
            ("requests", requests(&found.workload)),
        ],
        Readable::Inspect(read) => vec![
            ("read", read.read_at.clone()),
            ("from", read.sources.join(", ")),
            ("version", version(&read.powerband_version)),
        ],
        Readable::Survivors(found) => vec![
            ("read", found.read_at.clone()),
            ("from", found.source.clone()),
            ("version", version(&found.powerband_version)),
        ],
        Readable::Collections(logged) => vec![
            ("read", logged.read_at.clone()),
            ("from", logged.source.clone()),
            ("version", version(&logged.powerband_version)),
        ],
        Readable::Advise(advice) => vec![
            ("read", advice.read_at.clone()),
            ("from", advice.sources.join(", ")),
            ("version", version(&advice.powerband_version)),
        ],
        Readable::Verdict(verdict) => vec![
            ("read", verdict.read_at.clone()),
            ("from", verdict.prometheus.clone()),
            ("version", version(&verdict.powerband_version)),
        ],
        Readable::BeforeAfter(compared) => vec![
            ("read", compared.read_at.clone()),
            ("from", compared.prometheus.clone()),
            ("version", version(&compared.powerband_version)),
        ],
        Readable::Drift(compared) => vec![
            ("read", compared.read_at.clone()),
            ("from", compared.prometheus.clone()),
            ("version", version(&compared.powerband_version)),
        ],
        Readable::Duplex(compared) => vec![
            ("compared", compared.made_at.clone()),
            ("from", compared.sources.join(", ")),
            ("version", version(&compared.powerband_version)),
        ],
        Readable::Memory(read) => vec![
            ("begun", read.started_at.clone()),
            ("of", read.sources.join(", ")),
            ("version", version(&read.powerband_version)),
        ],
        Readable::Leak(found) => vec![
            ("begun", found.started_at.clone()),
            ("of", found.app_dir.clone()),
            ("version", version(&found.powerband_version)),
            ("seed", found.seed.to_string()),
        ],
        Readable::MemoryComparison(compared) => vec![
            ("before", compared.before.file.clone()),
            ("after", compared.after.file.clone()),
            ("version", version(&compared.powerband_version)),
        ],
        Readable::Predict(predicted) => vec![
            ("version", version(&predicted.powerband_version)),
            ("seed", predicted.asked.seed.to_string()),
        ],
        Readable::Validation(_)
        | Readable::Doctor(_)
        | Readable::Calc(_)
        | Readable::Capture(_) => Vec::new(),
    }
}

fn of_run(run: &run::Document) -> Vec<(&'static str, String)> {
    let versions = run.versions.iter();
    let versions: String = versions
        .map(|(name, version)| format!(", {name} {version}"))
        .collect();
    vec![
        ("run", format!("{}, begun {}", run.id, run.started_at)),
        ("host", host(&run.host)),
        ("versions", version(&run.powerband_version) + &versions),
        ("seed", run.seed.to_string()),
        ("environment", run.plan.environment.clone()),
        ("requests", requests(&run.plan.workload)),
        (
            "the same again",
            format!("powerband {} … --seed {}", run.kind.verb(), run.seed),
        ),
    ]
}

fn version(of: &str) -> String {
    format!("powerband {of}")
}

fn host(host: &run::Host) -> String {
    let usable = match host.effective_cores < f64::from(host.cores) {
        true => format!(" ({} of them usable)", host.effective_cores),
        false => String::new(),
    };
    format!(
        "{}, {}{usable}, load average before the run {:.2}",
        host.cpu_model,
        run::counted(host.cores, "core"),
        host.load_average
    )
}

fn requests(workload: &[run::WorkloadEntry]) -> String {
    let each = workload.iter().map(|entry| {
        format!(
            "{} {} ({:.0} %)",
            entry.method,
            entry.path,
            entry.share * 100.0
        )
    });
    each.collect::<Vec<_>>().join("; ")
}
