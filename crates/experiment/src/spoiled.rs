//! What on this host spoils a measurement, said before the first one: something can still be done about it then.

use crate::progress::{Event, Watcher};

/// Tells it, and returns it for the document.
pub fn tell(watcher: &dyn Watcher) -> Vec<String> {
    let found = host::facts::collect().map(|facts| host::warnings(&facts));
    let found: Vec<String> = found
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect();
    for warning in &found {
        watcher.on(Event::Note(format!("spoils measurements: {warning}")));
    }
    found
}
