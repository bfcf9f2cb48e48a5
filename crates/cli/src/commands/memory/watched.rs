//! What is read: processes, servers that write flight files, or a command that is started here.

use super::super::flight_root::flight_root;
use super::super::{guard_program, inject, inspect};
use crate::Failure;
use crate::args::MemoryArgs;
use ::memory::{NothingWatched, Watched};
use servers::commands::{CommandSpec, RunningCommand, Waited};
use servers::guard::GuardError;
use servers::hooks::HookError;
use servers::{Exit, join_words};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is read, and the command where there is one.
pub struct Subject {
    watched: Watched,
    named: Vec<String>,
    command: Option<RunningCommand>,
    ended: Option<Exit>,
}

impl Subject {
    pub fn of(args: &MemoryArgs) -> Result<Subject, Failure> {
        let root = flight_root();
        if !args.command.is_empty() {
            return command(args, &root);
        }
        let running = |watched, named| Subject {
            watched,
            named,
            command: None,
            ended: None,
        };
        if !args.pid.is_empty() {
            let folders = own_folder(&root);
            let watched = Watched::pids(&args.pid, folders)
                .map_err(|wrong| Failure::usage(wrong.to_string()))?;
            let named = args.pid.iter().map(|pid| format!("--pid {pid}")).collect();
            return Ok(running(watched, named));
        }
        if let Some(pid) = args.sources.iter().find(|source| is_pid(source)) {
            let pid = pid.display();
            return Err(Failure::usage(format!(
                "{pid}: there is no such file or folder; for a process give --pid {pid}"
            )));
        }
        let files = inspect::found(&args.sources, &root)?;
        let watched = Watched::servers(&files, args.application.as_deref());
        let named: Vec<String> = match args.sources.as_slice() {
            [] => own_folder(&root),
            sources => sources.to_vec(),
        }
        .iter()
        .map(|path| path.display().to_string())
        .collect();
        let watched = watched.map_err(|nothing: NothingWatched| {
            let of = args.application.as_ref().map_or_else(String::new, |of| {
                format!(" of --application = {of:?} (leave it out to read all)")
            });
            Failure::no_answer(format!(
                "{nothing}{of}\n{}: start the server with powerband run -- CMD, or name its process with --pid",
                named.join(", ")
            ))
        })?;
        Ok(running(watched, named))
    }

    pub fn watched(&self) -> Watched {
        self.watched.clone()
    }

    pub fn named(&self) -> Vec<String> {
        self.named.clone()
    }

    /// Waits at most `wait` for the end of the command. Returns true once, because its descendants may still serve. Without a command
    /// it sleeps for `wait`.
    pub fn just_ended(&mut self, wait: Duration) -> Result<bool, Failure> {
        let Some(command) = self.command.as_ref().filter(|_| self.ended.is_none()) else {
            std::thread::sleep(wait);
            return Ok(false);
        };
        match command.wait(wait) {
            Waited::Running => Ok(false),
            Waited::Ended(exit, _) => {
                self.ended = Some(exit);
                Ok(true)
            }
            Waited::GuardGone => Err(Failure::no_answer(
                "the guard of the command was killed, and with it all that it guarded",
            )),
        }
    }

    /// Ends the command. How it ended by itself, where it failed.
    pub fn end(&mut self) -> Option<String> {
        self.command.take()?.stop();
        let exit = self.ended.filter(|exit| !exit.success())?;
        Some(format!("the command ended with {exit}"))
    }

    /// Why no process was seen.
    pub fn nothing_read(&self) -> Failure {
        Failure::no_answer(match self.ended {
            Some(exit) => format!("the command ended with {exit} before its memory was read"),
            None => "no process was there to be read".to_owned(),
        })
    }
}

fn is_pid(source: &Path) -> bool {
    let number = source.to_str().and_then(|text| text.parse::<u32>().ok());
    number.is_some() && !source.exists()
}

fn own_folder(root: &Path) -> Vec<PathBuf> {
    vec![::inspect::folder_of_user(
        root,
        rustix::process::getuid().as_raw(),
    )]
}

fn command(args: &MemoryArgs, root: &Path) -> Result<Subject, Failure> {
    let mut words = Vec::new();
    for word in &args.command {
        let word = word.to_str().ok_or_else(|| {
            Failure::usage(format!(
                "{word:?}: a word of the command is not UTF-8; write it as UTF-8"
            ))
        })?;
        words.push(word.to_owned());
    }
    let line = join_words(&words);
    let env: BTreeMap<String, String> = inject::injection(args.gem.as_deref(), None)?
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let guard = guard_program();
    let started = RunningCommand::start(&CommandSpec {
        guard: &guard,
        words: &words,
        cwd: Path::new("."),
        env: &env,
        log: None,
    });
    let command = started.map_err(|e| {
        Failure::usage(match e {
            HookError::Guard(GuardError::NotStarted { program, error }) => {
                format!("{program} cannot be started: {error}; is it installed and on PATH?")
            }
            other => other.to_string(),
        })
    })?;
    Ok(Subject {
        watched: Watched::command(command.guard_pid(), own_folder(root)),
        named: vec![line],
        command: Some(command),
        ended: None,
    })
}
