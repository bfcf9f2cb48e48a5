//! Whatever a server starts, and however powerband ends: no process is left.

#[allow(dead_code, reason = "shared with the other test program")]
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::support::{App, all_pids, eventually, is_gone, never, serve_program, working_in};
use rustix::process::{Pid, Signal, kill_process};
use servers::guard::GuardProgram;
use servers::hooks::{self, HookError};
use servers::{Ready, ServerCommand, ServerSpec, ServiceSpec, StartError};

/// Leaves a daemon (its parent gone, a session of its own, deaf to SIGTERM) and a child in a
/// session of its own; each writes its pid.
const LEAVES_DAEMONS: &str = "
%w[daemon session].each do |name|
  pid = fork do
    Process.setsid
    exit!(0) if name == 'daemon' && fork
    trap('TERM') {}
    File.write(\"#{name}.new\", Process.pid)
    File.rename(\"#{name}.new\", name)
    sleep
  end
  name == 'daemon' ? Process.wait(pid) : Process.detach(pid)
end
sleep 0.01 until File.exist?('daemon') && File.exist?('session')
run ->(env) { [200, {}, []] }
";

fn written_pid(app: &App, name: &str) -> u32 {
    std::fs::read_to_string(app.path().join(name))
        .unwrap()
        .trim()
        .parse()
        .unwrap()
}

fn kill(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.try_into().unwrap()).unwrap(), signal).unwrap();
}

fn descends_from(mut pid: u32, ancestor: u32) -> bool {
    while pid > 1 && pid != ancestor {
        let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) else {
            return false;
        };
        let after_name = stat.rsplit_once(") ").unwrap().1;
        pid = after_name.split(' ').nth(1).unwrap().parse().unwrap();
    }
    pid == ancestor
}

#[test]
fn daemons_of_the_server_end_with_it() {
    let app = App::new(LEAVES_DAEMONS);
    let spec = ServerSpec {
        stop_grace: Duration::from_secs(20),
        ..app.spec(1, 0, false)
    };
    let server = servers::start(&spec, &never).unwrap();
    let strays = ["daemon", "session"].map(|name| written_pid(&app, name));
    assert!(
        strays
            .iter()
            .all(|&pid| descends_from(pid, server.guard_pid())),
        "adopted"
    );
    let report = server.stop();
    assert!(strays.iter().all(|&pid| is_gone(pid)));
    assert!(
        strays.iter().all(|pid| report.killed_pids.contains(pid)),
        "{report:?}"
    );
    assert!(!report.clean);
    assert!(report.left_pids.is_empty(), "{report:?}");
}

