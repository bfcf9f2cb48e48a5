//! nginx in front of the server: its configuration, whether that is right, what really runs.

mod certificate;
mod config;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;

use crate::error::StartError;
use crate::files::{failed, private_dir, private_file};
use crate::installed;
use crate::proc;
use crate::read_back::Mismatch;

const PACKAGE: &str = "nginx-light or nginx";
/// SIGTERM would cut off clients that are being answered.
pub(crate) const ORDERLY_END: Signal = Signal::QUIT;

/// An nginx between clients and the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nginx {
    /// A path, or a name that is looked for on the `PATH` and in `/usr/sbin`.
    pub program: PathBuf,
    /// `worker_processes`
    pub workers: u16,
    /// `worker_connections`, those to the server included.
    pub worker_connections: u32,
    /// Idle connections to the server that each worker keeps; 0 makes a new one for each request.
    pub keepalive: u32,
    /// How long an idle client's connection is kept; zero closes it after each answer.
    pub keepalive_timeout: Duration,
    /// `proxy_buffers` of one connection: how many, and the bytes of each.
    pub proxy_buffers: (u32, u64),
    /// Whether an answer is taken from the server as fast as that gives it.
    pub proxy_buffering: bool,
    /// Clients talk TLS, with a certificate made for this start: see [`crate::Running::certificate`].
    pub tls: bool,
}

impl Default for Nginx {
    /// nginx's own defaults, except for two workers.
    fn default() -> Self {
        Nginx {
            program: "nginx".into(),
            workers: 2,
            worker_connections: 512,
            keepalive: 0,
            keepalive_timeout: Duration::from_secs(75),
            proxy_buffers: (8, 4096),
            proxy_buffering: true,
            tls: false,
        }
    }
}

/// An nginx that is ready to be executed.
#[derive(Debug)]
pub(crate) struct PreparedFront {
    pub(crate) words: Vec<String>,
    pub(crate) remove: Vec<PathBuf>,
    pub(crate) certificate: Option<PathBuf>,
    pub(crate) version: String,
}

/// Writes what nginx reads, and lets it check that.
pub(crate) fn prepare(
    nginx: &Nginx,
    work_dir: &Path,
    port: u16,
    upstream: u16,
) -> Result<PreparedFront, StartError> {
    let program = installed::find(&nginx.program, PACKAGE)?;
    let built = built(&program)?;
    let folder = work_dir.join("nginx");
    private_dir(&folder)?;
    laid_out(nginx, &program, built, &folder, port, upstream).inspect_err(|_| {
        // A key may be there already.
        let _ = std::fs::remove_dir_all(&folder);
    })
}

fn laid_out(
    nginx: &Nginx,
    program: &Path,
    built: Built,
    folder: &Path,
    port: u16,
    upstream: u16,
) -> Result<PreparedFront, StartError> {
    // Names in the configuration are relative to its folder: a path may hold what nginx would replace.
    let tls = if nginx.tls {
        Some(certificate::make(folder)?)
    } else {
        None
    };
    let path = folder.join("nginx.conf");
    let text = config::text(nginx, port, upstream, &built);
    private_file(&path, &text)?;
    let words = [
        program.display().to_string(),
        "-e".into(),
        "stderr".into(),
        "-p".into(),
        format!("{}/", folder.display()),
        "-c".into(),
        path.display().to_string(),
    ];
    check(&words)?;
    Ok(PreparedFront {
        words: words.to_vec(),
        remove: config::LEFT
            .iter()
            .map(|name| folder.join(name))
            .chain(tls.iter().map(|tls| tls.key.clone()))
            .chain([path])
            .collect(),
        certificate: tls.map(|tls| tls.certificate),
        version: built.version,
    })
}

/// What `nginx -V` says.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Built {
    version: String,
    arguments: String,
}

fn built(program: &Path) -> Result<Built, StartError> {
    let output = run(&[program.display().to_string(), "-V".into()])?;
    Ok(parse_built(&output.1))
}

fn parse_built(said: &str) -> Built {
    let after = |prefix: &str| {
        said.lines()
            .find_map(|line| line.strip_prefix(prefix))
            .unwrap_or_default()
            .trim()
            .to_string()
    };
    let version = after("nginx version: ").replace("nginx/", "nginx ");
    Built {
        version: version.split(" (").next().unwrap_or_default().to_string(),
        arguments: after("configure arguments:"),
    }
}

fn check(words: &[String]) -> Result<(), StartError> {
    let words: Vec<String> = words.iter().cloned().chain(["-t".into()]).collect();
    match run(&words)? {
        (true, _) => Ok(()),
        (false, said) => Err(StartError::Refused {
            what: "nginx",
            said: said.trim().to_string(),
        }),
    }
}

/// Whether it succeeded, and its standard error.
fn run(words: &[String]) -> Result<(bool, String), StartError> {
    let output = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .map_err(failed("run", Path::new(&words[0])))?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    Ok((output.status.success(), said))
}

/// Its living worker processes.
pub(crate) fn workers(master: u32) -> usize {
    let children = proc::descendants(master).into_iter();
    children
        .filter(|&pid| proc::stat(pid).is_some_and(|stat| stat.parent == master && !stat.is_dead()))
        .filter(|&pid| proc::command_line(pid).starts_with("nginx: worker process"))
        .count()
}

pub(crate) fn mismatches(asked: &Nginx, workers: usize) -> Option<Mismatch> {
    (workers != usize::from(asked.workers)).then(|| Mismatch {
        knob: "nginx.workers".into(),
        asked: asked.workers.to_string(),
        runs_with: workers.to_string(),
        hint: "workers of nginx ended; look at the server's log",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_and_what_was_left_out_are_read() {
        let said = "nginx version: nginx/1.26.3 (Ubuntu)\nbuilt with OpenSSL 3.5.6\nTLS SNI support enabled\n\
                    configure arguments: --prefix=/usr --without-http_uwsgi_module\n";
        let built = parse_built(said);
        assert_eq!(built.version, "nginx 1.26.3");
        assert!(built.arguments.ends_with("--without-http_uwsgi_module"));
    }
}
