//! What a reader must know before believing a comparison.

use run::Outcome;
use run::duplex::{Document, PRIMARY, Purpose, Shadow};

use crate::contest::OTHER;
use crate::judge::MOST_LOST;
use crate::words::{questions, round};

/// Most important first.
pub fn of(document: &Document, length_was_chosen: bool) -> Vec<String> {
    let mut all = Vec::new();
    all.extend(document.shadows.iter().filter_map(losses));
    all.extend(setup(document));
    if !document.shadows.iter().any(|shadow| shadow.twin) {
        all.push(
            "No twin ran (--twin NAME, a shadow that runs what the primary runs): a shadow differs from the primary also in how it \
             gets its requests, and dynamic pages differ by themselves. A twin shows how large these differences are."
                .to_owned(),
        );
    }
    all.extend(unknown_wait(document));
    all.extend(tails(document));
    if let Some(part) = document.not_read.first() {
        all.push(format!(
            "Not everything could be read ({} in all): {}: {}.",
            document.not_read.len(),
            part.file,
            part.reason
        ));
    }
    let without = document.without_primary as f64 / document.requests.max(1) as f64;
    if without > MOST_LOST {
        all.push(format!(
            "In {} % of the requests the primary failed or the client left before its answer was whole; these are compared \
             with nothing.",
            round(without * 100.0)
        ));
    }
    let other = |endpoint: &run::duplex::EndpointTimes| endpoint.endpoint == OTHER;
    if document
        .comparisons
        .iter()
        .any(|one| one.endpoints.iter().any(other))
    {
        all.push(
            "There are more endpoints than are told apart; those that came last are (other) together.".to_owned(),
        );
    }
    if !length_was_chosen {
        all.push(
            "The length was not chosen beforehand (--for): if you look again and again and stop when you like the verdict, \
             you are wrong more often than one time in twenty."
                .to_owned(),
        );
    }
    all
}

fn losses(shadow: &Shadow) -> Option<String> {
    (shadow.lost > MOST_LOST).then(|| {
        let causes = shadow.failed.iter().chain(&shadow.dropped);
        let causes: Vec<String> = causes.map(|(cause, count)| format!("{} {count}", cause.replace('_', " "))).collect();
        format!(
            "{} lost {} % of its requests ({}). What is lost is lost when a shadow is slow, so it looks faster than it is.",
            shadow.name,
            round(shadow.lost * 100.0),
            causes.join(", ")
        )
    })
}

fn setup(document: &Document) -> Option<String> {
    let claim = document
        .comparisons
        .iter()
        .find(|one| one.purpose == Purpose::Claim);
    let setup = document
        .comparisons
        .iter()
        .find(|one| one.purpose == Purpose::Setup)?;
    let allowance = claim.map_or(0.0, |claim| claim.allowance);
    if allowance > 0.0 {
        return Some(format!(
            "{} and the primary run the same and yet differ by at least {} %: so much does the setup do to response times. \
             Candidates are compared with the twin, and their intervals are wider by as much.",
            document.called(&setup.candidate),
            round(allowance * 100.0)
        ));
    }
    (claim.is_some() && setup.all.batches == 0).then(|| {
        format!(
            "Of {} there is too little yet to say what the setup itself does to response times.",
            document.called(&setup.candidate)
        )
    })
}

/// Against the primary the mirror's wait for a core would have to be taken off.
fn unknown_wait(document: &Document) -> Option<String> {
    let mut claims = (document.comparisons.iter())
        .filter(|one| one.purpose == Purpose::Claim && one.reference == PRIMARY);
    let unknown = |name: &str| {
        let mut shadows = document.shadows.iter().filter(|shadow| shadow.name == name);
        shadows.any(|shadow| shadow.answered > 0 && shadow.core_wait_ms.is_none())
    };
    claims.any(|one| unknown(&one.candidate)).then(|| {
        "How long the mirror waited for a CPU core is unknown: the log is of an earlier version, or the kernel does not count it. \
         Where cores were short, that wait makes shadows look slower than the primary."
            .to_owned()
    })
}

/// Better on average, and yet slower where it hurts.
fn tails(document: &Document) -> Vec<String> {
    let mut all = Vec::new();
    for one in questions(document) {
        for (name, figure) in [("p95", &one.all.p95), ("p99", &one.all.p99)] {
            let slower = figure.low.is_some_and(|low| low > 1.0 + document.margin);
            let faster = figure.high.is_some_and(|high| high < 1.0 - document.margin);
            let against = match one.outcome {
                Outcome::Better | Outcome::Equivalent if slower => "longer",
                Outcome::Worse if faster => "shorter",
                _ => continue,
            };
            all.push(format!(
                "{} is {} by its mean against {}, yet its {name} is {against}: {} ms against {} ms.",
                one.candidate,
                one.outcome.word(),
                document.called(&one.reference),
                round(figure.candidate_ms.unwrap_or_default()),
                round(figure.reference_ms.unwrap_or_default()),
            ));
        }
    }
    all
}