/// A powerband of the test's own, in a process that can be killed.
fn powerband(app: &App, workers: u16) -> (Child, u32) {
    let mut child = Command::new(serve_program())
        .arg(app.path())
        .arg(app.path().join("work"))
        .args(["2", &workers.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    let guard = line
        .trim()
        .rsplit_once(' ')
        .expect("it prints port and guard")
        .1
        .parse()
        .unwrap();
    (child, guard)
}

/// Everything in the guard's session and below.
fn tree(guard: u32) -> Vec<u32> {
    all_pids()
        .filter(|&pid| descends_from(pid, guard))
        .collect()
}

#[test]
fn nothing_outlives_a_powerband_that_is_killed() {
    let app = App::new(LEAVES_DAEMONS);
    let (mut child, guard) = powerband(&app, 2);
    let tree = tree(guard);
    assert!(
        tree.len() >= 6,
        "guard, master, two workers, their strays: {tree:?}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    eventually("the whole tree is gone", || {
        tree.iter().all(|&pid| is_gone(pid))
    });
    assert!(
        ["daemon", "session"]
            .iter()
            .all(|name| is_gone(written_pid(&app, name)))
    );
    assert!(!app.path().join("work/puma.sock").exists());
}

#[test]
fn a_guard_that_is_asked_to_end_by_signal_ends_its_tree() {
    let app = App::hello();
    let server = servers::start(&app.spec(1, 0, false), &never).unwrap();
    let (guard, pid) = (server.guard_pid(), server.server_pid());
    // As a terminal does for the whole group: not the guard's business.
    kill(guard, Signal::INT);
    kill(guard, Signal::HUP);
    server.alive().unwrap();
    kill(guard, Signal::TERM);
    eventually("the server ends", || is_gone(pid));
    // Reaped first, then reported.
    eventually("its end is heard of", || server.alive().is_err());
    server.stop();
    assert!(is_gone(guard));
}

#[test]
fn a_server_deaf_to_sigterm_is_killed_after_the_grace() {
    let app = App::hello();
    let words = "ruby -rsocket -e trap('TERM'){};s=TCPServer.new('127.0.0.1',ARGV[0].to_i);\
                 loop{c=s.accept;c.gets;c.write(%(HTTP/1.1\\x20204\\x20No\\r\\n\\r\\n));c.close} {port}";
    let words = words.split(' ').map(String::from).collect();
    let spec = ServerSpec {
        command: ServerCommand::Custom { words },
        stop_grace: Duration::from_millis(50),
        ..app.spec(1, 0, false)
    };
    let server = servers::start(&spec, &never).unwrap();
    assert!(
        server.status().is_err(),
        "a custom command without {{config}} has no status"
    );
    let pid = server.server_pid();
    let report = server.stop();
    assert!(is_gone(pid));
    assert_eq!(
        (report.clean, report.killed_pids.as_slice()),
        (false, [pid].as_slice())
    );
    assert_eq!(report.exit, Some(servers::Exit::Signal(9)));
}

#[test]
fn cancelling_and_giving_up_leave_nothing() {
    let app = App::new("File.write('pid', Process.pid)\nsleep\n");
    let pid_file = app.path().join("pid");
    let started = || std::fs::read_to_string(&pid_file).is_ok_and(|pid| !pid.is_empty());
    let error = servers::start(&app.spec(1, 0, false), &started).unwrap_err();
    assert!(matches!(error, StartError::Cancelled), "{error}");
    assert!(is_gone(written_pid(&app, "pid")));
    let spec = ServerSpec {
        boot_timeout: Duration::from_millis(300),
        ..app.spec(1, 0, false)
    };
    let message = servers::start(&spec, &never).unwrap_err().to_string();
    assert!(message.contains("no answer to GET /"), "{message}");
    assert_eq!(working_in(app.path()), [0; 0]);
}

#[test]
fn services_come_before_the_server_and_go_with_it() {
    let app = App::new(
        "require 'socket'\nTCPSocket.new('127.0.0.1', ENV.fetch('UP').to_i).close\nrun ->(env) { [200, {}, []] }\n",
    );
    let port = servers::free_port().unwrap();
    let upstream = "File.write('service', Process.pid); s = TCPServer.new('127.0.0.1', ARGV[0].to_i)\n\
                    loop { c = s.accept; c.gets; c.write(\"HTTP/1.1 204 No\\r\\n\\r\\n\"); c.close }";
    let words = ["ruby", "-rsocket", "-e", upstream, &port.to_string()];
    let service = |ready| ServiceSpec {
        name: "upstream".into(),
        command: words.map(String::from).to_vec(),
        cwd: app.path().to_path_buf(),
        env: BTreeMap::new(),
        ready: Some(ready),
    };
    for ready in [
        Ready::Url(format!("http://127.0.0.1:{port}/up")),
        Ready::Port(port),
    ] {
        let mut spec = app.spec(1, 0, false);
        spec.env.insert("UP".into(), port.to_string());
        spec.services = vec![service(ready)];
        let server = servers::start(&spec, &never).unwrap_or_else(|error| panic!("{error}"));
        let pid = written_pid(&app, "service");
        assert!(descends_from(pid, server.guard_pid()));
        let report = server.stop();
        assert!(report.clean, "{report:?}");
        assert!(is_gone(pid));
    }
    let mut spec = app.spec(1, 0, false);
    let failing = ["sh", "-c", "echo no upstream today; exit 3"]
        .map(String::from)
        .to_vec();
    spec.services = vec![ServiceSpec {
        command: failing,
        ..service(Ready::Port(port))
    }];
    let message = servers::start(&spec, &never).unwrap_err().to_string();
    for part in [
        "the service \"upstream\"",
        "exit status 3",
        "no upstream today",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

/// A service without a sign that it is ready.
fn service(app: &App, script: &str) -> ServiceSpec {
    ServiceSpec {
        name: "upstream".into(),
        command: ["sh", "-c", script].map(String::from).to_vec(),
        cwd: app.path().to_path_buf(),
        env: BTreeMap::new(),
        ready: None,
    }
}

#[test]
fn a_service_that_dies_under_a_running_server_is_reported() {
    let app = App::hello();
    let script = "echo $$ > service.new; mv service.new service; exec sleep 600";
    let spec = ServerSpec {
        services: vec![service(&app, script)],
        ..app.spec(1, 0, false)
    };
    let server = servers::start(&spec, &never).unwrap();
    server.alive().unwrap();
    eventually("the service runs", || app.path().join("service").exists());
    kill(written_pid(&app, "service"), Signal::KILL);
    eventually("its death is noticed", || server.alive().is_err());
    let message = server.alive().unwrap_err().to_string();
    assert!(
        message.contains("the service \"upstream\" died (killed by signal 9"),
        "{message}"
    );
    assert!(!is_gone(server.server_pid()));
}

/// The server is stopped, so that it takes all of its grace; the service ends as it is asked to.
#[test]
fn a_server_that_takes_all_of_the_grace_leaves_its_services_some() {
    let app = App::hello();
    let script = "trap 'sleep 0.1; echo > ended; exit 0' TERM; echo > trapped; \
                  while :; do sleep 0.01; done";
    let spec = ServerSpec {
        services: vec![service(&app, script)],
        stop_grace: Duration::from_millis(50),
        ..app.spec(1, 0, false)
    };
    let server = servers::start(&spec, &never).unwrap();
    eventually("the service listens to signals", || {
        app.path().join("trapped").exists()
    });
    let pid = server.server_pid();
    kill(pid, Signal::STOP);
    let report = server.stop();
    assert!(app.path().join("ended").exists(), "{report:?}");
    assert_eq!(report.killed_pids, [pid]);
    assert!(!report.clean);
}

#[test]
fn the_server_runs_on_the_processors_it_was_given() {
    let app = App::hello();
    let spec = ServerSpec {
        cpus: Some(vec![0]),
        ..app.spec(1, 1, false)
    };
    let server = servers::start(&spec, &never).unwrap();
    let worker = server.status().unwrap().workers[0].pid.unwrap();
    for pid in [server.server_pid(), worker] {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        assert!(status.contains("Cpus_allowed_list:\t0\n"), "{status}");
    }
    let spec = ServerSpec {
        cpus: Some(vec![1023]),
        ..spec
    };
    let message = servers::start(&spec, &never).unwrap_err().to_string();
    assert!(message.contains("1023"), "{message}");
}

#[test]
fn a_freshly_started_server_settles() {
    let app = App::hello();
    let server = servers::start(&app.spec(1, 0, false), &never).unwrap();
    let quiet = servers::Quiet {
        below_cores: f64::INFINITY,
        ..servers::Quiet::default()
    };
    assert!(server.settle(&quiet, &never).unwrap().quiet);
    let restless = servers::Quiet {
        below_cores: 0.0,
        window: Duration::from_millis(20),
        at_most: Duration::from_millis(60),
        ..servers::Quiet::default()
    };
    assert!(!server.settle(&restless, &never).unwrap().quiet);
}

fn hook(app: &App, command: &str, timeout: Duration) -> Result<(), HookError> {
    let env = BTreeMap::from([("MY_TOKEN".to_string(), "not-for-eyes".to_string())]);
    let log = app.path().join("hook.log");
    hooks::run(
        &crate::support::guard(),
        command,
        app.path(),
        &env,
        timeout,
        &log,
        &never,
    )
}

#[test]
fn a_hook_ends_with_all_that_it_started() {
    let app = App::hello();
    let minute = Duration::from_secs(60);
    hook(&app, "setsid sh -c 'echo $$ > stray; exec sleep 600' & while [ ! -s stray ]; do sleep 0.01; done", minute).unwrap();
    assert!(is_gone(written_pid(&app, "stray")));
    let message = hook(&app, "echo seeding with $MY_TOKEN; exit 4", minute)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("exit status 4") && message.contains("seeding with [masked]"),
        "{message}"
    );
    let message = hook(&app, "sleep 600", Duration::from_millis(200))
        .unwrap_err()
        .to_string();
    assert!(message.contains("was not done within 0.2 s"), "{message}");
    assert_eq!(working_in(app.path()), [0; 0]);
}

#[test]
fn what_a_hook_prints_is_captured_apart_from_its_complaints() {
    let app = App::hello();
    let log = app.path().join("logs/hook.log");
    let printed = hooks::capture(
        &crate::support::guard(),
        "echo DATABASE_URL=sqlite3:x; echo hm >&2",
        app.path(),
        &BTreeMap::new(),
        Duration::from_secs(60),
        &log,
        &never,
    );
    assert_eq!(printed.unwrap(), "DATABASE_URL=sqlite3:x\n");
    assert_eq!(std::fs::read_to_string(&log).unwrap(), "hm\n");
    assert_eq!(std::fs::read_dir(log.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn a_program_that_is_no_guard_is_refused() {
    let app = App::hello();
    for exe in ["/bin/true", "/no/such/program"] {
        let guard = GuardProgram {
            exe: Path::new(exe).into(),
            arg: "guard".into(),
        };
        let error = servers::start(
            &ServerSpec {
                guard,
                ..app.spec(1, 0, false)
            },
            &never,
        );
        assert!(matches!(error, Err(StartError::Guard(_))), "{exe}");
    }
}

#[test]
fn a_control_group_holds_the_server_and_is_left_to_powerband() {
    let app = App::hello();
    let group = app.path().join("group");
    std::fs::create_dir(&group).unwrap();
    let spec = ServerSpec {
        groups: vec![group.clone()],
        ..app.spec(1, 0, false)
    };
    let server = servers::start(&spec, &never).unwrap();
    let joined = group.join("cgroup.procs");
    let members = std::fs::read_to_string(&joined).unwrap();
    assert_eq!(members.trim(), server.server_pid().to_string());
    // It would keep a folder of a file system, but no control group.
    std::fs::remove_file(joined).unwrap();
    server.stop();
    assert!(group.exists(), "powerband reads it after the end");
}
