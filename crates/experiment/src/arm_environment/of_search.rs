//! The values that a search may set: a Ruby of the search must take each, and those that do not are not tried with it.

use super::{Against, ArmEnvironments, Refusal};
use crate::error::Stopped;
use crate::request::{Arm, Experiment, SearchKnob};
use knobs::{Overlay, RUBY};
use std::collections::BTreeSet;
use std::fmt;

/// A value that one of the Rubies does not take, though another does or it is a usual one.
pub struct RejectedValue {
    /// As the knob `ruby` has it; `None` for the one that runs today.
    pub ruby: Option<String>,
    pub knob: String,
    pub value: String,
    /// What this Ruby says of the value, for the user, without secrets.
    pub what: String,
}

impl RejectedValue {
    /// Whether a server with these knobs would have both.
    pub fn is_in(&self, overlay: &Overlay) -> bool {
        let value = Overlay::of(&[(&self.knob, &self.value)]);
        let runs = match &self.ruby {
            None => overlay.ruby().is_none(),
            Some(named) => overlay.ruby() == Some(named),
        };
        runs && value.is_ok_and(|value| overlay.holds(&value))
    }

    /// For the user.
    pub fn its_ruby(&self) -> String {
        match &self.ruby {
            None => "today's Ruby".to_owned(),
            Some(named) => format!("ruby={named}"),
        }
    }
}

/// Without the value, which may be a secret.
impl fmt::Debug for RejectedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl ArmEnvironments {
    /// Checks each value with each Ruby, and keeps what does not go together; what is wrong with a Ruby, or with all of them.
    pub(super) fn check_search(
        &mut self,
        against: &Against<'_>,
    ) -> Result<BTreeSet<String>, Stopped> {
        let settings = against.experiment.baseline;
        let settings = settings.unwrap_or(against.experiment.kind.defaults());
        let setting = |set: &[(&str, &str)]| Some(Arm::with(settings, Overlay::of(set).ok()?));
        let values = || each(against.experiment);
        let rubies = || {
            let named = values().filter(|(knob, _)| knob.name == RUBY);
            named.map(|(_, value)| (RUBY, value))
        };
        let mut wrong = BTreeSet::new();
        let mut refuse = |why: Vec<Refusal>| wrong.extend(why.iter().map(ToString::to_string));
        for ruby in rubies() {
            if let Some(arm) = setting(&[ruby]) {
                refuse(self.wrong_with(&arm, against)?);
            }
        }
        for (knob, value) in values().filter(|(knob, _)| knob.name != RUBY) {
            let name = knob.name.as_str();
            let mut by_ruby = Vec::new();
            for ruby in std::iter::once(None).chain(rubies().map(Some)) {
                let set: Vec<_> = ruby.into_iter().chain([(name, value)]).collect();
                if let Some(arm) = setting(&set) {
                    by_ruby.push((ruby, self.wrong_with(&arm, against)?));
                }
            }
            let may_be_apart = knob.usual || by_ruby.iter().any(|(_, why)| why.is_empty());
            for (ruby, why) in by_ruby {
                match by_this_ruby(&why) {
                    Some(what) if may_be_apart => self.apart.push(RejectedValue {
                        ruby: ruby.map(|(_, named)| named.to_owned()),
                        knob: name.to_owned(),
                        value: value.to_owned(),
                        what,
                    }),
                    _ => refuse(why),
                }
            }
        }
        Ok(wrong)
    }

    /// The sentences for the user about values that are not tried with each Ruby, each once.
    pub fn left_out(&self) -> BTreeSet<String> {
        let sentence = |apart: &RejectedValue| {
            format!("not searched with {}: {}", apart.its_ruby(), apart.what)
        };
        self.apart.iter().map(sentence).collect()
    }
}

/// What is wrong, where that is for this Ruby alone to say.
fn by_this_ruby(why: &[Refusal]) -> Option<String> {
    let what = |refusal: &Refusal| match refusal {
        Refusal::ByThisRuby { what, .. } => Some(what.clone()),
        Refusal::ByAny(_) => None,
    };
    let all: Vec<String> = why.iter().map(what).collect::<Option<_>>()?;
    (!all.is_empty()).then(|| all.join("; "))
}

/// Each value by itself.
pub(super) fn values(experiment: &Experiment) -> impl Iterator<Item = Overlay> + '_ {
    each(experiment).filter_map(|(knob, value)| Overlay::of(&[(&knob.name, value)]).ok())
}

fn each(experiment: &Experiment) -> impl Iterator<Item = (&SearchKnob, &str)> {
    let knobs = experiment.knobs.iter();
    knobs.flat_map(|knob| knob.values.iter().map(move |value| (knob, value.as_str())))
}
