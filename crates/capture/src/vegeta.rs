//! vegeta's JSON targets: an object a line with `method`, `url`, `header` (lists
//! of values) and `body` in base64. Targets have no instants.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use crate::collector::{Collector, Found};

#[derive(Deserialize)]
struct Target {
    method: String,
    url: String,
    #[serde(default)]
    header: Option<BTreeMap<String, Vec<String>>>,
    #[serde(default)]
    body: Option<String>,
}

pub(crate) fn read(text: &[u8], found: &mut Collector) {
    found.take_lines(text, |line| {
        let target: Target =
            serde_json::from_slice(line).map_err(|error| format!("not a target: {error}"))?;
        let body = STANDARD
            .decode(target.body.unwrap_or_default())
            .map_err(|error| format!("body is not base64: {error}"))?;
        let header = target.header.unwrap_or_default().into_iter();
        Ok(Found {
            at_ns: None,
            method: target.method,
            target: target.url.into_bytes(),
            headers: header
                .flat_map(|(name, values)| values.into_iter().map(move |v| (name.clone(), v)))
                .collect(),
            body,
            ..Found::default()
        })
    });
}
