//! Facts of the host and of an application, from `/proc`, the application's files and its Ruby; then all checks of them.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use host::facts::{self, Activity};
use host::process::interpreter_of;
use host::serving::{parse_takes_huge_pages, unreadable};
use host::{
    Checked, HostError, HostFacts, Known, OtherWork, Outcome, ProcessFacts, Roots, ServingFacts,
    Tree, checks,
};
use run::Settings;
use servers::ServerCommand;
use servers::interpreter::Interpreter;
use servers::pools::{Pool, pools};

use crate::application::{ApplicationFacts, Counted, Environment};
use crate::asked::{Asked, Configured, PumaConfig};
use crate::checks::{other_runs, runs_under_way};
use crate::config_files::async_threads;
use crate::named::{Clues, Named, is_title};
use crate::program::{NotAServer, not_a_server, unknown_server};
use crate::server_command::{Program, ServerWords};
use crate::{config_files, document, of_application};

/// Why nothing was looked at.
#[derive(Debug)]
pub enum Unexamined {
    Host(HostError),
    /// The named process runs no server, as far as can be seen.
    NotAServer(NotAServer),
}

impl From<HostError> for Unexamined {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}

/// Looks at everything once, and at what changes twice.
///
/// # Errors
/// When the host's facts cannot be read, or `pid` does not exist or does not run Ruby.
pub fn examine(asked: &Asked, roots: &Roots) -> Result<run::doctor::Document, Unexamined> {
    let process = match asked.pid {
        Some(pid) => Some(ProcessFacts::collect(roots, pid)?),
        None => None,
    };
    if let Some(not_a_server) = process
        .as_ref()
        .and_then(|process| not_a_server(process, roots))
    {
        return Err(Unexamined::NotAServer(not_a_server));
    }
    // Before anything is started here: pressure and load are those of before.
    let host = facts::collect_of(roots, asked.pid)?;
    let (before, since) = (Activity::read(roots)?, Instant::now());
    let others = other_work(asked.pid, roots);
    let mut serving = ServingFacts::collect(roots, asked.pid);
    let (application, folder) = match (&process, &asked.configured) {
        (Some(process), configured) => {
            let given = configured
                .as_ref()
                .map(|configured| configured.folder.as_path());
            let (application, folder) = of_process(process, given, &host, roots);
            (Some(application), folder)
        }
        (None, Some(configured)) => {
            let folder = configured.folder.display().to_string();
            (Some(of_configured(configured, &host)), Some(folder))
        }
        (None, None) => (None, None),
    };
    if let (None, Some(application)) = (asked.pid, &application) {
        serving.process_takes_huge_pages = application.ruby_probe.clone().and_then(|ruby_probe| {
            parse_takes_huge_pages(&ruby_probe.status)
                .ok_or_else(|| "this kernel does not say so (THP_enabled, Linux 5.0)".to_owned())
        });
    }
    thread::sleep(asked.span.saturating_sub(since.elapsed()));
    let span = since.elapsed();
    let host = HostFacts {
        busiest_programs: other_work(asked.pid, roots).since(&others, span, &[]),
        ..host.observe(&before, &Activity::read(roots)?, span)
    };

    let mut checked = checks::of_host(&host);
    // A run's own server is what that run measures.
    if !application.as_ref().is_some_and(|app| app.of_powerband) {
        let user = rustix::process::getuid().as_raw();
        checked.push(other_runs(&runs_under_way(roots), user));
    }
    checked.extend(checks::of_serving(&serving));
    match &application {
        Some(application) => checked.extend(of_application(application)),
        None => checked.push(Checked::new(
            "application",
            Outcome::not_known(NO_APPLICATION),
        )),
    }
    let looked_at = run::doctor::LookedAt {
        pid: asked.pid,
        application: folder,
        config: asked.config.as_ref().map(|path| path.display().to_string()),
        observed_s: span.as_secs_f64(),
    };
    Ok(document::document(asked, looked_at, &checked))
}

