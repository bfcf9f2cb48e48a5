//! One run: the hook before it, the command under its guard while its memory is sampled, the hook after it.
//!
//! Whatever goes wrong with the command is the run's result, not an error: the other arms go on.

use super::sampler;
use crate::bench::Bench;
use crate::config::filled;
use crate::error::{Failure, Stopped};
use crate::progress::{Event, Watcher};
use crate::request::{Arm, WorkloadCommand};
use crate::trial::{hook, hook_to_its_end};
use host::Tree;
use run::{CommandRun, MemorySample, Stage};
use servers::Exit;
use servers::by_shell;
use servers::commands::{CommandSpec, RunningCommand, Waited};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::Duration;

/// How often it is looked whether the user wants it to stop.
const LOOK_UP: Duration = Duration::from_millis(50);

/// What one run is to be.
#[derive(Debug)]
pub struct Asked<'a> {
    /// Unique in the experiment.
    pub id: String,
    /// The command.
    pub command: &'a WorkloadCommand,
    /// In whose environment.
    pub arm: &'a Arm,
    /// Part of the procedure.
    pub stage: Stage,
    /// Block, from 1.
    pub block: u32,
    /// Place in the block's order, from 1.
    pub place: u32,
    /// Seconds since the experiment began.
    pub started_s: f64,
}

/// Runs it.
pub fn run(
    bench: &Bench<'_>,
    asked: &Asked<'_>,
    folder: &Path,
    watcher: &dyn Watcher,
) -> Result<CommandRun, Stopped> {
    let (before, after) = (
        bench.experiment.before_trial.as_deref(),
        bench.experiment.after_trial.as_deref(),
    );
    let mut run = CommandRun {
        id: asked.id.clone(),
        stage: asked.stage,
        block: asked.block,
        place: asked.place,
        arm: asked.arm.name.clone(),
        failed: None,
        started_s: asked.started_s,
        wall_s: 0.0,
        cpu_s: 0.0,
        exit: None,
        samples: Vec::new(),
    };
    hook(bench, &bench.own, before, "before_trial", folder, watcher).map_err(stopped)?;
    watcher.on(Event::Phase("running"));
    let result = measured(bench, asked, folder, watcher, &mut run);
    // Whatever before_trial set up is taken down on every way out, also when the user has stopped the run.
    let after = hook_to_its_end(bench, &bench.own, after, folder, watcher);
    match result {
        Ok(()) => {}
        Err(Failure::Trial(reason)) => run.failed = Some(reason),
        Err(failure) => return Err(stopped(failure)),
    }
    after.map_err(stopped)?;
    Ok(run)
}

fn stopped(failure: Failure) -> Stopped {
    match failure {
        Failure::Interrupted => Stopped::Interrupted,
        Failure::Fatal(message) | Failure::Trial(message) => Stopped::Configuration(message),
    }
}

fn measured(
    bench: &Bench<'_>,
    asked: &Asked<'_>,
    folder: &Path,
    watcher: &dyn Watcher,
    run: &mut CommandRun,
) -> Result<(), Failure> {
    let command = filled(&asked.command.text, &asked.arm.overlay.placeholders());
    let mut env = bench.own.env.clone();
    env.extend(bench.variables(asked.arm));
    let spec = CommandSpec {
        guard: &bench.guard,
        words: &by_shell(&command),
        cwd: &bench.experiment.app_dir,
        env: &env,
        log: Some(&folder.join("command.log")),
    };
    let running = RunningCommand::start(&spec).map_err(|e| Failure::Trial(e.to_string()))?;
    let tree = Tree::from(running.guard_pid()).without_root();
    let mut taken = Taken::new(bench, asked.arm, running.pid());
    let (stop, told) = channel();
    let began = running.began();
    let (looked_at, taken_here) = (&tree, &mut taken);
    let waited = std::thread::scope(|scope| {
        // In parallel with the wait, so that the end is noticed when it comes and not after a sample.
        let sampler = scope
            .spawn(move || sampler::sample(looked_at, began, &told, || taken_here.look(looked_at)));
        let waited = wait(&running, asked.command.timeout, watcher);
        drop(stop);
        run.samples = sampler.join().unwrap_or_default();
        waited
    });
    run.wall_s = match waited {
        Waiting::Ended(_, wall) => wall.as_secs_f64(),
        _ => began.elapsed().as_secs_f64(),
    };
    // The guard has waited for it: its time is that of the guard's children.
    run.cpu_s = host::cpu::tree_cpu(tree).map_or(0.0, |cpu| cpu.total().as_secs_f64());
    let said = running.excerpt();
    running.stop();
    match waited {
        Waiting::Cancelled => return Err(Failure::Interrupted),
        Waiting::GuardGone => return Err(Failure::Trial("its guard process is gone".to_owned())),
        Waiting::TooLong => {
            return Err(Failure::Trial(format!(
                "it was not done within {:.0} s and was ended (workload.command_timeout); {said}",
                asked.command.timeout.as_secs_f64()
            )));
        }
        Waiting::Ended(exit, _) => {
            run.exit = match exit {
                Exit::Code(code) => Some(code),
                Exit::Signal(_) => None,
            };
            if !exit.success() {
                return Err(Failure::Trial(format!("it failed ({exit}): {said}")));
            }
        }
    }
    sampled(&run.samples, run.wall_s)?;
    taken.or_fail()
}

