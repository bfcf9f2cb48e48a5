//! Pairs of N and throughput, from the command line, a file or stdin.

use super::given::Given;
use crate::args::UslArgs;
use capacity::Measured;
use experiment::config::{Asked, Problem};
use std::io::Read;
use std::path::Path;

/// The measurements; reports every pair that is wrong.
pub fn measured(args: &UslArgs, given: &mut Given) -> Option<Vec<Measured>> {
    let Some(path) = &args.file else {
        if args.measured.is_empty() {
            given.problems.push(Problem::with(
                "no measurements",
                "give them as --measured 1=100,2=190,4=340,8=560, or in a file of lines N,THROUGHPUT",
            ));
            return None;
        }
        let texts = args.measured.iter().flat_map(|list| list.split(','));
        let pairs = texts.map(str::trim).filter(|text| !text.is_empty());
        let read: Vec<_> = pairs
            .map(|text| (text.to_owned(), text.split_once('=')))
            .map(|(text, pair)| {
                pair.and_then(|(n, x)| point(n, x)).ok_or_else(|| {
                    let asked = Asked::new(text, "--measured");
                    Problem::of(
                        &asked,
                        "no measurement",
                        "write N=THROUGHPUT with N from 1 and a throughput over 0, such as 4=340",
                    )
                })
            })
            .collect();
        return all(read, given);
    };
    match text(path) {
        Ok(text) => all(rows(&text, path), given),
        Err(e) => {
            let asked = Asked::new(path.display().to_string(), "FILE");
            given.problems.push(Problem::of(
                &asked,
                e,
                "name a file that can be read, or - for stdin",
            ));
            None
        }
    }
}

fn all(read: Vec<Result<Measured, Problem>>, given: &mut Given) -> Option<Vec<Measured>> {
    let before = given.problems.len();
    let mut points = Vec::new();
    for one in read {
        match one {
            Ok(point) => points.push(point),
            Err(problem) => given.problems.push(problem),
        }
    }
    (given.problems.len() == before).then_some(points)
}

fn text(path: &Path) -> std::io::Result<String> {
    if path != Path::new("-") {
        return std::fs::read_to_string(path);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}

/// Lines of two figures; the first may be a heading, and `#` begins a comment.
fn rows(text: &str, path: &Path) -> Vec<Result<Measured, Problem>> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .comment(Some(b'#'))
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(text.as_bytes());
    let mut read = Vec::new();
    for (index, record) in reader.records().enumerate() {
        let row = record
            .as_ref()
            .ok()
            .and_then(|r| point(r.get(0)?, r.get(1)?));
        let heading = index == 0
            && record
                .as_ref()
                .is_ok_and(|r| r.get(0).is_some_and(|n| n.parse::<f64>().is_err()));
        if heading {
            continue;
        }
        let line = record
            .as_ref()
            .ok()
            .and_then(|r| r.position())
            .map_or(0, csv::Position::line);
        read.push(row.ok_or_else(|| {
            Problem::with(
                format!("{}, line {line}: no measurement", path.display()),
                "write N,THROUGHPUT with N from 1 and a throughput over 0, such as 4,340",
            )
        }));
    }
    read
}

fn point(n: &str, throughput: &str) -> Option<Measured> {
    let n: f64 = n.trim().parse().ok()?;
    let throughput: f64 = throughput.trim().parse().ok()?;
    let sound = (1.0..=1e6).contains(&n) && throughput > 0.0 && throughput.is_finite();
    sound.then_some(Measured { n, throughput })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Result<Measured, Problem>> {
        rows(text, Path::new("rows.csv"))
    }

    #[test]
    fn rows_with_and_without_a_heading() {
        for text in [
            "threads,throughput\n1,100\n2, 190.5\n",
            "# measured on Tuesday\n1,100\n2,190.5",
        ] {
            let points: Vec<Measured> = read(text).into_iter().map(Result::unwrap).collect();
            assert_eq!(points.len(), 2);
            assert_eq!(
                points[1],
                Measured {
                    n: 2.0,
                    throughput: 190.5
                }
            );
        }
    }

    #[test]
    fn each_wrong_line_is_named() {
        let read = read("1,100\nx,3\n2,-5\n0,7\n3\n4,340\n");
        let problems: Vec<String> = read
            .iter()
            .filter_map(|r| r.as_ref().err())
            .map(ToString::to_string)
            .collect();
        assert_eq!(problems.len(), 4, "{problems:?}");
        assert!(problems[0].contains("rows.csv, line 2"), "{problems:?}");
    }
}
