//! What the evidence allows to be said of each two servers.

use run::Outcome;
use run::duplex::{self, Document, EndpointTimes, Figure, Purpose, Times};
use small_sort::SmallSort;
use stats::Verdict;

use crate::comparison::Comparison;
use crate::contest::{Contest, OTHER, Side};
use crate::estimate::{self, ALPHA, Evidence};
use crate::series::Series;
use crate::words;

/// A server that loses a larger share of its requests than this is not called faster, because it loses them when it is slow.
pub const MOST_LOST: f64 = 0.01;

/// Where a larger share of answers than this has another status, the two did not do the same work.
pub const MOST_OTHER_STATUS: f64 = 0.01;

/// Nothing is claimed where two copies of the same configuration differ by more than this for certain, or where the mirror's wait
/// for a core may lengthen a shadow's times by more.
pub const MOST_ALLOWED: f64 = 0.25;

/// What is taken off every difference of a contest.
#[derive(Debug, Clone, Copy)]
struct Allowed {
    /// By so much the twin differs from the primary for certain.
    twin: f64,
    /// Only one side's times hold the mirror's wait for a core.
    core_wait: bool,
}

impl Allowed {
    fn of(self, evidence: Option<&Evidence>) -> f64 {
        let wait = evidence.filter(|_| self.core_wait);
        self.twin + wait.map_or(0.0, |evidence| evidence.core_wait)
    }
}

/// Each contest, in its order.
pub fn comparisons(all: &Comparison, span_s: f64) -> Vec<duplex::Comparison> {
    let twin = all
        .contests
        .iter()
        .find(|contest| contest.purpose == Purpose::Setup);
    let bias = twin.map_or(0.0, |twin| bias(twin, all.margin));
    let of = |contest: &Contest| {
        let allowed = Allowed {
            twin: match contest.purpose {
                Purpose::Claim => bias,
                _ => 0.0,
            },
            // What the twin differs by contains the wait, which is part of the setup.
            core_wait: contest.reference == Side::Primary && contest.purpose != Purpose::Setup,
        };
        judged(all, contest, allowed, span_s)
    };
    all.contests.iter().map(of).collect()
}

/// 0 where everything that was to be decided is, 3 otherwise.
pub fn exit_code(document: &Document) -> u8 {
    let mut claims = words::questions(document).peekable();
    let open = claims.peek().is_none() || claims.any(|claim| claim.outcome == Outcome::Undecided);
    if open { 3 } else { 0 }
}

/// By how much the twin differs from the primary for certain; 0 where it may not differ at all.
fn bias(twin: &Contest, margin: f64) -> f64 {
    let evidence = estimate::of_means(&twin.all);
    let found = evidence.and_then(|evidence| evidence.compare(margin, ALPHA, 0.0));
    let Some(interval) = found.and_then(|found| found.interval) else {
        return 0.0;
    };
    (interval.low - 1.0).max(1.0 / interval.high - 1.0).max(0.0)
}

fn judged(
    all: &Comparison,
    contest: &Contest,
    allowed: Allowed,
    span_s: f64,
) -> duplex::Comparison {
    let evidence = estimate::of_means(&contest.all);
    let allowance = allowed.of(evidence.as_ref());
    let found =
        (evidence.as_ref()).and_then(|evidence| evidence.compare(all.margin, ALPHA, allowance));
    let times = times(&contest.all, evidence.as_ref(), allowed);
    let (outcome, why) = match found.as_ref() {
        Some(found) => verdict(all, contest, &times, found, allowance),
        None => {
            let so_far = estimate::progress(&contest.all);
            (Outcome::Undecided, Some(words::too_little(so_far, span_s)))
        }
    };
    let longer = found.as_ref().map_or_else(Default::default, |found| {
        estimate::runs_to_decide(found, all.margin, allowance)
    });
    let more_s = |times: f64| (times - 1.0).max(0.0) * span_s;
    duplex::Comparison {
        candidate: all.name(Side::Shadow(contest.candidate)).to_owned(),
        reference: all.name(contest.reference).to_owned(),
        purpose: contest.purpose,
        outcome,
        why,
        decides_in_s: longer.at.map(more_s),
        decides_in_least_s: longer.least.map(more_s),
        decides_in_most_s: longer.most.map(more_s),
        requests: times.requests,
        other_status: contest.other_status,
        candidate_lost: contest.candidate_lost,
        reference_lost: contest.reference_lost,
        allowance,
        endpoints: endpoints(all, contest, allowed),
        all: times,
    }
}

