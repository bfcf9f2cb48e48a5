//! Access logs of a JSON object a line, under the names that nginx's, Caddy's,
//! Traefik's and Rails' loggers use.

use serde_json::{Map, Value};

use crate::collector::{Collector, Found};
use crate::excerpt::excerpt;
use crate::{instant, request_target};

type Object = Map<String, Value>;

/// The finest and least ambiguous first.
const TIMES: [&str; 10] = [
    "msec",
    "StartUTC",
    "@timestamp",
    "timestamp",
    "ts",
    "time_iso8601",
    "time",
    "datetime",
    "time_local",
    "date",
];
const METHODS: [&str; 5] = [
    "method",
    "request_method",
    "http_method",
    "verb",
    "RequestMethod",
];
/// nginx's `request_uri` is what the client sent, its `uri` what became of it.
const PATHS: [&str; 6] = [
    "request_uri",
    "url",
    "path",
    "uri",
    "request_path",
    "RequestPath",
];
const QUERIES: [&str; 3] = ["args", "query_string", "query"];
const HOSTS: [&str; 3] = ["http_host", "host", "RequestHost"];
const AGENTS: [&str; 3] = ["http_user_agent", "user_agent", "agent"];
const REFERRERS: [&str; 3] = ["http_referer", "referer", "referrer"];

pub(crate) fn read(text: &[u8], found: &mut Collector) {
    found.take_lines(text, |line| {
        let object: Object =
            serde_json::from_slice(line).map_err(|error| format!("not a JSON object: {error}"))?;
        request(&object)
    });
}

fn text<'a>(object: &'a Object, names: &[&str]) -> Option<&'a str> {
    names
        .iter()
        .filter_map(|name| object.get(*name)?.as_str())
        .find(|text| !text.is_empty() && *text != "-")
}

/// Whether there is something to ask for.
pub(crate) fn names_a_request(object: &Object) -> bool {
    match object.get("request") {
        Some(Value::String(line)) => request_target::request_line(line.as_bytes()).is_ok(),
        Some(Value::Object(inner)) => text(inner, &PATHS).is_some(),
        _ => text(object, &METHODS).is_some() && text(object, &PATHS).is_some(),
    }
}

/// When the request came. nginx's `msec` and Caddy's `ts` are taken as the
/// answer ends; the time that it took is a field of its own, in seconds.
pub(crate) fn time_of(object: &Object) -> Option<i128> {
    let (name, at) = TIMES
        .iter()
        .find_map(|name| Some((*name, instant(object.get(*name)?)?)))?;
    let took = match (name, object.get("request")) {
        ("msec", _) => seconds(object.get("request_time")),
        ("ts", Some(Value::Object(_))) => seconds(object.get("duration")),
        _ => None,
    };
    Some(at - took.unwrap_or(0))
}

fn instant(value: &Value) -> Option<i128> {
    match value {
        Value::String(text) => instant::of_text(text),
        Value::Number(number) => instant::of_number(number.as_f64()?),
        _ => None,
    }
}

fn seconds(value: Option<&Value>) -> Option<i128> {
    let seconds = match value? {
        Value::String(text) => text.parse().ok()?,
        other => other.as_f64()?,
    };
    // A day: whatever is longer is no time that an answer took.
    #[allow(clippy::cast_possible_truncation)]
    (0.0..86_400.0)
        .contains(&seconds)
        .then(|| (seconds * 1e6).round() as i128 * 1_000)
}

fn request(object: &Object) -> Result<Found, String> {
    let at_ns = time_of(object);
    if at_ns.is_none()
        && let Some((name, value)) = TIMES.iter().find_map(|name| object.get_key_value(*name))
    {
        return Err(format!(
            "{name} is no time: {}",
            excerpt(value.to_string().as_bytes())
        ));
    }
    // Caddy puts what the client sent into an object of its own.
    let inner = match object.get("request") {
        Some(Value::Object(inner)) => inner,
        _ => object,
    };
    let (method, target) = match object.get("request") {
        Some(Value::String(line)) => request_target::request_line(line.as_bytes())?,
        _ => {
            let method = text(inner, &METHODS).ok_or("no method")?;
            let path = text(inner, &PATHS).ok_or("no path")?;
            let target = match text(inner, &QUERIES) {
                Some(query) if !path.contains('?') => {
                    format!("{path}?{}", query.trim_start_matches('?'))
                }
                _ => path.to_owned(),
            };
            // Rails' loggers write methods as symbols, some in small letters.
            (method.to_ascii_uppercase(), target.into_bytes())
        }
    };
    let mut headers = headers(inner.get("headers"));
    for (name, keys) in [("User-Agent", &AGENTS), ("Referer", &REFERRERS)] {
        if let Some(value) = text(inner, keys)
            && !headers
                .iter()
                .any(|(given, _)| given.eq_ignore_ascii_case(name))
        {
            headers.push((name.into(), value.into()));
        }
    }
    Ok(Found {
        at_ns,
        method,
        target,
        host: text(inner, &HOSTS).map(str::to_owned),
        headers,
        ..Found::default()
    })
}

/// `{"Accept": ["text/html"]}`, or with bare strings.
fn headers(value: Option<&Value>) -> Vec<(String, String)> {
    let mut headers = Vec::new();
    for (name, value) in value.and_then(Value::as_object).into_iter().flatten() {
        match value {
            Value::String(text) => headers.push((name.clone(), text.clone())),
            Value::Array(values) => headers.extend(
                values
                    .iter()
                    .filter_map(Value::as_str)
                    .map(|text| (name.clone(), text.to_owned())),
            ),
            _ => {}
        }
    }
    headers
}
