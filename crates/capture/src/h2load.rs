//! h2load's timing scripts: milliseconds since the start, a tab, a URI. Every
//! request is a GET.

use crate::collector::{Collector, Found};
use crate::excerpt::excerpt;

pub(crate) fn is_line(line: &[u8]) -> bool {
    parts(line).is_some_and(|(_, uri)| uri.starts_with(b"/") || uri.starts_with(b"http"))
}

fn parts(line: &[u8]) -> Option<(i128, &[u8])> {
    let tab = line.iter().position(|byte| *byte == b'\t')?;
    let offset: f64 = std::str::from_utf8(&line[..tab])
        .ok()?
        .trim()
        .parse()
        .ok()?;
    // A century, beyond which a script is a mistake.
    if !(0.0..3.2e12).contains(&offset) {
        return None;
    }
    #[allow(clippy::cast_possible_truncation)]
    let at_us = (offset * 1e3).round() as i128;
    Some((at_us * 1_000, line[tab + 1..].trim_ascii()))
}

pub(crate) fn read(text: &[u8], found: &mut Collector) {
    found.take_lines(text, |line| {
        let (at_ns, uri) = parts(line)
            .ok_or_else(|| format!("not milliseconds, a tab and a URI: {:?}", excerpt(line)))?;
        Ok(Found {
            at_ns: Some(at_ns),
            method: "GET".into(),
            target: uri.into(),
            ..Found::default()
        })
    });
}
