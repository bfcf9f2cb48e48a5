//! Documents that are not merged.

use super::*;

#[test]
fn a_workload_is_the_same_in_another_folder_and_with_the_same_pages_alone() {
    let merged = |change: &dyn Fn(&mut Document)| {
        let mut other = hundred(2, 0);
        change(&mut other);
        merged(vec![one("a", &hundred(1, 0)), one("b", &other)], &[])
    };
    assert!(merged(&|d| d.asked.workload = "./load/shop.toml".to_owned()).is_ok());
    let said = merged(&|d| d.endpoints[1].name = "GET /basket".to_owned()).unwrap_err();
    assert_eq!(
        said,
        "endpoints differ: b has no GET /cart, a has; merge runs of one workload\n\
         endpoints differ: a has no GET /basket, b has; merge runs of one workload"
    );
    let said = refused(|d| d.asked.workload = "GET /shop.toml".to_owned());
    assert!(
        said.contains("shop.toml in a, GET /shop.toml in b"),
        "{said}"
    );
}

#[test]
fn a_document_that_is_too_large_is_refused() {
    let large = vec![b' '; MOST_BYTES + 1];
    assert!(
        One::read("x", &large)
            .unwrap_err()
            .contains("larger than 64 MiB")
    );
    let said = damaged(|document| {
        let page = document["endpoints"][1].clone();
        document["endpoints"] = vec![page; MAX_NAMES + 1].into();
    });
    assert!(said.starts_with("it has 257 endpoints"), "{said}");
}

fn refused(change: impl Fn(&mut Document)) -> String {
    let mut other = hundred(2, 0);
    change(&mut other);
    merged(vec![one("a", &hundred(1, 0)), one("b", &other)], &[]).unwrap_err()
}

#[test]
fn runs_that_were_asked_different_things_are_refused_by_field_and_values() {
    let said = refused(|d| d.asked.timeout_ms = 5_000.0);
    let wanted =
        "timeout differs: 30000 ms in a, 5000 ms in b; merge runs that were asked the same";
    assert_eq!(said, wanted);
    let said = refused(|d| d.asked.workload = "other.toml".to_owned());
    assert!(said.contains("shop.toml in a, other.toml in b"), "{said}");
    let said = refused(|d| d.objective = None);
    assert!(
        said.contains("objective differs: p99=250 ms in a, none in b"),
        "{said}"
    );
    let said = refused(|d| {
        d.asked.mode = Mode::Closed;
        d.asked.arrivals = None;
        d.asked.sending.keep_alive = true;
    });
    assert_eq!(said.lines().count(), 3, "{said}");
    assert!(
        said.contains("mode differs") && said.contains("kept connections in b"),
        "{said}"
    );
}

#[test]
fn every_reason_is_given_at_once() {
    let different = |machine, timeout_ms| {
        let mut document = hundred(machine, 0);
        document.asked.timeout_ms = timeout_ms;
        document
    };
    let mut damaged = different(4, 30_000.0);
    damaged.counts.ok = 91;
    damaged.window_s = -1.0;
    let all = vec![
        one("a", &hundred(1, 0)),
        one("b", &different(2, 5_000.0)),
        one("c", &different(3, 6_000.0)),
        one("copy", &hundred(1, 0)),
        one("d", &damaged),
    ];
    let said = merged(all, &[]).unwrap_err();
    let wanted = [
        "timeout differs: 30000 ms in a, 5000 ms in b; ",
        "timeout differs: 30000 ms in a, 6000 ms in c; ",
        "a and copy are the same run (started at ",
        "d: started_at = ",
        "d: `counts` do not add up; ",
    ];
    assert_eq!(said.lines().count(), wanted.len(), "{said}");
    for (line, wanted) in said.lines().zip(wanted) {
        assert!(line.starts_with(wanted), "{line}");
    }
}

#[test]
fn a_run_that_is_in_two_files_is_refused() {
    let all = vec![one("a", &hundred(1, 0)), one("copy", &hundred(1, 0))];
    let said = merged(all, &[]).unwrap_err();
    assert!(
        said.starts_with("a and copy are the same run (started at 2027-"),
        "{said}"
    );
    let all = vec![one("a", &hundred(1, 0)), one("a", &hundred(1, 0))];
    let said = merged(all, &[]).unwrap_err();
    assert!(
        said.ends_with("is given twice; give each run once"),
        "{said}"
    );
}

