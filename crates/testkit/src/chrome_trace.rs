//! Whether a file keeps the published JSON trace event format, as far as Perfetto and chrome://tracing rely on it, and
//! whether every track in it has a name.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// The metadata that the format knows, with the argument that each needs.
const METADATA: [(&str, &str); 5] = [
    ("process_name", "name"),
    ("process_labels", "labels"),
    ("process_sort_index", "sort_index"),
    ("thread_name", "name"),
    ("thread_sort_index", "sort_index"),
];

/// A track: process and thread.
type Track = (u64, u64);

/// What breaks the format, each with the event's place; empty when nothing does.
#[must_use]
pub fn trace_problems(document: &Value) -> Vec<String> {
    let Some(events) = document["traceEvents"].as_array() else {
        return vec!["traceEvents is no array".to_owned()];
    };
    let mut check = Check::default();
    for (at, event) in events.iter().enumerate() {
        if let Err(why) = check.event(event) {
            check
                .problems
                .push(format!("/traceEvents/{at}: {why}: {event}"));
        }
    }
    check.end()
}

#[derive(Default)]
struct Check {
    problems: Vec<String>,
    /// The ends of open slices, and the last begin, by track; nanoseconds.
    open: BTreeMap<Track, Vec<u64>>,
    last: BTreeMap<Track, u64>,
    begun: BTreeMap<Track, u64>,
    counters: BTreeMap<(u64, String), u64>,
    process_names: BTreeSet<u64>,
    thread_names: BTreeSet<Track>,
    process_of: BTreeMap<u64, u64>,
}

impl Check {
    fn event(&mut self, event: &Value) -> Result<(), String> {
        let text = |key: &str| event[key].as_str().ok_or(format!("{key} is no text"));
        let whole = |key: &str| {
            event[key]
                .as_u64()
                .ok_or(format!("{key} is no whole number"))
        };
        let phase = text("ph")?;
        let track = (whole("pid")?, whole("tid")?);
        let at = nanoseconds(event, "ts")?;
        if phase != "E" {
            text("name")?;
        }
        match phase {
            "X" => {
                let end = at + nanoseconds(event, "dur")?;
                self.slice(track, at, Some(end))
            }
            "B" => self.slice(track, at, None),
            "E" => self.end_of_slice(track, at),
            "C" => self.counter(event, track.0, at),
            "M" => self.metadata(event, track),
            "i" | "I" => Ok(()),
            other => Err(format!("ph {other:?} is not one that is used here")),
        }
    }

    /// A slice lies inside of what is open on its track, or after it.
    fn slice(&mut self, track: Track, at: u64, end: Option<u64>) -> Result<(), String> {
        if track.1 == 0 {
            return Err("tid 0 is the idle task's".to_owned());
        }
        match self.process_of.insert(track.1, track.0) {
            Some(other) if other != track.0 => {
                return Err(format!("tid is one of pid {other}, too"));
            }
            _ => {}
        }
        let last = self.last.insert(track, at).unwrap_or(0);
        if at < last {
            return Err("begins before the slice in front of it does".to_owned());
        }
        let open = self.open.entry(track).or_default();
        while open.last().is_some_and(|&outer| outer <= at) {
            open.pop();
        }
        match (end, open.last()) {
            (None, _) => *self.begun.entry(track).or_default() += 1,
            (Some(end), Some(&outer)) if end > outer => {
                return Err(format!("overlaps a slice that ends at {outer} ns"));
            }
            (Some(end), _) => open.push(end),
        }
        Ok(())
    }

    fn end_of_slice(&mut self, track: Track, at: u64) -> Result<(), String> {
        if at < self.last.insert(track, at).unwrap_or(0) {
            return Err("ends before the slice in front of it begins".to_owned());
        }
        let begun = self.begun.entry(track).or_default();
        *begun = begun.checked_sub(1).ok_or("ends what never began")?;
        Ok(())
    }

    fn counter(&mut self, event: &Value, pid: u64, at: u64) -> Result<(), String> {
        let values = event["args"].as_object().ok_or("a counter without args")?;
        if values.is_empty() || !values.values().all(Value::is_number) {
            return Err("a counter's args are numbers".to_owned());
        }
        let name = event["name"].as_str().unwrap_or_default().to_owned();
        if at < self.counters.insert((pid, name), at).unwrap_or(0) {
            return Err("a counter that goes back in time".to_owned());
        }
        Ok(())
    }