/// What a server that is looked at does is its own work.
fn other_work(pid: Option<u32>, roots: &Roots) -> OtherWork {
    let tree = |pid| Tree::from(pid).at(&roots.proc);
    let others = OtherWork::read(roots, &tree(std::process::id()));
    match pid {
        Some(pid) => others.without(&tree(pid)),
        None => others,
    }
}

const NO_APPLICATION: &str = "there is neither a powerband.toml nor an application in this folder, and no server was named with --pid";

fn of_configured(configured: &Configured, host: &HostFacts) -> ApplicationFacts {
    let folder = &configured.folder;
    let mut given = configured.variables.clone();
    for name in ["RAILS_ENV", "RACK_ENV"] {
        given.insert(name.to_owned(), configured.environment.clone());
    }
    if let Some((settings, _)) = &configured.baseline {
        // As a trial sets it.
        given.insert("RAILS_MAX_THREADS".to_owned(), settings.threads.to_string());
    }
    let mut variables = servers::inherited::variables();
    variables.extend(given.clone());
    let settings = settings_of(configured, folder, &given);
    let count = |number: fn(&Settings) -> u16| {
        settings.clone().map(|(settings, from)| Counted {
            count: number(&settings).into(),
            from,
        })
    };
    let ruby = Interpreter {
        program: OsStr::new("ruby"),
        folder: Some(folder),
        environment: &given,
        alone: false,
        preloads: false,
    };
    let ruby_probe = ruby.probe();
    let config_files = config_files::read(folder);
    ApplicationFacts {
        pid: None,
        booting: false,
        unknown_server: None,
        of_powerband: false,
        async_threads: async_threads(&config_files),
        config_files,
        pools: pools_of(folder, &configured.environment),
        threads: count(|settings| settings.threads),
        workers: count(|settings| settings.workers),
        cores: host.cores,
        cpu_quota: host.cpu_quota,
        interpreter: ruby_probe
            .clone()
            .and_then(|ruby_probe| interpreter_of(&ruby_probe.program)),
        ruby_probe,
        environment: Ok(Environment {
            variables,
            named: Named::by(&configured.environment, &configured.environment_from),
        }),
    }
}

/// The baseline, or what Puma makes of the application's own configuration.
fn settings_of(
    configured: &Configured,
    folder: &Path,
    given: &BTreeMap<String, String>,
) -> Known<(Settings, String)> {
    if let Some((settings, from)) = &configured.baseline {
        return Ok((*settings, from.clone()));
    }
    let Some(PumaConfig(config)) = &configured.puma else {
        return Err("the server is not started as Puma usually is, and no baseline says with how many threads and workers".to_owned());
    };
    let command = ServerCommand::Puma {
        program: servers::default_puma_command(folder),
        config: config.clone(),
    };
    let found = servers::configured(&command, folder, given)
        .ok_or_else(|| "Puma could not read the application's configuration; a baseline in powerband.toml would say it".to_owned())?;
    let settings = Settings {
        threads: found.threads,
        workers: found.workers,
        preload: found.preload,
    };
    Ok((settings, "as Puma reads the configuration".to_owned()))
}

fn pools_of(folder: &Path, environment: &str) -> Known<Vec<Pool>> {
    let path = folder.join("config/database.yml");
    let text =
        fs::read_to_string(&path).map_err(|e| unreadable(Path::new("config/database.yml"), &e))?;
    Ok(pools(&text, environment))
}

