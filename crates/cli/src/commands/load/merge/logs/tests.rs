use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

/// A request: in which second it ended, how long it took, and which machine sent it.
type Request = (u64, u64, usize);

/// Seconds since 1970 at which the runs began.
const BEGAN_S: u64 = 1_800_000_000;

fn entry<'a>(second: u64, requests: impl Iterator<Item = &'a Request>) -> Entry {
    let mut entry = Entry {
        began: SystemTime::UNIX_EPOCH + Duration::from_secs(BEGAN_S),
        start: Duration::from_secs(second),
        length: Duration::from_secs(1),
        response: new_histogram(),
        service: new_histogram(),
    };
    for (_, us, _) in requests {
        entry.response.record(*us).unwrap();
        entry.service.record(us.div_ceil(2)).unwrap();
    }
    entry
}

/// The log of a machine that sends these requests, and its name.
fn log<'a>(
    folder: &std::path::Path,
    name: &str,
    requests: impl Iterator<Item = &'a Request> + Clone,
) -> Input {
    let path = folder.join(name);
    let seconds = (0..4).map(|second| entry(second, requests.clone().filter(|r| r.0 == second)));
    hdr_log::written(&path, seconds).unwrap();
    Input {
        name: name.to_owned(),
        bytes: std::fs::read(&path).unwrap(),
    }
}

/// All intervals of a log in the file.
fn read(bytes: &[u8]) -> Vec<Interval> {
    intervals(bytes).unwrap()
}

fn by_begin(logs: &[Input]) -> Vec<Interval> {
    let mut all: Vec<Interval> = logs.iter().flat_map(|log| read(&log.bytes)).collect();
    all.sort_by_key(|interval| interval.window.began_ns);
    all
}

proptest! {
    // Each case adds and encodes dozens of histograms of 23,000 buckets.
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn logs_of_split_streams_merge_to_that_of_the_whole(
        requests in vec((0..4_u64, prop_oneof![9 => 1..3_000_000_u64, 1 => Just(HIGHEST_US)], 0..3_usize), 0..200)
    ) {
        let folder = tempfile::tempdir().unwrap();
        let parts = [0, 1, 2].map(|machine| {
            let own = requests.iter().filter(move |r| r.2 == machine);
            log(folder.path(), &machine.to_string(), own)
        });
        let whole = sum(&read(&log(folder.path(), "whole", requests.iter()).bytes)).unwrap();
        let all = by_begin(&parts);
        let merged = sum(&all).unwrap();
        prop_assert_eq!(&merged.response, &whole.response);
        prop_assert_eq!(&merged.service, &whole.service);
        prop_assert_eq!(merged.counts, whole.counts);
        prop_assert_eq!(merged.errors.total(), requests.iter().filter(|r| r.1 == HIGHEST_US).count() as u64);
        // Second by second, too.
        let path = folder.path().join("merged");
        hdr_log::written(&path, seconds(&all)).unwrap();
        let written = std::fs::read(&path).unwrap();
        let of_whole = std::fs::read(folder.path().join("whole")).unwrap();
        prop_assert_eq!(String::from_utf8(written).unwrap(), String::from_utf8(of_whole).unwrap());
    }
}

fn text(input: &Input) -> String {
    String::from_utf8(input.bytes.clone()).unwrap()
}

