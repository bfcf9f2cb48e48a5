//! Recordings as workloads: order, names, and what cannot be sent.

use load::{MAX_NAMES, OTHER, RecordedRequest, Sequence, Workload, WorkloadProblem};
use proptest::prelude::*;

fn get(path: impl Into<String>) -> RecordedRequest {
    RecordedRequest {
        method: "GET".into(),
        path: path.into(),
        headers: Vec::new(),
        body: Vec::new(),
        status: None,
        host: None,
    }
}

/// Named by method and path, as they are.
fn read(
    recording: impl IntoIterator<Item = (String, RecordedRequest)>,
) -> Result<Workload, Vec<WorkloadProblem>> {
    Workload::from_recorded(recording, |method, path| format!("{method} {path}"))
}

fn placed(requests: Vec<RecordedRequest>) -> impl Iterator<Item = (String, RecordedRequest)> {
    (1..).map(|line| format!("line {line}")).zip(requests)
}

#[test]
fn requests_come_in_their_order_and_equal_ones_are_kept_once() {
    let mut post = get("/cart");
    post.method = "POST".into();
    post.body = b"n=1".to_vec();
    let recording = vec![get("/a"), post.clone(), get("/a"), get("/b"), post];
    let workload = read(placed(recording)).unwrap();
    assert_eq!(workload.names(), ["GET /a", "POST /cart", "GET /b"]);
    let weights: Vec<f64> = workload.requests().iter().map(|r| r.weight).collect();
    assert_eq!(weights, [2.0, 2.0, 1.0]);
    assert_eq!(workload.unsafe_methods(), ["POST"]);
    let dealt: Vec<usize> = Sequence::new(&workload, 7).take(12).collect();
    assert_eq!(dealt, [0, 1, 0, 2, 1, 0, 1, 0, 2, 1, 0, 1]);
}

#[test]
fn the_rarest_of_too_many_names_are_put_together() {
    let mut recording: Vec<RecordedRequest> = (0..MAX_NAMES + 50)
        .map(|page| get(format!("/page-{page}")))
        .collect();
    recording.extend((100..MAX_NAMES + 50).map(|page| get(format!("/page-{page}"))));
    let workload = read(placed(recording)).unwrap();
    let names = workload.names();
    assert_eq!(names.len(), MAX_NAMES);
    assert!(names.contains(&OTHER) && names.contains(&"GET /page-305"));
    let others = workload.requests().iter().filter(|r| r.name == OTHER);
    assert!(
        others.clone().all(|request| request.weight < 2.0),
        "only rare ones"
    );
    assert_eq!(others.count(), 51);
    let exact = (0..MAX_NAMES)
        .map(|page| get(format!("/page-{page}")))
        .collect();
    let workload = read(placed(exact)).unwrap();
    assert!(
        !workload.names().contains(&OTHER),
        "as many as there may be"
    );
}

#[test]
fn problems_have_their_places_and_are_bounded() {
    let mut wrong = get("no-slash");
    wrong.method = "get".into();
    wrong.headers = [("Host", "x"), ("A B", "c"), ("A", "secret\r\nB: c")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
    let problems = read(placed(vec![get("/"), wrong])).unwrap_err();
    let keys: Vec<&str> = problems
        .iter()
        .map(|problem| problem.key.as_str())
        .collect();
    let expected = [
        "line 2, method",
        "line 2, path",
        "line 2, header \"Host\"",
        "line 2, header \"A B\"",
        "line 2, header \"A\"",
    ];
    assert_eq!(keys, expected);
    assert!(!format!("{problems:?}").contains("secret"));
    let many = (0..1_000).map(|n| get(format!("a{n}"))).collect();
    let problems = read(placed(many)).unwrap_err();
    assert_eq!(problems.len(), 21);
    assert_eq!(problems[20].value, "980 more problems");
    let none = read(placed(Vec::new())).unwrap_err();
    assert_eq!(none[0].value, "no request");
}

proptest! {
    #[test]
    fn the_sequence_is_the_recording(paths in prop::collection::vec(0u8..20, 1..60), seed: u64) {
        let path = |number: &u8| format!("/p{number}");
        let recording = paths.iter().map(|number| get(path(number))).collect();
        let workload = read(placed(recording)).unwrap();
        let sent: Vec<String> = Sequence::new(&workload, seed)
            .take(2 * paths.len())
            .map(|index| workload.requests()[index].path.clone())
            .collect();
        let twice: Vec<String> = paths.iter().chain(&paths).map(path).collect();
        prop_assert_eq!(sent, twice);
    }
}

#[test]
fn a_run_may_begin_anywhere_in_a_recording() {
    let recording = placed((0..50).map(|n| get(format!("/{n}/a"))).collect());
    let workload = read(recording).unwrap();
    let first = |workload: &Workload, seed| Sequence::new(workload, seed).next_index();
    assert!((0..20).all(|seed| first(&workload, seed) == 0));
    let anywhere = workload.begun_anywhere();
    let begins: std::collections::BTreeSet<usize> =
        (0..200).map(|seed| first(&anywhere, seed)).collect();
    assert!(begins.len() > 40, "{begins:?}");
    let order: Vec<usize> = Sequence::new(&anywhere, 7).take(100).collect();
    assert!(order.windows(2).all(|two| two[1] == (two[0] + 1) % 50));
}
