//! Applications in temporary folders, and the guard that `examples/serve.rs` is.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use servers::guard::GuardProgram;
use servers::{ServerSpec, Settings};
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