#[test]
fn a_log_that_is_cut_off_or_of_another_tool_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let whole = text(&log(folder.path(), "whole", [(0, 1_000, 0)].iter()));
    let said = |text: &str| intervals(text.as_bytes()).unwrap_err();
    let half = &whole[..whole.len() - 20];
    assert!(
        said(half).starts_with(&format!("line {} cannot be read; ", whole.lines().count())),
        "{}",
        said(half)
    );
    let (lines, _) = whole.trim_end().rsplit_once('\n').unwrap();
    let without_last = format!("{lines}\n");
    let missing = format!("the line after line {} is missing; ", lines.lines().count());
    assert!(
        said(&without_last).starts_with(&missing),
        "{}",
        said(&without_last)
    );
    let heads: Vec<&str> = whole
        .lines()
        .take_while(|line| !line.contains(",HIST"))
        .collect();
    let empty = heads.join("\n") + "\n";
    assert_eq!(said(&empty), "it has no interval");
    let other = whole.replace(&format!("#{WRITTEN_BY}"), "#wrk2 ");
    assert!(said(&other).contains("the unit of its values is not known"));
    let tagged = whole.replace("Tag=service", "Tag=query");
    let first = heads.len() + 2;
    let tag = format!("line {first} has a tag that load does not write, \"query\"; ");
    assert!(said(&tagged).starts_with(&tag), "{}", said(&tagged));
    let damaged = whole.replacen("HISTF", "HISTG", 1);
    let log = intervals(damaged.as_bytes()).unwrap();
    let refused = sum(&log).unwrap_err();
    let line = format!("line {}: the histogram cannot be read", heads.len() + 1);
    assert!(refused.starts_with(&line), "{refused}");
}

#[test]
fn a_log_that_is_given_twice_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let one = log(folder.path(), "one", [(0, 1_000, 0)].iter());
    let copy = Input {
        name: "copy".to_owned(),
        bytes: one.bytes.clone(),
    };
    let again = Input {
        name: "again".to_owned(),
        bytes: one.bytes.clone(),
    };
    let said = twice(&[one, copy, again]);
    assert_eq!(
        said,
        [
            "one and copy are the same log; give it once",
            "one and again are the same log; give it once"
        ]
    );
}

#[test]
fn a_log_and_what_it_was_merged_into_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let one = log(folder.path(), "one", [(0, 1_000, 0)].iter());
    // Of another run, which began later and had no answer in its first seconds.
    let other = log(folder.path(), "other", [(3, 9_000, 0)].iter());
    let empty = log(folder.path(), "empty", [].iter());
    let said = |logs: [&Input; 2]| {
        let intervals = logs.map(|log| read(&log.bytes));
        let inputs = logs.map(|log| Input {
            name: log.name.clone(),
            bytes: Vec::new(),
        });
        counted_twice(&inputs, &intervals)
    };
    assert_eq!(said([&one, &other]), Ok(()));
    assert_eq!(said([&one, &empty]), Ok(()));
    let merged = log(
        folder.path(),
        "merged",
        [(0, 1_000, 0), (3, 9_000, 0)].iter(),
    );
    let refused = said([&one, &merged]).unwrap_err();
    assert!(
        refused.starts_with(
            "one and merged have an interval with the same start and the same histogram (lines "
        ),
        "{refused}"
    );
}

#[test]
fn intervals_of_staggered_starts_are_added_up_by_the_second_of_their_begin() {
    let interval = |began_ms: u64| {
        let mut histogram = new_histogram();
        histogram.record(began_ms).unwrap();
        Interval {
            line: 1,
            window: Window {
                began_ns: began_ms * 1_000_000,
                length_ns: SECOND_NS,
            },
            service: false,
            histogram: Hdr::compressed(&histogram),
        }
    };
    let all = [10_000, 10_700, 11_000, 11_700].map(interval);
    let found: Vec<_> = seconds(&all)
        .map(|e| (e.start.as_millis(), e.length.as_millis(), e.response.len()))
        .collect();
    assert_eq!(found, [(0, 1_700, 2), (1_000, 1_700, 2)]);
}

#[test]
fn limits_that_need_more_than_histograms_are_refused() {
    let mut problems = Vec::new();
    let text = "p99=1s,max=1s,errors=1%,min-throughput=5/s,GET /:p50=1s".to_owned();
    let limits = crate::commands::load::assertions::limits(&[text], None, &mut problems);
    let said: Vec<_> = limits.iter().map(Limit::beyond_histograms).collect();
    assert!(said[..3].iter().all(Option::is_none), "{said:?}");
    assert!(
        said[3]
            .as_ref()
            .unwrap()
            .starts_with("--assert min-throughput=5/s: ")
    );
    assert!(said[4].as_ref().unwrap().contains("the pages"), "{said:?}");
}
