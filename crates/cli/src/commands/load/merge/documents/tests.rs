mod refusals;
#[path = "../../../../../../load/tests/support/measured.rs"]
mod requests;

use super::*;
use crate::commands::load::assertions;
use load::{LateAnswers, Redirect, StatusChange};
use proptest::collection::vec;
use proptest::prelude::*;
use requests::Request;
use run::LatencyObjective;
use run::Sending;
use run::load::{Asked, AssertionOutcome, Mode};

const PAGES: [&str; 2] = ["GET /", "GET /cart"];

fn asked(seed: u64) -> Asked {
    Asked {
        url: "http://127.0.0.1/".to_owned(),
        workload: "shop.toml".to_owned(),
        mode: Mode::Open,
        rate: Some("100".to_owned()),
        arrivals: Some("poisson".to_owned()),
        speed: None,
        mean_rate_per_s: Some(100.0),
        connections: 64,
        think_ms: None,
        requests: None,
        duration_s: Some(10.0),
        warmup_s: None,
        timeout_ms: 30_000.0,
        sending: Sending::default(),
        replay_host: false,
        seed,
    }
}

/// What a machine that sends these requests measures, every answer of which it read late.
fn measured<'a>(requests: impl Iterator<Item = &'a Request>) -> Outcome {
    let mut outcome = requests::measured(requests, &PAGES);
    let response = &outcome.response;
    let late = (!response.is_empty()).then(|| LateAnswers {
        counted: response.clone(),
        without: response.clone(),
    });
    outcome.late_answers = late.map(Box::new);
    outcome
}

/// Of a run that began so many seconds after the first and lasted ten.
fn document(outcome: &Outcome, machine: u64, after_s: u64) -> Document {
    let mut outcome = outcome.clone();
    outcome.wall_started_ns = (1_800_000_000 + after_s) * 1_000_000_000 + machine;
    outcome.ended_ns = 10_000_000_000;
    outcome.finished_ns = 10_500_000_000;
    let judged = Judged {
        asked: &asked(machine),
        objective: Some(LatencyObjective {
            percentile: 99.0,
            limit_ms: 250.0,
        }),
        limits: &[],
        recording: outcome
            .endpoints
            .iter()
            .any(|page| page.recorded_statuses.compared > 0),
        doubt: None,
        no_answer: None,
    };
    let mut document = figures(&judged, &outcome, State::Done);
    conclude(&mut document, &judged, &outcome);
    document
}

/// As it is read from its file.
fn one(name: &str, document: &Document) -> One {
    One::read(name, serde_json::to_string(document).unwrap().as_bytes()).unwrap()
}

fn limits(text: &str) -> Vec<Limit> {
    assertions::limits(&[text.to_owned()], None, &mut Vec::new())
}

/// So many requests of 1 to 100 ms, a tenth of which failed.
fn hundred(machine: u64, after_s: u64) -> Document {
    let requests: Vec<Request> = (1..=100)
        .map(|ms| (0, ms * 1_000, ms % 10 == 0, 0))
        .collect();
    document(&measured(requests.iter()), machine, after_s)
}

proptest! {
    // Each case adds and encodes dozens of histograms of 23,000 buckets.
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn documents_of_split_streams_merge_to_that_of_the_whole(
        requests in vec((0..2_usize, 1..2_000_000_u64, prop::bool::weighted(0.1), 0..3_usize), 1..400)
    ) {
        let parts = [0, 1, 2].map(|machine| {
            let own = requests.iter().filter(|r| r.3 == machine);
            one(&format!("{machine}.json"), &document(&measured(own), machine as u64, 0))
        });
        let asserted = limits("p99=1s,p50=1s,errors=10%,min-throughput=5/s,GET /cart:p90=1s");
        let mut merged = merged(parts.into(), &asserted).unwrap().document;
        let mut outcome = measured(requests.iter());
        outcome.wall_started_ns = 1_800_000_000_000_000_000;
        // Starts of machines are a nanosecond apart.
        outcome.ended_ns = 10_000_000_002;
        outcome.finished_ns = 10_500_000_002;
        let judged = Judged {
            asked: &merged.asked.clone(),
            objective: Some(LatencyObjective { percentile: 99.0, limit_ms: 250.0 }),
            limits: &asserted,
            recording: false,
            doubt: None,
            no_answer: None,
        };
        let mut whole = figures(&judged, &outcome, State::Done);
        conclude(&mut whole, &judged, &outcome);
        prop_assert_eq!(merged.merged.len(), 3);
        merged.merged.clear();
        prop_assert_eq!(merged, whole);
    }
}

