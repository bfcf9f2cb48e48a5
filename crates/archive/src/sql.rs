//! The queries of `docs/sql.md`, by DuckDB on the files of the sample.

use crate::sample;
use serde_json::{Value, json};
use testkit::Answer;

const PAGE: &str = include_str!("../../../docs/sql.md");

/// A question, and its query.
fn questions() -> Vec<(&'static str, &'static str)> {
    let of = |section: &'static str| {
        let (question, rest) = section.split_once('\n')?;
        let (_, query) = rest.split_once("```sql\n")?;
        Some((question, query.split_once("```")?.0))
    };
    PAGE.split("\n### ").skip(1).filter_map(of).collect()
}

fn views() -> impl Iterator<Item = &'static str> {
    PAGE.lines().filter(|line| line.starts_with("CREATE VIEW "))
}

/// A question, the columns of its answer, the number of its rows, and the first row where the sample decides it. Floating-point values
/// of quantiles are the sample's noise.
type Expected = (&'static str, &'static str, usize, Option<Value>);

fn expected() -> Vec<Expected> {
    let of_endpoints = 4;
    vec![
        (
            "Which endpoints take the most time?",
            "endpoint requests wall_s percent",
            of_endpoints,
            None,
        ),
        (
            "How long do they take at the median, p95 and p99?",
            "endpoint p50_ms p95_ms p99_ms",
            of_endpoints - 1,
            None,
        ),
        (
            "What were the ten slowest requests, and what did they wait for?",
            "arrived instance endpoint wall_ms held_ms gvl_wait_ms io_ms sql_ms gc_ms",
            10,
            None,
        ),
        (
            "Which endpoints fail, and how often?",
            "endpoint errors requests percent",
            1,
            Some(json!(["orders#create", 14, 6008, 0.23])),
        ),
        (
            "When is the busiest hour of a day?",
            "day hour requests",
            5,
            Some(json!(["2026-11-26", 20, 960])),
        ),
        (
            "How many requests a second does each pod serve, and on how many threads at a time?",
            "instance requests_per_s busy_threads",
            2,
            Some(json!(["app1", 12_000.0 / 172_800.0, 2.5])),
        ),
        (
            "Where does the time of each endpoint go?",
            "endpoint held gvl_wait lock_wait io",
            of_endpoints,
            None,
        ),
        (
            "How long do requests queue before the application, hour by hour?",
            "hour p50_ms p99_ms",
            48,
            None,
        ),
        (
            "Does a request wait longer for the GVL when more threads are busy?",
            "busy_threads requests gvl_wait_ms",
            4,
            None,
        ),
        (
            "Which endpoints ask the database most often?",
            "endpoint queries sql_ms",
            of_endpoints,
            None,
        ),
        (
            "What share of requests is answered within 250 ms, day by day?",
            "day percent",
            2,
            None,
        ),
        (
            "Which endpoints became slower from one day to the next?",
            "endpoint before_ms after_ms ratio",
            of_endpoints,
            None,
        ),
        (
            "How do the arms of an experiment differ?",
            "arm version requests p50_ms p99_ms cpu_ms failed",
            2,
            None,
        ),
        (
            "What does garbage collection cost?",
            "instance kind collections pauses_s longest_ms",
            4,
            Some(json!(["app1", "major", 96, 2.88, 15.0])),
        ),
        (
            "Why are there major collections?",
            "major_by cause collections pause_ms",
            1,
            Some(json!(["oldgen", "malloc", 192, 30.0])),
        ),
        (
            "Which requests did a long pause stop?",
            "arrived endpoint wall_ms kind pause_ms",
            1,
            None,
        ),
        (
            "Whose memory grows?",
            "instance pid mib_per_hour most_mib",
            4,
            Some(json!(["app2", 100, 1.0, 247])),
        ),
        (
            "What does the fleet run?",
            "server ruby jit allocator threads workers processes",
            2,
            Some(json!(["puma 6.6.0", "3.4.7", "off", "jemalloc", 5, 2, 2])),
        ),
        (
            "Which configurations were measured, and how much did they carry?",
            "run settings trials capacity_per_s p99_ms most_mib",
            6,
            Some(json!([
                "20261126-194131-tune-2518",
                "single × 4 threads",
                9,
                166.0,
                24.607,
                28
            ])),
        ),
        (
            "What did the runs answer, and what does it rest on?",
            "began command answer settings metric candidate outcome ratio low high",
            4,
            None,
        ),
    ]
}

