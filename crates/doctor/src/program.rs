//! Whether the process that was named is looked into: it runs Ruby, or its command line is that of a server.

use std::fmt::{self, Display, Formatter};
use std::fs;

use host::{ProcessFacts, Roots, Tree};

use crate::named::is_title;
use crate::server_command::{PROCESSES, SERVERS, ServerWords};

/// What Passenger calls the processes that run Ruby.
const PASSENGER: &[&str] = &["Passenger RubyApp:", "Passenger AppPreloader:"];
/// Of a command line, what is shown.
const MOST_SHOWN: usize = 80;

/// A process that is not looked into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAServer {
    /// It runs something else.
    OtherProgram {
        /// Its program's name.
        program: String,
        /// The first process below it that runs Ruby.
        below: Option<u32>,
    },
    /// What it runs cannot be seen, and its command line is no server's.
    UnknownProgram {
        /// The command line, without secrets.
        command: String,
        why: String,
        /// Processes below it whose command lines are those of servers, without the workers below these.
        servers: Vec<u32>,
    },
}

impl Display for NotAServer {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            NotAServer::OtherProgram {
                program,
                below: Some(pid),
            } => write!(
                f,
                "it runs {program}, which is no Ruby server; the Ruby that it started is process {pid}: give --pid {pid}"
            ),
            NotAServer::OtherProgram {
                program,
                below: None,
            } => write!(
                f,
                "it runs {program}, which is no Ruby server; name the process of a server: {PROCESSES}"
            ),
            NotAServer::UnknownProgram {
                command,
                why,
                servers,
            } => {
                write!(
                    f,
                    "its command line ({command}) is not that of {SERVERS}, and its program is unknown: {why}"
                )?;
                let pids: Vec<String> = servers.iter().map(u32::to_string).collect();
                match pids.as_slice() {
                    [] => Ok(()),
                    [pid] => write!(
                        f,
                        "; the server below it is process {pid}: give --pid {pid}"
                    ),
                    [first, ..] => write!(
                        f,
                        "; the servers below it are processes {}: give one of them, such as --pid {first}",
                        pids.join(", ")
                    ),
                }
            }
        }
    }
}

/// Whether a process runs something else than Ruby. Where that cannot be seen, a server by its command line is looked into: the
/// checks say what they cannot see.
pub fn not_a_server(process: &ProcessFacts, roots: &Roots) -> Option<NotAServer> {
    let program = match &process.program {
        Ok(program) => program.file_name()?.to_string_lossy().into_owned(),
        Err(why) => {
            // A process above a server is not one, although the threads of its tree include the server's.
            let words = process.commands.first().filter(|words| !is_server(words))?;
            return Some(NotAServer::UnknownProgram {
                command: shown(words),
                why: why.clone(),
                servers: servers_below(process.pid, roots),
            });
        }
    };
    if runs_ruby(process.pid, roots) {
        return None;
    }
    let below = Tree::from(process.pid).without_root().at(&roots.proc);
    let mut below = below.pids().unwrap_or_default().into_iter();
    Some(NotAServer::OtherProgram {
        program,
        below: below.find(|&pid| runs_ruby(pid, roots)),
    })
}

/// By the program's name, or by Ruby's library in it.
fn runs_ruby(pid: u32, roots: &Roots) -> bool {
    let process = roots.of(Some(pid));
    let program = fs::read_link(process.join("exe")).unwrap_or_default();
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let maps = || fs::read(process.join("maps")).unwrap_or_default();
    name.contains("ruby") || String::from_utf8_lossy(&maps()).contains("/libruby")
}

/// The command line, without secrets, of a program that is not a known server.
pub fn unknown_server(process: &ProcessFacts) -> Option<String> {
    let words = process.commands.first()?;
    let known = process.puma_serves == Ok(true) || is_server(words);
    (!known).then(|| shown(words))
}

/// By its command line, or the title in its place.
fn is_server(words: &[String]) -> bool {
    let of_passenger = |name: &&str| words[0].starts_with(*name);
    is_title(words) || ServerWords::of(words).is_some() || PASSENGER.iter().any(of_passenger)
}

