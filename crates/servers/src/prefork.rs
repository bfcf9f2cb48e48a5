//! Unicorn, and Pitchfork, its fork: the configuration that makes it run with the settings asked for, and what it says of
//! itself.
//!
//! Read in the sources of Unicorn 6.1 and Pitchfork 0.18 (`configurator.rb`, `http_server.rb`): it takes one configuration
//! file, each directive of which replaces what was there before, and has no command that asks it for its state. So the
//! generated file evaluates the application's own first, as the server itself would, then says what is under test;
//! each worker that is ready adds a line to a file that was opened by its parent, because a worker
//! may have become another user by then.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde::Deserialize;
use serde_json::Value;

use crate::bundler;
use crate::control::StatusError;
use crate::error::StartError;
use crate::files::{absent, private_file, ruby_string};
use crate::guard::Guard;
use crate::handle::{Handle, Progress};
use crate::prepared::Prepared;
use crate::proc;
use crate::read_back::{Mismatch, ReadBack};
use crate::reforks;
use crate::spec::{PreforkServer, PreforkSpec, ServerSpec, Settings};

/// SIGTERM would cut off clients that Unicorn is answering; to Pitchfork both are the same.
const ORDERLY_END: Signal = Signal::QUIT;

/// The oldest Pitchfork whose settings can be read back; without it each worker would fail.
const TOO_OLD: &str = "Pitchfork::Configurator.method_defined?(:refork_max_unavailable) or \
                       abort(\"powerband: Pitchfork 0.18 or newer is needed, and this is #{Pitchfork::VERSION}\")\n";

const CHANGED_LATER: &str = "the application changes it once the server runs; remove that there";

/// The words that start the server for this application: `bundle exec unicorn` where its Gemfile.lock names Unicorn and that
/// works, else plain `unicorn`, as for an application that the system's packages installed.
pub fn default_prefork_command(server: PreforkServer, app_dir: &Path) -> Vec<String> {
    bundler::command(app_dir, server.program())
}

/// Where a server that was started says what it runs with.
#[derive(Debug)]
struct Prefork {
    /// A line for each worker that became ready.
    ready: PathBuf,
    workers_asked: u16,
    asked: PreforkSpec,
}

/// What a worker says once it is ready.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct ReadyWorker {
    nr: u16,
    pid: u32,
    preload: bool,
    version: String,
    /// Of Pitchfork alone, as the other two.
    #[serde(default)]
    generation: u32,
    refork_after: Option<Value>,
    refork_max_unavailable: Option<u16>,
}

impl ReadyWorker {
    /// Whether a number of requests makes it fork the next generation.
    fn reforks(&self) -> bool {
        let counts = self.refork_after.as_ref().and_then(Value::as_array);
        counts.is_some_and(|counts| counts.iter().any(Value::is_number))
    }
}

/// Writes the generated configuration.
pub(crate) fn prepare(
    spec: &ServerSpec,
    asked: &PreforkSpec,
    port: u16,
    env: BTreeMap<String, String>,
) -> Result<Prepared, StartError> {
    let program = asked.server.program();
    let file = |suffix: &str| spec.work_dir.join(format!("{program}{suffix}"));
    let (generated, ready, pid) = (file(".rb"), file("-ready"), file(".pid"));
    let own = config_of(asked, &spec.app_dir, &env["RACK_ENV"]);
    absent(&ready)?;
    // A master that was killed leaves it, and Unicorn refuses to start where its number is taken again.
    absent(&pid)?;
    let text = config_text(spec.settings, asked, own.as_deref(), port, &ready, &pid);
    private_file(&generated, &text)?;
    let mut words = asked.program.clone();
    words.extend(["-c".into(), generated.display().to_string()]);
    Ok(Prepared {
        words,
        env,
        remove: vec![pid, generated].into(),
        handle: Box::new(Prefork {
            ready,
            workers_asked: spec.settings.workers,
            asked: asked.clone(),
        }),
    })
}

/// The application's own configuration: what was given, what the command names, else the first that is there.
pub(crate) fn config_of(asked: &PreforkSpec, app_dir: &Path, env_name: &str) -> Option<PathBuf> {
    let given = asked.config.clone();
    given
        .or_else(|| named_in(&asked.program).map(|name| app_dir.join(name)))
        .or_else(|| own_config(asked.server, app_dir, env_name))
}

/// The file that a command names, which the generated one takes the place of.
fn named_in(program: &[String]) -> Option<&str> {
    let mut words = program.iter().map(String::as_str);
    let mut found = None;
    while let Some(word) = words.next() {
        if word == "-c" || word == "--config-file" {
            found = words.next();
        } else if let Some(name) = word.strip_prefix("--config-file=") {
            found = Some(name);
        }
    }
    found
}

