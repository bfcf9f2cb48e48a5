//! `trace --survivors`: asks processes for a sample of the objects that they make, waits until it is decided what becomes of them,
//! and says which call sites' objects become old and which die young.

mod document;

use super::ask::{living, nothing_recorded, now_ns, random, refuse_another, runs};
use super::{Wanted, resolve, write};
use crate::args::TraceArgs;
use crate::signals::Signals;
use crate::time_bar::TimeBar;
use crate::{Failure, output};
use flight::Snapshot;
use flight::survivors::{Refusal, Survivors, SurvivorsAsk, SurvivorsState, SurvivorsWanted};
use run::trace::Silent;
use rustix::time::ClockId;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(50);
/// The shortest and the longest time for which sampled objects are watched: four collections decide what becomes of them.
const FOLLOWED: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(60)];
/// For a last request after that, with which the process ends it.
const GRACE: Duration = Duration::from_secs(2);

/// A process that was asked.
struct Asked {
    flight: PathBuf,
    snapshot: Snapshot,
    ask: SurvivorsAsk,
}

/// What there is to say.
struct Recorded {
    found: Vec<(Survivors, Snapshot)>,
    silent: Vec<Silent>,
}

/// `powerband trace --survivors`.
pub fn survivors(args: TraceArgs) -> Result<u8, Failure> {
    let json = args.speech.json;
    let every = args.every;
    let (speedscope, folded) = (args.speedscope.clone(), args.folded.clone());
    let wanted = resolve(args)?;
    if !wanted.target.is_dir() {
        return Err(Failure::usage(format!(
            "{} is no folder: survivors are sampled in processes that run; name the folder that their agent records into",
            wanted.target.display()
        )));
    }
    write::possible(speedscope.iter().chain(&folded))?;
    let recorded = record(&wanted, every)?;
    let sites = trace::sites(recorded.found.iter().map(|(survivors, _)| survivors));
    let document = document::document(&wanted.target, every, &recorded, &sites);
    if let Some(path) = &speedscope {
        let exporter = format!("powerband {}", env!("CARGO_PKG_VERSION"));
        write::whole(path, |file| {
            trace::write_speedscope(file, &sites, every, &exporter)
        })?;
    }
    if let Some(path) = &folded {
        write::whole(path, |file| trace::write_folded(file, &sites))?;
    }
    if json {
        output::json(&document)?;
    } else {
        output::print(&report::survivors_page(&document, output::style()))?;
    }
    Ok(0)
}

fn record(wanted: &Wanted, every: u32) -> Result<Recorded, Failure> {
    let signals = Signals::taken()?;
    let living = living(wanted)?;
    let bytes = (wanted.bytes / living.len() as u64).max(super::LEAST_BYTES);
    let mut recorded = Recorded {
        found: Vec::new(),
        silent: Vec::new(),
    };
    let follow = wanted.duration.clamp(FOLLOWED[0], FOLLOWED[1]);
    let mut asked = Vec::new();
    for (flight, snapshot) in living {
        match ask(&flight, &snapshot, (wanted.duration, follow), every, bytes) {
            Ok(ask) => asked.push(Asked {
                flight,
                snapshot,
                ask,
            }),
            Err(reason) => recorded.add_silent(&snapshot, reason),
        }
    }
    wait(&asked, wanted, follow, &signals);
    for one in asked {
        match read(&one) {
            Ok(survivors) => recorded.found.push((survivors, one.snapshot)),
            Err(reason) => recorded.add_silent(&one.snapshot, reason),
        }
        if let Err(e) = one.ask.withdraw() {
            output::error(&e.to_string());
        }
    }
    if let Some(signal) = signals.received() {
        return Err(Failure {
            message: "interrupted; the processes sample no more".to_owned(),
            code: 128 + signal,
        });
    }
    if recorded.found.is_empty() {
        return Err(nothing_recorded(&recorded.silent));
    }
    Ok(recorded)
}

