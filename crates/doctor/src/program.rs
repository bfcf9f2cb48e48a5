//! What the process runs that was named: a server that is known, another Ruby program, or no Ruby at all.

use std::fmt::{self, Display, Formatter};
use std::fs;

use host::{ProcessFacts, Roots, Tree};

use crate::named::is_title;
use crate::server_command::ServerWords;

/// What Passenger calls the processes that run Ruby.
const PASSENGER: &[&str] = &["Passenger RubyApp:", "Passenger AppPreloader:"];
/// Of a command line, what is shown.
const MOST_SHOWN: usize = 80;

/// A process in which no Ruby runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoRuby {
    /// Its program's name.
    pub program: String,
    /// The first process below it that runs Ruby.
    pub below: Option<u32>,
}

impl Display for NoRuby {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "it runs {}, which is no Ruby server; ", self.program)?;
        match self.below {
            Some(pid) => write!(f, "the Ruby that it started is process {pid}: give --pid {pid}"),
            None => f.write_str(
                "name the process of a server: Puma's or Unicorn's master, or a process of Passenger's application",
            ),
        }
    }
}

/// Whether a process runs something else than Ruby; where that cannot be seen, the checks say so.
pub fn no_ruby(process: &ProcessFacts, roots: &Roots) -> Option<NoRuby> {
    let program = process.program.as_ref().ok()?;
    let program = program.file_name()?.to_string_lossy().into_owned();
    if runs_ruby(process.pid, roots) {
        return None;
    }
    let below = Tree::from(process.pid).without_root().at(&roots.proc);
    let mut below = below.pids().unwrap_or_default().into_iter();
    Some(NoRuby {
        program,
        below: below.find(|&pid| runs_ruby(pid, roots)),
    })
}

/// By the program's name, or by Ruby's library in it.
fn runs_ruby(pid: u32, roots: &Roots) -> bool {
    let process = roots.of(Some(pid));
    let program = fs::read_link(process.join("exe")).unwrap_or_default();
    let name = program.file_name().unwrap_or_default().to_string_lossy();
    let maps = || fs::read(process.join("maps")).unwrap_or_default();
    name.contains("ruby") || String::from_utf8_lossy(&maps()).contains("/libruby")
}

/// The command line, without secrets, of a Ruby program that is not a known server.
pub fn unknown_server(process: &ProcessFacts) -> Option<String> {
    let words = process.commands.first()?;
    let of_passenger = |name: &&str| words[0].starts_with(*name);
    let known = process.puma_serves == Ok(true)
        || is_title(words)
        || ServerWords::of(words).is_some()
        || PASSENGER.iter().any(of_passenger);
    let shown = || knobs::shown_words(words).join(" ");
    let cut = |text: String| match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    };
    (!known).then(|| cut(shown()))
}
