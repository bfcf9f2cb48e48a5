//! Why there is no agent.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why there is no agent.
#[derive(Debug, Error)]
pub enum AgentError {
    #[error("{path} does not hold the powerband gem: it has no {lacks}; name the gem's folder")]
    NotTheGem { path: PathBuf, lacks: &'static str },
    #[error("cannot read or make {path}: {source}")]
    File { path: PathBuf, source: io::Error },
    #[error(
        "the agent cannot be put into {path}: {source}; make room there, or name another folder that you can write \
         with XDG_CACHE_HOME"
    )]
    Cache { path: PathBuf, source: io::Error },
    #[error(
        "{path} can be written by other users, who could put code into the server; make it yours alone (chown, chmod go-w), or \
         name another folder with XDG_CACHE_HOME"
    )]
    Untrusted { path: PathBuf },
    #[error(
        "the copy of the agent in {path} was changed; remove it, or name the changed gem with POWERBAND_GEM"
    )]
    Damaged { path: PathBuf },
    #[error(
        "the agent's extension cannot be built for Ruby {ruby}; {}. The last lines were:\n    {}",
        build_remedy(last_lines),
        last_lines.join("\n    ")
    )]
    NotBuilt {
        ruby: String,
        last_lines: Vec<String>,
    },
}

/// What helps where a build failed.
fn build_remedy(last_lines: &[String]) -> &'static str {
    match last_lines
        .iter()
        .any(|line| line.contains("No space left on device"))
    {
        true => "make room in the folder of temporary files, or name another with TMPDIR",
        false => "install a C compiler, make and Ruby's headers (ruby-dev)",
    }
}

pub(super) fn file_error(path: &Path) -> impl FnOnce(io::Error) -> AgentError + use<> {
    let path = path.to_path_buf();
    move |source| AgentError::File { path, source }
}

pub(super) fn cache_error(path: &Path) -> impl FnOnce(io::Error) -> AgentError + use<> {
    let path = path.to_path_buf();
    move |source| AgentError::Cache { path, source }
}
