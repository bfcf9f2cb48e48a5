//! Between arms and the points of a search.

use super::super::answer::limits;
use super::super::candidate::CandidateArm;
use super::super::candidates::fits;
use super::super::known;
use super::constraints::{
    PRELOAD, SETTINGS, THREADS, WORKERS, forbidden, gives_others_their_meaning, taken_by_a_ruby,
    without_choice,
};
use crate::arm_environment::RejectedValue;
use crate::error::Stopped;
use crate::judge;
use crate::procedure::Procedure;
use crate::request::{Arm, SearchKnob};
use knobs::{Allocator, Overlay};
use run::{
    Document, KnobEffect, Metric, Ratio, SearchedKnob, Settings, StageTrials, Step, counted,
};
use search::{
    Effect, End, Estimate, Factor, Fate, Forbidden, Foreseen, Found, How, LeftOut, Outcome, Point,
    Proposals, Space,
};

/// What is searched, with what its levels stand for.
#[derive(Debug)]
pub struct Searched {
    pub space: Space,
    workers: Vec<u16>,
    threads: Vec<u16>,
    knobs: Vec<SearchKnob>,
    candidates: Vec<Settings>,
    baseline: Settings,
    /// The most that what was named may serve at once; 0 where nothing was.
    named_concurrency: u32,
    /// What a command has in its environment today; `None` where a server is searched.
    of_command: Option<Overlay>,
}

/// Workers and threads that the user wants to be searched. They are searched even where the model has no candidate with them.
#[derive(Debug, Clone, Copy, Default)]
struct Named<'a> {
    workers: &'a [u16],
    threads: &'a [u16],
    /// The allocator that a command's baseline names.
    allocator: Option<Allocator>,
}

impl Searched {
    pub fn over(
        procedure: &Procedure<'_>,
        baseline: &Arm,
        candidates: &[CandidateArm],
    ) -> Result<Searched, Stopped> {
        let experiment = procedure.experiment;
        let candidates: Vec<Settings> = candidates.iter().map(|e| e.arm.settings).collect();
        let today = baseline.settings;
        // What would make the machine swap is no candidate, and no neighbour of one.
        let fitting = |levels: &Option<Vec<u16>>, at: &dyn Fn(u16) -> Settings| -> Vec<u16> {
            let levels = levels.iter().flatten().copied();
            levels.filter(|level| fits(procedure, at(*level))).collect()
        };
        let workers = fitting(&experiment.workers, &|workers| Settings {
            workers,
            ..today
        });
        let threads = fitting(&experiment.threads, &|threads| Settings {
            threads,
            ..today
        });
        let named = Named {
            workers: &workers,
            threads: &threads,
            allocator: None,
        };
        let apart = procedure.trials.rejected_values();
        let knobs = taken_by_a_ruby(experiment.knobs.clone(), apart);
        let mut searched = Searched::of(today, candidates, named, knobs, apart)?;
        let without_choice = without_choice(experiment.kind);
        searched.space.forbidden.extend(without_choice);
        Ok(searched)
    }

    /// The knobs of a command, which has no processes and threads that are known.
    pub fn of_command(procedure: &Procedure<'_>, today: &Overlay) -> Result<Searched, Stopped> {
        let apart = procedure.trials.rejected_values();
        let knobs = taken_by_a_ruby(procedure.experiment.knobs.clone(), apart);
        let settings = Settings {
            workers: 0,
            ..procedure.store.document.plan.baseline
        };
        let named = Named {
            allocator: today.allocator(),
            ..Named::default()
        };
        let mut searched = Searched::of(settings, Vec::new(), named, knobs, apart)?;
        searched.of_command = Some(today.clone());
        let space = &mut searched.space;
        space.factors[PRELOAD].levels.truncate(1);
        space.factors[PRELOAD].baseline = 0;
        space
            .forbidden
            .retain(|Forbidden(levels)| levels.iter().all(|(factor, _)| *factor != PRELOAD));
        for factor in &mut space.factors[SETTINGS..] {
            // Runs are few: each value is tried in the company that it will have.
            factor.how = How::Raced;
        }
        Ok(searched)
    }

    /// Values in addition to today's.
    pub fn values(&self) -> usize {
        self.knobs.iter().map(|knob| knob.values.len()).sum()
    }

    /// Whether a command is run in place of a server.
    pub fn is_of_command(&self) -> bool {
        self.of_command.is_some()
    }

