//! Recorded traffic, read from whatever file another tool wrote.

use super::requests::{Requested, of_file};
use experiment::config::{Asked, Problem};
use load::{RecordedRequest, Workload};
use std::path::Path;

/// Reads the file of `--replay` or `--workload`.
pub fn read(file: &Path, flag: &str) -> Result<Requested, Vec<Problem>> {
    let name = file.display().to_string();
    let asked = Asked::new(&name, flag);
    let wrong = |what: String, remedy: &str| vec![Problem::of(&asked, what, remedy)];
    let bytes =
        std::fs::read(file).map_err(|e| wrong(e.to_string(), "name a file that can be read"))?;
    let traffic = capture::read(&bytes, None)
        .map_err(|e| wrong(e.to_string(), "docs/traffic.md lists the formats"))?;
    let instants_ns = traffic.timed.then(|| traffic.instants_ns());
    let skipped = (traffic.skipped.count > 0).then(|| format!("{name}: {}", traffic.skipped));
    let requests = traffic.requests.into_iter().map(|recorded| {
        let request = RecordedRequest {
            method: recorded.method,
            path: recorded.path,
            headers: recorded.headers,
            body: recorded.body,
        };
        (recorded.place, request)
    });
    let workload = Workload::from_recorded(requests).map_err(|found| of_file(&found, &name))?;
    Ok(Requested {
        workload,
        name,
        instants_ns,
        skipped,
    })
}

/// `2x`, `0.5` or `10 x`.
pub fn parse_speed(asked: &Asked) -> Result<f64, Problem> {
    let text = asked.text.trim();
    let number = text.strip_suffix(['x', '×']).unwrap_or(text).trim();
    number
        .parse()
        .ok()
        .filter(|speed| (0.001..=1000.0).contains(speed))
        .ok_or_else(|| {
            Problem::of(
                asked,
                "no speed",
                "give a factor from 0.001x to 1000x, such as 2x",
            )
        })
}
