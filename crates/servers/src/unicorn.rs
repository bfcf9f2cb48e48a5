//! Unicorn: the configuration that makes it run with the settings asked for, and what it says of itself.
//!
//! Read in the sources of Unicorn 6.1 (`configurator.rb`, `http_server.rb`): it takes one configuration file,
//! each directive of which replaces what was there before, and has no command that asks it for its state. So the
//! generated file evaluates the application's own first, as Unicorn itself would, then says what is under test;
//! each worker that is ready adds a line to a file that was opened by Unicorn's parent, because a worker
//! may have become another user by then.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::Signal;
use serde::Deserialize;

use crate::bundler;
use crate::control::StatusError;
use crate::error::StartError;
use crate::files::{absent, private_file, ruby_string};
use crate::guard::Guard;
use crate::handle::{Handle, Progress};
use crate::prepared::Prepared;
use crate::proc;
use crate::read_back::{Mismatch, ReadBack};
use crate::spec::{ServerSpec, Settings};

/// SIGTERM would cut off clients that are being answered.
const ORDERLY_END: Signal = Signal::QUIT;

/// The words that start Unicorn for this application: `bundle exec unicorn` where its Gemfile.lock names Unicorn and that
/// works, else plain `unicorn`, as for an application that the system's packages installed.
pub fn default_unicorn_command(app_dir: &Path) -> Vec<String> {
    bundler::command(app_dir, "unicorn")
}

/// Where a Unicorn that was started says what it runs with.
#[derive(Debug)]
struct Unicorn {
    /// A line for each worker that became ready.
    ready: PathBuf,
    workers_asked: u16,
}

/// What a worker says once it is ready.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct ReadyWorker {
    nr: u16,
    pid: u32,
    preload: bool,
    unicorn: String,
}

/// Writes the generated configuration. `config` is the application's own; `None` looks for it.
pub(crate) fn prepare(
    spec: &ServerSpec,
    program: &[String],
    config: Option<&Path>,
    port: u16,
    env: BTreeMap<String, String>,
) -> Result<Prepared, StartError> {
    let file = |name: &str| spec.work_dir.join(name);
    let (generated, ready, pid) = (
        file("unicorn.rb"),
        file("unicorn-ready"),
        file("unicorn.pid"),
    );
    let own = config_of(program, config, &spec.app_dir, &env["RACK_ENV"]);
    absent(&ready)?;
    // A master that was killed leaves it, and Unicorn refuses to start where its number is taken again.
    absent(&pid)?;
    let text = config_text(spec.settings, own.as_deref(), port, &ready, &pid);
    private_file(&generated, &text)?;
    let mut words = program.to_vec();
    words.extend(["-c".into(), generated.display().to_string()]);
    let workers_asked = spec.settings.workers;
    Ok(Prepared {
        words,
        env,
        remove: vec![pid, generated].into(),
        handle: Box::new(Unicorn {
            ready,
            workers_asked,
        }),
    })
}

