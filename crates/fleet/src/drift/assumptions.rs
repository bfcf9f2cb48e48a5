//! What a run assumed, with the values between which each assumption holds. `docs/drift.md` has the table.

use run::drift::Figure;
use run::{Answer, Document, EndpointProfile, Kind, Profile, Settings, Verdict, evidence};
use small_sort::SmallSort;

/// The share of requests that may be for other endpoints.
const OTHER_REQUESTS: f64 = 0.2;
/// By how much the time with the GVL may differ: twice the error of a good prediction of the mean response time.
const HELD: f64 = 0.25;
/// By how much the I/O share may differ.
const IO_SHARE: f64 = 0.1;
/// The part of a request's work by which lock wait may grow.
const LOCK_WAIT: f64 = 0.05;
/// How much of the run's memory a process may have. It grows for hours after the minutes of a run.
const MEMORY: f64 = 1.5;
/// Prometheus has the endpoints with the most requests.
const MOST_ENDPOINTS: usize = 20;

/// One assumption.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assumption {
    pub figure: Figure,
    /// The value in the run.
    pub assumed: f64,
    /// Between these it holds; without a lower one, lower values do no harm.
    pub low: Option<f64>,
    pub high: f64,
}

impl Assumption {
    pub(super) fn holds(&self, now: f64) -> bool {
        now <= self.high && self.low.is_none_or(|low| now >= low)
    }
}

/// All that a run assumed.
#[derive(Debug, Clone, PartialEq)]
pub struct Assumptions {
    /// The run's name.
    pub run: String,
    pub started_at: String,
    /// The configuration that it recommended or kept.
    pub settings: Settings,
    /// Endpoints and their shares of the requests, largest first.
    pub(super) mix: Vec<(String, f64)>,
    pub all: Vec<Assumption>,
}

/// Why there is nothing to hold a fleet against.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoAnswer {
    #[error("it is a run of {0}; name a run of tune")]
    Kind(&'static str),
    #[error("it is a run of a command, which serves no requests; name a run of a server")]
    Command,
    #[error(
        "it ended without a configuration to run or to keep; run powerband tune again, with a larger --budget"
    )]
    Undecided,
    #[error("the agent recorded no request of it; powerband doctor names the reason")]
    NotRecorded,
}

impl Assumptions {
    /// Of a run's document.
    ///
    /// # Errors
    /// The run has no answer, or does not know what a request takes.
    pub fn of(document: &Document) -> Result<Assumptions, NoAnswer> {
        if document.kind != Kind::Tune {
            return Err(NoAnswer::Kind(document.kind.verb()));
        }
        if document.command.is_some() {
            return Err(NoAnswer::Command);
        }
        let verdict = (document.verdict.as_ref()).filter(|verdict| {
            matches!(
                verdict.answer,
                Answer::Change | Answer::Smaller | Answer::Keep
            )
        });
        let verdict = verdict.ok_or(NoAnswer::Undecided)?;
        let recorded = document.profile.as_ref();
        let profile = recorded.filter(|profile| profile.requests > 0);
        let profile = profile.ok_or(NoAnswer::NotRecorded)?;
        let mix = mix(profile);
        let all = [
            Some(other_requests(&mix)),
            Some(Assumption {
                figure: Figure::Held,
                assumed: profile.held_ms,
                low: Some(profile.held_ms * (1.0 - HELD)),
                high: profile.held_ms * (1.0 + HELD),
            }),
            io_share(profile),
            lock_wait(profile),
            rate(verdict),
            memory(document, verdict),
            Some(Assumption {
                figure: Figure::Settings,
                assumed: 0.0,
                low: None,
                high: 0.0,
            }),
        ];
        Ok(Assumptions {
            run: document.id.clone(),
            started_at: document.started_at.clone(),
            settings: verdict.settings,
            mix,
            all: all.into_iter().flatten().collect(),
        })
    }
}

/// Jobs are no requests; they have families of metrics for themselves.
fn mix(profile: &Profile) -> Vec<(String, f64)> {
    let is_request = |one: &&EndpointProfile| !one.name.starts_with("job ");
    let requests = profile.endpoints.iter().filter(is_request);
    let total: u64 = requests.clone().map(|one| one.requests).sum();
    let share = |one: &EndpointProfile| one.requests as f64 / total.max(1) as f64;
    let mut mix: Vec<(String, f64)> = requests.map(|one| (one.name.clone(), share(one))).collect();
    mix.small_sort_by(|a, b| b.1.total_cmp(&a.1));
    mix.truncate(MOST_ENDPOINTS);
    mix
}

fn other_requests(mix: &[(String, f64)]) -> Assumption {
    let shown: f64 = mix.iter().map(|(_, share)| share).sum();
    let assumed = (1.0 - shown).max(0.0);
    Assumption {
        figure: Figure::Mix,
        assumed,
        low: None,
        high: (assumed + OTHER_REQUESTS).min(1.0),
    }
}

fn io_share(profile: &Profile) -> Option<Assumption> {
    let work = profile.held_ms + profile.io_ms;
    let assumed = (work > 0.0).then(|| profile.io_ms / work)?;
    Some(Assumption {
        figure: Figure::IoShare,
        assumed,
        low: Some((assumed - IO_SHARE).max(0.0)),
        high: (assumed + IO_SHARE).min(1.0),
    })
}

fn lock_wait(profile: &Profile) -> Option<Assumption> {
    let assumed = profile.lock_wait_ms?;
    let more = LOCK_WAIT * (profile.held_ms + profile.io_ms);
    Some(Assumption {
        figure: Figure::LockWait,
        assumed,
        low: None,
        high: assumed + more.max(assumed),
    })
}

/// At which rate of the server the run advised more capacity, by process.
fn rate(verdict: &Verdict) -> Option<Assumption> {
    let headroom = verdict.headroom.as_ref()?;
    let processes = f64::from(verdict.settings.workers.max(1));
    let high = headroom.add_capacity_at_per_s / processes;
    Some(Assumption {
        figure: Figure::Rate,
        assumed: high,
        low: None,
        high,
    })
}

/// The median over the trials of the answer.
fn memory(document: &Document, verdict: &Verdict) -> Option<Assumption> {
    let trials = evidence(verdict.arm.as_deref()?, &document.trials);
    let of_process = trials.iter().filter_map(|trial| {
        let memory = trial.memory.as_ref()?;
        (memory.processes > 0).then(|| memory.rss_bytes as f64 / f64::from(memory.processes))
    });
    let assumed = stats::summary::median(&of_process.collect::<Vec<f64>>())?;
    Some(Assumption {
        figure: Figure::Memory,
        assumed,
        low: None,
        high: MEMORY * assumed,
    })
}
