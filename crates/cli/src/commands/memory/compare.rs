//! `memory --compare`: two documents side by side.

use crate::{Failure, output};
use ::memory::compared;
use report::Readable;
use run::memory::Document;
use std::path::Path;

pub fn compare(before: &Path, after: &Path, json: bool) -> Result<u8, Failure> {
    let (earlier, later) = (read(before)?, read(after)?);
    let name = |path: &Path| path.display().to_string();
    let comparison = compared(
        (&name(before), &earlier),
        (&name(after), &later),
        env!("CARGO_PKG_VERSION"),
    )
    .map_err(|e| Failure::no_answer(e.to_string()))?;
    let readable = Readable::MemoryComparison(Box::new(comparison));
    match json {
        true => output::json(&readable)?,
        false => output::print(&readable.page(false, output::style()))?,
    }
    Ok(0)
}

fn read(path: &Path) -> Result<Document, Failure> {
    let wrong = |why: String| Failure::usage(format!("--compare = {}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| {
        wrong(format!(
            "{e}; name a file that powerband memory --json wrote"
        ))
    })?;
    match Readable::parse(&text).map_err(wrong)? {
        Readable::Memory(document) => Ok(*document),
        _ => Err(wrong(
            "it is another document; name one that powerband memory --json wrote".to_owned(),
        )),
    }
}
