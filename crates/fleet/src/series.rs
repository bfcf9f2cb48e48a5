//! An answer of Prometheus' HTTP API to a range query.

use crate::query::Span;
use serde::Deserialize;
use serde::de::{Deserializer, Error, Visitor};
use std::collections::BTreeMap;
use std::fmt;

/// One series at the steps of its query.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub labels: BTreeMap<String, String>,
    /// The step's number, from 0, and the value there. Steps without a value are not there.
    pub points: Vec<(usize, f64)>,
}

/// An answer with series.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answered {
    pub series: Vec<Series>,
    /// Prometheus' warnings, such as of a store that did not answer.
    pub warnings: Vec<String>,
}

/// An answer without series.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AnswerError {
    #[error("the answer is not that of Prometheus' API ({0})")]
    NotPrometheus(String),
    #[error("Prometheus refuses the query: {0}")]
    Refused(String),
}

#[derive(Deserialize)]
struct Answer {
    status: String,
    data: Option<Data>,
    error: Option<String>,
    #[serde(default)]
    warnings: Vec<String>,
}

#[derive(Deserialize)]
struct Data {
    #[serde(rename = "resultType")]
    kind: String,
    result: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    #[serde(default)]
    metric: BTreeMap<String, String>,
    #[serde(default)]
    values: Vec<(f64, Number)>,
}

/// A number as text, such as `"4.5"` or `"+Inf"`, read in place: there are millions.
struct Number(f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        deserializer.deserialize_str(AsText)
    }
}

struct AsText;

impl Visitor<'_> for AsText {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number as text")
    }

    /// Text that is not a number counts as NaN, which is left out.
    fn visit_str<E: Error>(self, text: &str) -> Result<Number, E> {
        Ok(Number(text.parse().unwrap_or(f64::NAN)))
    }
}

/// Reads an answer's body.
///
/// # Errors
/// The body is not an answer of Prometheus' API, or says that the query failed.
pub fn parse(body: &str, span: Span) -> Result<Answered, AnswerError> {
    let answer: Answer = serde_json::from_slice(body.as_bytes())
        .map_err(|e| AnswerError::NotPrometheus(printable(&e.to_string())))?;
    if answer.status != "success" {
        let why = answer.error.unwrap_or(answer.status);
        return Err(AnswerError::Refused(printable(&why)));
    }
    let data = answer
        .data
        .filter(|data| data.kind == "matrix")
        .ok_or_else(|| AnswerError::NotPrometheus("no matrix".to_owned()))?;
    let mut all = Vec::new();
    for row in data.result {
        let mut points = Vec::with_capacity(row.values.len());
        for (at_s, Number(value)) in row.values {
            let step = step(at_s, span)?;
            if value.is_finite() {
                points.push((step, value));
            }
        }
        all.push(Series {
            labels: row.metric,
            points,
        });
    }
    Ok(Answered {
        series: all,
        warnings: answer.warnings.iter().map(|text| printable(text)).collect(),
    })
}

/// How far a point may be from its step, in steps.
const OFF_STEP: f64 = 0.01;

/// The number of a point's step. A point between steps or outside of the range is an error: it would be assigned to another instant.
fn step(at_s: f64, span: Span) -> Result<usize, AnswerError> {
    let steps = |seconds: f64| seconds / span.step_s as f64;
    let step = steps(at_s - span.from_s as f64);
    let whole = step.round();
    let last = steps((span.to_s - span.from_s) as f64);
    match (0.0..=last).contains(&whole) && (step - whole).abs() <= OFF_STEP {
        true => Ok(whole as usize),
        false => Err(AnswerError::NotPrometheus(format!(
            "a point at {at_s}, which was not asked for"
        ))),
    }
}

/// The most characters of foreign text in a message.
const MOST_PRINTED: usize = 300;

/// Foreign text, cut, without control characters.
fn printable(text: &str) -> String {
    let shown = text.chars().filter(|c| !c.is_control());
    shown.take(MOST_PRINTED).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Span = Span {
        from_s: 1_000,
        to_s: 1_040,
        step_s: 10,
    };

    #[test]
    fn points_have_the_numbers_of_their_steps() {
        let body = r#"{"status":"success","data":{"resultType":"matrix","result":[
            {"metric":{"instance":"a:1"},"values":[[1000,"3"],[1020.000,"4.5"],[1030,"NaN"],[1040,"+Inf"]]}]}}"#;
        let series = parse(body, SPAN).unwrap().series;
        assert_eq!(series[0].labels["instance"], "a:1");
        assert_eq!(series[0].points, [(0, 3.0), (2, 4.5)]);
    }

    #[test]
    fn warnings_are_kept_and_cut() {
        let body = r#"{"status":"success","warnings":["store eu2:\u001b[2J no answer"],"data":{"resultType":"matrix","result":[]}}"#;
        let answered = parse(body, SPAN).unwrap();
        assert_eq!(answered.warnings, ["store eu2:[2J no answer"]);
        assert!(answered.series.is_empty());
    }

    #[test]
    fn a_point_that_was_not_asked_for_is_refused() {
        let at = |instant: &str| {
            let rows = format!(r#"[{{"metric":{{"instance":"a:1"}},"values":[[{instant},"3"]]}}]"#);
            let body = format!(
                r#"{{"status":"success","data":{{"resultType":"matrix","result":{rows}}}}}"#
            );
            parse(&body, SPAN)
        };
        for (instant, step) in [("1000.05", 0), ("1009.95", 1), ("1040", 4)] {
            assert_eq!(
                at(instant).unwrap().series[0].points,
                [(step, 3.0)],
                "{instant}"
            );
        }
        for other in [
            "990", "999.4", "1005", "1010.2", "1050", "1e18", "-1e300", "1e999", "NaN",
        ] {
            let said = at(other);
            assert!(
                matches!(said, Err(AnswerError::NotPrometheus(_))),
                "{other} {said:?}"
            );
        }
        let nowhere = Span { step_s: 0, ..SPAN };
        for instant in [f64::NAN, f64::INFINITY, 1_000.0] {
            assert!(step(instant, nowhere).is_err());
        }
    }

    #[test]
    fn text_of_others_is_cut_and_obeyed_by_no_terminal() {
        let long = "x".repeat(1_000);
        let refused = format!(r#"{{"status":"error","error":"\u001b[2J\u0007too much\n{long}"}}"#);
        let Err(AnswerError::Refused(why)) = parse(&refused, SPAN) else {
            panic!()
        };
        assert!(why.starts_with("[2Jtoo muchxxx"), "{why}");
        assert_eq!(why.chars().count(), 300);
    }

    #[test]
    fn what_is_no_answer_is_said() {
        let refused = r#"{"status":"error","errorType":"bad_data","error":"parse error"}"#;
        assert_eq!(
            parse(refused, SPAN),
            Err(AnswerError::Refused("parse error".to_owned()))
        );
        let vector = r#"{"status":"success","data":{"resultType":"vector","result":[]}}"#;
        for other in [vector, "<html>", "{}", r#"{"status":"success"}"#] {
            let said = parse(other, SPAN);
            assert!(
                matches!(said, Err(AnswerError::NotPrometheus(_))),
                "{other} {said:?}"
            );
        }
    }
}