#[test]
fn counts_are_sums_and_rates_are_over_the_time_that_is_covered() {
    let all = vec![one("a", &hundred(1, 0)), one("b", &hundred(2, 5))];
    let merged = merged(all, &limits("p95=1s,errors=11%")).unwrap();
    let document = merged.document;
    assert_eq!((document.counts.asked, document.counts.failed), (200, 20));
    assert_eq!(document.errors["status_5xx"], 20);
    assert_eq!(document.statuses["500"], 20);
    assert!(
        (document.window_s - 15.0).abs() < 1e-6,
        "{}",
        document.window_s
    );
    assert!((document.throughput_per_s - 12.0).abs() < 1e-6);
    let asked = &document.asked;
    assert_eq!(asked.rate.as_deref(), Some("2 x 100"));
    assert!((asked.mean_rate_per_s.unwrap() - 2000.0 / 15.0).abs() < 1e-6);
    assert_eq!(asked.connections, 128);
    let outcomes: Vec<_> = document.assertions.iter().map(|a| a.outcome).collect();
    assert_eq!(outcomes, [AssertionOutcome::Fails, AssertionOutcome::Holds]);
    assert_eq!(document.exit_code, 1);
    assert_eq!(document.started_at, document.merged[0].started_at);
    let note = &merged.notes[0];
    assert!(note.contains("for 5.0 s of 15.0 s"), "{note}");
}

#[test]
fn what_was_merged_merges_again() {
    let [a, b, c] = [1, 2, 3].map(|machine| one(&machine.to_string(), &hundred(machine, 0)));
    let pair = merged(vec![a, b], &[]).unwrap().document;
    let twice = merged(vec![one("pair", &pair), one("1", &hundred(1, 0))], &[]);
    assert!(twice.unwrap_err().contains("is given twice"));
    let all = merged(vec![one("pair", &pair), c], &[]).unwrap().document;
    assert_eq!(all.counts.asked, 300);
    let files: Vec<&str> = all.merged.iter().map(|part| part.file.as_str()).collect();
    assert_eq!(files, ["1", "2", "3"]);
}

#[test]
fn the_runs_of_what_was_merged_before_are_in_the_order_of_their_starts() {
    let [a, b, c] = [0, 1, 2].map(|at| one(&at.to_string(), &hundred(at, at)));
    let outer = merged(vec![a, c], &[]).unwrap().document;
    let all = merged(vec![one("outer", &outer), b], &[]).unwrap().document;
    let files: Vec<&str> = all.merged.iter().map(|part| part.file.as_str()).collect();
    assert_eq!(files, ["0", "1", "2"]);
    assert_eq!(all.asked.rate.as_deref(), Some("2 x 100 + 100"));
}

#[test]
fn the_rate_of_equal_sums_has_parentheses() {
    let pair = |first: u64| {
        let all = [first, first + 1].map(|machine| one(&machine.to_string(), &hundred(machine, 0)));
        merged(all.into(), &[]).unwrap().document
    };
    let all = vec![one("a", &pair(1)), one("b", &pair(3))];
    let rate = merged(all, &[]).unwrap().document.asked.rate;
    assert_eq!(rate.as_deref(), Some("2 x (2 x 100)"));
}

#[test]
fn machines_without_independent_arrivals_are_named() {
    let said = |arrivals: &str| {
        let all = [1, 2].map(|machine| {
            let mut document = hundred(machine, 0);
            document.asked.arrivals = Some(arrivals.to_owned());
            one(&machine.to_string(), &document)
        });
        merged(all.into(), &[]).unwrap().notes
    };
    assert!(said("poisson").is_empty());
    assert!(said("constant")[0].ends_with("use --arrivals poisson"));
    assert!(said("recorded")[0].ends_with("from one machine, faster (--speed)"));
}

