//! What one configuration sets: in the server's environment, in programs' configurations, in commands and templates.

use crate::allocator::{Allocator, PRELOAD};
use crate::knob::{Place, Program};
use crate::names::{ENV, GEM, POD_CPUS, POD_MEMORY, PUMA, RUBY, VALUE};
use crate::secret::shown_of;
use crate::value::Value;
use crate::{Wrong, catalogue, reserved};
use std::collections::BTreeMap;
use std::fmt;

/// Knobs whose variable depends on the machine or on the application's own environment.
const COMPOSED: [&str; 3] = ["allocator", POOL, RUBY];
/// Another Gemfile.
const GEMFILE: &str = "gemfile";
/// Connections of each process: no variable by itself.
pub const POOL: &str = "pool";

/// Characters of a name beyond which it is cut to a hash: it is part of file names.
const LONGEST_NAME: usize = 48;

/// Knobs that only one allocator looks at.
const OF_ALLOCATORS: [(&str, Allocator); 7] = [
    ("malloc_arena_max", Allocator::Glibc),
    ("malloc_conf", Allocator::Jemalloc),
    ("tcmalloc.release_rate", Allocator::Tcmalloc),
    ("tcmalloc.thread_cache", Allocator::Tcmalloc),
    ("tcmalloc.aggressive_decommit", Allocator::Tcmalloc),
    ("mimalloc.purge_delay", Allocator::Mimalloc),
    ("mimalloc.large_pages", Allocator::Mimalloc),
];

/// The only allocator that looks at this knob, where there is one.
pub fn of_allocator(knob: &str) -> Option<Allocator> {
    let whose = OF_ALLOCATORS.into_iter().find(|(name, _)| *name == knob);
    whose.map(|(_, allocator)| allocator)
}

/// Knobs and their values, by the knobs' names. What is shown of it holds no secret.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Overlay {
    set: BTreeMap<String, Value>,
}

/// One knob of a configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// Its name as typed.
    pub knob: String,
    /// Its value as typed, or that it is shown nowhere.
    pub value: String,
    /// The variable that it sets.
    pub variable: String,
}

impl Overlay {
    /// Of all these, as `(name, text)`.
    ///
    /// # Errors
    /// The first that [`set`](Overlay::set) refuses.
    pub fn of(settings: &[(&str, &str)]) -> Result<Overlay, Wrong> {
        let mut overlay = Overlay::default();
        for (name, text) in settings {
            overlay.set(name, text)?;
        }
        Ok(overlay)
    }

