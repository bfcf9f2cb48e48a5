//! The queries to Prometheus: the families of `contract/metrics-v1.md` at the ends of slices.
//!
//! Counters are fetched as they are and subtracted in `join`, so that restarts and holes are seen and counted.

use crate::experiment::Experiment;

/// The metric family of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Family {
    /// The arms of each instance.
    Arms,
    Requests,
    Errors,
    /// Time in the application.
    Duration,
    Queue,
    GvlWait,
    Memory,
    /// Processes that began.
    Starts,
    /// The histogram of the time in the application.
    Buckets,
}

impl Family {
    /// The families with one number for each instance.
    pub(crate) const NUMBERS: [Family; 7] = [
        Family::Requests,
        Family::Errors,
        Family::Duration,
        Family::Queue,
        Family::GvlWait,
        Family::Memory,
        Family::Starts,
    ];

    /// Its name in Prometheus.
    pub fn name(self) -> &'static str {
        match self {
            Family::Arms => "powerband_server_info",
            Family::Requests => "powerband_requests_total",
            Family::Errors => "powerband_server_errors_total",
            Family::Duration => "powerband_request_duration_seconds_sum",
            Family::Queue => "powerband_request_queue_seconds_sum",
            Family::GvlWait => "powerband_request_gvl_wait_seconds_sum",
            Family::Memory => "powerband_resident_memory_bytes",
            Family::Starts => "powerband_process_starts_total",
            Family::Buckets => "powerband_request_duration_seconds_bucket",
        }
    }
}

/// A range with its step, in seconds of Unix time, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub from_s: i64,
    pub to_s: i64,
    pub step_s: i64,
}

/// One range query.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Query {
    pub family: Family,
    pub promql: String,
    pub span: Span,
}

/// Steps of one query: Prometheus refuses more than 11,000, and the answer about ten thousand pods has to fit into memory.
const MOST_STEPS: i64 = 400;
/// A histogram has twenty series where a counter has one.
const MOST_STEPS_OF_BUCKETS: i64 = 20;
/// The most histograms of an instance in an experiment. Their slices are longer than those of counters, so that many pods fit into memory.
const MOST_TAILS: usize = 300;

/// The number of slices that one histogram covers. It depends on the experiment alone, not on the instant of the reading.
pub(crate) fn slices_of_tail(experiment: &Experiment) -> usize {
    experiment
        .slices_before(experiment.ends_s())
        .div_ceil(MOST_TAILS)
        .max(1)
}

/// The queries for the first slices of the experiment; `matchers` are further label matchers, as `job="shop"`.
pub fn queries(experiment: &Experiment, slices: usize, matchers: &str) -> Vec<Query> {
    let digest = experiment.short_digest();
    let more = match matchers {
        "" => String::new(),
        matchers => format!(",{matchers}"),
    };
    let info = format!(
        "{}{{arm=~\"[^:]+:{digest}:.+\"{more}}}",
        Family::Arms.name()
    );
    let also = match matchers {
        "" => String::new(),
        matchers => format!("{{{matchers}}}"),
    };
    let of = |family: Family, labels: &str| {
        let name = family.name();
        format!("sum by ({labels}) ({name}{also} and on (instance) {info})")
    };
    let tail = slices_of_tail(experiment);
    let spans = |slices: usize, step_s: i64, most: i64| {
        let start = experiment.starts_s;
        let end = start + slices as i64 * step_s;
        let firsts = (0..=slices as i64).step_by(most as usize);
        firsts.map(move |first| Span {
            from_s: start + first * step_s,
            to_s: end.min(start + (first + most - 1) * step_s),
            step_s,
        })
    };
    let mut all = Vec::new();
    let mut ask = |family: Family, promql: String, slices: usize, step_s: i64, most: i64| {
        all.extend(spans(slices, step_s, most).map(|span| Query {
            family,
            promql: promql.clone(),
            span,
        }));
    };
    let step_s = experiment.slice_s;
    let arms = format!("max by (instance, arm) ({info})");
    ask(Family::Arms, arms, slices, step_s, MOST_STEPS);
    for family in Family::NUMBERS {
        ask(family, of(family, "instance"), slices, step_s, MOST_STEPS);
    }
    ask(
        Family::Buckets,
        of(Family::Buckets, "instance, le"),
        slices / tail,
        step_s * tail as i64,
        MOST_STEPS_OF_BUCKETS,
    );
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_of_a_slice_is_asked_for_once() {
        let text = "name = 'a'\nstarts = 2026-12-01T00:00:00Z\nlasts = '14d'\n[[arm]]\nname = 'x'\n[[arm]]\nname = 'y'\nshare = '50%'\nenvironment = { A = 1 }\n";
        let experiment = crate::read(text).unwrap();
        let slices = experiment.slices_before(experiment.ends_s());
        assert_eq!(slices, 4_032);
        let all = queries(&experiment, slices, "job=\"shop\"");
        for family in Family::NUMBERS
            .into_iter()
            .chain([Family::Arms, Family::Buckets])
        {
            let mine = all.iter().filter(|query| query.family == family);
            let instants = mine.flat_map(|query| {
                let span = query.span;
                (span.from_s..=span.to_s).step_by(span.step_s as usize)
            });
            let instants: Vec<i64> = instants.collect();
            let step = if family == Family::Buckets {
                14 * 300
            } else {
                300
            };
            let expected: Vec<i64> = (0..=(4_032 * 300 / step))
                .map(|n| experiment.starts_s + n * step)
                .collect();
            assert_eq!(instants, expected, "{family:?}");
        }
        let requests = all
            .iter()
            .find(|query| query.family == Family::Requests)
            .unwrap();
        let digest = experiment.short_digest();
        assert_eq!(
            requests.promql,
            format!(
                "sum by (instance) (powerband_requests_total{{job=\"shop\"}} and on (instance) \
                 powerband_server_info{{arm=~\"[^:]+:{digest}:.+\",job=\"shop\"}})"
            )
        );
    }
}
