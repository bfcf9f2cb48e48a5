//! The answer in sentences.

use run::Outcome;
use run::duplex::{Answers, Comparison, Document, Figure, NotRead, Purpose, Standing, Times};

use crate::estimate::Progress;

/// What the caller knows of a document and this crate does not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Asked {
    /// Version of powerband.
    pub version: String,
    /// UTC, RFC 3339.
    pub made_at: String,
    /// Whether the length was chosen before the traffic came: a log's, or that of a mirror with `--for`.
    pub length_was_chosen: bool,
    /// The files that were read; empty for a mirror.
    pub sources: Vec<String>,
    /// What of them could not be.
    pub not_read: Vec<NotRead>,
}

/// The comparisons that answer what was asked; of a twin alone, whether the setup is sound.
pub fn questions(document: &Document) -> impl Iterator<Item = &Comparison> {
    let asks =
        |comparison: &Comparison| matches!(comparison.purpose, Purpose::Claim | Purpose::Between);
    let any = document.comparisons.iter().any(asks);
    let setup = |comparison: &Comparison| comparison.purpose == Purpose::Setup;
    document
        .comparisons
        .iter()
        .filter(move |one| if any { asks(one) } else { setup(one) })
}

/// All answers, one after another.
pub fn sentence(document: &Document) -> String {
    let mut sentences: Vec<String> = questions(document)
        .map(|one| answer(document, one))
        .collect();
    for answers in &document.answers {
        if !document.is_twin(&answers.shadow) {
            sentences.extend(differing(answers));
        }
    }
    sentences.join(" ")
}

fn answer(document: &Document, one: &Comparison) -> String {
    let (candidate, reference) = (&one.candidate, document.called(&one.reference));
    let mean = format!("mean response time {}", change(&one.all.mean));
    match one.outcome {
        Outcome::Better => format!("{candidate} is better than {reference}: {mean}."),
        Outcome::Worse => format!("{candidate} is worse than {reference}: {mean}."),
        Outcome::Equivalent => format!(
            "{candidate} and {reference} are equivalent: {mean}, within {} %.",
            round(document.margin * 100.0)
        ),
        Outcome::Undecided => {
            let why = one.why.clone().unwrap_or_else(|| {
                let (least_s, most_s) = (one.decides_in_least_s, one.decides_in_most_s);
                format!("{mean}; {}", more(least_s, most_s, document.span_s))
            });
            format!("{candidate} against {reference} is undecided: {why}.")
        }
    }
}

/// How much more traffic decides, and what that rests on.
fn more(least_s: Option<f64>, most_s: Option<f64>, span_s: f64) -> String {
    let more = match (least_s, most_s) {
        (None, _) => return "no time would decide at this noise".to_owned(),
        (Some(least_s), None) => format!("at least {}", duration(least_s)),
        (Some(least_s), Some(most_s)) => match [least_s, most_s].map(duration) {
            [least, most] if least == most => format!("about {least}"),
            [least, most] if least == duration(0.0) => format!("up to {most}"),
            [least, most] => format!("{least} to {most}"),
        },
    };
    format!(
        "{more} more of such traffic would decide, judged from the {} so far",
        duration(span_s)
    )
}

/// What a reader must know of the answers themselves.
fn differing(answers: &Answers) -> Option<String> {
    let real: Vec<_> = (answers.differences.iter())
        .filter(|difference| difference.standing == Standing::Real)
        .collect();
    let errors = |status: &str| status.starts_with('5');
    let broken = real.iter().filter(|difference| {
        difference
            .kind
            .strip_prefix("status ")
            .is_some_and(|kind| kind.rsplit(' ').next().is_some_and(errors))
    });
    let shadow = &answers.shadow;
    match (real.len(), broken.count()) {
        (0, _) => None,
        (real, 0) => Some(format!(
            "{shadow} answers differently in {}.",
            many(real, "way", "ways")
        )),
        (real, broken) => Some(format!(
            "{shadow} answers differently in {}, {broken} of them server errors.",
            many(real, "way", "ways")
        )),
    }
}

