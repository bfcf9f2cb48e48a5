//! What the application's checks look at.

use std::collections::BTreeMap;

use host::Known;
use servers::interpreter::RubyProbe;
use servers::pools::Pool;

use crate::config_files::ConfigFile;
use crate::named::Named;

/// An application that runs, or that a trial would start. Each with the reason where it is not known.
#[derive(Debug, Clone)]
pub struct ApplicationFacts {
    /// It runs, as this process: what is wrong harms a server, rather than what would be measured.
    pub pid: Option<u32>,
    /// It is a Puma that does not serve yet: its threads, workers and logs are not there.
    pub booting: bool,
    /// The command line, without secrets, of a Ruby program that is not a known server.
    pub unknown_server: Option<String>,
    /// A run of Powerband started it, and set its environment.
    pub of_powerband: bool,
    pub environment: Known<Environment>,
    /// `config/**/*.rb`.
    pub config_files: Known<Vec<ConfigFile>>,
    pub pools: Known<Vec<Pool>>,
    /// Threads of the executor of async queries; 0 without one.
    pub async_threads: Known<u32>,
    /// Threads of one process.
    pub threads: Known<Counted>,
    /// Worker processes; 0 is a single process without workers.
    pub workers: Known<Counted>,
    pub cores: usize,
    pub cpu_quota: Option<f64>,
    /// The loader of the C library that Ruby is linked with.
    pub interpreter: Known<String>,
    /// What Ruby says of its variables and of itself.
    pub ruby_probe: Known<RubyProbe>,
}

/// Variables, and the environment's name (`production`) as the server or a trial makes it.
#[derive(Clone)]
pub struct Environment {
    /// All of them, secrets too: never printed as a whole.
    pub variables: BTreeMap<String, String>,
    pub named: Named,
}

/// A number, and where it is from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counted {
    pub count: u32,
    pub from: String,
}

impl Environment {
    /// A variable that is set and not empty.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        let value = self.variables.get(name).map(String::as_str);
        value.filter(|value| !value.trim().is_empty())
    }

    /// The environment's name, or what Rails takes where nothing says it.
    ///
    /// # Errors
    /// Why it is not known.
    pub fn section(&self) -> Known<&str> {
        match &self.named {
            Named::As { name, .. } => Ok(name),
            Named::Unset => Ok("development"),
            Named::NotSeen(why) => Err(why.clone()),
        }
    }
}

/// The variables' values stay out of messages and panics.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let count = self.variables.len();
        write!(f, "{count} variables, {:?}", self.named)
    }
}
