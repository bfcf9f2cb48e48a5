//! The page of a run whose memory was compared after as many requests in every trial.

use crate::run_page::{holds, page, sample};
use run::{Age, AgedArm, Document, Fits, LateCourse, LateGrowth};

fn aged(course: LateCourse, share: f64) -> AgedArm {
    AgedArm {
        trials: 9,
        not_aged: 0,
        why_not: None,
        late_growth: Some(LateGrowth {
            share,
            interval: (share - 0.01, share + 0.01),
            course,
        }),
        fits: Some(Fits {
            processes: 17,
            interval: Some((16, 19)),
            limit_bytes: 2_048 << 20,
            is_asked: true,
        }),
    }
}

fn tuned() -> Document {
    let mut document = sample("tune");
    document.plan.age = Some(Age {
        requests: 50_000,
        most_s: Some(90.0),
    });
    document.arms[0].aged = Some(aged(LateCourse::Flat, 0.004));
    document.arms[1].aged = Some(aged(LateCourse::Growing, 0.12));
    for arm in &mut document.arms[..2] {
        arm.pss_bytes = Some(26 << 20);
    }
    document
}

#[test]
fn the_page_says_when_memory_was_compared_whether_it_grew_and_what_fits() {
    let document = tuned();
    let page = page(&document);
    holds(
        &page,
        &[
            "Memory when aged",
            "has answered 50,000 requests in the trial",
            "no garbage collection is forced",
            "from 25,000 requests on: above 3 % memory still grows",
            "+12.0 % (+11.0 to +13.0): still grows 17 (16 to 19)",
            "+0.4 % (-0.6 to +1.4): flat 17 (16 to 19)",
            "that fit into 2048 MiB, the limit, at this age",
            "26 MiB after 50,000 requests",
        ],
    );
    assert!(!page.contains("not aged"), "{page}");
    let table = report::experiment_markdown(&document, "powerband compare");
    assert!(table.contains("\n### Memory when aged\n"), "{table}");
    assert!(
        table.contains("| +12.0 % (+11.0 to +13.0): still grows | 17 (16 to 19) |"),
        "{table}"
    );
}

#[test]
fn what_was_not_aged_is_named_with_the_reason() {
    let mut document = tuned();
    document.arms[1].pss_bytes = None;
    document.arms[1].aged = Some(AgedArm {
        trials: 0,
        not_aged: 9,
        why_not: Some("at its rate it takes too long".to_owned()),
        late_growth: None,
        fits: None,
    });
    let words = "9 of 9 trials, whose memory is not compared: at its rate it takes too long";
    holds(&page(&document), &["Trials that were not aged", words]);
    let table = report::experiment_markdown(&document, "powerband compare");
    assert!(table.contains(words), "{table}");
}

#[test]
fn of_the_machines_memory_the_share_is_said() {
    let mut document = tuned();
    let usable = document.host.memory_bytes / 100 * 85;
    for arm in &mut document.arms[..2] {
        let fits = arm.aged.as_mut().unwrap().fits.as_mut().unwrap();
        (fits.limit_bytes, fits.is_asked) = (usable, false);
    }
    holds(
        &page(&document),
        &["85 % of the machine's memory, at this age"],
    );
}

#[test]
fn without_an_age_there_is_no_section() {
    assert!(!page(&sample("tune")).contains("when aged"));
}
