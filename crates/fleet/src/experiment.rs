//! The experiment: checked values, what they amount to in time, and a digest of their meaning.

use knobs::Overlay;
use ring::{digest, hmac};
use run::production::short_digest;
use serde_json::json;
use std::collections::BTreeMap;

/// The kind of thing that gets an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnitKind {
    Pod,
    Host,
    /// Each start of a server.
    Process,
}

impl UnitKind {
    /// As the file has it.
    pub fn name(self) -> &'static str {
        match self {
            UnitKind::Pod => "pod",
            UnitKind::Host => "host",
            UnitKind::Process => "process",
        }
    }
}

/// A group of settings.
#[derive(Clone, PartialEq)]
pub struct Arm {
    pub name: String,
    /// From 0 to 1.
    pub share: f64,
    /// Variables as they are set, secrets included.
    pub environment: BTreeMap<String, String>,
    /// Knobs of the environment.
    pub knobs: Overlay,
    /// Whether it has the settings of the first arm, so that no difference may be found.
    pub is_holdout: bool,
}

impl std::fmt::Debug for Arm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Arm({} {})", self.name, self.share)
    }
}

impl Arm {
    /// The variables that the file sets. `LD_PRELOAD` for an allocator is the caller's: it depends on the machine.
    pub fn variables(&self) -> BTreeMap<String, String> {
        let mut variables = self.environment.clone();
        variables.extend(self.knobs.variables());
        variables
    }
}

/// The limits of an arm.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Guardrails {
    /// Share of failed requests, from 0 to 1.
    pub errors: Option<f64>,
    /// p99 of the response time against the first arm: 0.2 is 20 % more.
    pub p99: Option<f64>,
    /// Memory against the first arm, likewise.
    pub memory: Option<f64>,
    /// Starts of processes again, of a unit in a day.
    pub restarts: Option<f64>,
}

/// An experiment. Times are whole seconds, instants in Unix time.
#[derive(Clone, PartialEq)]
pub struct Experiment {
    pub name: String,
    /// The key of the draw.
    pub key: String,
    pub unit: UnitKind,
    /// A unit that starts again within one period gets the same arm.
    pub period_s: i64,
    pub starts_s: i64,
    pub lasts_s: i64,
    pub looks: u32,
    /// Time over which series are summed up.
    pub slice_s: i64,
    /// The first one has the settings that run today.
    pub arms: Vec<Arm>,
    pub guardrails: Guardrails,
}

impl std::fmt::Debug for Experiment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Experiment({} {:?})", self.name, self.arms)
    }
}

impl Experiment {
    /// The instant at which it is over.
    pub fn ends_s(&self) -> i64 {
        self.starts_s + self.lasts_s
    }

    /// The period of an instant within the experiment.
    pub fn period_at(&self, now_s: i64) -> Option<u64> {
        let within = (self.starts_s..self.ends_s()).contains(&now_s);
        within.then(|| ((now_s - self.starts_s) / self.period_s) as u64)
    }

    /// The instant of a look, counted from 1.
    pub fn look_s(&self, look: u32) -> i64 {
        self.starts_s + self.lasts_s * i64::from(look) / i64::from(self.looks)
    }

    /// How many looks are completed.
    pub fn looks_done(&self, now_s: i64) -> u32 {
        let done = (1..=self.looks).take_while(|&look| self.look_s(look) <= now_s);
        done.count() as u32
    }

    /// Whole slices before an instant, at most those of the experiment.
    pub fn slices_before(&self, at_s: i64) -> usize {
        ((at_s.min(self.ends_s()) - self.starts_s).max(0) / self.slice_s) as usize
    }

    /// An arm's place, by its name.
    pub fn arm(&self, name: &str) -> Option<usize> {
        self.arms.iter().position(|arm| arm.name == name)
    }

    /// The place of the holdout.
    pub fn holdout(&self) -> Option<usize> {
        self.arms.iter().position(|arm| arm.is_holdout)
    }

    /// SHA-256 of the values in hexadecimal digits. Comments and layout of the file are not part of it; any other change is another
    /// experiment.
    pub fn digest(&self) -> String {
        let arms = self.arms.iter().map(|arm| {
            let chosen: Vec<_> = arm.knobs.chosen().into_iter().map(|one| one.knob).collect();
            let allocator = arm.knobs.allocator().map(knobs::Allocator::name);
            json!([arm.name, arm.share, arm.variables(), chosen, allocator])
        });
        // An experiment without a holdout has the digest that it had before there were holdouts.
        let arms = arms.chain(self.holdout().map(|place| json!(["holdout", place])));
        let limits = &self.guardrails;
        let mut guardrails = vec![limits.errors, limits.p99, limits.memory];
        // An experiment without this limit has the digest that it had before there was one.
        guardrails.extend(limits.restarts.map(Some));
        let meaning = json!([
            "powerband experiment 1",
            self.name,
            hex(hmac::sign(&self.hmac_key(), b"key").as_ref()),
            self.unit.name(),
            [self.period_s, self.starts_s, self.lasts_s, self.slice_s],
            self.looks,
            arms.collect::<Vec<_>>(),
            guardrails,
        ]);
        hex(digest::digest(&digest::SHA256, meaning.to_string().as_bytes()).as_ref())
    }

    /// The first digits of the digest, which labels have.
    pub fn short_digest(&self) -> String {
        short_digest(&self.digest())
    }

    pub(crate) fn hmac_key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, self.key.as_bytes())
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