    fn metadata(&mut self, event: &Value, track: Track) -> Result<(), String> {
        let name = event["name"].as_str().unwrap_or_default();
        let (_, argument) = METADATA
            .iter()
            .find(|known| known.0 == name)
            .ok_or(format!("{name:?} is no metadata that the format knows"))?;
        let value = &event["args"][argument];
        let fits = match *argument {
            "sort_index" => value.is_i64() || value.is_u64(),
            _ => value.as_str().is_some_and(|text| !text.is_empty()),
        };
        if !fits {
            return Err(format!("needs args.{argument}"));
        }
        match name {
            "process_name" => drop(self.process_names.insert(track.0)),
            "thread_name" => drop(self.thread_names.insert(track)),
            _ => {}
        }
        Ok(())
    }

    fn end(mut self) -> Vec<String> {
        let begun = self.begun.iter().filter(|(_, count)| **count > 0);
        let mut missing: Vec<String> = begun
            .map(|(track, n)| format!("{n} slices of {track:?} never end"))
            .collect();
        for track in self.last.keys() {
            if !self.thread_names.contains(track) {
                missing.push(format!("the track {track:?} has no name"));
            }
            if !self.process_names.contains(&track.0) {
                missing.push(format!("process {} has no name", track.0));
            }
        }
        self.problems.append(&mut missing);
        self.problems
    }
}

/// A time in the format's microseconds, with three decimals at most.
fn nanoseconds(event: &Value, key: &str) -> Result<u64, String> {
    let micros = event[key].as_f64().ok_or(format!("{key} is no number"))?;
    let ns = (micros * 1000.0).round();
    if ns < 0.0 || (ns / 1000.0 - micros).abs() > 1e-6 * micros.max(1.0) {
        return Err(format!(
            "{key} = {micros} is negative, or finer than a nanosecond"
        ));
    }
    Ok(ns as u64)
}

#[cfg(test)]
mod tests {
    use super::trace_problems;
    use serde_json::{Value, json};

    fn slice(ts: f64, dur: f64) -> Value {
        json!({"ph": "X", "pid": 1, "tid": 2, "ts": ts, "dur": dur, "name": "n"})
    }

    fn named(mut events: Vec<Value>) -> Value {
        for what in ["process_name", "thread_name"] {
            events.push(json!({"ph": "M", "pid": 1, "tid": 2, "ts": 0, "name": what, "args": {"name": "n"}}));
        }
        json!({"traceEvents": events})
    }

    #[test]
    fn slices_that_nest_or_follow_one_another_are_sound() {
        let nested = vec![
            slice(0.0, 10.0),
            slice(0.0, 4.0),
            slice(4.0, 6.0),
            slice(10.0, 0.001),
        ];
        assert_eq!(trace_problems(&named(nested)), [""; 0]);
    }

    #[test]
    fn each_break_is_named() {
        let broken = |events: Vec<Value>| trace_problems(&named(events)).join("\n");
        assert!(broken(vec![slice(0.0, 5.0), slice(4.0, 5.0)]).contains("overlaps"));
        assert!(broken(vec![slice(5.0, 1.0), slice(4.0, 1.0)]).contains("begins before"));
        assert!(
            broken(vec![
                json!({"ph": "X", "pid": 1, "tid": 2, "ts": 0, "name": "n"})
            ])
            .contains("dur")
        );
        assert!(
            broken(vec![json!({"ph": "E", "pid": 1, "tid": 2, "ts": 0})]).contains("never began")
        );
        assert!(
            broken(vec![
                json!({"ph": "B", "pid": 1, "tid": 2, "ts": 0, "name": "n"})
            ])
            .contains("never end")
        );
        assert!(
            broken(vec![
                json!({"ph": "Z", "pid": 1, "tid": 2, "ts": 0, "name": "n"})
            ])
            .contains("\"Z\"")
        );
        let counter =
            json!({"ph": "C", "pid": 1, "tid": 2, "ts": 0, "name": "n", "args": {"a": "b"}});
        assert!(broken(vec![counter]).contains("numbers"));
        let unnamed = json!({"traceEvents": [slice(0.0, 1.0)]});
        assert_eq!(trace_problems(&unnamed).len(), 2);
    }
}