/// The values of a column.
fn column(answer: &Answer, name: &str) -> Vec<Value> {
    let at = answer.columns.iter().position(|column| column == name);
    let at = at.unwrap_or_else(|| panic!("{name} in {:?}", answer.columns));
    answer.rows.iter().map(|row| row[at].clone()).collect()
}

#[test]
fn the_page_has_the_questions_that_are_tested() {
    let asked: Vec<&str> = questions()
        .into_iter()
        .map(|(question, _)| question)
        .collect();
    let tested: Vec<&str> = expected()
        .into_iter()
        .map(|(question, ..)| question)
        .collect();
    assert_eq!(asked, tested);
    assert_eq!(asked.len(), 20);
    assert_eq!(
        PAGE.matches("```sql").count(),
        21,
        "each query has a question"
    );
}

/// One test, because the sample takes seconds to write.
#[test]
fn duckdb_finds_the_columns_of_the_contract_and_answers_each_query() {
    let folder = tempfile::tempdir().unwrap();
    sample::write(&folder.path().join("powerband"));
    let views: Vec<&str> = views().collect();
    let tables = crate::contract::tables();
    let described = tables.iter().map(|table| {
        let files = format!("powerband/{}/*/*/*.parquet", table.name);
        format!("DESCRIBE FROM read_parquet('{files}', hive_partitioning = false)")
    });
    let described: Vec<String> = described.collect();
    let mut statements = views.clone();
    statements.extend(described.iter().map(String::as_str));
    statements.extend(questions().iter().map(|(_, query)| *query));
    let Some(answers) = testkit::duckdb(folder.path(), &statements) else {
        return;
    };
    for (answer, statement) in answers.iter().zip(&statements) {
        assert_eq!(answer.error, None, "{statement}");
    }
    let (described, answers) = answers[views.len()..].split_at(tables.len());
    for (table, answer) in tables.iter().zip(described) {
        let found = answer
            .rows
            .iter()
            .map(|row| (row[0].clone(), row[1].clone()));
        let columns = table.columns.iter();
        let columns = columns.map(|column| (json!(column.name), json!(column.kind.sql())));
        let (found, columns): (Vec<_>, Vec<_>) = (found.collect(), columns.collect());
        assert_eq!(found, columns, "{}", table.name);
    }
    check_answers(answers);
}

fn check_answers(answers: &[Answer]) {
    for ((question, columns, rows, first), answer) in expected().into_iter().zip(answers) {
        assert_eq!(answer.columns.join(" "), columns, "{question}");
        assert_eq!(answer.rows.len(), rows, "{question}");
        if let Some(first) = first {
            assert_eq!(Value::from(answer.rows[0].clone()), first, "{question}");
        }
    }
    let of = |question: &str| {
        let found = questions();
        let found = found.iter().position(|(one, _)| one.starts_with(question));
        &answers[found.expect(question)]
    };
    let requests = column(of("Which endpoints take"), "requests");
    let requests = requests.iter().filter_map(Value::as_u64);
    assert_eq!(requests.sum::<u64>(), 24_000);
    let slowest = column(of("What were the ten slowest"), "wall_ms");
    assert_eq!(slowest[..2], [9_500.0, 9_500.0]);
    assert_eq!(column(of("How do the arms"), "failed"), [7, 7]);
    assert_eq!(column(of("How do the arms"), "version"), ["41", "42"]);
    let busy = column(of("Does a request wait"), "requests");
    assert_eq!(busy, [6_000; 4]);
    let queries = column(of("Which endpoints ask"), "queries");
    assert_eq!(queries, [12.0, 4.0, 3.0, 1.0]);
    let said = column(of("What did the runs answer"), "answer");
    assert_eq!(said, ["change", "change", "table", "table"]);
}
