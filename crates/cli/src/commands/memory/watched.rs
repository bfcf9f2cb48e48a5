//! What is read: processes, servers that write flight files, or a command that is started here.

use super::super::flight_root::flight_root;
use super::super::{guard_program, inject, inspect};
use crate::Failure;
use crate::args::MemoryArgs;
use ::memory::{NothingWatched, Watched};
use servers::commands::{CommandSpec, RunningCommand, Waited};
use servers::{Exit, join_words};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What a shell exits with that cannot execute a command, or does not find it.
const NOT_STARTED: [i32; 2] = [126, 127];

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

    /// Waits so long at most for the end of the command, and says once that it has ended: what it left behind may still serve.
    /// Without a command it waits so long.
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
    ///
    /// # Errors
    /// It could not be started.
    pub fn end(&mut self) -> Result<Option<String>, Failure> {
        let Some(command) = self.command.take() else {
            return Ok(None);
        };
        command.stop();
        match self.ended {
            Some(Exit::Code(code)) if NOT_STARTED.contains(&code) => Err(Failure::usage(format!(
                "{} cannot be started; is it installed and on PATH?",
                self.named.concat()
            ))),
            Some(exit) if !exit.success() => Ok(Some(format!("the command ended with {exit}"))),
            _ => Ok(None),
        }
    }

    /// Why no process was seen.
    pub fn nothing_read(&self) -> Failure {
        Failure::no_answer(match self.ended {
            Some(exit) => format!("the command ended with {exit} before its memory was read"),
            None => "no process was there to be read".to_owned(),
        })
    }
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
        // The shell becomes the command, so that it is no process of the tree.
        command: &format!("exec {line}"),
        cwd: Path::new("."),
        env: &env,
        // Of the guard, which has this process's.
        log: Path::new("/dev/stderr"),
    });
    let command = started.map_err(|e| Failure::usage(e.to_string()))?;
    Ok(Subject {
        watched: Watched::command(command.guard_pid(), own_folder(root)),
        named: vec![line],
        command: Some(command),
        ended: None,
    })
}