    /// Whether a race of all values compares all that there is.
    pub fn has_one_knob(&self) -> bool {
        self.knobs.len() == 1
    }

    /// The values that none of these configurations has.
    pub fn without_trial(&self, fates: &[Fate]) -> Vec<String> {
        let tried =
            |factor: usize, level: usize| fates.iter().any(|fate| fate.point.0[factor] == level);
        let of_knob = |(at, knob): (usize, &SearchKnob)| {
            let values = knob.values.iter().enumerate();
            let open = values.filter(|(level, _)| !tried(SETTINGS + at, level + 1));
            let open = open.map(|(_, value)| format!("{}={}", knob.name, shown(&knob.name, value)));
            open.collect::<Vec<_>>()
        };
        self.knobs.iter().enumerate().flat_map(of_knob).collect()
    }

    fn of(
        baseline: Settings,
        candidates: Vec<Settings>,
        named: Named<'_>,
        knobs: Vec<SearchKnob>,
        apart: &[RejectedValue],
    ) -> Result<Searched, Stopped> {
        let all = || candidates.iter().chain([&baseline]);
        let sorted = |levels: &mut dyn Iterator<Item = u16>| {
            let mut levels: Vec<u16> = levels.collect();
            levels.sort_unstable();
            levels.dedup();
            levels
        };
        let workers = sorted(
            &mut all()
                .map(|s| s.workers)
                .chain(named.workers.iter().copied()),
        );
        let threads = sorted(
            &mut all()
                .map(|s| s.threads)
                .chain(named.threads.iter().copied()),
        );
        let most = |levels: &[u16]| levels.iter().copied().max().unwrap_or(1).max(1);
        let named_concurrency = match named.workers.is_empty() && named.threads.is_empty() {
            true => 0,
            false => u32::from(most(&workers)) * u32::from(most(&threads)),
        };
        let modelled = |name: &str, levels: Vec<String>, baseline: usize| Factor {
            name: name.to_owned(),
            levels,
            baseline,
            how: How::Modelled,
        };
        let texts = |levels: &[u16]| levels.iter().map(u16::to_string).collect();
        let at = |levels: &[u16], level: u16| levels.iter().position(|l| *l == level).unwrap_or(0);
        let mut factors = vec![
            modelled("workers", texts(&workers), at(&workers, baseline.workers)),
            modelled("threads", texts(&threads), at(&threads, baseline.threads)),
            modelled(
                "preload",
                vec!["false".to_owned(), "true".to_owned()],
                usize::from(baseline.preload),
            ),
        ];
        factors.extend(knobs.iter().map(|knob| {
            Factor {
                name: knob.name.clone(),
                levels: std::iter::once("as today".to_owned())
                    .chain(knob.values.iter().cloned())
                    .collect(),
                baseline: 0,
                how: How::Raced,
            }
        }));
        let mut space = Space {
            factors,
            forbidden: forbidden(&workers, &knobs, apart, named.allocator),
        };
        let today = space.baseline();
        for (at, knob) in knobs.iter().enumerate() {
            // A screen runs round what runs today, so what means nothing there is raced: an option of another allocator, a
            // value that only another Ruby takes.
            let alone = space.allows(&today.with(SETTINGS + at, 1));
            if knob.values.len() == 1 && alone && !gives_others_their_meaning(&knob.name) {
                space.factors[SETTINGS + at].how = How::Screened;
            }
        }
        Ok(Searched {
            space,
            workers,
            threads,
            knobs,
            candidates,
            baseline,
            named_concurrency,
            of_command: None,
        })
    }

    /// The most requests that the model's configurations, and those of what was named, serve at once. Clients beyond what an arm
    /// serves only wait.
    pub fn most_concurrency(&self) -> u32 {
        let all = self.candidates.iter().chain([&self.baseline]);
        let of_model = all.map(Settings::concurrency).max().unwrap_or(1);
        of_model.max(self.named_concurrency)
    }

    pub fn screened(&self) -> usize {
        self.space.searched(How::Screened).count()
    }