/// Where applications keep it. Unicorn itself has no default path: its command line names the file. Pitchfork looks for one.
fn own_config(server: PreforkServer, app_dir: &Path, env_name: &str) -> Option<PathBuf> {
    let names = match server {
        PreforkServer::Unicorn => vec![
            format!("config/unicorn/{env_name}.rb"),
            "config/unicorn.rb".into(),
        ],
        PreforkServer::Pitchfork => vec!["config/pitchfork.rb".into()],
    };
    let mut paths = names.iter().map(|name| app_dir.join(name));
    paths.find(|path| path.is_file())
}

fn config_text(
    settings: Settings,
    asked: &PreforkSpec,
    own: Option<&Path>,
    port: u16,
    ready: &Path,
    pid: &Path,
) -> String {
    let literal = |path: &Path| ruby_string(&path.display().to_string());
    let own = own.map_or_else(String::new, |path| {
        let path = literal(path);
        format!("instance_eval(File.read({path}), {path})\n")
    });
    let InRuby {
        listen_options,
        directives,
        keep,
        says,
        no_worker,
    } = match asked.server {
        PreforkServer::Unicorn => of_unicorn(settings, &literal(pid)),
        PreforkServer::Pitchfork => of_pitchfork(asked),
    };
    // The backlog and the socket's options are the application's own choice. A port that is in use fails at
    // once: another is tried. A worker that cannot build the application would be started again for ever.
    format!(
        r##"# Written by powerband for one start of the server.
{own}
options = Array(set[:listeners]).first.then {{ |address| set[:listener_opts].fetch(address, {{}}) }}
set[:listeners] = []
listen "127.0.0.1:{port}", options.slice({listen_options}).merge(tries: 0)
worker_processes {workers}
{directives}
ready = File.open({ready}, File::WRONLY | File::APPEND | File::CREAT, 0o600)
{keep}was_ready = set[:after_worker_ready]
after_worker_ready do |server, worker|
  was_ready.call(server, worker)
{says}
  ready.syswrite(format("{{\"nr\":%d,\"pid\":%d,%s}}\n", worker.nr, $$, says))
end
was_gone = set[:after_worker_exit]
after_worker_exit do |server, worker, status|
  was_gone.call(server, worker, status)
  exit!(1) unless status.success? || {no_worker}File.read({ready}).include?("\"pid\":#{{status.pid}},")
end
"##,
        workers = settings.workers,
        ready = literal(ready),
    )
}

/// What the generated file says of one of the servers alone.
struct InRuby {
    /// Options of a socket that the application may have chosen.
    listen_options: &'static str,
    directives: String,
    /// A statement that keeps the file of ready workers open.
    keep: &'static str,
    /// Makes `says`, the rest of a ready worker's line.
    says: &'static str,
    /// Ruby: a condition for processes that are not workers, such as a mold, followed by `||`.
    no_worker: &'static str,
}

/// Redirections go back to the log that powerband shows, and the pid file of a server that runs already is left alone.
fn of_unicorn(settings: Settings, pid: &str) -> InRuby {
    InRuby {
        listen_options: ":backlog, :rcvbuf, :sndbuf, :tcp_nodelay, :tcp_nopush",
        directives: format!(
            "preload_app {}\npid {pid}\nstderr_path nil\nstdout_path nil\n",
            settings.preload
        ),
        keep: "",
        says: r#"  says = format("\"preload\":%s,\"version\":\"%s\"", server.preload_app ? true : false, Unicorn::Const::UNICORN_VERSION)"#,
        no_worker: "",
    }
}

/// Pitchfork always preloads. The application chooses its queues, too. An application may close all files that a new mold
/// inherits, except those that Pitchfork knows (`Pitchfork::Info.close_all_ios!`), so the file of ready workers is made known to
/// it. Powerband ignores the end of a mold: if the first one fails, Pitchfork ends, and if a later one fails, it makes another.
fn of_pitchfork(asked: &PreforkSpec) -> InRuby {
    let after = asked.refork_after.as_ref();
    let after = after.map(|counts| format!("refork_after {counts}\n"));
    let most = asked.refork_max_unavailable;
    let most = most.map(|workers| format!("refork_max_unavailable {workers}\n"));
    InRuby {
        listen_options: ":backlog, :rcvbuf, :sndbuf, :tcp_nodelay, :tcp_nopush, :queues, :queues_per_worker",
        directives: after
            .into_iter()
            .chain(most)
            .chain([TOO_OLD.to_owned()])
            .collect(),
        keep: "Pitchfork::Info.keep_io(ready)\n",
        says: r#"  counts = server.instance_variable_get(:@refork_condition)&.instance_variable_get(:@limits)
  says = format("\"preload\":true,\"version\":\"%s\",\"generation\":%d,\"refork_after\":%s,\"refork_max_unavailable\":%d",
                Pitchfork::VERSION, worker.generation,
                counts ? "[#{counts.map { |count| count || false }.join(',')}]" : "null", server.send(:refork_max_unavailable))"#,
        no_worker: "worker.nr.nil? || ",
    }
}

