use super::*;
use run::Document;

fn sample(kind: &str) -> Document {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contract/samples/run");
    let text = std::fs::read(format!("{folder}/{kind}.json")).unwrap();
    serde_json::from_slice(&text).unwrap()
}

/// The text of the element with this id.
fn script<'a>(page: &'a str, id: &str) -> &'a str {
    let begin = format!("<script type=\"application/json\" id=\"{id}\">");
    let (_, text) = page.split_once(&begin).unwrap();
    text.split_once("</script>").unwrap().0
}

#[test]
fn a_page_has_the_answer_the_tables_the_charts_and_the_document() {
    for kind in ["tune", "compare", "sweep"] {
        let document = sample(kind);
        let page = Readable::Run(Box::new(document.clone())).html();
        let sentence = &document.verdict.as_ref().unwrap().sentence;
        let answer = match sentence.split_once(". ") {
            Some((first, others)) => html! { h1 { (first) "." } p { strong { (others) } } },
            None => html! { h1 { (sentence) } },
        };
        assert!(page.contains(&answer.into_string()), "{kind}");
        assert!(page.contains("<h2>What was tried</h2>"));
        assert!(!page.contains("<!--powerband:"), "an empty place is left");
        let whole: Document = serde_json::from_str(script(&page, "document")).unwrap();
        assert_eq!(whole.id, document.id);
        let charts: serde_json::Value = serde_json::from_str(script(&page, "charts")).unwrap();
        let ids: Vec<&str> = charts
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c["id"].as_str().unwrap())
            .collect();
        assert!(
            ids.starts_with(&["throughput", "blocks"]),
            "{kind}: {ids:?}"
        );
        assert!(ids.contains(&"memory"), "{ids:?}");
    }
}

#[test]
fn names_from_users_are_text_wherever_they_stand() {
    let mut document = sample("tune");
    let attack =
        "</script><script>alert(1)</script><!--powerband:document--><img src=x onerror=alert(2)>";
    document.id = attack.to_owned();
    document.arms[1].label = Some(attack.to_owned());
    document.arms[1].fate = attack.to_owned();
    document.warnings.push(attack.to_owned());
    document.plan.workload[0].path = attack.to_owned();
    let verdict = document.verdict.as_mut().unwrap();
    verdict.sentence = attack.to_owned();
    verdict.changes[0].diff = format!("+{attack}\n");
    document.profile.as_mut().unwrap().endpoints[0].name = attack.to_owned();
    let page = Readable::Run(Box::new(document.clone())).html();
    let ours = templates::PAGE.matches("<script").count();
    assert_eq!(page.matches("<script").count(), ours);
    assert_eq!(page.matches("</script").count(), ours);
    assert!(!page.contains("<img"));
    let whole: Document = serde_json::from_str(script(&page, "document")).unwrap();
    assert_eq!(whole.id, attack);
}

#[test]
fn a_run_without_trials_or_an_answer_has_a_page_too() {
    let mut document = sample("tune");
    document.verdict = None;
    document.state = run::State::Interrupted;
    document.trials.clear();
    document.arms.clear();
    document.comparisons.clear();
    document.model = None;
    document.profile = None;
    let page = Readable::Run(Box::new(document.clone())).html();
    assert!(page.contains("<h1>This run was interrupted and has no answer yet.</h1>"));
    assert_eq!(script(&page, "charts"), "[]");
}

#[test]
fn the_blocks_are_those_of_the_comparison() {
    let document = sample("compare");
    let comparison = &document.comparisons[0];
    let charts = charts::charts(&Readable::Run(Box::new(document.clone())));
    let blocks = charts.iter().find(|chart| chart.id == "blocks").unwrap();
    assert_eq!(blocks.rows.len(), comparison.blocks as usize);
    let band = blocks.band.as_ref().unwrap();
    assert!((band.low - 100.0 * (comparison.low.unwrap() - 1.0)).abs() < 1e-9);
    let inside = blocks
        .rows
        .iter()
        .filter(|row| band.low <= row.value && row.value <= band.high);
    assert!(
        inside.count() * 2 >= blocks.rows.len(),
        "the typical block lies in the interval"
    );
}