    pub fn arm(&self, point: &Point) -> Arm {
        let workers = self.workers[point.0[WORKERS]];
        let settings = Settings {
            workers,
            threads: self.threads[point.0[THREADS]],
            preload: workers > 0 && point.0[PRELOAD] == 1,
        };
        let set = self.knobs.iter().zip(&point.0[SETTINGS..]);
        let set = set.filter_map(|(knob, level)| {
            let value = knob.values.get(level.checked_sub(1)?)?;
            Some((knob.name.as_str(), value.as_str()))
        });
        let mut overlay = self.of_command.clone().unwrap_or_default();
        for (name, value) in set {
            let set = overlay.set(name, value);
            set.expect("checked when it was asked for");
        }
        let mut arm = Arm::with(settings, overlay);
        if self.of_command.is_some() {
            arm = arm.of_command();
        }
        if arm.overlay.has_free_value() {
            let levels = point.0[SETTINGS..].iter().map(usize::to_string);
            let levels: Vec<String> = levels.collect();
            arm.name = format!("{}-{}", arm.name, levels.join("."));
        }
        arm
    }

    fn point(&self, settings: Settings) -> Option<Point> {
        let at = |levels: &[u16], level: u16| levels.iter().position(|l| *l == level);
        let mut levels = vec![
            at(&self.workers, settings.workers)?,
            at(&self.threads, settings.threads)?,
            usize::from(settings.preload && settings.workers > 0),
        ];
        levels.resize(self.space.factors.len(), 0);
        Some(Point(levels))
    }

    /// What the model thinks worth a trial, and what it says of each.
    pub fn proposals(&self, document: &Document) -> Proposals {
        let baseline = document.plan.baseline;
        let expected = known::Expected::of(document);
        let foreseen = |settings: &Settings| {
            let per_s = expected.per_s(*settings)?;
            Some(Foreseen {
                point: self.point(*settings)?,
                log_score: (per_s > 0.0).then(|| per_s.ln())?,
                log_memory: None,
            })
        };
        // What is expected is throughput.
        let all = self.candidates.iter().chain([&baseline]);
        let all = all.filter(|_| document.plan.objective.least.is_none());
        Proposals {
            candidates: self
                .candidates
                .iter()
                .filter_map(|s| self.point(*s))
                .collect(),
            foreseen: all.filter_map(foreseen).collect(),
        }
    }

    /// Into the document, before the first trial.
    pub fn note(&self, document: &mut Document, planned_trials: u32, most_arms: usize) {
        document.search = Some(run::Search {
            knobs: self
                .knobs
                .iter()
                .map(|knob| SearchedKnob {
                    knob: knob.name.clone(),
                    values: knob.values.iter().map(|v| shown(&knob.name, v)).collect(),
                })
                .collect(),
            planned_trials,
            most_arms: most_arms as u32,
            stages: Vec::new(),
            effects: Vec::new(),
            left_out: Vec::new(),
        });
    }

    /// Into the document, once it is over.
    pub fn found(&self, document: &mut Document, outcome: &Outcome, trial_s: f64) {
        let limits = limits(document);
        let Some(search) = &mut document.search else {
            return;
        };
        search.stages = outcome
            .trials_of
            .iter()
            .map(|(stage, trials)| StageTrials {
                stage: word(*stage).to_owned(),
                trials: *trials,
            })
            .collect();
        search.left_out = outcome
            .left_out
            .iter()
            .map(|left_out| why_left_out(left_out, trial_s))
            .collect();
        search.effects = outcome
            .effects
            .iter()
            .filter_map(|effect| self.effect(effect, &limits))
            .collect();
    }

    fn effect(&self, effect: &Effect, limits: &str) -> Option<KnobEffect> {
        let knob = self.knobs.get(effect.factor.checked_sub(SETTINGS)?)?;
        Some(KnobEffect {
            knob: knob.name.clone(),
            value: shown(&knob.name, knob.values.first()?),
            throughput: effect.log_throughput.map(ratio),
            memory: effect.log_memory.map(ratio),
            latency: effect.log_latency.map(ratio),
            found: self.made_of(effect.found, limits),
        })
    }

    /// `limits` are those that were given; without one only requests that fail break any.
    fn made_of(&self, found: Found, limits: &str) -> String {
        match found {
            Found::Helps => "helps".to_owned(),
            Found::MayHelp => "may help: tried further".to_owned(),
            Found::Nothing => "no effect was seen".to_owned(),
            Found::Harms => "harms".to_owned(),
            Found::Fails => "fails".to_owned(),
            Found::SeemsToFail => "seems to fail".to_owned(),
            Found::ConflictsWith(other) => {
                format!("fails together with {}", self.space.factors[other].name)
            }
            Found::BreaksALimit if limits.is_empty() => "its requests fail".to_owned(),
            Found::BreaksALimit => format!("breaks a limit ({limits})"),
            Found::NotPossible => "not possible there".to_owned(),
            Found::Unknown => "not known".to_owned(),
            Found::NotTried => "not tried".to_owned(),
        }
    }

