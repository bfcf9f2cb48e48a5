//! An answer of Prometheus' HTTP API to a range query.

use crate::query::Span;
use serde::Deserialize;
use std::collections::BTreeMap;

/// One series at the steps of its query.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub labels: BTreeMap<String, String>,
    /// The step's number, from 0, and the value there. Steps without a value are not there.
    pub points: Vec<(usize, f64)>,
}

/// Why an answer has no series.
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
    values: Vec<(f64, String)>,
}

/// Reads an answer's body.
///
/// # Errors
/// It is none, or says that the query failed.
pub fn parse(body: &str, span: Span) -> Result<Vec<Series>, AnswerError> {
    let answer: Answer =
        serde_json::from_str(body).map_err(|e| AnswerError::NotPrometheus(e.to_string()))?;
    if answer.status != "success" {
        return Err(AnswerError::Refused(answer.error.unwrap_or(answer.status)));
    }
    let data = answer
        .data
        .filter(|data| data.kind == "matrix")
        .ok_or_else(|| AnswerError::NotPrometheus("no matrix".to_owned()))?;
    let series = data.result.into_iter().map(|row| {
        let points = row.values.iter().filter_map(|(at_s, value)| {
            let step = (at_s - span.from_s as f64) / span.step_s as f64;
            let value = value.parse::<f64>().ok().filter(|value| value.is_finite());
            (step > -0.5).then_some((step.round() as usize, value?))
        });
        Series {
            points: points.collect(),
            labels: row.metric,
        }
    });
    Ok(series.collect())
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
        let series = parse(body, SPAN).unwrap();
        assert_eq!(series[0].labels["instance"], "a:1");
        assert_eq!(series[0].points, [(0, 3.0), (2, 4.5)]);
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