#[test]
fn the_dots_are_the_trials_behind_the_table() {
    for kind in ["tune", "compare", "sweep"] {
        let document = sample(kind);
        let charts = charts::charts(&Readable::Run(Box::new(document.clone())));
        let throughput = charts
            .iter()
            .find(|chart| chart.id == "throughput")
            .unwrap();
        for arm in &document.arms {
            let name = crate::reading::called(&document, arm);
            let mine = throughput.rows.iter().filter(|row| row.name == name);
            let mut values: Vec<f64> = mine.map(|row| row.value).collect();
            values.sort_by(f64::total_cmp);
            assert_eq!(values.len(), arm.trials as usize, "{kind}: {name}");
            let (low, high) = (values[(values.len() - 1) / 2], values[values.len() / 2]);
            assert_eq!(
                Some((low + high) / 2.0),
                arm.capacity_per_s,
                "{kind}: {name}"
            );
        }
    }
}

#[test]
fn aged_servers_have_their_memory_by_requests() {
    let mut document = sample("compare");
    let found = |document: &Document| {
        let charts = charts::charts(&Readable::Run(Box::new(document.clone())));
        charts
            .into_iter()
            .find(|chart| chart.id == "memory-by-requests")
    };
    document.plan.age = Some(run::Age {
        requests: 3_000,
        most_s: None,
    });
    assert!(found(&document).is_none(), "no trial was aged");
    let at = |requests: u64, mib: u64| run::UsageSample {
        at_s: 1.0,
        requests: Some(requests),
        rss_bytes: mib << 20,
        pss_bytes: Some(mib << 20),
        cpu_s: 0.0,
    };
    for memory in document
        .trials
        .iter_mut()
        .filter_map(|trial| trial.memory.as_mut())
    {
        memory.samples = vec![at(1_000, 100)];
        memory.aged = Some(run::Aged {
            pss_bytes: Some(120 << 20),
            why_not: None,
            samples: vec![at(2_000, 110), at(3_000, 120)],
            ..run::Aged::none("")
        });
    }
    let chart = found(&document).unwrap();
    assert_eq!(chart.at_mark.as_ref().map(|mark| mark.value), Some(3_000.0));
    let first: Vec<_> = chart
        .rows
        .iter()
        .take(3)
        .map(|row| (row.at.unwrap(), row.value))
        .collect();
    assert_eq!(
        first,
        [(1_000.0, 100.0), (2_000.0, 110.0), (3_000.0, 120.0)]
    );
    assert_eq!(chart.rows.len(), 3 * document.arms.len());
}

#[test]
fn the_compared_configurations_have_their_percentiles() {
    let mut document = sample("tune");
    let found = |document: &Document| {
        let charts = charts::charts(&Readable::Run(Box::new(document.clone())));
        charts.into_iter().find(|chart| chart.id == "percentiles")
    };
    for arm in &mut document.arms {
        let of = |percentile, ms| run::Percentile { percentile, ms };
        arm.percentiles = vec![of(50.0, 12.0), of(99.0, 80.0)];
    }
    let chart = found(&document).unwrap();
    let mut names: Vec<&str> = chart
        .rows
        .iter()
        .filter_map(|row| row.series.as_deref())
        .collect();
    names.dedup();
    assert_eq!(names.len(), 2, "{names:?}");
    assert_eq!(chart.rows.len(), 4);
    assert_eq!((chart.rows[1].at, chart.rows[1].value), (Some(99.0), 80.0));
    for arm in &mut document.arms {
        arm.percentiles.clear();
    }
    assert!(found(&document).is_none(), "a document of an older version");
}

fn readable(sample: &str) -> Readable {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contract/samples");
    let text = std::fs::read_to_string(format!("{folder}/{sample}.json")).unwrap();
    Readable::parse(&text).unwrap()
}