#[test]
fn what_a_terminal_would_obey_is_taken_out() {
    let mut document = hundred(1, 0);
    document.first_error = Some("GET /: \u{1b}[2J\u{9b}31m::error::".to_owned());
    document.warnings = vec!["\u{1b}]0;title\u{7}".to_owned()];
    let merged = merged(vec![one("a", &document)], &[]).unwrap().document;
    assert_eq!(
        merged.first_error.as_deref(),
        Some("a: GET /:  [2J 31m::error::")
    );
    let text = serde_json::to_string(&merged).unwrap();
    assert!(!text.contains("\\u00"), "{text}");
}

#[test]
fn runs_at_different_times_are_named() {
    let all = vec![one("late", &hundred(2, 12)), one("early", &hundred(1, 0))];
    let merged = merged(all, &limits("p50=1s,p95=1s")).unwrap();
    let note = &merged.notes[0];
    assert!(
        note.starts_with("early had ended 2.0 s before late began"),
        "{note}"
    );
    assert_eq!(merged.document.warnings[0], format!("{note}."));
    let [holds, fails] = &merged.document.assertions[..] else {
        panic!("{:?}", merged.document.assertions);
    };
    assert_eq!(holds.outcome, AssertionOutcome::Unknown);
    assert!(
        holds
            .sentence
            .contains("but the runs were never under way at the same time"),
        "{}",
        holds.sentence
    );
    assert_eq!(fails.outcome, AssertionOutcome::Fails);
}

#[test]
fn a_limit_that_runs_one_after_the_other_keep_is_undecided() {
    let merged = |after_s| {
        let all = vec![one("a", &hundred(1, 0)), one("b", &hundred(2, after_s))];
        merged(all, &limits("p50=1s")).unwrap().document.exit_code
    };
    assert_eq!((merged(9), merged(12)), (0, 3));
}

#[test]
fn machines_with_one_seed_or_several_servers_are_named() {
    let mut other = hundred(1, 1);
    other.asked.url = "http://10.0.0.1/".to_owned();
    let notes = merged(vec![one("a", &hundred(1, 0)), one("b", &other)], &[])
        .unwrap()
        .notes;
    assert!(
        notes[1].contains("a asked http://127.0.0.1/, b asked http://10.0.0.1/"),
        "{notes:?}"
    );
    assert_eq!(
        notes[2],
        "a and b have the same seed (1): their requests were due at the same times after the start; give each machine its own --seed"
    );
}

#[test]
fn a_generator_that_was_late_leaves_no_answer_and_is_named() {
    let mut late = hundred(2, 0);
    late.generator.ok = false;
    late.generator.trouble = Some("the generator started requests late".to_owned());
    let all = vec![one("a", &hundred(1, 0)), one("b", &late)];
    let document = merged(all, &limits("errors=50%")).unwrap().document;
    let trouble = document.generator.trouble.as_deref();
    assert_eq!(trouble, Some("b: the generator started requests late"));
    assert_eq!(document.exit_code, 3);
}

/// The outcomes of a limit that holds and of one that fails, and the exit code, of a sum with this change in one of its parts.
fn outcomes(change: impl Fn(&mut Document)) -> ([AssertionOutcome; 2], u8) {
    let mut changed = hundred(2, 0);
    change(&mut changed);
    let all = vec![one("a", &hundred(1, 0)), one("b", &changed)];
    let document = merged(all, &limits("p50=1s,p90=1us")).unwrap().document;
    let outcome = |at: usize| document.assertions[at].outcome;
    ([outcome(0), outcome(1)], document.exit_code)
}

