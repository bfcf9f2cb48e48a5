//! Whatever a file holds, reading it neither panics nor breaks its promises.

use capture::{Format, Traffic, read};
use proptest::prelude::*;

const FORMATS: [Format; 7] = [
    Format::Capture,
    Format::Gor,
    Format::Har,
    Format::VegetaJson,
    Format::H2load,
    Format::AccessLog,
    Format::JsonLines,
];

const SAMPLES: [&[u8]; 9] = [
    include_bytes!("../fixtures/requests.gor"),
    include_bytes!("../fixtures/browser.har"),
    include_bytes!("../fixtures/targets.jsonl"),
    include_bytes!("../fixtures/timing.tsv"),
    include_bytes!("../fixtures/common.log"),
    include_bytes!("../fixtures/combined.log"),
    include_bytes!("../fixtures/vhost_combined.log"),
    include_bytes!("../fixtures/nginx.jsonl"),
    include_bytes!("../fixtures/caddy.jsonl"),
];

/// What every caller relies on.
fn promises_hold(traffic: &Traffic) -> Result<(), TestCaseError> {
    prop_assert!(!traffic.requests.is_empty());
    prop_assert_eq!(traffic.requests[0].at_ns, 0);
    prop_assert!(traffic.requests.is_sorted_by_key(|request| request.at_ns));
    let instants = traffic.instants_ns();
    prop_assert_eq!(instants.len(), traffic.requests.len());
    prop_assert!(instants.is_sorted());
    prop_assert!(traffic.skipped.first.len() as u64 <= traffic.skipped.count);
    for request in &traffic.requests {
        prop_assert!(request.path.starts_with('/'));
        prop_assert!(request.path.bytes().all(|byte| byte.is_ascii_graphic()));
        prop_assert!(request.method.bytes().all(|byte| byte.is_ascii_graphic()));
        for (name, value) in &request.headers {
            prop_assert!(!name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic()));
            prop_assert!(
                !value
                    .bytes()
                    .any(|byte| byte == b'\r' || byte == b'\n' || byte == 0)
            );
        }
    }
    Ok(())
}

fn every_reader(text: &[u8]) -> Result<(), TestCaseError> {
    for format in FORMATS.into_iter().map(Some).chain([None]) {
        if let Ok(traffic) = read(text, format) {
            promises_hold(&traffic)?;
        }
    }
    Ok(())
}

/// Samples with pieces of one another and of noise written over them.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..8),
        (0..SAMPLES.len(), any::<usize>(), 0..40usize).prop_map(|(sample, at, length)| {
            let sample = SAMPLES[sample];
            let at = at % sample.len();
            sample[at..sample.len().min(at + length)].to_vec()
        }),
    ];
    let edits = prop::collection::vec((any::<usize>(), 0..30usize, piece), 0..6);
    (0..SAMPLES.len(), edits).prop_map(|(sample, edits)| {
        let mut text = SAMPLES[sample].to_vec();
        for (at, length, piece) in edits {
            let at = at % (text.len() + 1);
            let end = text.len().min(at + length);
            text.splice(at..end, piece);
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_bytes(text in prop::collection::vec(any::<u8>(), 0..400)) {
        every_reader(&text)?;
    }

    #[test]
    fn damaged_samples(text in damaged()) {
        every_reader(&text)?;
    }
}

proptest! {
    #[test]
    fn a_timing_script_comes_back_sorted(
        offsets in prop::collection::vec(0u64..10_000_000, 1..40),
    ) {
        let text: String = offsets
            .iter()
            .enumerate()
            .map(|(index, us)| format!("{}.{:03}\t/{index}\n", us / 1_000, us % 1_000))
            .collect();
        let traffic = read(text.as_bytes(), None).unwrap();
        let mut expected: Vec<(u64, String)> =
            offsets.iter().enumerate().map(|(index, us)| (*us, format!("/{index}"))).collect();
        expected.sort_by_key(|(us, _)| *us);
        let first = expected[0].0;
        let found: Vec<(u64, String)> = traffic
            .requests
            .iter()
            .map(|request| (request.at_ns / 1_000 + first, request.path.clone()))
            .collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn seconds_are_filled_evenly(counts in prop::collection::vec(0usize..30, 1..8)) {
        let mut text = String::new();
        for (second, count) in counts.iter().enumerate() {
            for _ in 0..*count {
                text += &format!("a - - [21/Nov/2026:12:45:{second:02} +0000] \"GET / HTTP/1.1\" 200 5\n");
            }
        }
        prop_assume!(!text.is_empty());
        let traffic = read(text.as_bytes(), None).unwrap();
        let first = counts.iter().position(|count| *count > 0).unwrap();
        let expected: Vec<u64> = counts[first..]
            .iter()
            .enumerate()
            .flat_map(|(second, count)| {
                (0..*count).map(move |index| {
                    second as u64 * 1_000_000_000 + 1_000_000_000 * index as u64 / *count as u64
                })
            })
            .collect();
        prop_assert_eq!(traffic.instants_ns(), expected);
    }
}
