//! What a search comes to: the bounds, how it ended, the curve, and what to know before believing it.

use super::{DO_NOT_COUNT, LEAST, SETTLED, Saturated, Search, figure};
use crate::idle_threads;
use crate::layout::{GENERATOR_SHARE, can_spare_one};
use crate::rates::ADD_CAPACITY_AT;
use crate::rates::lengths::{self, Lengths};
use crate::rates::points::points;
use crate::rates::violations::ALPHA;
use capacity::{Ending, RateBounds, RateGoal};
use run::{RateEnding, RatePurpose, RateSearch, without_remedy};
use std::fmt::{self, Display, Formatter};

/// A longer budget lengthens windows up to about this, seconds.
const LONG_S: f64 = 30.0;

impl Search<'_> {
    /// `ended` is what ended the search early; what failed after it is among the warnings of `self`.
    pub(super) fn concluded(
        self,
        bounds: RateBounds,
        ended: Option<(RateEnding, String)>,
        saturated: Saturated,
        lengths: Lengths,
        goal: RateGoal,
    ) -> RateSearch {
        let ending = match (bounds.ending, &ended) {
            // Enough was known before.
            (Ending::Found, _) => RateEnding::Found,
            (_, Some((ending, _))) => *ending,
            (Ending::NotEven, _) => RateEnding::NotEven,
            (Ending::AtLeast, _) => RateEnding::AtLeast,
            (Ending::Generator, _) => RateEnding::GeneratorLate,
            (Ending::OutOfTime, _) => RateEnding::OutOfTime,
        };
        let out_of_reach = match bounds.met_per_s {
            None => (self.pages).out_of_reach(self.question.objective, self.question.seed),
            Some(_) => None,
        };
        let growing = self.growing(&bounds, saturated, lengths);
        let mut warnings: Vec<String> = ended.into_iter().map(|(_, why)| why).collect();
        // A longer search would find no more.
        if out_of_reach.is_none() {
            let more = self.warnings(&bounds, growing.as_ref(), saturated, lengths, goal);
            let trials = self.measured.iter().map(|m| &m.trial);
            let refused: Vec<&str> = trials.filter_map(|t| t.refused.as_deref()).collect();
            warnings.extend(more);
            warnings.extend(uncounted(&refused, &warnings));
        }
        warnings.extend(idle_threads::sentence(self.waited.iter().copied()));
        let redirects = self.station.generator.sender.take_redirects();
        warnings.extend(redirects.warnings());
        RateSearch {
            objective: self.question.objective,
            ending,
            met_per_s: bounds.met_per_s,
            decided: bounds.decided,
            broke_per_s: bounds.broke_per_s,
            low_per_s: bounds.low_per_s,
            high_per_s: bounds.high_per_s,
            confidence: 1.0 - ALPHA,
            saturated_per_s: Some(saturated.per_s),
            saturated_connections: u32::try_from(saturated.connections).ok(),
            doubted_per_s: bounds.doubted_per_s.filter(|_| bounds.met_per_s.is_some()),
            plan_for_per_s: growing.as_ref().and_then(Growing::plan_for_per_s),
            curve: points(&self.measured, goal.allowed, goal.full_s),
            redirects: redirects.pages(),
            took_s: self.began.elapsed().as_secs_f64(),
            trials: self.measured.into_iter().map(|m| m.trial).collect(),
            at_least: None,
            out_of_reach,
            warnings,
        }
    }

    fn warnings(
        &self,
        bounds: &RateBounds,
        growing: Option<&Growing>,
        saturated: Saturated,
        lengths: Lengths,
        goal: RateGoal,
    ) -> Vec<String> {
        let mut warnings = self.warnings.clone();
        if bounds.ending == Ending::Generator {
            warnings.push(format!(
                "the generator could not keep even {} requests a second; free this machine's cores",
                figure(goal.least_per_s)
            ));
        }
        // Below the share that is searched at most, or below what a window can judge.
        if bounds.ending == Ending::NotEven && goal.least_per_s > LEAST * goal.start_per_s * 1.001 {
            warnings.push(format!(
                "rates below {} a second were not tried: a window would hold too few requests; a longer --budget \
                 lengthens it",
                figure(goal.least_per_s)
            ));
        }
        if self.at_first.is_none() {
            warnings.push(
                "single requests failed even before the load: whether the server recovered between two windows is not \
                 known"
                    .to_owned(),
            );
        }
        warnings.extend(self.shares_a_core());
        if let Some(capped) = saturated.capped_per_s {
            warnings.push(format!(
                "{} a second met the objective in windows of {:.0} s, and does not count: {} clients that send without a pause are \
                 answered only {} times a second, so that at a higher rate the queue still grows when such windows end",
                figure(capped),
                lengths.full_s,
                saturated.connections,
                figure(saturated.per_s)
            ));
        }
        if bounds.contradictory {
            warnings.push(
                "a rate met the objective above one that did not, both with 95 % confidence: the server or the machine \
                 changed while it was measured"
                    .to_owned(),
            );
        }
        warnings.extend(growing.map(Growing::to_string));
        if let Some(met) = bounds.met_per_s.filter(|_| self.at_first.is_some()) {
            let allowed = self.question.objective.allowed_violation_rate();
            if met * lengths.full_s * allowed < 1.0 {
                warnings.push(format!(
                    "a window holds about {:.0} requests, too few for p{}: a longer --budget lengthens it",
                    met * lengths.full_s,
                    self.question.objective.percentile
                ));
            }
        }
        warnings
    }

    fn growing(
        &self,
        bounds: &RateBounds,
        saturated: Saturated,
        lengths: Lengths,
    ) -> Option<Growing> {
        let (rate_per_s, at_first) = bounds.met_per_s.zip(self.at_first)?;
        let settling_s = lengths::settling_s(at_first.as_secs_f64(), rate_per_s / saturated.per_s);
        let needed_s = SETTLED * settling_s;
        let window_s = lengths.full_s;
        (window_s < needed_s).then_some(Growing {
            rate_per_s,
            needed_s,
            window_s,
        })
    }

    /// The generator takes CPU from a server on the same cores.
    fn shares_a_core(&self) -> Option<String> {
        let generator = &self.station.generator;
        if !generator.cores.is_empty() || !generator.target.is_local() {
            return None;
        }
        let deciding = self
            .measured
            .iter()
            .filter(|m| m.trial.purpose == RatePurpose::Decide);
        let used = deciding.map(|m| m.trial.generator_cpu).fold(0.0, f64::max);
        let cores = host::cores::available().map_or(0, |cores| cores.affinity.len());
        shared(used, generator.server.is_some(), cores)
    }
}

