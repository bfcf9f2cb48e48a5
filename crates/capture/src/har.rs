//! HTTP Archive 1.2: `log.entries[]`, one JSON document. Answers are passed
//! over without being kept.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

use crate::collector::{Collector, Found};
use crate::traffic::Place;
use crate::{ReadError, instant};

#[derive(Deserialize)]
struct Document {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    #[serde(default)]
    creator: Value,
    entries: Vec<Entry>,
}

/// Whose `connection` is a connection: Chrome's and ours. The format allows a port there as well, which all connections
/// to a server share; Firefox writes that.
const NUMBERS_CONNECTIONS: [&str; 2] = ["WebInspector", "powerband"];

// Values, so that one entry of a wrong shape does not cost the others.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(default)]
    started_date_time: Value,
    #[serde(default)]
    request: Value,
    #[serde(default)]
    connection: Value,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    url: String,
    #[serde(default)]
    http_version: String,
    #[serde(default)]
    headers: Vec<Pair>,
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
struct Pair {
    name: String,
    #[serde(default)]
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostData {
    #[serde(default)]
    mime_type: String,
    text: Option<String>,
    /// Not of 1.2, but written for bodies that are no text.
    encoding: Option<String>,
    #[serde(default)]
    params: Vec<Pair>,
}

pub(crate) fn read(text: &[u8], found: &mut Collector) -> Result<(), ReadError> {
    let document: Document = serde_json::from_slice(text).map_err(|error| ReadError::Document {
        why: error.to_string(),
    })?;
    let creator = document.log.creator["name"].as_str().unwrap_or_default();
    let numbered = NUMBERS_CONNECTIONS.contains(&creator);
    for (number, entry) in (1..).zip(document.log.entries) {
        found.take(Place::Entry(number), request(entry, numbered));
    }
    Ok(())
}

fn request(entry: Entry, numbered: bool) -> Result<Found, String> {
    let started = entry.started_date_time.as_str().unwrap_or_default();
    let at_ns = instant::of_iso(started)
        .ok_or_else(|| format!("startedDateTime is {}", entry.started_date_time))?;
    let request: Request =
        serde_json::from_value(entry.request).map_err(|error| format!("request: {error}"))?;
    // Later versions send many requests on one connection at once.
    let in_turn = request
        .http_version
        .to_ascii_lowercase()
        .starts_with("http/1");
    let connection = entry.connection.as_str().filter(|_| numbered && in_turn);
    let connection = connection.and_then(|number| number.parse().ok());
    let body = request.post_data.map(body).transpose()?.unwrap_or_default();
    let headers = request.headers.into_iter();
    Ok(Found {
        at_ns: Some(at_ns),
        method: request.method,
        target: request.url.into_bytes(),
        headers: headers.map(|pair| (pair.name, pair.value)).collect(),
        body,
        connection,
        ..Found::default()
    })
}

fn body(post: PostData) -> Result<Vec<u8>, String> {
    match post.text.filter(|text| !text.is_empty()) {
        Some(text) if post.encoding.as_deref() == Some("base64") => STANDARD
            .decode(text)
            .map_err(|error| format!("postData is not base64: {error}")),
        Some(text) => Ok(text.into_bytes()),
        None if post.params.is_empty() => Ok(Vec::new()),
        None if post
            .mime_type
            .starts_with("application/x-www-form-urlencoded") =>
        {
            let mut form = form_urlencoded::Serializer::new(String::new());
            for pair in &post.params {
                form.append_pair(&pair.name, &pair.value);
            }
            Ok(form.finish().into_bytes())
        }
        // Its boundary and its files are not in the params.
        None => Err(format!(
            "postData of type {:?} without its text",
            post.mime_type
        )),
    }
}