/// Every kind of which there is a sample: its answer is the title, and its charts are those that it has figures for.
#[test]
fn other_documents_have_a_page_with_their_charts() {
    let all: [(&str, &[&str]); 12] = [
        ("leak/keeping", &[]),
        ("inspect/wide", &["request-time", "job-time"]),
        ("predict/mixed", &["configurations"]),
        ("duplex/three", &["differences"]),
        ("capacity/mixed", &["latency", "requests"]),
        ("memory/cluster", &["memory", "processes", "parts"]),
        ("memory/comparison", &["parts"]),
        ("doctor/application", &[]),
        ("calc/queue", &[]),
        ("calc/pool", &[]),
        (
            "run/tune",
            &["throughput", "blocks", "request-time", "memory"],
        ),
        (
            "run/sweep",
            &["throughput", "blocks", "request-time", "memory"],
        ),
    ];
    for (sample, wanted) in all {
        let document = readable(sample);
        let page = document.html();
        assert!(
            page.contains("<h1>") && !page.contains("<!--powerband:"),
            "{sample}"
        );
        let charts: serde_json::Value = serde_json::from_str(script(&page, "charts")).unwrap();
        let charts = charts.as_array().unwrap();
        let ids: Vec<&str> = charts.iter().map(|c| c["id"].as_str().unwrap()).collect();
        for id in wanted {
            assert!(ids.contains(id), "{sample}: {ids:?}");
        }
        assert!(!wanted.is_empty() || ids.is_empty(), "{sample}: {ids:?}");
        // The document in the page is read again.
        Readable::parse(script(&page, "document")).unwrap();
    }
}

#[test]
fn a_long_series_of_memory_is_thinned_in_the_page() {
    let Readable::Memory(mut read) = readable("memory/cluster") else {
        panic!("another kind");
    };
    assert!(
        Readable::Memory(read.clone())
            .html()
            .contains("the id &quot;document&quot;.")
    );
    let reading = read.samples[0];
    let many: Vec<_> = (0..20_000)
        .map(|at_s| run::memory::Sample {
            at_s: f64::from(at_s),
            ..reading
        })
        .collect();
    read.samples.clone_from(&many);
    for process in &mut read.processes {
        process.samples.clone_from(&many);
    }
    let processes = read.processes.len();
    let page = Readable::Memory(read).html();
    assert!(page.len() < 2 << 20, "{} bytes", page.len());
    let Readable::Memory(inside) = Readable::parse(script(&page, "document")).unwrap() else {
        panic!("another kind");
    };
    let all = inside.samples.len() * (1 + processes);
    assert!((2_500..=3_000).contains(&all), "{all}");
    let every = inside.samples[1].at_s;
    assert!(page.contains(&format!("with one of {every} readings")));
}

#[test]
fn predictions_that_the_page_leaves_out_have_no_chart() {
    let Readable::Predict(mut predicted) = readable("predict/mixed") else {
        panic!("another kind");
    };
    predicted.self_check.failed = true;
    assert!(charts::charts(&Readable::Predict(predicted)).is_empty());
}

#[test]
fn what_is_no_document_is_refused_with_the_remedy() {
    let said = |text: &str| Readable::parse(text).unwrap_err();
    assert!(said("{").starts_with("no JSON document"));
    assert!(said("[]").contains("its schema is missing"));
    assert!(said(r#"{"schema":"other/load/1"}"#).contains("its schema is missing"));
    let newer = said(r#"{"schema":"powerband/load/2"}"#);
    assert!(
        newer.contains("this version reads powerband/load/1"),
        "{newer}"
    );
    assert!(said(r#"{"schema":"powerband/trace/1"}"#).contains("of which there is no page"));
    assert!(said(r#"{"schema":"powerband/load/1"}"#).contains("damaged"));
}

#[test]
fn the_title_is_the_first_sentence() {
    let mut document = sample("tune");
    document.verdict.as_mut().unwrap().sentence =
        "Keep single × 3 threads: p99.9 holds. A second one.".to_owned();
    let page = Readable::Run(Box::new(document)).html();
    assert!(page.contains(
        "<h1>Keep single × 3 threads: p99.9 holds.</h1><p><strong>A second one.</strong></p>"
    ));
}
