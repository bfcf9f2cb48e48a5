//! The values that a search may set: a Ruby of the search must take each, and those that do not are not tried with it.

use super::{Against, ArmEnvironments};
use crate::error::Stopped;
use crate::request::{Arm, Experiment};
use knobs::{Overlay, RUBY};
use std::collections::BTreeSet;

/// A value that one of the Rubies does not take, though another does.
#[derive(Debug, Clone)]
pub struct Apart {
    /// As the knob `ruby` has it; `None` for the one that runs today.
    pub ruby: Option<String>,
    pub knob: String,
    pub value: String,
    /// For the user, without secrets.
    pub told: String,
}

impl ArmEnvironments {
    /// Checks each value with each Ruby, and keeps what does not go together; what is wrong with a Ruby, or with all of them.
    pub(super) fn check_search(
        &mut self,
        against: &Against<'_>,
    ) -> Result<BTreeSet<String>, Stopped> {
        let settings = against.experiment.baseline;
        let settings = settings.unwrap_or(against.experiment.kind.defaults());
        let setting = |set: &[(&str, &str)]| Some(Arm::with(settings, overlay(set)?));
        let values = || each(against.experiment);
        let rubies = || values().filter(|(name, _)| *name == RUBY);
        let mut wrong = BTreeSet::new();
        for ruby in rubies() {
            if let Some(arm) = setting(&[ruby]) {
                wrong.extend(self.wrong_with(&arm, against)?);
            }
        }
        for (knob, value) in values().filter(|(name, _)| *name != RUBY) {
            let mut of_value = Vec::new();
            for ruby in std::iter::once(None).chain(rubies().map(Some)) {
                let set: Vec<_> = ruby.into_iter().chain([(knob, value)]).collect();
                if let Some(arm) = setting(&set) {
                    let why = self.wrong_with(&arm, against)?;
                    of_value.push((ruby, why));
                }
            }
            let taken = of_value.iter().any(|(_, why)| why.is_empty());
            for (ruby, why) in of_value {
                match why.first() {
                    Some(why) if taken => self.apart.push(Apart {
                        ruby: ruby.map(|(_, named)| named.to_owned()),
                        knob: knob.to_owned(),
                        value: value.to_owned(),
                        told: format!("not searched together: {why}"),
                    }),
                    _ => wrong.extend(why),
                }
            }
        }
        Ok(wrong)
    }
}

/// Each value by itself.
pub(super) fn values(experiment: &Experiment) -> impl Iterator<Item = Overlay> + '_ {
    each(experiment).filter_map(|one| overlay(&[one]))
}

fn each(experiment: &Experiment) -> impl Iterator<Item = (&str, &str)> {
    let knobs = experiment.knobs.iter();
    knobs.flat_map(|knob| {
        let values = knob.values.iter().map(String::as_str);
        values.map(|value| (knob.name.as_str(), value))
    })
}

/// `None` where a value is none of its knob's.
fn overlay(set: &[(&str, &str)]) -> Option<Overlay> {
    let mut overlay = Overlay::default();
    for (name, value) in set {
        overlay.set(name, value).ok()?;
    }
    Some(overlay)
}