/// The application's own configuration.
pub(crate) fn config_of(
    program: &[String],
    given: Option<&Path>,
    app_dir: &Path,
    env_name: &str,
) -> Option<PathBuf> {
    given
        .map(Path::to_path_buf)
        .or_else(|| named_in(program).map(|name| app_dir.join(name)))
        .or_else(|| own_config(app_dir, env_name))
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

/// Where applications keep it. Unicorn itself has no default path: its command line names the file.
fn own_config(app_dir: &Path, env_name: &str) -> Option<PathBuf> {
    let names = [
        format!("config/unicorn/{env_name}.rb"),
        "config/unicorn.rb".into(),
    ];
    let mut paths = names.iter().map(|name| app_dir.join(name));
    paths.find(|path| path.is_file())
}

fn config_text(
    settings: Settings,
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
    // The backlog and the socket's options are the application's own choice. A port that is in use fails at
    // once: another is tried. A worker that cannot build the application would be started again for ever.
    format!(
        r##"# Written by powerband for one start of the server.
{own}
options = Array(set[:listeners]).first.then {{ |address| set[:listener_opts].fetch(address, {{}}) }}
set[:listeners] = []
listen "127.0.0.1:{port}", options.slice(:backlog, :rcvbuf, :sndbuf, :tcp_nodelay, :tcp_nopush).merge(tries: 0)
worker_processes {workers}
preload_app {preload}
pid {pid}
stderr_path nil
stdout_path nil

ready = File.open({ready}, File::WRONLY | File::APPEND | File::CREAT, 0o600)
was_ready = set[:after_worker_ready]
after_worker_ready do |server, worker|
  was_ready.call(server, worker)
  ready.syswrite(format("{{\"nr\":%d,\"pid\":%d,\"preload\":%s,\"unicorn\":\"%s\"}}\n",
                        worker.nr, $$, server.preload_app ? true : false, Unicorn::Const::UNICORN_VERSION))
end
was_gone = set[:after_worker_exit]
after_worker_exit do |server, worker, status|
  was_gone.call(server, worker, status)
  exit!(1) unless status.success? || File.read({ready}).include?("\"pid\":#{{status.pid}},")
end
"##,
        workers = settings.workers,
        preload = settings.preload,
        pid = literal(pid),
        ready = literal(ready),
    )
}

impl Unicorn {
    /// The workers that said that they are ready and live, by number.
    fn ready_workers(&self, master: u32) -> BTreeMap<u16, ReadyWorker> {
        let text = std::fs::read_to_string(&self.ready).unwrap_or_default();
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        lines
            .filter(|worker: &ReadyWorker| {
                let stat = proc::stat(worker.pid);
                stat.is_some_and(|stat| stat.parent == master && !stat.is_dead())
            })
            .map(|worker| (worker.nr, worker))
            .collect()
    }
}

impl Handle for Unicorn {
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
        let workers: Vec<ReadyWorker> = self.ready_workers(master).into_values().collect();
        Ok(compare(asked, &workers))
    }

    fn end(&self, guard: &mut Guard, id: u32, grace: Duration) {
        if guard.signal(id, ORDERLY_END) {
            guard.wait_exit(id, grace);
        }
    }
}

fn compare(asked: Settings, workers: &[ReadyWorker]) -> ReadBack {
    let mut mismatches = Vec::new();
    if workers.len() != usize::from(asked.workers) {
        mismatches.push(Mismatch {
            knob: "workers".into(),
            asked: asked.workers.to_string(),
            runs_with: workers.len().to_string(),
            hint: "workers ended, or something tells Unicorn to have more or fewer of them; look at the \
                   server's log",
        });
    }
    let preload = workers.first().map(|worker| worker.preload);
    if let Some(runs_with) = preload.filter(|&preload| preload != asked.preload) {
        mismatches.push(Mismatch {
            knob: "preload".into(),
            asked: asked.preload.to_string(),
            runs_with: runs_with.to_string(),
            hint: "the application changes it once Unicorn runs; remove that there",
        });
    }
    ReadBack {
        workers: workers.len(),
        max_threads: vec![1; workers.len()],
        min_threads: Some(1),
        preload,
        server: workers
            .first()
            .map(|worker| format!("Unicorn {}", worker.unicorn)),
        front: None,
        mismatches,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: Settings = Settings {
        threads: 1,
        workers: 2,
        preload: true,
    };

    #[test]
    fn the_file_that_a_command_names_is_found() {
        let named = |words: &str| {
            let words: Vec<String> = words.split(' ').map(String::from).collect();
            named_in(&words).map(String::from)
        };
        assert_eq!(named("unicorn -c a.rb -E x -c b.rb"), Some("b.rb".into()));
        assert_eq!(named("unicorn --config-file=c.rb"), Some("c.rb".into()));
        assert_eq!(named("bundle exec unicorn"), None);
    }

    #[test]
    fn what_is_under_test_comes_after_the_applications_own() {
        let own = Some(Path::new("/a/it's.rb"));
        let text = config_text(ASKED, own, 80, Path::new("/w/r"), Path::new("/w/p"));
        let own = text
            .find(r"instance_eval(File.read('/a/it\'s.rb')")
            .unwrap();
        let set = text.find("worker_processes 2\npreload_app true\n").unwrap();
        assert!(own < set, "{text}");
    }

    #[test]
    fn every_setting_that_did_not_take_is_named() {
        let worker = |nr, preload| ReadyWorker {
            nr,
            pid: 7,
            preload,
            unicorn: "6.1.0".into(),
        };
        let read = compare(ASKED, &[worker(0, true), worker(1, true)]);
        assert_eq!(read.mismatches, []);
        assert_eq!(read.server.as_deref(), Some("Unicorn 6.1.0"));
        let read = compare(ASKED, &[worker(1, false)]);
        let knobs: Vec<_> = read.mismatches.iter().map(|m| m.knob.as_ref()).collect();
        assert_eq!(knobs, ["workers", "preload"]);
    }
}