#[test]
fn what_makes_the_exit_code_no_answer_makes_the_assertions_unknown() {
    let (holds, fails, unknown) = (
        AssertionOutcome::Holds,
        AssertionOutcome::Fails,
        AssertionOutcome::Unknown,
    );
    let troubled = |only_late| {
        move |document: &mut Document| {
            document.generator.ok = false;
            document.generator.trouble = Some("the generator started requests late".to_owned());
            document.generator.only_late = only_late;
        }
    };
    assert_eq!(outcomes(|_| ()), ([holds, fails], 1));
    assert_eq!(outcomes(troubled(true)), ([holds, unknown], 3));
    assert_eq!(outcomes(troubled(false)), ([unknown, unknown], 3));
    let interrupted = |document: &mut Document| document.state = State::Interrupted;
    assert_eq!(outcomes(interrupted), ([unknown, unknown], 3));
}

#[test]
fn assertions_that_hold_of_a_late_generator_hold() {
    let code = |limits_given: &str| {
        let mut late = hundred(2, 0);
        late.generator.ok = false;
        late.generator.trouble = Some("the generator started requests late".to_owned());
        late.generator.only_late = true;
        let all = vec![one("a", &hundred(1, 0)), one("b", &late)];
        let limits = match limits_given {
            "" => Vec::new(),
            given => limits(given),
        };
        merged(all, &limits).unwrap().document.exit_code
    };
    assert_eq!(code("errors=50%,p50=1s"), 0);
    assert_eq!(code(""), 3, "none was asserted");
}

#[test]
fn a_run_that_was_broken_off_leaves_no_answer_and_is_named() {
    let mut broken = hundred(2, 0);
    broken.state = State::Interrupted;
    let merged = merged(vec![one("a", &hundred(1, 0)), one("b", &broken)], &[]).unwrap();
    let said = merged.broken_off.unwrap();
    assert_eq!(
        said,
        "b: the run was interrupted; run it again or leave it out"
    );
    assert_eq!(
        (merged.document.state, merged.document.exit_code),
        (State::Interrupted, 3)
    );
}

#[test]
fn what_each_document_warns_of_is_named_unless_all_say_it() {
    let warned = |machine, own: &str| {
        let mut document = hundred(machine, 0);
        let beyond = format!("{TOO_LATE_BEYOND}: it is judged anew.");
        document.warnings = vec![own.to_owned(), beyond, "All.".to_owned()];
        one(&format!("{machine}.json"), &document)
    };
    let all = vec![warned(1, "Broken: GET /."), warned(2, "Other.")];
    let warnings = merged(all, &[]).unwrap().document.warnings;
    assert_eq!(
        warnings,
        ["1.json: Broken: GET /.", "All.", "2.json: Other."]
    );
}

#[test]
fn redirects_and_changed_statuses_are_those_of_all_machines() {
    let replayed = |machine: u64| {
        let requests: Vec<Request> = (1..=100).map(|ms| (0, ms * 1_000, false, 0)).collect();
        let mut outcome = measured(requests.iter());
        let page = &mut outcome.endpoints[0];
        page.redirects.push(Redirect {
            status: 302,
            expected: false,
            answers: 40 + machine,
            location: Some("/login".to_owned()),
        });
        page.recorded_statuses.compared = 90;
        page.recorded_statuses.revalidated = 2;
        page.recorded_statuses.changes.push(StatusChange {
            page: PAGES[0].to_owned(),
            recorded: 200,
            replayed: 302,
            answers: 40 + machine,
        });
        one(&machine.to_string(), &document(&outcome, machine, 0))
    };
    let document = merged(vec![replayed(1), replayed(2)], &limits("p50=1s"))
        .unwrap()
        .document;
    let recorded = document.recorded.unwrap();
    assert_eq!(
        (recorded.compared, recorded.revalidated, recorded.changed),
        (180, 4, 83)
    );
    assert_eq!(recorded.changes.len(), 1);
    assert!(recorded.other_work);
    let redirects = &document.endpoints[0].redirects;
    assert_eq!((redirects.len(), redirects[0].answers), (1, 83));
    let named = |said: &&String| said.contains("/login");
    assert_eq!(
        document.warnings.iter().filter(named).count(),
        1,
        "{:?}",
        document.warnings
    );
    assert_eq!(document.assertions[0].outcome, AssertionOutcome::Unknown);
}
