//! Phusion Passenger in an Apache of this start's own: its folders and its configuration, its state, its end.
//!
//! Tried with Passenger 6.0.26 and Apache 2.4:
//!
//! - Apache starts Passenger's watchdog, that its core, that the application's processes; the watchdog leaves
//!   Apache's session, and a copy of it cleans up after all the others have ended;
//! - what Apache finds in its environment reaches the application's processes, unless a login shell comes between
//!   (`PassengerLoadShellEnvvars`), so that no variable, which may be a secret, is written to a file;
//! - Apache does not serve as root, Passenger with user switching off does: the application then reads what is
//!   root's alone, as Puma would, and Apache's own processes need a way to Passenger's sockets;
//! - Passenger's core answers on a socket of its own what `passenger-status` prints, in a millisecond where that
//!   takes a Ruby's start.

mod config;
mod folders;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::control::StatusError;
use crate::error::StartError;
use crate::files::private_file;
use crate::guard::{Guard, Remove};
use crate::handle::{Handle, Progress};
use crate::installed;
use crate::passenger_status::{self, PassengerStatus};
use crate::prepared::Prepared;
use crate::proc;
use crate::read_back::{Mismatch, ReadBack};
use crate::spec::{PassengerSpec, ServerSpec, Settings};
use folders::Folders;

/// Passenger's own program, which all of its own processes run.
pub(crate) const AGENT: &str = "PassengerAgent";
const APACHE_PACKAGE: &str = "apache2";
const PASSENGER_PACKAGE: &str = "libapache2-mod-passenger";
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A Passenger that was started.
#[derive(Debug)]
struct Passenger {
    /// Where it keeps its sockets.
    instances: PathBuf,
    asked: PassengerSpec,
    /// Processes that are to be there before it counts as started.
    at_first: usize,
}

/// Writes Apache's configuration, and lets Apache check it.
pub(crate) fn prepare(
    spec: &ServerSpec,
    passenger: &PassengerSpec,
    port: u16,
    mut env: BTreeMap<String, String>,
) -> Result<Prepared, StartError> {
    let apache = installed::find(&passenger.apache, APACHE_PACKAGE)?;
    let module = |name: &str| passenger.modules.join(format!("mod_{name}.so"));
    for needed in config::APACHES {
        installed::find(&module(needed), APACHE_PACKAGE)?;
    }
    installed::find(&module("passenger"), PASSENGER_PACKAGE)?;
    installed::find(&passenger.root, PASSENGER_PACKAGE)?;
    let ruby = passenger.ruby.as_deref().unwrap_or(Path::new("ruby"));
    let ruby = installed::find(ruby, "ruby")?;
    let folders = Folders::make(&spec.app_dir)?;
    let mut remove = Remove {
        folders: vec![folders.whole.clone()],
        ..Remove::default()
    };
    let path = spec.work_dir.join("apache.conf");
    let app_temporary = env
        .get(config::TMPDIR)
        .map_or_else(std::env::temp_dir, PathBuf::from);
    let text = config::text(&config::Facts {
        spec,
        passenger,
        port,
        ruby: &ruby,
        folders: &folders,
        app_env: &env["RAILS_ENV"],
        app_temporary: &app_temporary,
    });
    env.insert(
        config::TMPDIR.into(),
        folders.temporary.display().to_string(),
    );
    let words = [
        apache.display().to_string(),
        "-DFOREGROUND".into(),
        "-f".into(),
        path.display().to_string(),
    ];
    let checked = private_file(&path, &text).and_then(|()| config::check(&words));
    remove.files.push(path);
    if let Err(error) = checked {
        remove.now();
        return Err(error);
    }
    let most = [passenger.max_instances_per_app, spec.settings.workers];
    let limits = most.into_iter().filter(|limit| *limit > 0);
    let at_first = limits.fold(passenger.min_instances.max(1), u16::min);
    Ok(Prepared {
        words: words.to_vec(),
        env,
        remove,
        handle: Box::new(Passenger {
            instances: folders.instances,
            asked: passenger.clone(),
            at_first: at_first.into(),
        }),
    })
}

impl Handle for Passenger {
    fn passenger_status(&self) -> Result<PassengerStatus, StatusError> {
        passenger_status::read(&self.instances)
    }

    /// Apache answers only once Passenger has started, or where it could not start at all.
    fn progress(&self, _: u32) -> Progress {
        match self.passenger_status() {
            Ok(status) => {
                let (there, of) = (status.processes.len(), self.at_first);
                if there < of {
                    Progress::Missing(format!("{there} of {of} processes are spawned"))
                } else {
                    Progress::Complete
                }
            }
            Err(StatusError::PassengerAbsent) => {
                Progress::Hopeless("Apache serves without Passenger, which could not start")
            }
            Err(error) => Progress::Missing(error.to_string()),
        }
    }

    fn workers(&self, _: u32) -> BTreeSet<u32> {
        let processes = self.passenger_status().map(|status| status.processes);
        let pids = processes.unwrap_or_default().into_iter();
        pids.map(|process| process.pid).collect()
    }

    fn read_back(&self, asked: Settings, _: u32) -> Result<ReadBack, StatusError> {
        Ok(compare(asked, &self.asked, &self.passenger_status()?))
    }

    /// Apache ends at once; Passenger then stops the application's processes, and cleans up last. All of these are in
    /// the session that the watchdog opened, however late they show what they run.
    fn end(&self, guard: &mut Guard, id: u32, grace: Duration) {
        let began = Instant::now();
        let stats = |pids: Vec<u32>| pids.into_iter().filter_map(proc::stat);
        let mut agents = proc::descendants(guard.pid());
        agents.retain(|&pid| proc::program(pid).is_some_and(|name| name == AGENT));
        let sessions: BTreeSet<u32> = stats(agents).map(|stat| stat.session).collect();
        if !guard.signal(id, Signal::TERM) || guard.wait_exit(id, grace).is_none() {
            return;
        }
        let any_left = || {
            stats(proc::descendants(guard.pid()))
                .any(|stat| !stat.is_dead() && sessions.contains(&stat.session))
        };
        while began.elapsed() < grace && any_left() {
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

fn compare(asked: Settings, passenger: &PassengerSpec, status: &PassengerStatus) -> ReadBack {
    let mut mismatches = Vec::new();
    let mut expect = |knob: &'static str, asked: String, runs_with: Option<String>| {
        if let Some(runs_with) = runs_with.filter(|runs_with| *runs_with != asked) {
            mismatches.push(Mismatch {
                knob: knob.into(),
                asked,
                runs_with,
                hint: "the application changes it: look for Passenger's directives in its .htaccess and \
                       for a Passengerfile.json",
            });
        }
    };
    let text = |number: Option<u64>| number.map(|number| number.to_string());
    let runs = Some(status.max_pool_size.to_string());
    expect("workers", asked.workers.to_string(), runs);
    let method = if asked.preload { "smart" } else { "direct" };
    expect("preload", method.into(), status.spawn_method.clone());
    let least = passenger.min_instances.to_string();
    expect("min_instances", least, text(status.min_instances));
    let most = passenger.max_instances_per_app.to_string();
    expect("max_instances_per_app", most, text(status.max_instances));
    ReadBack {
        workers: usize::try_from(status.max_pool_size).unwrap_or(usize::MAX),
        max_threads: vec![1; status.processes.len()],
        min_threads: Some(1),
        preload: status.spawn_method.as_ref().map(|method| method == "smart"),
        server: Some(format!("Passenger {}", status.version)),
        front: None,
        mismatches,
    }
}