/// Too few requests or too short a run for an interval.
pub fn too_little(so_far: Progress, span_s: f64) -> String {
    let Progress {
        batches,
        needed,
        requests,
        longer,
    } = so_far;
    let what = format!(
        "{}, {needed} are needed",
        many(batches as usize, "stretch of time", "stretches of time")
    );
    let more_s = longer.map(|times| (times - 1.0) * span_s);
    let run = more_s.map(|more_s| format!("run about {} longer", duration(more_s.max(1.0))));
    let requests = (requests > 0).then(|| {
        format!(
            "at least {} that both answer",
            many(requests as usize, "more request", "more requests")
        )
    });
    let remedy: Vec<String> = run.into_iter().chain(requests).collect();
    format!("{what}: {}", remedy.join(", for "))
}

/// The twin is no twin.
pub fn unsound_setup(allowance: f64) -> String {
    format!(
        "the twin, which runs what the primary runs, differs from it by more than {} %; make the two equal first",
        round(allowance * 100.0)
    )
}

/// A host without a core for the mirror.
pub fn core_wait(wait_ms: f64, allowance: f64, has_twin: bool) -> String {
    let fairer = match has_twin {
        true => "; the comparison with the twin has this wait on both sides",
        false => ", or compare with a twin (--twin NAME)",
    };
    format!(
        "the mirror itself waited for a CPU core for {} ms of each answer (mean), which is {} % of the primary's response time \
         and in the shadow's times alone; give the mirror a core that nothing else uses{fairer}",
        round(wait_ms),
        round(allowance * 100.0)
    )
}

/// Other answers.
pub fn other_work(share: f64) -> String {
    format!(
        "in {} % of the requests the two gave different statuses, so they did not do the same work",
        round(share * 100.0)
    )
}

/// Lost requests.
pub fn loses(name: &str, share: f64) -> String {
    format!(
        "{name} lost {} % of its requests (dropped, no answer, or a server error), and what is lost is lost when it is slow",
        round(share * 100.0)
    )
}

/// An endpoint's failed requests.
pub fn fails(name: &str, share: f64) -> String {
    format!(
        "{name} gave no answer, or a server error, to {} % of its requests",
        round(share * 100.0)
    )
}

/// An endpoint that would be decided if it were the only one.
pub fn one_of_many(judged: usize) -> String {
    let level = format!("{:.4}", crate::estimate::ALPHA / judged.max(1) as f64);
    format!(
        "the 95 % interval alone would be enough, but with {judged} endpoints each verdict is judged at 0.05 / {judged} = {}",
        level.trim_end_matches('0')
    )
}

/// A contradiction between most batches and all times together.
pub fn few_decide(times: &Times) -> String {
    let ratio = times
        .mean
        .candidate_ms
        .zip(times.mean.reference_ms)
        .map_or(f64::NAN, |(ours, theirs)| ours / theirs);
    format!(
        "most of the time says {}, all times together {}: a few very slow requests weigh more than all others",
        change(&times.mean),
        run::rounded_change(ratio)
    )
}

fn change(figure: &Figure) -> String {
    let Some(ratio) = figure.ratio else {
        return "is not known".to_owned();
    };
    run::change_with_interval(ratio, figure.low, figure.high)
}

/// `3`, `0.4`: no more digits than it takes.
pub fn round(value: f64) -> String {
    if value >= 10.0 || (value - value.round()).abs() < 0.05 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

fn many(count: usize, one: &str, more: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { more })
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{} s", s.ceil()),
        s if s < 5_400.0 => format!("{} min", (s / 60.0).ceil()),
        s => format!("{} h", (s / 3_600.0).ceil()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_much_more_traffic_decides() {
        for (least_s, most_s, expected) in [
            (None, None, "no time would decide at this noise"),
            (Some(30.0), None, "at least 30 s"),
            (Some(29.2), Some(29.9), "about 30 s"),
            (Some(0.0), Some(45.0), "up to 45 s"),
            (Some(45.0), Some(600.0), "45 s to 10 min"),
        ] {
            let said = more(least_s, most_s, 120.0);
            let rest = " more of such traffic would decide, judged from the 2 min so far";
            let expected = match least_s {
                Some(_) => format!("{expected}{rest}"),
                None => expected.to_owned(),
            };
            assert_eq!(said, expected);
        }
    }
}