fn verdict(
    all: &Comparison,
    contest: &Contest,
    times: &Times,
    found: &stats::Comparison,
    allowance: f64,
) -> (Outcome, Option<String>) {
    if allowance > MOST_ALLOWED {
        return (
            Outcome::Undecided,
            Some(unsound(&contest.all, contest, allowance)),
        );
    }
    let other_status = contest.other_status as f64 / contest.asked().max(1) as f64;
    if other_status > MOST_OTHER_STATUS {
        return (Outcome::Undecided, Some(words::other_work(other_status)));
    }
    let outcome = outcome(found.verdict);
    if let Some(why) = refused(all, contest, outcome) {
        return (Outcome::Undecided, Some(why));
    }
    if contradicted(times, outcome) {
        return (Outcome::Undecided, Some(words::few_decide(times)));
    }
    (outcome, None)
}

/// Why nothing is claimed: the two do not get their requests under the same conditions.
fn unsound(series: &Series, contest: &Contest, allowance: f64) -> String {
    match contest.reference {
        Side::Primary => {
            let has_twin = contest.purpose == Purpose::Primary;
            words::core_wait(series.sums.total().wait_ms(), allowance, has_twin)
        }
        Side::Shadow(_) => words::unsound_setup(allowance),
    }
}

/// Losses make a server look faster than it is, and never slower: so they forbid one side of the verdict.
fn refused(all: &Comparison, contest: &Contest, outcome: Outcome) -> Option<String> {
    let asked = contest.asked().max(1) as f64;
    let loses = |count: u64| Some(count as f64 / asked).filter(|share| *share > MOST_LOST);
    let candidate = loses(contest.candidate_lost)
        .filter(|_| matches!(outcome, Outcome::Better | Outcome::Equivalent))
        .map(|share| words::loses(all.name(Side::Shadow(contest.candidate)), share));
    let reference = loses(contest.reference_lost)
        .filter(|_| matches!(outcome, Outcome::Worse | Outcome::Equivalent))
        .map(|share| words::loses(all.name(contest.reference), share));
    candidate.or(reference)
}

/// Most stretches of time say one thing and the sum of all times another: a few very slow requests weigh more than
/// everything else, and the users who waited for them would not agree.
fn contradicted(times: &Times, outcome: Outcome) -> bool {
    let (Some(candidate), Some(reference)) = (times.mean.candidate_ms, times.mean.reference_ms)
    else {
        return false;
    };
    match outcome {
        Outcome::Better => candidate >= reference,
        Outcome::Worse => candidate <= reference,
        Outcome::Equivalent | Outcome::Undecided => false,
    }
}