/// The facts of a server that runs, and its folder's name.
fn of_process(
    process: &ProcessFacts,
    given: Option<&Path>,
    host: &HostFacts,
    roots: &Roots,
) -> (ApplicationFacts, Option<String>) {
    let booting = is_booting(process);
    let entry = roots.of(Some(process.pid));
    // By way of the process, so that a container's folder is the container's.
    let folder = given.map_or_else(|| entry.join("cwd"), Path::to_owned);
    let shown = match given {
        Some(given) => Some(given.display().to_string()),
        None => process
            .folder
            .as_ref()
            .ok()
            .map(|folder| folder.display().to_string()),
    };
    let config_files = config_files::read(&folder);
    let environment = process.environment.clone().map(|variables| {
        let clues = Clues {
            pid: process.pid,
            commands: &process.commands,
            variables: &variables,
            config_files: &config_files,
            open_files: &process.open_files,
            serves: process.puma_threads.as_ref().is_ok_and(|&count| count > 0),
        };
        let named = match clues.named() {
            // What it logs, and sets by itself, is seen when it serves.
            Named::Unset | Named::NotSeen(_) if booting => Named::NotSeen(still_booting(process)),
            named => named,
        };
        Environment { variables, named }
    });
    let section = match &environment {
        Ok(environment) => environment.section(),
        Err(_) => Ok("production"),
    };
    let pools = section.and_then(|section| pools_of(&folder, section));
    let ruby_probe =
        startable(process, rustix::process::getuid().as_raw()).and_then(|(program, variables)| {
            let ruby = Interpreter {
                program: program.as_os_str(),
                folder: Some(&folder),
                environment: variables,
                alone: true,
                preloads: false,
            };
            ruby.probe()
        });
    let facts = ApplicationFacts {
        pid: Some(process.pid),
        booting,
        unknown_server: unknown_server(process),
        of_powerband: of_powerband(&process.commands),
        async_threads: async_threads(&config_files),
        config_files,
        pools,
        threads: threads_of(process),
        workers: workers_of(process),
        cores: host.cores,
        cpu_quota: host.cpu_quota,
        interpreter: process.interpreter.clone(),
        ruby_probe,
        environment,
    };
    (facts, shown)
}

/// Whether a run of Powerband started the server: one of its guards is above it.
fn of_powerband(commands: &[Vec<String>]) -> bool {
    commands.iter().any(|words| {
        words
            .get(1)
            .is_some_and(|word| word == servers::guard::ARGUMENT)
    })
}

/// A Puma that loads the application, or starts its workers.
fn is_booting(process: &ProcessFacts) -> bool {
    let is_puma = process.commands.first().is_some_and(|words| {
        let command = ServerWords::of(words).map(|command| command.program);
        is_title(words) || command == Some(Program::Puma)
    });
    is_puma && process.puma_serves == Ok(false)
}

fn still_booting(process: &ProcessFacts) -> String {
    format!(
        "process {} is still booting; ask again when it serves requests",
        process.pid
    )
}

/// The server's own Ruby and its environment, where it may be started from here.
fn startable(process: &ProcessFacts, user: u32) -> Known<(&PathBuf, &BTreeMap<String, String>)> {
    let program = process.program.as_ref().map_err(Clone::clone)?;
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    if !name.starts_with("ruby") {
        return Err(format!(
            "process {} runs {name}, which is no Ruby by its name",
            process.pid
        ));
    }
    if process.owner != user {
        return Err(format!(
            "process {} belongs to another user, whose Ruby is not started here; ask as that user",
            process.pid
        ));
    }
    if process.elsewhere.clone()? {
        return Err(format!(
            "process {} runs in a container, whose Ruby cannot be started from here; ask inside of it",
            process.pid
        ));
    }
    Ok((program, process.environment.as_ref().map_err(Clone::clone)?))
}

/// Puma starts threads as they are needed, up to its maximum, which Rails' template takes from `RAILS_MAX_THREADS`.
fn threads_of(process: &ProcessFacts) -> Known<Counted> {
    let seen = process.puma_threads.clone()?;
    if is_booting(process) {
        return Err(still_booting(process));
    }
    let variables = process.environment.as_ref().ok();
    let asked = variables
        .and_then(|variables| variables.get("RAILS_MAX_THREADS"))
        .and_then(|value| value.trim().parse().ok());
    match asked {
        Some(count) if count >= seen => Ok(Counted {
            count,
            from: "RAILS_MAX_THREADS".to_owned(),
        }),
        _ if seen > 0 => Ok(Counted {
            count: seen,
            from: "Puma's threads as they are now".to_owned(),
        }),
        _ => Err(format!(
            "no thread of Puma was seen in process {}, and RAILS_MAX_THREADS is not set",
            process.pid
        )),
    }
}

