//! Applications in temporary folders, and the guard that `examples/serve.rs` is.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use servers::guard::GuardProgram;
use servers::{Agent, Running, ServerSpec, Settings, StartError};
use tempfile::TempDir;

pub struct App {
    pub dir: TempDir,
}

impl App {
    /// An application that is this one `config.ru`.
    pub fn new(config_ru: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("config.ru"), config_ru).unwrap();
        App { dir }
    }

    pub fn hello() -> Self {
        App::new("run ->(env) { [200, {}, ['hello']] }\n")
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub fn spec(&self, threads: u16, workers: u16, preload: bool) -> ServerSpec {
        let settings = Settings {
            threads,
            workers,
            preload,
        };
        let spec = ServerSpec::new(self.path(), settings, self.path().join("work"), guard());
        ServerSpec {
            stop_grace: std::time::Duration::from_secs(4),
            ..spec
        }
    }
}

/// Cargo builds a package's examples before it runs the package's tests.
pub fn serve_program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let program = test.ancestors().nth(2).unwrap().join("examples/serve");
    assert!(
        program.exists(),
        "{} is missing: run the whole `cargo test`",
        program.display()
    );
    program
}

pub fn guard() -> GuardProgram {
    GuardProgram {
        exe: serve_program(),
        arg: "guard".into(),
    }
}

/// Neither running nor waiting to be asked how it ended.
pub fn is_gone(pid: u32) -> bool {
    !Path::new(&format!("/proc/{pid}")).exists()
}

pub fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}

/// Waits for a state, not for a time: the limit only ends a test that would fail anyway.
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(30);
    while !holds() {
        assert!(Instant::now() < give_up, "it never came true that {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

pub fn never() -> bool {
    false
}

pub fn start(spec: &ServerSpec) -> Running {
    servers::start(spec, &never).unwrap_or_else(|error| panic!("{error}"))
}

/// The body of the answer; empty when there is none.
pub fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request = format!("GET {path} HTTP/1.0\r\nHost: shop.example\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
    body.to_string()
}

/// Runs in an application and takes a second; the file `began` says that a request is being answered.
pub const SLOW: &str = "run ->(env) { File.write('began', ''); sleep 1; [200, {}, ['done']] }\n";

/// Ends the server while it answers a request of [`SLOW`]: the request is answered, and nothing of the server is left.
pub fn stop_during_a_request(app: &App, server: Running) {
    let address = server.addr();
    fs::remove_file(app.path().join("began")).unwrap();
    let asking = std::thread::spawn(move || get(address, "/"));
    eventually("the request is being answered", || {
        app.path().join("began").exists()
    });
    assert!(server.stop().clean);
    assert_eq!(asking.join().unwrap(), "done");
}

/// An application that does not load, and a part of what it prints then.
pub const RAISES: &str = "raise 'the moon is in the wrong house'\n";
pub const RAISED: &str = "the moon is in the wrong house";

/// The message of a server that does not start because of its application. It leaves no process.
pub fn died(app: &App, spec: &ServerSpec) -> String {
    let Err(StartError::Died(died)) = servers::start(spec, &never) else {
        panic!("it must not start");
    };
    assert_eq!(working_in(app.path()), [0; 0]);
    died.to_string()
}

/// The processes whose current folder this is.
pub fn working_in(folder: &Path) -> Vec<u32> {
    let folder = folder.canonicalize().unwrap();
    let works_there =
        |pid: &u32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder);
    all_pids().filter(works_there).collect()
}

pub fn all_pids() -> impl Iterator<Item = u32> {
    let pids = fs::read_dir("/proc").unwrap();
    pids.filter_map(|entry| entry.unwrap().file_name().to_str()?.parse().ok())
}

/// The agent of this repository, built where it is not built yet.
pub fn agent(cache: &Path, flight_dir: &Path) -> Agent {
    let ruby = servers::ruby::probe("ruby").unwrap();
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../gem");
    let gem = servers::agent::locate(Some(&checkout), cache).unwrap();
    Agent {
        lib_dir: gem.lib_dir(),
        ext_path: servers::agent::ensure_built(&gem, &ruby, cache, || ()).unwrap(),
        flight_dir: flight_dir.to_path_buf(),
    }
}

/// Waits until each of these processes has a flight file, and no other one.
pub fn await_flights_of(flight_dir: &Path, pids: &BTreeSet<u32>) {
    let recorded = || {
        let names = flights(flight_dir);
        let pids = names
            .iter()
            .filter_map(|name| name.split('-').next()?.parse().ok());
        pids.collect::<BTreeSet<u32>>()
    };
    eventually("each of these processes has a flight file", || {
        recorded() == *pids && flights(flight_dir).len() == pids.len()
    });
}

/// The names of the flight files of all processes.
pub fn flights(flight_dir: &Path) -> Vec<String> {
    let folders = fs::read_dir(flight_dir).into_iter().flatten().flatten();
    let files = folders.flat_map(|user| fs::read_dir(user.path()).into_iter().flatten().flatten());
    files
        .map(|file| file.file_name().into_string().unwrap())
        .collect()
}

/// Says that Pitchfork is not installed, if it is not: Debian has no package of it.
pub fn without_pitchfork() -> bool {
    without("pitchfork", "Pitchfork")
}

/// Says that Falcon is not installed, if it is not: Debian has no package of it.
pub fn without_falcon() -> bool {
    without("falcon", "Falcon")
}

#[allow(clippy::print_stderr, reason = "a test that did nothing says so")]
fn without(program: &str, name: &str) -> bool {
    let missing = std::process::Command::new(program)
        .arg("--version")
        .output()
        .is_err();
    if missing {
        eprintln!("not tested: {name} is not installed");
    }
    missing
}

/// Says why Passenger cannot run here, if it cannot. Where no file shows that this is a container, its watchdog asks the
/// first process, and aborts when it may not.
#[allow(clippy::print_stderr, reason = "a test that did nothing says so")]
pub fn without_passenger() -> bool {
    let there = |path: &str| Path::new(path).exists();
    let why = if !there("/usr/lib/apache2/modules/mod_passenger.so") {
        "libapache2-mod-passenger is not installed"
    } else if !there("/.dockerenv")
        && !there("/run/systemd/container")
        && fs::read("/proc/1/environ").is_err()
    {
        "Passenger's watchdog may not read /proc/1/environ"
    } else {
        return false;
    };
    eprintln!("not tested: {why}");
    true
}
