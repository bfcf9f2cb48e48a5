//! A knob's value: text in, what is typed and what the variable holds out.

use crate::Wrong;
use crate::knob::{Kind, Knob};

/// The word that takes a knob back to what there is without it.
pub(crate) const DEFAULT: &str = "default";

/// Characters of a version.
const LONGEST_VERSION: usize = 32;

/// A checked value.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Value {
    /// In its shortest form, as it could be typed.
    pub typed: String,
    /// What the variable holds.
    pub set: String,
}

impl Value {
    /// Reads a value of a knob.
    ///
    /// # Errors
    /// What is wrong with it, and what the knob takes.
    pub fn parse(knob: &Knob, text: &str) -> Result<Value, Wrong> {
        let text = text.trim();
        // Ruby, glibc and jemalloc take an empty variable as one that is not there, which a variable that the
        // application's own environment has cannot be made to be.
        if text == DEFAULT && knob.name != "allocator" {
            return Ok(Value::unset());
        }
        match knob.kind {
            Kind::Whole { least, most, .. } => {
                let number: u64 = text.parse().map_err(|_| knob.refuse("no whole number"))?;
                knob.between(number, least, most)?;
                Ok(Value::alike(number.to_string()))
            }
            Kind::Counts { least, most, .. } => knob.counts(text, least, most),
            Kind::Size { least, most } => {
                let bytes = bytes(text).map_err(|what| knob.refuse(what))?;
                knob.between(bytes, least, most)?;
                Ok(Value {
                    typed: size(bytes),
                    set: bytes.to_string(),
                })
            }
            Kind::Milliseconds { least, most } => {
                let time = humantime::parse_duration(text)
                    .map_err(|_| knob.refuse("no time with its unit"))?;
                if time.subsec_nanos() % 1_000_000 != 0 {
                    return Err(knob.refuse("no whole number of milliseconds"));
                }
                let number = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                knob.between(number, least, most)?;
                Ok(Value {
                    typed: format!("{number}ms"),
                    set: number.to_string(),
                })
            }
            Kind::Number { over, most, zero } => {
                let number: f64 = text.parse().map_err(|_| knob.refuse("no number"))?;
                let allowed = (number > over && number <= most) || (zero && number == 0.0);
                if !allowed {
                    return Err(knob.refuse("out of range"));
                }
                // Not "-0", which is a number too.
                Ok(Value::alike((number + 0.0).to_string()))
            }
            Kind::Switch => match text {
                "on" | "true" | "yes" | "1" => Ok(Value::switch(true)),
                "off" | "false" | "no" | "0" => Ok(Value::switch(false)),
                _ => Err(knob.refuse("neither on nor off")),
            },
            Kind::OneOf(words) => match words.iter().find(|word| **word == text) {
                Some(word) => Ok(Value::alike((*word).to_owned())),
                None => Err(knob.refuse("unknown")),
            },
            Kind::Text => Value::text(text),
        }
    }

    /// Of a variable that may hold anything.
    pub(crate) fn text(text: &str) -> Result<Value, Wrong> {
        if text.chars().any(char::is_control) {
            return Err(Wrong::new(
                "it holds a control character",
                "write it on one line, of characters that can be seen",
            ));
        }
        Ok(Value::alike(text.to_owned()))
    }

    /// Of a gem: `6.6` is any of that series, `6.6.0` that one.
    pub(crate) fn version(text: &str) -> Result<Value, Wrong> {
        let text = text.trim();
        if text == DEFAULT {
            return Ok(Value::unset());
        }
        let number =
            |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric());
        let begins = text.starts_with(|c: char| c.is_ascii_digit());
        match begins && text.len() <= LONGEST_VERSION && text.split('.').all(number) {
            true => Ok(Value::alike(text.to_owned())),
            false => Err(Wrong::new(
                "no version",
                "give 6.6 for the newest of that series that is installed, 6.6.0 for that one, or default",
            )),
        }
    }

    /// What holds without the knob.
    fn unset() -> Value {
        Value {
            typed: DEFAULT.to_owned(),
            set: String::new(),
        }
    }

    fn alike(text: String) -> Value {
        Value {
            typed: text.clone(),
            set: text,
        }
    }

    fn switch(on: bool) -> Value {
        Value {
            typed: if on { "on" } else { "off" }.to_owned(),
            set: if on { "1" } else { "0" }.to_owned(),
        }
    }
}

impl Knob {
    fn refuse(&self, what: impl Into<String>) -> Wrong {
        Wrong::new(what, format!("give {}", self.takes()))
    }

    fn between(&self, number: u64, least: u64, most: u64) -> Result<(), Wrong> {
        if (least..=most).contains(&number) {
            Ok(())
        } else {
            Err(self.refuse("out of range"))
        }
    }

