//! The samples of the survivors file that the agent's tests read too: `contract/samples/survivors/`.

use flight::FlightFile;
use flight::events::{EventsError, MAX_EVENTS_BYTES};
use flight::survivors::{
    Refusal, Survivors, SurvivorsAsk, SurvivorsError, SurvivorsState, SurvivorsWanted,
    parse_survivors,
};
use serde_json::{Value, json};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;

fn bytes(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract/samples/survivors");
    fs::read(folder.join(name)).expect("the golden samples are part of the repository")
}

fn sample(name: &str) -> (Survivors, Value) {
    let survivors = parse_survivors(&bytes(&format!("{name}.survivors"))).unwrap();
    let story = serde_json::from_slice(&bytes(&format!("{name}.json"))).unwrap();
    (survivors, story)
}

#[test]
fn they_read_as_described() {
    for name in ["over", "refused", "dead"] {
        let (survivors, story) = sample(name);
        let header = &survivors.header;
        let (state, refusal) = match header.state {
            SurvivorsState::Recording => (1, 0),
            SurvivorsState::Over => (2, 0),
            SurvivorsState::Refused(Refusal::Ractors) => (3, 3),
            other => panic!("{name}: {other:?}"),
        };
        let found = json!({
            "state": state, "refusal": refusal, "request": header.request, "pid": header.pid,
            "deadline_mono_ns": header.deadline_mono_ns, "last_mono_ns": header.last_mono_ns,
            "began_mono_ns": header.began_mono_ns, "ended_mono_ns": header.ended_mono_ns, "every": header.every,
            "collections": header.collections, "allocated": header.allocated, "sampled": header.sampled,
            "internal": header.internal, "lost": header.lost, "undecided": header.undecided,
        });
        for (field, value) in found.as_object().unwrap() {
            assert_eq!(value, &story["header"][field], "{name}: {field}");
        }
        let frames = survivors.frames.iter();
        let frames: Vec<Value> = frames
            .map(|frame| json!({"path": frame.path, "label": frame.label}))
            .collect();
        assert_eq!(json!(frames), story["frames"], "{name}");
        let sites: Vec<Value> = (survivors.sites.iter())
            .map(|site| {
                let steps: Vec<Value> = (site.steps.iter())
                    .map(|step| json!([step.frame, step.line]))
                    .collect();
                json!({
                    "class": site.class, "steps": steps, "sampled": site.sampled, "promoted": site.promoted, "died": site.died,
                    "promoted_bytes": site.promoted_bytes, "died_bytes": site.died_bytes,
                })
            })
            .collect();
        assert_eq!(json!(sites), story["sites"], "{name}");
    }
}

#[test]
fn what_is_cut_off_or_spoilt_is_an_error() {
    let whole = bytes("over.survivors");
    let used = u64::from_le_bytes(whole[112..120].try_into().unwrap()) as usize;
    parse_survivors(&whole[..4096 + used]).unwrap();
    for length in [0, 7, 8, 4095, 4096, 4096 + used - 1] {
        parse_survivors(&whole[..length]).unwrap_err();
    }
    let spoilt = |at: usize, value: u32| {
        let mut bytes = whole.clone();
        bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
        parse_survivors(&bytes).unwrap_err()
    };
    assert!(matches!(spoilt(8, 2), SurvivorsError::Version { found: 2 }));
    assert!(matches!(spoilt(0, 0), SurvivorsError::Foreign { .. }));
    for (at, value) in [
        (96, 0),
        (160, 3),
        (160, u32::MAX),
        (164, u32::MAX),
        (4096, u32::MAX),
    ] {
        let error = spoilt(at, value);
        assert!(
            matches!(error, SurvivorsError::Damaged { .. }),
            "{at}: {error}"
        );
    }
    let error = spoilt(112, u32::MAX);
    assert!(matches!(error, SurvivorsError::Truncated { .. }), "{error}");
}

#[test]
fn a_file_that_claims_to_be_larger_than_any_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let flight = folder.path().join("1.flight");
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract/samples/flight");
    fs::copy(sample.join("basic.flight"), &flight).unwrap();
    let snapshot = FlightFile::open(&flight).unwrap().snapshot().unwrap();
    let wanted = SurvivorsWanted {
        request: 7,
        duration_ns: 1,
        follow_ns: 1,
        every: 512,
        bytes: 8192,
        wall_ns: 0,
        mono_ns: 0,
    };
    let ask = SurvivorsAsk::ask(&flight, &snapshot, &wanted).unwrap();
    let path = flight.with_extension("survivors");
    let file = OpenOptions::new().write(true).open(path).unwrap();
    file.write_all_at(&2_u32.to_le_bytes(), 16).unwrap();
    file.write_all_at(&u64::MAX.to_le_bytes(), 112).unwrap();
    file.set_len(MAX_EVENTS_BYTES + 1).unwrap();
    let error = ask.read().unwrap_err();
    let expected = matches!(error, SurvivorsError::File(EventsError::TooLarge { .. }));
    assert!(expected, "{error}");
}