fn sampled(samples: &[MemorySample], wall_s: f64) -> Result<(), Failure> {
    if !samples.is_empty() {
        return Ok(());
    }
    Err(Failure::Trial(format!(
        "it ended after {wall_s:.2} s, before its memory was sampled once (every {:.0} s); give the command more work",
        sampler::EVERY.as_secs_f64()
    )))
}

#[derive(Debug, Clone, Copy)]
enum Waiting {
    Ended(Exit, Duration),
    TooLong,
    Cancelled,
    GuardGone,
}

fn wait(running: &RunningCommand, timeout: Duration, watcher: &dyn Watcher) -> Waiting {
    loop {
        match running.wait(LOOK_UP.min(timeout)) {
            Waited::Ended(exit, wall) => return Waiting::Ended(exit, wall),
            Waited::GuardGone => return Waiting::GuardGone,
            Waited::Running if watcher.cancelled() => return Waiting::Cancelled,
            Waited::Running if running.began().elapsed() >= timeout => return Waiting::TooLong,
            Waited::Running => {}
        }
    }
}

/// Whether a process of the command really has what the arm sets. A script may clear it, or start something that ignores
/// it, and then nothing would have been compared.
struct Taken<'a> {
    bench: &'a Bench<'a>,
    arm: &'a Arm,
    shell: u32,
    found: Found,
}

enum Found {
    /// No process was there to be looked at.
    Nobody,
    /// What the last one lacked.
    Lacks(String),
    Has,
}

impl<'a> Taken<'a> {
    fn new(bench: &'a Bench<'a>, arm: &'a Arm, shell: u32) -> Taken<'a> {
        let found = match arm.overlay.is_empty() {
            true => Found::Has,
            false => Found::Nobody,
        };
        Taken {
            bench,
            arm,
            shell,
            found,
        }
    }

    /// Looks at the processes of this moment, until one has it. The shell that powerband itself started has it always,
    /// and counts only where it is all that there is.
    fn look(&mut self, tree: &Tree) {
        if matches!(self.found, Found::Has) {
            return;
        }
        let mut pids = tree.pids().unwrap_or_default();
        if pids.len() > 1 {
            pids.retain(|pid| *pid != self.shell);
        }
        for pid in pids {
            match self.lacks(pid) {
                None => continue,
                Some(Ok(())) => {
                    self.found = Found::Has;
                    return;
                }
                Some(Err(why)) => self.found = Found::Lacks(why),
            }
        }
    }

    /// `None` where the process has ended meanwhile.
    fn lacks(&self, pid: u32) -> Option<Result<(), String>> {
        let environments = &self.bench.arm_environments;
        let mismatch =
            environments.not_taken(self.arm, &self.bench.own.env, &BTreeSet::from([pid]));
        if mismatch.is_none() && !has_environment(pid) {
            return None;
        }
        Some(match mismatch {
            None => Ok(()),
            Some(m) => Err(format!(
                "{} = {} was asked, and none of the command's processes had it: the last one looked at runs with {}; \
                 see that no script in the command clears or sets it",
                m.knob, m.asked, m.runs_with
            )),
        })
    }

    fn or_fail(self) -> Result<(), Failure> {
        match self.found {
            Found::Has => Ok(()),
            Found::Lacks(why) => Err(Failure::Trial(why)),
            Found::Nobody => Err(Failure::Trial(
                "its processes could not be looked at, so that nothing tells whether they had the configuration's environment; run \
                 powerband as the command's user"
                    .to_owned(),
            )),
        }
    }
}

/// Whether it is there still: a process that has ended has nothing to read back.
fn has_environment(pid: u32) -> bool {
    servers::environment_of(pid).is_ok_and(|env: BTreeMap<String, String>| !env.is_empty())
}