    fn counts(&self, text: &str, least: u64, most: u64) -> Result<Value, Wrong> {
        let mut parts: Vec<&str> = text.split(',').map(str::trim).collect();
        let ends = parts
            .pop_if(|last| ["off", "false"].contains(last))
            .is_some();
        let mut set = Vec::new();
        for part in parts {
            let number: u64 = part
                .parse()
                .map_err(|_| self.refuse("no whole numbers with commas"))?;
            self.between(number, least, most)?;
            set.push(number.to_string());
        }
        set.extend(ends.then(|| "false".to_owned()));
        let set = set.join(",");
        let typed = match set.as_str() {
            "false" => "off".to_owned(),
            set => set.to_owned(),
        };
        Ok(Value { typed, set })
    }

    /// What it takes, in words, such as `a whole number of arenas from 1 to 4096`.
    pub fn takes(&self) -> String {
        match self.kind {
            Kind::Whole { least, most, of } => {
                format!("a whole number of {of} from {least} to {most}")
            }
            Kind::Counts { least, most, of } => format!(
                "off, or whole numbers of {of} from {least} to {most} with commas, of which false may be the last"
            ),
            Kind::Size { least, most } => {
                format!(
                    "a size with its unit from {} to {}",
                    size(least),
                    size(most)
                )
            }
            Kind::Milliseconds { least, most } => {
                format!("a time with its unit from {least}ms to {most}ms")
            }
            Kind::Number { over, most, zero } => {
                let or = if zero { "0, or " } else { "" };
                format!("{or}a number over {over} and up to {most}")
            }
            Kind::Switch => "on or off".to_owned(),
            Kind::OneOf(words) => format!("one of {}", words.join(", ")),
            Kind::Text => "text; with commas in double quotes".to_owned(),
        }
    }
}

fn bytes(text: &str) -> Result<u64, String> {
    if text.parse::<f64>().is_ok() {
        return Err("a size without a unit".to_owned());
    }
    text.parse::<bytesize::ByteSize>()
        .map(|size| size.as_u64())
        .map_err(|_| "no size".to_owned())
}

/// Bytes as they are typed: in the largest unit that divides them.
#[must_use]
pub fn size(bytes: u64) -> String {
    for (unit, name) in [
        (1 << 40, "TiB"),
        (1 << 30, "GiB"),
        (1 << 20, "MiB"),
        (1 << 10, "KiB"),
    ] {
        if bytes > 0 && bytes.is_multiple_of(unit) {
            return format!("{}{name}", bytes / unit);
        }
    }
    format!("{bytes}B")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::find;

    fn parsed(name: &str, text: &str) -> Result<(String, String), String> {
        let value = Value::parse(find(name).unwrap(), text).map_err(|w| w.to_string())?;
        Ok((value.typed, value.set))
    }

    #[test]
    fn a_value_is_typed_in_one_way_and_set_in_another() {
        let both = |typed: &str, set: &str| Ok((typed.to_owned(), set.to_owned()));
        assert_eq!(
            parsed("gc.malloc_limit", "32 MiB"),
            both("32MiB", "33554432")
        );
        assert_eq!(
            parsed("gc.malloc_limit", "16MB"),
            both("15625KiB", "16000000")
        );
        assert_eq!(parsed("gc.heap_growth_factor", "1.10"), both("1.1", "1.1"));
        assert_eq!(parsed("thread_timeslice", "10ms"), both("10ms", "10"));
        assert_eq!(parsed("yjit", "yes"), both("on", "1"));
        let reforks = "pitchfork.refork_after";
        assert_eq!(parsed(reforks, "50, 100"), both("50,100", "50,100"));
        assert_eq!(parsed(reforks, "50,false"), both("50,false", "50,false"));
        assert_eq!(parsed(reforks, "false"), both("off", "false"));
        assert_eq!(parsed("malloc_arena_max", "default"), both("default", ""));
        assert_eq!(
            parsed("gc.heap_oldobject_limit_factor", "-0"),
            both("0", "0")
        );
    }

    #[test]
    fn what_is_wrong_names_what_is_taken() {
        for (name, text, said) in [
            ("gc.malloc_limit", "32", "without a unit"),
            ("gc.malloc_limit", "many", "from 1KiB to 1TiB"),
            ("gc.malloc_limit", "1B", "out of range"),
            ("gc.heap_growth_factor", "1", "over 1"),
            ("gc.heap_growth_factor", "NaN", "out of range"),
            ("gc.heap_free_slots_min_ratio", "0", "over 0 and up to 1"),
            ("malloc_arena_max", "0", "from 1 to 4096"),
            ("malloc_arena_max", "-1", "no whole number"),
            ("pitchfork.refork_after", "50,,100", "no whole numbers"),
            ("pitchfork.refork_after", "false,50", "no whole numbers"),
            ("pitchfork.refork_after", "0", "from 1 to"),
            ("thread_timeslice", "10", "unit"),
            ("thread_timeslice", "1500us", "whole number of milliseconds"),
            ("allocator", "default", "glibc, jemalloc"),
            ("yjit", "maybe", "on or off"),
            ("malloc_conf", "a\nb", "control"),
        ] {
            let message = parsed(name, text).unwrap_err();
            assert!(message.contains(said), "{name}={text}: {message}");
        }
    }
}
