//! Any document that `--json` prints: read by its schema, shown as text or as HTML.

use crate::sheet::Sheet;
use crate::{
    Style, advise_page, before_after_page, calc_page, capacity, capture_page, collections_page,
    doctor_page, drift_page, duplex_page, inspect_page, leak_page, load_page,
    memory_comparison_page, memory_page, page, predict_page, survivors_page, validation,
    verdict_page,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Every schema is `powerband/NAME/1`.
const PREFIX: &str = "powerband/";
const VERSION: &str = "1";

/// Endpoints on a page of `inspect`, of a comparison of shadows, and of recorded traffic.
const ENDPOINTS: usize = inspect_page::USUAL_ENDPOINTS;

/// A document, by what it is of.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Readable {
    Run(Box<run::Document>),
    Load(Box<run::load::Document>),
    Capacity(Box<run::capacity::Document>),
    Inspect(Box<run::inspect::Document>),
    Leak(Box<run::leak::Document>),
    Memory(Box<run::memory::Document>),
    MemoryComparison(Box<run::memory::Comparison>),
    Predict(Box<run::predict::Document>),
    Validation(Box<run::validation::Document>),
    Duplex(Box<run::duplex::Document>),
    Doctor(Box<run::doctor::Document>),
    Calc(Box<run::calc::Document>),
    Capture(Box<run::capture::Document>),
    Collections(Box<run::collections::Document>),
    Survivors(Box<run::survivors::Document>),
    Advise(Box<run::advise::Document>),
    Verdict(Box<run::production::Document>),
    BeforeAfter(Box<run::before_after::Document>),
    Drift(Box<run::drift::Document>),
}

impl Readable {
    /// Reads the text of a document.
    ///
    /// # Errors
    /// That it is none, of a newer version, or damaged, with the remedy.
    pub fn parse(text: &str) -> Result<Readable, String> {
        let value: Value = serde_json::from_slice(text.as_bytes())
            .map_err(|e| format!("no JSON document ({e}); give one that --json printed"))?;
        let schema = value["schema"].as_str().unwrap_or_default();
        let named = schema
            .strip_prefix(PREFIX)
            .and_then(|rest| rest.split_once('/'));
        let Some((name, version)) = named else {
            return Err(
                "no document of Powerband: its schema is missing; give one that --json printed"
                    .to_owned(),
            );
        };
        if version != VERSION {
            return Err(format!(
                "its schema is {schema}, and this version reads {PREFIX}{name}/{VERSION}; use the version of powerband that wrote it"
            ));
        }
        match name {
            "run" => decoded(text).map(Readable::Run),
            "load" => decoded(text).map(Readable::Load),
            "capacity" => decoded(text).map(Readable::Capacity),
            "inspect" => decoded(text).map(Readable::Inspect),
            "leak" => decoded(text).map(Readable::Leak),
            "memory" => decoded(text).map(Readable::Memory),
            "memory-comparison" => decoded(text).map(Readable::MemoryComparison),
            "predict" => decoded(text).map(Readable::Predict),
            "validation" => decoded(text).map(Readable::Validation),
            "duplex" => decoded(text).map(Readable::Duplex),
            "doctor" => decoded(text).map(Readable::Doctor),
            "calc" => decoded(text).map(Readable::Calc),
            "capture" => decoded(text).map(Readable::Capture),
            "collections" => decoded(text).map(Readable::Collections),
            "survivors" => decoded(text).map(Readable::Survivors),
            "advise" => decoded(text).map(Readable::Advise),
            "verdict" => decoded(text).map(Readable::Verdict),
            "before-after" => decoded(text).map(Readable::BeforeAfter),
            "drift" => decoded(text).map(Readable::Drift),
            _ => Err(format!(
                "its schema is {schema}, of which there is no page; give a document of tune, compare, sweep, load, capacity, inspect, \
                 memory, leak, predict, trace --gc, trace --survivors, mirror, doctor, advise, verdict, drift, calc or capture info"
            )),
        }
    }

    /// The page for a terminal.
    pub fn page(&self, in_full: bool, style: Style) -> String {
        self.sheet(in_full, style).into_text()
    }

    pub(crate) fn sheet(&self, in_full: bool, style: Style) -> Sheet {
        match self {
            Readable::Run(run) if in_full => page::sheet_in_full(run, style),
            Readable::Run(run) => page::sheet_in_short(run, style),
            Readable::Load(load) => load_page::sheet(load, style),
            Readable::Capacity(found) => capacity::sheet(found, style),
            Readable::Inspect(read) => {
                let empty = match in_full {
                    true => Sheet::in_full(style),
                    false => Sheet::new(style),
                };
                inspect_page::sheet(read, ENDPOINTS, empty)
            }
            Readable::Leak(found) => leak_page::sheet(found, in_full, style),
            Readable::Memory(read) => memory_page::sheet(read, style),
            Readable::MemoryComparison(compared) => memory_comparison_page::sheet(compared, style),
            Readable::Predict(predicted) => predict_page::sheet(predicted, style),
            Readable::Validation(scored) => validation::sheet(scored, style),
            Readable::Duplex(compared) => duplex_page::sheet(compared, ENDPOINTS, style),
            Readable::Doctor(found) => doctor_page::sheet(found, style),
            Readable::Calc(calculated) => calc_page::sheet(calculated, style),
            Readable::Capture(held) => capture_page::sheet(held, ENDPOINTS, style),
            Readable::Collections(logged) => collections_page::sheet(logged, style),
            Readable::Survivors(found) => survivors_page::sheet(found, style),
            Readable::Advise(advice) => advise_page::sheet(advice, style),
            Readable::Verdict(verdict) => verdict_page::sheet(verdict, style),
            Readable::BeforeAfter(compared) => before_after_page::sheet(compared, style),
            Readable::Drift(compared) => drift_page::sheet(compared, style),
        }
    }
}

/// From bytes, as elsewhere: for each kind of input (`Value`, `&str`, bytes) serde_json's reader of a document is compiled once more, 20 to
/// 40 KB each.
fn decoded<D: DeserializeOwned>(text: &str) -> Result<Box<D>, String> {
    serde_json::from_slice(text.as_bytes()).map(Box::new).map_err(|e| {
        format!("the document is damaged, or of another version of powerband: {e}; use the version that wrote it")
    })
}
