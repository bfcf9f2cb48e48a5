//! Questions to the agent in the server, as requests with a token that only this program and the server have.

use crate::error::{Failure, Stopped};
use crate::progress::Watcher;
use heap::Name;
use serde::Deserialize;
use servers::Running;
use std::collections::HashMap;
use std::path::PathBuf;

/// The header with the token.
const HEADER: &str = "X-Powerband-Leak";

/// What asks.
pub struct Door {
    token: String,
}

/// An answer: each question has fields of its own.
#[derive(Debug, Deserialize)]
pub struct Answer {
    /// The file that the agent has begun or finished.
    #[serde(default)]
    file: Option<PathBuf>,
    /// Names by pairs of addresses.
    #[serde(default)]
    pub names: HashMap<String, Name>,
}

impl Door {
    pub fn new() -> Result<Door, Stopped> {
        let token = servers::nonce().map_err(|why| Stopped::NoAnswer(why.to_string()))?;
        Ok(Door { token })
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    /// Asks for a file.
    pub fn file(
        &self,
        server: &Running,
        path: &str,
        watcher: &dyn Watcher,
    ) -> Result<PathBuf, Failure> {
        let named = self.ask(server, path, watcher)?.file;
        named.ok_or_else(|| {
            Failure::Trial(format!("the agent in the server names no file for {path}"))
        })
    }

    /// Asks once; a dump of a large heap takes minutes.
    pub fn ask(
        &self,
        server: &Running,
        path: &str,
        watcher: &dyn Watcher,
    ) -> Result<Answer, Failure> {
        let go_on = || match (watcher.cancelled(), server.alive()) {
            (true, _) => Err(Failure::Interrupted),
            (false, alive) => alive.map_err(|died| Failure::Trial(died.to_string())),
        };
        let body = server.asked(path, (HEADER, &self.token), go_on)?;
        let answer = body.and_then(|body| Ok(serde_json::from_slice(&body)?));
        answer.map_err(|why| {
            let (asked, log) = (path.split('?').next().unwrap_or(path), server.log_path());
            Failure::Trial(format!(
                "the agent in the server does not answer {asked}: {why}; the server's log is {}",
                log.display()
            ))
        })
    }
}