/// A rate at which a queue takes longer to reach its steady length than a window lasts.
struct Growing {
    rate_per_s: f64,
    needed_s: f64,
    window_s: f64,
}

impl Growing {
    /// Where longer windows are out of a search's reach.
    fn plan_for_per_s(&self) -> Option<f64> {
        (self.needed_s >= LONG_S).then_some(ADD_CAPACITY_AT * self.rate_per_s)
    }
}

impl Display for Growing {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let needs = match self.needed_s {
            s if s < 120.0 => Some(format!("{s:.0} s")),
            s if s < 7_200.0 => Some(format!("{:.0} min", s / 60.0)),
            s if s.is_finite() => Some(format!("{:.0} h", s / 3_600.0)),
            _ => None,
        };
        let needs = needs.map_or_else(
            || "grows without end".to_owned(),
            |time| format!("grows for about {time} before it settles"),
        );
        let remedy = match self.plan_for_per_s() {
            None => "a longer --budget lengthens the windows".to_owned(),
            Some(rate) => format!("plan for at most {} (80 % of it)", figure(rate)),
        };
        write!(
            f,
            "at {} a second the server is so busy that its queue {needs}, and a window of this search lasted at most {:.0} s: if \
             that rate lasts longer, requests wait longer than measured; {remedy}",
            figure(self.rate_per_s),
            self.window_s
        )
    }
}

/// Windows that do not count, with the reason of the last; nothing where a warning has it. The reason's remedy is of a user who chose the
/// rate, which a search chooses itself.
fn uncounted(refused: &[&str], warnings: &[String]) -> Option<String> {
    let why = refused.last()?;
    let has_it = |warning: &String| warning.contains(DO_NOT_COUNT);
    let windows = run::counted(refused.len(), "window");
    let why = without_remedy(why);
    (!warnings.iter().any(has_it)).then(|| {
        format!("{windows} are left out, and the answer is that of the others; the reason of the last one: {why}")
    })
}

/// `cores`: of this machine.
fn shared(used: f64, started_here: bool, cores: usize) -> Option<String> {
    let remedy = match (started_here, can_spare_one(cores)) {
        (true, true) => "--generator-core true keeps a core free for it",
        (true, false) => {
            "the rate may be higher without that; with four cores or more the generator gets one that the server does not use"
        }
        (false, true) => "send the load from another machine, or keep a core free for it (taskset)",
        (false, false) => "send the load from another machine",
    };
    (used > GENERATOR_SHARE).then(|| {
        format!(
            "the load generator used up to {:.0} % of a core that the server could have used: {remedy}",
            100.0 * used
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_of_windows_that_do_not_count_is_said_once() {
        let late = "the generator started requests late";
        let said = uncounted(&[late, late], &["something else".to_owned()]).unwrap();
        assert_eq!(
            said,
            format!(
                "2 windows are left out, and the answer is that of the others; the reason of the last one: {late}"
            )
        );
        let with_remedy = format!("{late}; ask for a lower rate");
        assert_eq!(uncounted(&[&with_remedy, &with_remedy], &[]), Some(said));
        let ended = super::super::too_many(5, late);
        assert!(ended.ends_with(late), "{ended}");
        assert_eq!(uncounted(&[late; 5], &[ended]), None);
        assert_eq!(uncounted(&[], &[]), None);
    }

    #[test]
    fn a_queue_that_still_grows_has_the_time_that_it_takes() {
        let said = |needed_s| {
            let growing = Growing {
                rate_per_s: 127.0,
                needed_s,
                window_s: 10.0,
            };
            growing.to_string()
        };
        let hour = "at 127 a second the server is so busy that its queue grows for about 56 min before it settles, and a window";
        assert!(said(3_360.0).starts_with(hour), "{}", said(3_360.0));
        assert!(said(f64::INFINITY).contains("its queue grows without end, and"));
    }

    #[test]
    fn a_generator_that_takes_the_servers_cpu_is_reported_with_the_remedy() {
        assert_eq!(shared(0.01, true, 8), None);
        let said = shared(0.31, true, 4).unwrap();
        assert!(
            said.contains("31 % of a core") && said.contains("--generator-core true"),
            "{said}"
        );
        assert!(shared(0.31, false, 8).unwrap().contains("another machine"));
        let few = shared(0.31, true, 2).unwrap();
        assert!(
            !few.contains("--generator-core") && few.contains("with four cores or more"),
            "{few}"
        );
    }
}