impl Prefork {
    /// The workers that ever said that they are ready.
    fn once_ready(&self) -> Vec<ReadyWorker> {
        reforks::recorded(&self.ready)
    }

    /// Those of them that live, by number.
    fn ready_workers(&self, master: u32) -> BTreeMap<u16, ReadyWorker> {
        self.once_ready()
            .into_iter()
            .filter(|worker| {
                let stat = proc::stat(worker.pid);
                stat.is_some_and(|stat| stat.parent == master && !stat.is_dead())
            })
            .map(|worker| (worker.nr, worker))
            .collect()
    }

    /// The same; where some are being replaced, once all that were asked for are there again or that takes too long.
    fn all_workers(&self, master: u32) -> Vec<ReadyWorker> {
        let are_there = |workers: &BTreeMap<_, _>| {
            workers.len() >= usize::from(self.workers_asked) || !self.replaces_workers()
        };
        let workers = reforks::once_replaced(|| self.ready_workers(master), are_there);
        workers.into_values().collect()
    }
}

impl Handle for Prefork {
    fn progress(&self, master: u32) -> Progress {
        let (ready, of) = (
            self.ready_workers(master).len(),
            usize::from(self.workers_asked),
        );
        if ready < of {
            Progress::Missing(format!("{ready} of {of} workers are ready"))
        } else {
            Progress::Complete
        }
    }

    fn workers(&self, master: u32) -> BTreeSet<u32> {
        let workers = self.ready_workers(master);
        workers.values().map(|worker| worker.pid).collect()
    }

    fn read_back(&self, asked: Settings, master: u32) -> Result<ReadBack, StatusError> {
        let workers = self.all_workers(master);
        let mut read = compare(asked, self.asked.server, &workers);
        let not_taken = workers
            .iter()
            .find_map(|worker| not_reforked(&self.asked, worker));
        read.mismatches.extend(not_taken);
        Ok(read)
    }

    fn replaces_workers(&self) -> bool {
        only_reforked(&self.once_ready())
    }

    fn end(&self, guard: &mut Guard, id: u32, grace: Duration) {
        if guard.signal(id, ORDERLY_END) {
            guard.wait_exit(id, grace);
        }
    }
}

/// Whether the workers refork and none was replaced for another reason.
fn only_reforked(once_ready: &[ReadyWorker]) -> bool {
    let generations = once_ready
        .iter()
        .map(|worker| (worker.nr, worker.generation));
    once_ready.iter().any(ReadyWorker::reforks) && reforks::none_crashed(generations)
}

fn compare(asked: Settings, server: PreforkServer, workers: &[ReadyWorker]) -> ReadBack {
    let mut mismatches = Vec::new();
    if workers.len() != usize::from(asked.workers) {
        mismatches.push(Mismatch {
            knob: "workers".into(),
            asked: asked.workers.to_string(),
            runs_with: workers.len().to_string(),
            hint: "workers ended, or something tells the server to have more or fewer of them; look at its log",
        });
    }
    let preload = workers.first().map(|worker| worker.preload);
    if let Some(runs_with) = preload.filter(|&preload| preload != asked.preload) {
        mismatches.push(Mismatch {
            knob: "preload".into(),
            asked: asked.preload.to_string(),
            runs_with: runs_with.to_string(),
            hint: CHANGED_LATER,
        });
    }
    ReadBack {
        workers: workers.len(),
        max_threads: vec![1; workers.len()],
        min_threads: Some(1),
        preload,
        server: workers
            .first()
            .map(|worker| format!("{} {}", server.name(), worker.version)),
        front: None,
        mismatches,
    }
}

/// What of Pitchfork's own settings a worker does not have.
fn not_reforked(asked: &PreforkSpec, worker: &ReadyWorker) -> Option<Mismatch> {
    let mismatch = |knob: &'static str, asked: String, runs_with: Option<String>| Mismatch {
        knob: knob.into(),
        asked,
        runs_with: runs_with.unwrap_or_else(|| "nothing".into()),
        hint: CHANGED_LATER,
    };
    let counts = asked.refork_after.as_ref();
    let other = counts.filter(|counts| worker.refork_after.as_ref() != Some(&counts.json()));
    if let Some(counts) = other {
        let runs_with = worker.refork_after.as_ref().map(Value::to_string);
        return Some(mismatch(
            "pitchfork.refork_after",
            counts.to_string(),
            runs_with,
        ));
    }
    let most = asked.refork_max_unavailable?;
    let found = worker.refork_max_unavailable;
    (found != Some(most)).then(|| {
        let runs_with = found.map(|found| found.to_string());
        mismatch(
            "pitchfork.refork_max_unavailable",
            most.to_string(),
            runs_with,
        )
    })
}

#[cfg(test)]
mod tests;