    /// Sets a knob, whatever it was before.
    ///
    /// # Errors
    /// There is no such knob, or it does not take this value.
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), Wrong> {
        let of_puma = format!("{GEM}{PUMA}");
        let name = if name == PUMA { of_puma.as_str() } else { name };
        let value = if let Some(variable) = name.strip_prefix(ENV) {
            reserved::allowed(variable)?;
            Value::text(text)?
        } else if let Some(placeholder) = name.strip_prefix(VALUE) {
            reserved::placeholder(placeholder)?;
            Value::text(text)?
        } else if let Some(gem) = name.strip_prefix(GEM) {
            reserved::gem(gem)?;
            Value::version(text)?
        } else {
            let knob = catalogue::find(name).ok_or_else(|| crate::unknown(name))?;
            Value::parse(knob, text)?
        };
        self.set.insert(name.to_owned(), value);
        Ok(())
    }

    /// Whether nothing is set.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty()
    }

    /// The allocator that is asked for.
    pub fn allocator(&self) -> Option<Allocator> {
        Allocator::named(&self.set.get("allocator")?.set)
    }

    /// The allocator without which a knob means nothing, and that knob.
    pub fn needs(&self) -> Option<(&'static str, Allocator)> {
        let set = |knob: &str| {
            self.set
                .get(knob)
                .is_some_and(|value| !value.set.is_empty())
        };
        if let Some(allocator) = self.allocator() {
            return Some(("allocator", allocator));
        }
        OF_ALLOCATORS.into_iter().find(|(knob, _)| set(knob))
    }

    /// Every knob, in the order of their names.
    pub fn chosen(&self) -> Vec<Chosen> {
        let chosen = |(name, value): (&String, &Value)| {
            let variable = variable(name);
            Chosen {
                value: shown_of(name, &variable, &value.typed).to_owned(),
                knob: name.clone(),
                variable,
            }
        };
        self.set.iter().map(chosen).collect()
    }

    /// The variables and what they hold, secrets included. `LD_PRELOAD` is not among them where an allocator was asked
    /// for: what it is to hold depends on the machine ([`crate::preload`]). Nor is that of a pool ([`Overlay::pool`]).
    pub fn variables(&self) -> BTreeMap<String, String> {
        let of_environment = |name: &str| {
            !COMPOSED.contains(&name)
                && catalogue::find(name).map_or_else(
                    || name.starts_with(ENV),
                    |knob| knob.place == Place::Environment,
                )
        };
        self.set
            .iter()
            .filter(|(name, _)| of_environment(name))
            .map(|(name, value)| (variable(name), value.set.clone()))
            .collect()
    }

    /// What goes into the configuration of a program, by directive. One that is set to `default` is not among them.
    pub fn directives(&self, program: Program) -> BTreeMap<&'static str, String> {
        let of_program = |(name, value): (&String, &Value)| {
            let knob = catalogue::find(name)?;
            let there = knob.place == Place::Configuration(program) && !value.set.is_empty();
            there.then(|| (knob.variable, value.set.clone()))
        };
        self.set.iter().filter_map(of_program).collect()
    }

    /// The programs whose configuration it sets something in, with a knob that does.
    pub fn programs(&self) -> BTreeMap<Program, &'static str> {
        let program = |knob: &'static crate::Knob| match knob.place {
            Place::Configuration(program) => Some((program, knob.name)),
            Place::Environment | Place::Group => None,
        };
        self.of_catalogue().filter_map(program).collect()
    }

    /// What stands for `{NAME}` in commands and templates.
    pub fn placeholders(&self) -> BTreeMap<String, String> {
        let placeholder = |(name, value): (&String, &Value)| {
            Some((name.strip_prefix(VALUE)?.to_owned(), value.set.clone()))
        };
        self.set.iter().filter_map(placeholder).collect()
    }

    /// Connections that each process's pool may hold.
    pub fn pool(&self) -> Option<u32> {
        self.set.get(POOL)?.set.parse().ok()
    }

    /// Cores that the server may use, fractions included.
    pub fn pod_cpus(&self) -> Option<f64> {
        self.set.get(POD_CPUS)?.set.parse().ok()
    }

    /// Bytes that the server's processes may have together.
    pub fn pod_memory(&self) -> Option<u64> {
        self.set.get(POD_MEMORY)?.set.parse().ok()
    }

    /// The Ruby that runs it, as it was named.
    pub fn ruby(&self) -> Option<&str> {
        let named = &self.set.get(RUBY)?.set;
        (!named.is_empty()).then_some(named)
    }

    /// The Gemfile that it runs with, as it was named.
    pub fn gemfile(&self) -> Option<&str> {
        let named = &self.set.get(GEMFILE)?.set;
        (!named.is_empty()).then_some(named)
    }

    /// The gems whose versions are set, and these.
    pub fn gems(&self) -> BTreeMap<String, String> {
        let gem = |(name, value): (&String, &Value)| {
            let gem = name.strip_prefix(GEM)?;
            (!value.set.is_empty()).then(|| (gem.to_owned(), value.set.clone()))
        };
        self.set.iter().filter_map(gem).collect()
    }

    /// The same with its `env.NAME` alone.
    #[must_use]
    pub fn of_free_variables(&self) -> Overlay {
        let mut set = self.set.clone();
        set.retain(|name, _| name.starts_with(ENV));
        Overlay { set }
    }

    /// Whether all that `other` sets is set here, to the same values.
    pub fn holds(&self, other: &Overlay) -> bool {
        let mut theirs = other.set.iter();
        theirs.all(|(name, value)| self.set.get(name) == Some(value))
    }

    /// The same without a knob, and without what means nothing when that is gone: the options of an allocator.
    #[must_use]
    pub fn without(&self, knob: &str) -> Overlay {
        let its_options =
            |name: &str| knob == "allocator" && of_allocator(name) == self.allocator();
        let mut set = self.set.clone();
        set.retain(|name, _| name != knob && (of_allocator(name).is_none() || !its_options(name)));
        Overlay { set }
    }

    /// Whether a switch is set to `on`.
    pub fn is_on(&self, knob: &str) -> bool {
        self.set.get(knob).is_some_and(|value| value.typed == "on")
    }

    /// The knobs that are in this catalogue, with what they set.
    pub fn of_catalogue(&self) -> impl Iterator<Item = &'static crate::Knob> {
        self.set.keys().filter_map(|name| catalogue::find(name))
    }

    /// What cannot be true of one server.
    pub fn contradictions(&self) -> Vec<Wrong> {
        let mut wrong = Vec::new();
        let Some(allocator) = self.allocator() else {
            wrong.extend(self.of_two_allocators());
            return wrong;
        };
        if self.set.contains_key(&format!("{ENV}{PRELOAD}")) {
            wrong.push(Wrong::new(
                format!(
                    "allocator={} and env.{PRELOAD} are the same variable",
                    allocator.name()
                ),
                "give one of them",
            ));
        }
        for (knob, whose) in OF_ALLOCATORS {
            if self.set.contains_key(knob) && allocator != whose {
                wrong.push(Wrong::new(
                    format!("{knob} means nothing to {}", allocator.name()),
                    format!("leave it out, or set allocator={}", whose.name()),
                ));
            }
        }
        wrong
    }

    /// Options of which no process can have both.
    fn of_two_allocators(&self) -> Option<Wrong> {
        let set = OF_ALLOCATORS
            .into_iter()
            .filter(|(knob, _)| self.set.get(*knob).is_some_and(|v| !v.set.is_empty()));
        let set: Vec<(&str, Allocator)> = set.collect();
        let (first, whose) = *set.first()?;
        let (other, others) = set.into_iter().find(|(_, other)| *other != whose)?;
        Some(Wrong::new(
            format!(
                "{first} is of {} and {other} of {}, and a process has one allocator",
                whose.name(),
                others.name()
            ),
            "leave one of them out",
        ))
    }

    /// A name of letters, digits, `.`, `_` and `-` for files and documents; empty where nothing is set. Overlays that differ
    /// only in a free value have the same name: a name that depended on the value would let a reader guess a secret.
    pub fn name(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        let spelt: Vec<String> = self
            .set
            .iter()
            .map(|(name, value)| match catalogue::is_free(name) {
                true => name.clone(),
                false => format!("{name}-{}", value.typed.replace(',', "_")),
            })
            .collect();
        let spelt = spelt.join("-");
        if spelt.len() <= LONGEST_NAME && spelt.chars().all(plain) {
            return spelt;
        }
        // XXH3 is specified, so that another build finds the trials of a run that it resumes.
        let digest = xxhash_rust::xxh3::xxh3_64(spelt.as_bytes());
        format!("knobs-{digest:016x}")
    }

    /// Whether a value is free text, which [`name`](Overlay::name) leaves out.
    pub fn has_free_value(&self) -> bool {
        self.set.keys().any(|name| catalogue::is_free(name))
    }
}

fn variable(name: &str) -> String {
    if let Some(variable) = name.strip_prefix(ENV) {
        return variable.to_owned();
    }
    if let Some(placeholder) = name.strip_prefix(VALUE) {
        return format!("{{{placeholder}}}");
    }
    if let Some(gem) = name.strip_prefix(GEM) {
        return format!("gem \"{gem}\"");
    }
    let knob = catalogue::find(name).expect("only known knobs are set");
    knob.variable.to_owned()
}

/// `gc.malloc_limit=32MiB, malloc_arena_max=2`, as tables show it.
impl fmt::Display for Overlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, chosen) in self.chosen().iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            write!(f, "{comma}{}={}", chosen.knob, chosen.value)?;
        }
        Ok(())
    }
}

/// The same: debug output holds no secret either.
impl fmt::Debug for Overlay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests;
