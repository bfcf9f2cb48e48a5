//! The page of `powerband predict` at the widths of terminals.

use crate::support::{flat, within, without_noise};
use report::{Style, predict_page};
use run::predict::{Document, Memory, Objective, Size};

fn sample() -> Document {
    let path = "/../../contract/samples/predict/mixed.json";
    let path = format!("{}{path}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn page(document: &Document, width: u16) -> String {
    let style = Style {
        width,
        colour: false,
    };
    let page = predict_page(document, style);
    without_noise(&page);
    page
}

#[test]
fn pages_keep_the_width_and_hold_what_the_document_says() {
    let document = sample();
    for width in [60, 80, 100, 120, 160] {
        let page = page(&document, width);
        within(width, &page);
        let page = flat(&page);
        assert!(page.starts_with(&document.sentence), "{page}");
        let sentences = document.assumptions.iter().chain(&document.warnings);
        sentences.for_each(|sentence| assert!(page.contains(sentence), "{sentence}\n{page}"));
        assert!(page.contains("a second (pauses of the traffic left out);"));
        assert!(page.contains("At 20.0 a second") && page.contains("p99, ms, at other rates"));
    }
}

/// The same configuration has other figures in the trace and in the simulation: the page says what each counts.
#[test]
fn what_trace_and_simulation_count_is_said() {
    let mut document = sample();
    let before = flat(&page(&document, 160));
    for said in [
        "the GVL of a process is held 33 % of the time, and a thread is busy with requests 44 % of it",
        "to the end of the answer: the moments in X-Request-Start, which a proxy or the load generator sets.",
        "of the trace (above) it is that of the threads that serve.",
    ] {
        assert!(before.contains(said), "{said}\n{before}");
    }
    document.traced.queue_ms = None;
    document.today = Some(document.points[0].clone());
    let page = flat(&page(&document, 160));
    for said in [
        "the moments at which a thread began them, because nothing set X-Request-Start",
        "Measured: the arrivals of the trace,",
        "Predicted: Poisson arrivals at the rate asked for,",
    ] {
        assert!(page.contains(said), "{said}\n{page}");
    }
    assert!(!page.contains("of the trace (above)"), "{page}");
}

#[test]
fn what_is_too_little_has_no_figures() {
    let mut document = sample();
    for point in &mut document.points {
        if point.size.threads == 1 {
            point.rates.iter_mut().for_each(|rate| rate.answer = None);
        }
    }
    let page = page(&document, 160);
    let each = document.points.iter().filter(|p| p.size.threads == 1);
    let each = each.map(|p| format!("{}x1 (at most {:.1})", p.size.processes, p.most_per_s));
    let said = format!(
        "Too small to serve 20.0 requests a second, so that their queue would grow without end (processes x threads, and the \
         most that each can serve a second): {}.",
        each.collect::<Vec<_>>().join(", ")
    );
    assert!(flat(&page).contains(&said), "{said}\n{page}");
    let rows = |of: &str| page.lines().filter(|line| line.starts_with(of)).count();
    // At the first rate, at the other, and what each can do.
    assert_eq!((rows("1x1 "), rows("1x2 ")), (1, 3));
}

#[test]
fn objectives_and_memory_have_columns() {
    let mut document = sample();
    document.asked.objective = Some(Objective {
        percentile: 99.0,
        limit_ms: 250.0,
    });
    document.memory = Some(Memory {
        shared_bytes: 0,
        per_process_bytes: 100 << 20,
        per_thread_bytes: 1 << 20,
        from: "one configuration that was given".to_owned(),
    });
    for (point, nth) in document.points.iter_mut().zip(0_u32..) {
        point.objective = Some(run::predict::AtObjective {
            rate_per_s: f64::from(nth) * 10.0,
            low_per_s: f64::from(nth) * 9.0,
            high_per_s: f64::from(nth) * 11.0,
        });
        point.memory_bytes = Some(u64::from(nth + 1) << 28);
        point.fits = Some(nth < 4);
        point.rates[0].meets = Some(nth > 1);
    }
    for width in [60, 80, 100] {
        let page = page(&document, width);
        within(width, &page);
        for said in ["p99 ≤ 250 ms", "never", "45.0-55.0", "1024 MiB", "meets it"] {
            assert!(flat(&page).contains(said), "{said}\n{page}");
        }
        let too_much = page.lines().filter(|line| line.ends_with("too much"));
        assert_eq!(too_much.count(), 2, "{page}");
    }
}

/// What the interval of the highest rate leaves open is marked at every rate that was asked, and nothing there contradicts it.
#[test]
fn rates_within_the_interval_are_undecided_in_every_table() {
    let mut document = sample();
    document.asked.objective = Some(Objective {
        percentile: 99.0,
        limit_ms: 250.0,
    });
    document.begin_with = None;
    let rates = document.asked.rates_per_s.clone();
    for (point, nth) in document.points.iter_mut().zip(0_u32..) {
        // The rate that comes first is below, within or beyond the interval; the second is within all.
        let (low_per_s, high_per_s) = match nth % 3 {
            0 => (rates[0] + 1.0, rates[1]),
            1 => (rates[0] - 1.0, rates[1]),
            _ => (rates[0] - 2.0, rates[0] - 1.0),
        };
        point.objective = Some(run::predict::AtObjective {
            rate_per_s: f64::midpoint(low_per_s, high_per_s),
            low_per_s,
            high_per_s,
        });
    }
    let page = page(&document, 160);
    let rows = |heading: &str| -> Vec<&str> {
        let table = page.lines().skip_while(|line| !line.starts_with(heading));
        let rows = table.skip(2).take(document.points.len());
        rows.map(str::trim_end).collect()
    };
    let words = ["meets it", "undecided"];
    let marks = |rows: &[&str]| -> Vec<Option<&str>> {
        let mark = |row: &&str| words.into_iter().find(|word| row.contains(word));
        rows.iter().map(mark).collect()
    };
    let first = marks(&rows("At 20.0 a second"));
    let [meets, undecided] = words.map(Some);
    let expected = [meets, undecided, None].into_iter().cycle();
    let expected: Vec<_> = expected.take(document.points.len()).collect();
    assert_eq!(first, expected, "{page}");
    let other = marks(&rows("p99, ms, at other rates"));
    let expected = [undecided, undecided, None].into_iter().cycle();
    let expected: Vec<_> = expected.take(document.points.len()).collect();
    assert_eq!(other, expected, "{page}");
    assert!(flat(&page).contains("Rates within it are undecided"));
}

/// Nothing that the self-check refutes is shown, and why is.
#[test]
fn a_failed_self_check_leaves_predictions_out() {
    let mut document = sample();
    document.sentence = "No answer: the traced configuration is too far off.".to_owned();
    document.begin_with = None;
    let check = &mut document.self_check;
    check.failed = true;
    check.causes =
        vec!["The server was nearly saturated. Remedy: trace at 40 a second.".to_owned()];
    for width in [80, 100] {
        let page = page(&document, width);
        within(width, &page);
        let page = flat(&page);
        assert!(page.starts_with("No answer"), "{page}");
        assert!(
            page.contains("off by") && page.contains("Likely causes - The server was nearly"),
            "{page}"
        );
        for said in ["At 20.0 a second", "What each can do", "begin here"] {
            assert!(!page.contains(said), "{said}\n{page}");
        }
    }
}

/// Today's configuration is the first that a question of what if is answered for: as measured, as predicted, and then changed.
#[test]
fn what_if_begins_with_today() {
    let mut document = sample();
    document.asked.what_if = Some(run::predict::WhatIf {
        io: 2.0,
        cpu: 1.0,
        traffic: 1.0,
        cores: 0.0,
    });
    let traced = (document.traced.processes, document.traced.threads);
    let of = |size: Size| (size.processes, size.threads) == traced;
    let at = document.points.iter().position(|p| of(p.size)).unwrap();
    document.points.swap(0, at);
    document.today = Some(document.points[0].clone());
    document.points[0].rates[0]
        .answer
        .as_mut()
        .unwrap()
        .figures
        .mean_ms = 77.7;
    let page = page(&document, 160);
    let rows: Vec<&str> = page
        .lines()
        .skip_while(|line| !line.starts_with("Today, and if it were so"))
        .skip(2)
        .take(3)
        .collect();
    let name = format!("{}x{}", traced.0, traced.1);
    let measured = format!("{:.1}", document.self_check.recorded.mean_ms);
    assert!(
        rows[0].starts_with(&format!("{name} today, measured")),
        "{page}"
    );
    assert!(rows[0].contains(&measured), "{measured}\n{page}");
    assert!(
        rows[1].starts_with(&format!("{name} today, predicted")),
        "{page}"
    );
    assert!(
        rows[2].starts_with(&format!("{name} ")) && rows[2].contains("77.7"),
        "{page}"
    );
}
