//! What the page of `tune` says of lock wait, and of a model that trials contradict.

use crate::support::{flat, within, without_noise};
use report::{Style, page};
use run::{Contradiction, Document, EndpointProfile, LockProfile, Model, ModelKind, Settings};

const PLAIN: Style = Style {
    width: 100,
    colour: false,
};

fn tuned() -> Document {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../contract/samples/run/tune.json"
    );
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Half of the waiting is for a lock.
fn locked() -> Document {
    let mut document = tuned();
    let profile = document.profile.as_mut().unwrap();
    (profile.wall_ms, profile.held_ms, profile.gvl_wait_ms) = (36.0, 5.0, 1.0);
    (profile.lock_wait_ms, profile.io_ms) = (Some(15.0), 15.0);
    profile.useful_threads = 4.0;
    profile.endpoints = vec![EndpointProfile {
        name: "GET /".to_owned(),
        requests: profile.requests,
        wall_ms: 36.0,
        held_ms: 5.0,
        gvl_wait_ms: 1.0,
        lock_wait_ms: Some(15.0),
        io_ms: 15.0,
    }];
    document
}

fn read(document: &Document) -> String {
    let text = page(document, PLAIN);
    within(PLAIN.width, &text);
    without_noise(&text);
    flat(&text)
}

/// `COLUMNS` may be as large.
#[test]
fn the_widest_terminal_there_can_be_gets_a_page() {
    let widest = Style {
        width: u16::MAX,
        ..PLAIN
    };
    assert!(page(&tuned(), widest).contains("What was tried"));
}

#[test]
fn lock_wait_has_a_column_and_is_not_io() {
    let text = read(&locked());
    for phrase in [
        "waiting to run waiting for waiting for database",
        "Ruby (GVL) a lock or network (I/O)",
        "36.0 ms 5.0 ms 1.0 ms 15.0 ms 15.0 ms",
        "about 3 others can be waiting, so about 4 threads keep one process busy. A request waits 15.0 ms for a lock. That wait \
         is not in this number: with more threads it becomes longer.",
    ] {
        assert!(text.contains(phrase), "{phrase:?} is missing: {text}");
    }
}

#[test]
fn the_lock_is_named_with_what_it_lets_pass() {
    let mut document = locked();
    let lock = |held_ms, holds_per_request| LockProfile {
        site: "lib/cache.rb:41".to_owned(),
        wait_ms: 14.0,
        held_ms,
        holds_per_request,
    };
    document.profile.as_mut().unwrap().lock = Some(lock(Some(7.5), 1.0));
    let text = read(&document);
    let named = "it becomes longer. Requests wait most at lib/cache.rb:41: 14.0 ms a request. A thread holds this lock for 7.5 ms at a time: \
                 it lets 133 requests a second of one process pass, however many threads the process has.";
    assert!(text.contains(named), "{text}");
    // No thread holds a queue.
    document.profile.as_mut().unwrap().lock = Some(lock(None, 0.0));
    let text = read(&document);
    assert!(
        text.contains("lib/cache.rb:41: 14.0 ms a request. ") && !text.contains("holds this lock"),
        "{text}"
    );
}

/// As documents are that were written before the field was there.
#[test]
fn where_lock_wait_is_unknown_it_is_still_called_part_of_the_waiting() {
    let mut older = serde_json::to_value(locked()).unwrap();
    let profile = older["profile"].as_object_mut().unwrap();
    profile.remove("lock_wait_ms").unwrap();
    let endpoint = profile["endpoints"][0].as_object_mut().unwrap();
    endpoint.remove("lock_wait_ms").unwrap();
    let document: Document = serde_json::from_value(older).unwrap();
    assert_eq!(document.profile.as_ref().unwrap().lock_wait_ms, None);
    let text = read(&document);
    assert!(text.contains("network or a lock"), "{text}");
    assert!(
        text.contains("; fewer if that waiting is for a lock."),
        "{text}"
    );
}

#[test]
fn fewer_threads_than_the_estimate_are_explained() {
    let mut document = locked();
    assert!(!read(&document).contains("has fewer threads than that"));
    document.profile.as_mut().unwrap().useful_threads = 30.0;
    let text = read(&document);
    let untried = "has fewer threads than that: no configuration with more was tried; powerband calc threads --held 5.00ms --io 15.00ms";
    assert!(text.contains(untried), "{text}");
    let mut another = document.arms[1].clone();
    another.name.push_str("-more");
    another.settings.threads += 1;
    document.arms.push(another);
    let text = read(&document);
    let tried = "each further thread adds less than the one before it";
    assert!(text.contains(tried), "{text}");
}

#[test]
fn a_contradicted_model_is_named_with_both_figures() {
    let mut document = locked();
    document.arms[1].predicted_per_s = Some(269.0);
    let mut model = Model {
        kind: ModelKind::Formulas,
        reason: None,
        trace: None,
        predictions: Vec::new(),
        contradiction: Some(Contradiction {
            settings: Settings {
                workers: 2,
                threads: 13,
                preload: true,
            },
            predicted_per_s: 269.0,
            measured_per_s: 131.2,
            accepted: 0.25,
            block: 1,
            followed: true,
            all_tried: None,
        }),
        score: None,
    };
    document.model = Some(model.clone());
    let sentence = "The model predicted 269/s for 2 workers × 13 threads, preloaded; 131/s were measured in the elimination \
                    rounds until then. From then on candidates were chosen by measurements instead of predictions.";
    document.arms[1].capacity_per_s = Some(131.2);
    let step = &mut document.verdict.as_mut().unwrap().path[0];
    (step.measured, step.refuted, step.ratio) = (false, true, 1.77);
    let text = read(&document);
    assert!(text.contains(sentence), "{text}");
    // Neither the step nor the row is shown as if it could be believed.
    assert!(
        text.contains("How much each change brings is not known: no trial measured one alone"),
        "{text}"
    );
    assert!(
        !text.contains("+77 %") && !text.contains("measured; measured"),
        "{text}"
    );
    // With a step that was measured it has a row without a figure.
    let mut two = document.clone();
    let path = &mut two.verdict.as_mut().unwrap().path;
    let mut measured = path[0].clone();
    (measured.measured, measured.refuted, measured.ratio) = (true, false, 1.25);
    path.push(measured);
    let text = read(&two);
    assert!(
        text.contains("– not measured; predictions were wrong"),
        "{text}"
    );
    assert!(!text.contains("How much each change brings"), "{text}");
    let row = page(&document, PLAIN);
    let row = row
        .lines()
        .find(|line| line.contains("269") && line.contains("131"));
    assert!(row.is_some_and(|row| row.ends_with("wrong")), "{text}");
    for (all_tried, why) in [
        (true, " from then on: all had been tried before."),
        (false, ": the time was too short."),
    ] {
        let contradiction = model.contradiction.as_mut().unwrap();
        (contradiction.followed, contradiction.all_tried) = (false, Some(all_tried));
        document.model = Some(model.clone());
        let text = read(&document);
        let said = "until then. No neighbour of the best measured configuration was tried";
        assert!(text.contains(&format!("{said}{why}")), "{text}");
    }
    model.contradiction = None;
    document.model = Some(model);
    assert!(!read(&document).contains("measurements from here on"));
}
