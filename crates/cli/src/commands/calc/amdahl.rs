//! `calc amdahl`.

use super::counts::counts;
use super::given::{Given, part, share, whole};
use crate::args::AmdahlArgs;
use run::calc::{Amdahl, AmdahlRow, Document};

/// Amdahl's law for what was asked.
pub fn amdahl(args: &AmdahlArgs, given: &mut Given) -> Option<Document> {
    let parallel = given.required(
        &args.parallel,
        "--parallel",
        "give the part of the work that can be shared out, such as --parallel 0.37",
        share,
    );
    let worth = given.optional(&args.worth, "--worth", part);
    let last = given.optional(&args.up_to, "--up-to", |a| whole(a, 1, 100_000, "threads"));
    let (parallel, worth) = (parallel?, worth.unwrap_or(capacity::WORTH_ONE_MORE));
    let refused = "give a share from 0 to 1";
    let enough = given.formula(
        "--parallel",
        refused,
        capacity::amdahl_enough(parallel, worth),
    )?;
    let limit = capacity::amdahl_limit(parallel).ok()?;
    let rows = counts(last.unwrap_or(enough.saturating_add(3).max(8)), &[enough]);
    let row = |threads: u32| {
        let speedup = capacity::amdahl(parallel, threads).ok()?;
        Some(AmdahlRow {
            threads,
            speedup,
            one_more_adds: capacity::amdahl_gain(parallel, threads).ok()?,
            efficiency: speedup / f64::from(threads),
        })
    };
    let amdahl = Amdahl {
        parallel,
        limit: limit.is_finite().then_some(limit),
        worth,
        enough,
        rows: rows.into_iter().filter_map(row).collect(),
    };
    Some(Document {
        sentence: sentence(&amdahl),
        assumptions: vec![
            "The parallel part is shared out evenly, the rest runs one after the other, and nothing is lost on the way: \
             no queue, no garbage collection, no slower database."
                .to_owned(),
            "For the threads of a Ruby process the parallel part is I/O / (I/O + GVL held). The limit is then the number of \
             threads that would keep the process running Ruby all the time if requests never waited for one another. A saturated \
             process gains by N threads at least Amdahl's figure, and at most N or that limit, whichever is lower."
                .to_owned(),
        ],
        amdahl: Some(amdahl),
        ..super::blank()
    })
}

fn sentence(amdahl: &Amdahl) -> String {
    let percent = |share: f64| format!("{} %", rounded(share * 100.0));
    let limit = match amdahl.limit {
        None => "there is no limit".to_owned(),
        Some(limit) => format!("no number of threads makes it more than {limit:.3} times as fast"),
    };
    let threads = match amdahl.enough {
        1 => "1 thread is enough".to_owned(),
        n => format!("{n} threads are enough"),
    };
    let gained = capacity::amdahl_gain(amdahl.parallel, amdahl.enough).unwrap_or(0.0);
    format!(
        "With {} of the work parallel {limit}; {threads}, because one more adds {:.1} %, less than {}.",
        percent(amdahl.parallel),
        gained * 100.0,
        percent(amdahl.worth)
    )
}

/// As typed: without the digits that a sum of binary fractions leaves.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calculated(parallel: &str) -> Document {
        let args = AmdahlArgs {
            parallel: Some(parallel.to_owned()),
            worth: None,
            up_to: None,
        };
        amdahl(&args, &mut Given::default()).unwrap()
    }

    /// The published table that gives 1.619 for 8 threads breaks its own limit.
    #[test]
    fn the_table_that_people_copy_without_its_slips() {
        let document = calculated("0.37");
        let table = document.amdahl.unwrap();
        assert_eq!(table.enough, 3);
        let speedups: Vec<String> = table
            .rows
            .iter()
            .map(|r| format!("{:.3}", r.speedup))
            .collect();
        assert_eq!(
            speedups,
            [
                "1.000", "1.227", "1.327", "1.384", "1.420", "1.446", "1.464", "1.479"
            ]
        );
        assert_eq!(
            document.sentence,
            "With 37 % of the work parallel no number of threads makes it more than 1.587 times as fast; 3 threads are \
             enough, because one more adds 4.3 %, less than 5 %."
        );
    }

    #[test]
    fn all_parallel_has_no_limit_and_nothing_parallel_needs_one() {
        let all = calculated("1");
        assert_eq!(all.amdahl.unwrap().limit, None);
        assert!(
            all.sentence.contains("there is no limit; 21 threads"),
            "{}",
            all.sentence
        );
        assert!(calculated("0").sentence.contains("1 thread is enough"));
    }
}