    pub fn fate(&self, fate: &Fate, document: &Document) -> String {
        let stage = match fate.stage {
            search::Stage::Race => "elimination",
            other => word(other),
        };
        match &fate.end {
            End::Failed => format!("failed twice ({stage})"),
            End::FailedOnce => format!("failed once, and was not tried again ({stage})"),
            End::BreaksALimit => {
                let standing = judge::standing(&self.arm(&fate.point).name, document);
                let which = match standing.why {
                    Some(_) => standing.fate(),
                    None => self.made_of(Found::BreaksALimit, &limits(document)),
                };
                format!("{which} ({stage})")
            }
            End::Behind { block, leader } => format!(
                "eliminated after round {block} ({stage}): behind {}",
                self.arm(leader)
            ),
            End::RacedToTheEnd => format!("to the end of its rounds ({stage})"),
            End::Winner => "won".to_owned(),
        }
    }

    /// Each change from the baseline to the winner with what it brings, and what was taken out again.
    pub fn path(
        &self,
        outcome: &Outcome,
        metric: Metric,
        baseline: &Arm,
        winner: &Arm,
    ) -> Vec<Step> {
        let step = |step: &search::Step| {
            let factor = &self.space.factors[step.factor];
            let name = match step.kept {
                true => factor.name.clone(),
                false => format!("{} (not taken)", factor.name),
            };
            let (ratio, low, high) = brought(step, metric);
            let text = |level: usize| match step.factor {
                ..SETTINGS => factor.levels[level].clone(),
                _ => shown(&factor.name, &factor.levels[level]),
            };
            Some(Step {
                knob: name,
                from: baseline.settings,
                to: winner.settings,
                values: Some((text(step.from), text(step.to))),
                ratio: ratio?,
                low,
                high,
                measured: true,
                refuted: false,
            })
        };
        outcome.steps.iter().filter_map(step).collect()
    }
}

/// A step's ratio and its interval: a score is the greater the better, a memory is not.
fn brought(step: &search::Step, metric: Metric) -> (Option<f64>, Option<f64>, Option<f64>) {
    let turned = |score: Option<f64>| score.map(f64::recip);
    match metric.less_is_better() {
        true => (turned(step.ratio), turned(step.high), turned(step.low)),
        false => (step.ratio, step.low, step.high),
    }
}

fn word(stage: search::Stage) -> &'static str {
    match stage {
        search::Stage::Candidates => "candidates",
        search::Stage::Neighbours => "neighbours",
        search::Stage::Screen => "screen",
        search::Stage::Race => "race",
        search::Stage::Refine => "refine",
        search::Stage::Ablation => "around",
        search::Stage::Together => "together",
        search::Stage::Confirm => "confirm",
    }
}

/// In trials, and in the time that they take.
fn why_left_out(left_out: &LeftOut, trial_s: f64) -> String {
    let time = |trials: u32| {
        format!(
            "{}, {:.0} s",
            counted(trials, "trial"),
            f64::from(trials) * trial_s
        )
    };
    let what = match left_out.stage {
        search::Stage::Screen => "The knobs were not tried all at once",
        _ => "A part of the search was left out",
    };
    format!(
        "{what}: a search that does takes {} or more, and the budget holds {}.",
        time(left_out.needed),
        time(left_out.given)
    )
}

/// A value as it may be shown.
fn shown(knob: &str, value: &str) -> String {
    let variable = [knobs::ENV, knobs::VALUE]
        .iter()
        .find_map(|prefix| knob.strip_prefix(prefix))
        .unwrap_or(knob);
    knobs::shown_of(knob, variable, value).to_owned()
}

fn ratio(estimate: Estimate) -> Ratio {
    let half = stats::student_two_sided(0.05, estimate.freedom.max(1)) * estimate.standard_error;
    Ratio {
        ratio: estimate.estimate.exp(),
        low: (estimate.estimate - half).exp(),
        high: (estimate.estimate + half).exp(),
    }
}

#[cfg(test)]
mod tests;