fn endpoints(all: &Comparison, contest: &Contest, allowed: Allowed) -> Vec<EndpointTimes> {
    let numbered = contest.endpoints.iter().enumerate();
    let asked =
        numbered.filter(|(_, series)| series.spreads.iter().any(|s| s.candidate.count() > 0));
    let mut seen: Vec<(usize, &Series, Option<Evidence>)> = asked
        .map(|(number, series)| (number, series, estimate::of_means(series)))
        .collect();
    let judged = seen
        .iter()
        .filter(|(_, _, evidence)| evidence.is_some())
        .count();
    // As many questions at once, and one in twenty would be answered wrongly by chance.
    let alpha = ALPHA / judged.max(1) as f64;
    seen.small_sort_by_key(|(number, series, _)| {
        let requests = series.sums.total().requests;
        (
            all.endpoints[*number] == OTHER,
            std::cmp::Reverse(requests),
            *number,
        )
    });
    let of = |(number, series, evidence): (usize, &Series, Option<Evidence>)| {
        let allowance = allowed.of(evidence.as_ref());
        let times = times(series, evidence.as_ref(), allowed);
        let at = |alpha: f64| evidence.as_ref()?.compare(all.margin, alpha, allowance);
        let found = at(alpha).map(|found| outcome(found.verdict));
        let mut why = found.and_then(|outcome| {
            (allowance > MOST_ALLOWED)
                .then(|| unsound(series, contest, allowance))
                .or_else(|| hollow(all, contest, &times, outcome))
        });
        let outcome = match why {
            Some(_) => Some(Outcome::Undecided),
            None => found,
        };
        let alone = at(ALPHA).is_some_and(|found| found.verdict != Verdict::Undecided);
        if outcome == Some(Outcome::Undecided) && alone {
            why = why.or_else(|| Some(words::one_of_many(judged)));
        }
        EndpointTimes {
            endpoint: all.endpoints[number].clone(),
            outcome,
            why,
            times,
        }
    };
    seen.into_iter().map(of).collect()
}

/// Why nothing is claimed of an endpoint, whatever the test of its means says.
fn hollow(all: &Comparison, contest: &Contest, times: &Times, outcome: Outcome) -> Option<String> {
    let failing = |failed: u64, server: Side| {
        let share = failed as f64 / (times.requests + failed).max(1) as f64;
        (share > MOST_LOST).then(|| words::fails(all.name(server), share))
    };
    let candidate = || failing(times.candidate_failed, Side::Shadow(contest.candidate));
    let reference = || failing(times.reference_failed, contest.reference);
    refused(all, contest, outcome)
        .or_else(|| contradicted(times, outcome).then(|| words::few_decide(times)))
        .or_else(|| candidate().filter(|_| outcome != Outcome::Worse))
        .or_else(|| reference().filter(|_| outcome != Outcome::Better))
}

fn times(series: &Series, evidence: Option<&Evidence>, allowed: Allowed) -> Times {
    let total = series.sums.total();
    let means = total.means_ms();
    let spread = series.spreads.total();
    let quantile = |q: f64| {
        let ms = |ns: Option<f64>| ns.map(|ns| ns / 1e6);
        let pooled = (
            ms(spread.reference.quantile_ns(q)),
            ms(spread.candidate.quantile_ns(q)),
        );
        figure(pooled, estimate::of_quantile(series, q).as_ref(), allowed)
    };
    Times {
        requests: total.requests,
        candidate_failed: series.candidate_failed,
        reference_failed: series.reference_failed,
        mean: figure(
            (
                means.map(|(reference, _)| reference),
                means.map(|(_, candidate)| candidate),
            ),
            evidence,
            allowed,
        ),
        p50: quantile(0.5),
        p95: quantile(0.95),
        p99: quantile(0.99),
        batches: evidence.map_or(0, Evidence::batches),
        correlation: evidence.map(|evidence| evidence.correlation),
        widened: evidence.map_or(1.0, |evidence| evidence.widened),
    }
}

fn figure(
    (reference_ms, candidate_ms): (Option<f64>, Option<f64>),
    evidence: Option<&Evidence>,
    allowed: Allowed,
) -> Figure {
    let plain = reference_ms
        .zip(candidate_ms)
        .map(|(reference, candidate)| candidate / reference);
    let interval = plain
        .and(evidence)
        .and_then(|evidence| evidence.interval(allowed.of(Some(evidence))));
    Figure {
        candidate_ms,
        reference_ms,
        ratio: interval.map_or(plain, |(ratio, _, _)| Some(ratio)),
        low: interval.map(|(_, low, _)| low),
        high: interval.map(|(_, _, high)| high),
    }
}

fn outcome(verdict: Verdict) -> Outcome {
    match verdict {
        Verdict::Better => Outcome::Better,
        Verdict::Worse => Outcome::Worse,
        Verdict::Equivalent => Outcome::Equivalent,
        Verdict::Undecided => Outcome::Undecided,
    }
}