fn servers_below(pid: u32, roots: &Roots) -> Vec<u32> {
    let below = |pid| {
        let below = Tree::from(pid).without_root().at(&roots.proc);
        below.pids().unwrap_or_default()
    };
    let is_one = |pid: &u32| {
        let words = host::process::command_line(roots, *pid);
        words.is_ok_and(|words| !words.is_empty() && is_server(&words))
    };
    let mut servers: Vec<u32> = below(pid).into_iter().filter(is_one).collect();
    let workers: Vec<u32> = servers.iter().flat_map(|&server| below(server)).collect();
    servers.retain(|server| !workers.contains(server));
    servers.sort_unstable();
    servers
}

fn shown(words: &[String]) -> String {
    let text = knobs::shown_words(words).join(" ");
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// One whose program may not be seen, with these words.
    fn unseen(pid: u32, command: &str) -> ProcessFacts {
        let why = || "not asked".to_owned();
        ProcessFacts {
            pid,
            environment: Ok(BTreeMap::new()),
            commands: vec![command.split(' ').map(str::to_owned).collect()],
            open_files: Err(why()),
            folder: Err(why()),
            program: Err("/proc/1/exe may not be read; ask as root".to_owned()),
            interpreter: Err(why()),
            owner: 0,
            elsewhere: Ok(false),
            puma_workers: Ok(2),
            puma_threads: Ok(3),
            puma_serves: Ok(true),
        }
    }

    #[test]
    fn a_process_that_cannot_be_looked_into_is_refused_unless_it_is_a_server() {
        let proc = tempfile::tempdir().unwrap();
        let roots = Roots {
            proc: proc.path().to_owned(),
            ..Roots::default()
        };
        let said = |command: &str| {
            not_a_server(&unseen(7, command), &roots).map(|refused| refused.to_string())
        };
        assert_eq!(
            said("/sbin/init splash").as_deref(),
            Some(
                "its command line (/sbin/init splash) is not that of Puma, Unicorn, Pitchfork, Falcon or Passenger, and its program is unknown: \
                 /proc/1/exe may not be read; ask as root"
            )
        );
        assert_eq!(said("puma 6.6.0 (tcp://127.0.0.1:3000) [shop]"), None);
    }

    /// Such as PID 1 of a container, with the threads of the Puma below it.
    #[test]
    fn a_process_above_a_server_is_refused_with_the_server() {
        let proc = tempfile::tempdir().unwrap();
        let add = |pid: u32, parent: u32, command: &str| {
            let folder = proc.path().join(pid.to_string());
            let task = folder.join(format!("task/{pid}"));
            fs::create_dir_all(&task).unwrap();
            fs::write(task.join("children"), "").unwrap();
            fs::write(folder.join("cmdline"), command.replace('|', "\0")).unwrap();
            let of_parent = proc.path().join(format!("{parent}/task/{parent}/children"));
            if let Ok(before) = fs::read_to_string(&of_parent) {
                fs::write(of_parent, format!("{before}{pid} ")).unwrap();
            }
        };
        add(1, 0, "/process_api");
        add(7, 1, "sh|-c|bin/start");
        add(8, 7, "puma 6.6.0 (tcp://127.0.0.1:3000) [shop]");
        add(9, 8, "puma: cluster worker 0: 8 [shop]");
        let roots = Roots {
            proc: proc.path().to_owned(),
            ..Roots::default()
        };
        let above = unseen(1, "/process_api");
        let said = not_a_server(&above, &roots).unwrap().to_string();
        assert!(
            said.starts_with("its command line (/process_api) is not that of Puma")
                && said.ends_with("; the server below it is process 8: give --pid 8"),
            "{said}"
        );
        add(10, 1, "unicorn master -c config/unicorn.rb");
        let said = not_a_server(&above, &roots).unwrap().to_string();
        assert!(
            said.ends_with("are processes 8, 10: give one of them, such as --pid 8"),
            "{said}"
        );
    }
}