#[test]
fn what_is_no_load_document_is_refused() {
    let read = |text: &str| One::read("x", text.as_bytes()).unwrap_err();
    let said = read("{\"schema\": \"powerband/run/1\"}");
    assert!(
        said.starts_with("its schema is \"powerband/run/1\""),
        "{said}"
    );
    let half = serde_json::to_string(&hundred(1, 0)).unwrap();
    let said = read(&half[..half.len() / 2]);
    assert!(
        said.contains("EOF") && said.contains("load --json"),
        "{said}"
    );
}

/// What is said of a document after a change of its JSON.
fn damaged(change: impl Fn(&mut serde_json::Value)) -> String {
    let mut value = serde_json::to_value(hundred(1, 0)).unwrap();
    change(&mut value);
    let read = One::read("x", value.to_string().as_bytes());
    read.and_then(|one| merged(vec![one], &[])).unwrap_err()
}

#[test]
fn a_document_that_does_not_add_up_is_refused() {
    for (change, wanted) in [
        (("/counts/ok", 91), "`counts` do not add up"),
        (("/counts/sent", i64::MAX), "`counts` do not add up"),
        (("/response/count", 99), "has 100 values, its `count` is 99"),
        (("/errors/status_5xx", 9), "`errors` and `failed` differ"),
        (
            ("/endpoints/0/ok", 1_000),
            "the counts of GET / do not add up",
        ),
        (("/statuses/200", -1), "invalid value"),
        (("/objective/violations", 101), "`violations` are more"),
        (
            ("/asked/connections", i64::MAX),
            "`connections` = 9223372036854775807",
        ),
        (
            ("/asked/requests", i64::MAX),
            "`requests` = 9223372036854775807",
        ),
        (("/throughput_per_s", 1_000), "`counts` do not add up"),
    ] {
        let (field, value) = change;
        let said = damaged(|document| *document.pointer_mut(field).unwrap() = value.into());
        assert!(said.contains(wanted), "{field}: {said}");
    }
    let said = damaged(|document| document["response"]["hdr"] = "HISTFAAA".into());
    assert!(
        said.contains("`response`: the histogram cannot be read"),
        "{said}"
    );
    let said = damaged(|document| {
        document["endpoints"][0]["response"] = document["endpoints"][1]["response"].clone();
    });
    assert!(
        said.contains("`response` and the counts of GET / differ"),
        "{said}"
    );
    let said = damaged(|document| {
        let redirect =
            serde_json::json!({"status": 302, "expected": false, "answers": 91, "location": null});
        document["endpoints"][0]["redirects"] = serde_json::json!([redirect]);
    });
    assert!(said.contains("the redirects of GET / are more"), "{said}");
    let recorded = |compared, answers| {
        damaged(|document| {
            document["recorded"] = serde_json::json!({
                "compared": compared, "revalidated": 1, "changed": 5, "other_work": false, "warning": null,
                "changes": [{"endpoint": "GET /", "recorded": 200, "replayed": 302, "answers": answers}],
            });
        })
    };
    for (compared, answers) in [(101, 5), (100, 100), (100, u64::MAX)] {
        let said = recorded(compared, answers);
        assert!(said.contains("`recorded` do not add up"), "{said}");
    }
    let said = damaged(|document| {
        let late = &document["generator"]["late_answers"]["counted"];
        assert!(late.is_string());
        document["generator"]["late_answers"]["without"] =
            document["endpoints"][0]["classes"][0]["response"]["hdr"].clone();
    });
    assert!(said.contains("`late_answers` do not add up"), "{said}");
    let said = damaged(|document| document["errors"] = serde_json::json!({"hiccup": 10}));
    assert!(said.contains("unknown field `hiccup`"), "{said}");
}

#[test]
fn a_document_of_an_earlier_version_is_refused_with_the_remedy() {
    let said = damaged(|document| {
        let _ = document["service"].as_object_mut().unwrap().remove("hdr");
    });
    assert!(
        said.contains("no histograms") && said.contains("write it again"),
        "{said}"
    );
}