impl Recorded {
    fn add_silent(&mut self, snapshot: &Snapshot, reason: String) {
        let pid = snapshot.header.pid;
        self.silent.push(Silent { pid, reason });
    }
}

fn ask(
    flight: &Path,
    snapshot: &Snapshot,
    (duration, follow): (Duration, Duration),
    every: u32,
    bytes: u64,
) -> Result<SurvivorsAsk, String> {
    let wanted = SurvivorsWanted {
        request: random(),
        duration_ns: duration.as_nanos() as u64,
        follow_ns: follow.as_nanos() as u64,
        every,
        bytes,
        wall_ns: now_ns(ClockId::Realtime),
        mono_ns: now_ns(ClockId::Monotonic),
    };
    refuse_another(flight, wanted.mono_ns)?;
    SurvivorsAsk::ask(flight, snapshot, &wanted).map_err(|e| e.to_string())
}

/// Until all have ended, or nothing more is to be expected.
fn wait(asked: &[Asked], wanted: &Wanted, follow: Duration, signals: &Signals) {
    let began = Instant::now();
    let most = wanted.duration + follow + GRACE;
    let bar = TimeBar::new(Some(wanted.duration), wanted.quiet);
    if !bar.is_drawn() && !wanted.quiet && !asked.is_empty() {
        output::say(&format!(
            "sampling {} for {} s, then watching for up to {} s what becomes of the objects",
            run::counted(asked.len() as u64, "process"),
            wanted.duration.as_secs_f64(),
            follow.as_secs_f64()
        ));
    }
    while began.elapsed() < most && signals.received().is_none() {
        let going = asked.iter().filter(|one| goes_on(one)).count();
        if going == 0 {
            break;
        }
        bar.show(began.elapsed(), || {
            match began.elapsed() < wanted.duration {
                true => format!("sampling {}", run::counted(going as u64, "process")),
                false => "watching what becomes of the objects".to_owned(),
            }
        });
        std::thread::sleep(POLL);
    }
}

fn goes_on(one: &Asked) -> bool {
    let state = one.ask.header().map(|header| header.state);
    matches!(state, Ok(SurvivorsState::Asked | SurvivorsState::Recording))
        && runs(&one.flight, &one.snapshot)
}

fn read(one: &Asked) -> Result<Survivors, String> {
    let survivors = one.ask.read().map_err(|e| e.to_string())?;
    let reason = match survivors.header.state {
        SurvivorsState::Over if survivors.header.sampled > 0 => return Ok(survivors),
        SurvivorsState::Over => "it made too few objects while it was sampled; ask for a longer time (--for), or sample more (--every)".to_owned(),
        SurvivorsState::Refused(refusal) => refused(refusal),
        _ if !runs(&one.flight, &one.snapshot) => "it ended before its recording did".to_owned(),
        SurvivorsState::Asked => {
            "it served no request in that time (a process notices that it is asked when it serves one), or its agent is older than this powerband"
                .to_owned()
        }
        SurvivorsState::Recording => {
            "it served no request after its recording ended, so it wrote nothing (a process writes with its next request)".to_owned()
        }
        SurvivorsState::Other(state) => {
            format!("its agent reports state {state}, which this powerband does not know; use the powerband version of its agent")
        }
    };
    Err(reason)
}

fn refused(refusal: Refusal) -> String {
    match refusal {
        Refusal::Ruby => "the age of its objects cannot be read on Ruby 3.2; run it on 3.3 or newer",
        Refusal::Collector => {
            "it has another garbage collector than Ruby's default one (RUBY_GC_LIBRARY), whose objects have no age"
        }
        Refusal::Ractors => {
            "it has Ractors: Ruby calls a hook for the objects of one Ractor alone, so that what others free is not seen"
        }
        Refusal::Memory => "it has no 20 MiB of memory left for the tables",
        Refusal::Other(_) => "its agent refuses, for a reason that this powerband does not know",
    }
    .to_owned()
}