fn workers_of(process: &ProcessFacts) -> Known<Counted> {
    if is_booting(process) {
        return Err(still_booting(process));
    }
    let count = process.puma_workers.clone()?;
    let threads = process.puma_threads.clone()?;
    if count == 0 && threads == 0 {
        return Err(format!(
            "process {} is no Puma that can be told by its name",
            process.pid
        ));
    }
    Ok(Counted {
        count,
        from: "Puma's processes as they are now".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process() -> ProcessFacts {
        ProcessFacts {
            pid: 7,
            environment: Ok(BTreeMap::new()),
            commands: Vec::new(),
            open_files: Err("not asked".to_owned()),
            folder: Ok("/srv/shop".into()),
            program: Ok("/usr/bin/ruby3.3".into()),
            interpreter: Err("not asked".to_owned()),
            owner: 1000,
            elsewhere: Ok(false),
            puma_workers: Ok(2),
            puma_threads: Ok(3),
            puma_serves: Ok(true),
        }
    }

    #[test]
    fn no_program_of_another_user_or_container_is_started() {
        assert!(startable(&process(), 1000).is_ok());
        // Root least of all: the program could be anything.
        assert!(
            startable(&process(), 0)
                .unwrap_err()
                .contains("another user")
        );
        let contained = ProcessFacts {
            elsewhere: Ok(true),
            ..process()
        };
        assert!(
            startable(&contained, 1000)
                .unwrap_err()
                .contains("container")
        );
        let other = ProcessFacts {
            program: Ok("/bin/sh".into()),
            ..process()
        };
        assert!(startable(&other, 1000).unwrap_err().contains("no Ruby"));
    }

    #[test]
    fn a_guard_above_the_server_says_that_powerband_started_it() {
        let words = |command: &str| command.split(' ').map(str::to_owned).collect();
        let guard = format!("/proc/self/exe {}", servers::guard::ARGUMENT);
        assert!(of_powerband(&[
            words("puma -t 3:3"),
            words(&guard),
            words("bash")
        ]));
        assert!(!of_powerband(&[
            words("puma -t 3:3"),
            words("powerband run")
        ]));
    }

    #[test]
    fn a_puma_without_its_server_thread_is_booting() {
        let with = |command: &[&str], serves| ProcessFacts {
            commands: vec![command.iter().map(|&word| word.to_owned()).collect()],
            puma_threads: Ok(0),
            puma_workers: Ok(0),
            puma_serves: Ok(serves),
            ..process()
        };
        let title: &[&str] = &["puma 6.6.0 (tcp://127.0.0.1:3000) [shop]"];
        let command = &["ruby", "/usr/bin/puma", "-t", "5:5"];
        for command in [title, command] {
            let booting = with(command, false);
            assert!(is_booting(&booting), "{command:?}");
            for count in [threads_of(&booting), workers_of(&booting)] {
                assert!(count.unwrap_err().contains("still booting"));
            }
            assert!(!is_booting(&with(command, true)), "{command:?}");
        }
        // Another server has no such thread.
        assert!(!is_booting(&with(&["unicorn", "master"], false)));
    }

    #[test]
    fn threads_are_the_variables_unless_more_are_there() {
        let with = |value: &str| ProcessFacts {
            environment: Ok(BTreeMap::from([(
                "RAILS_MAX_THREADS".to_owned(),
                value.to_owned(),
            )])),
            ..process()
        };
        assert_eq!(threads_of(&with("5")).unwrap().count, 5);
        assert_eq!(threads_of(&with("2")).unwrap().count, 3);
        assert_eq!(threads_of(&process()).unwrap().count, 3);
        let none = ProcessFacts {
            puma_threads: Ok(0),
            puma_workers: Ok(0),
            ..process()
        };
        assert!(threads_of(&none).is_err() && workers_of(&none).is_err());
        assert_eq!(workers_of(&process()).unwrap().count, 2);
    }
}
