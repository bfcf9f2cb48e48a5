//! `ENV` lines of a Dockerfile's last stage, and the allocator's package.
//!
//! A line that sets one variable is changed where it stands; one that sets several may hold secrets, so it stays and a
//! line below overrides it. Variables already set by the stages that the last one is built from are not repeated.

mod parsed;

use crate::text::Text;
use crate::variable::{PRELOAD, Wanted, is_plain};
use crate::{AllocatorLibrary, Change, Note};
use parsed::{Dockerfile, Instruction};

const WHY_NO_PATH: &str = "# The loader finds the library by this name on any architecture.";

/// These variables, and the allocator's package where `LD_PRELOAD` is to hold its library.
pub fn write(
    path: &str,
    before: &str,
    wanted: &[Wanted],
    allocator: Option<&AllocatorLibrary>,
    notes: &mut Vec<Note>,
) -> Change {
    let mut text = Text::of(before);
    let file = Dockerfile::of(&text.lines);
    let why = match (file.last_stage().is_empty(), file.unfinished) {
        (true, _) => {
            "there is no FROM, so nothing is known of the image; set the variables where the server is started."
        }
        (false, true) => {
            "the last line continues on one that is not there; end it, then ask again."
        }
        (false, false) => "",
    };
    if !why.is_empty() {
        notes.push(Note::new(path, why));
        return Change::private(path, before, text.whole());
    }
    let library = allocator.filter(|library| !library.soname.is_empty());
    let installed = library.is_none_or(|library| install(path, &mut text, library, notes));
    for variable in wanted {
        if variable.name == PRELOAD && !installed {
            continue;
        }
        set(&mut text, variable);
    }
    Change::private(path, before, text.whole())
}

fn set(text: &mut Text, variable: &Wanted) {
    let file = Dockerfile::of(&text.lines);
    let existing = file.effective(&variable.name);
    let known = existing.as_ref().map(|v| v.as_deref().unwrap_or_default());
    let Some(value) = variable.over(known) else {
        return;
    };
    if existing == Some(Some(value.clone())) {
        return;
    }
    let line = format!("ENV {}={}", variable.name, quoted(&value, file.escape));
    let stage = file.last_stage();
    let assigns = |i: &&Instruction| i.assigns().iter().any(|(name, _)| *name == variable.name);
    let last = stage.iter().rfind(assigns);
    if let Some(one) = last.filter(|i| i.assigns().len() == 1 && i.first == i.last) {
        text.lines[one.first] = line;
        return;
    }
    let at = before_start(&text.lines, stage).max(last.map_or(0, |i| i.last + 1));
    text.insert(at, line);
    if variable.name == PRELOAD && !value.contains('/') {
        text.insert(at, WHY_NO_PATH);
    }
}

/// Makes the image have the library; `false` where that is left to a person, with a note.
fn install(path: &str, text: &mut Text, library: &AllocatorLibrary, notes: &mut Vec<Note>) -> bool {
    let package = library.package.split(' ').next().unwrap_or_default();
    let file = Dockerfile::of(&text.lines);
    let stage = file.last_stage();
    if file.runs_with(package) {
        return true;
    }
    let known = file.effective(PRELOAD).flatten().unwrap_or_default();
    if known.contains(&library.soname) {
        return true;
    }
    let names = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
    let why = if package.is_empty() || !package.chars().all(names) {
        Some("no package is known that has it".to_owned())
    } else if file.image().contains("alpine") {
        Some(format!("{} is no Debian: find its package", file.image()))
    } else if !matches!(file.user_at_start().as_str(), "" | "root" | "0") {
        Some(format!(
            "the last stage begins as {}, who cannot install {package}",
            file.user_at_start()
        ))
    } else {
        None
    };
    if let Some(why) = why {
        notes.push(Note::new(
            path,
            format!(
                "{} is not in the image, and {why}; install it, then ENV LD_PRELOAD={}.",
                library.name, library.soname
            ),
        ));
        return false;
    }
    if package != library.package {
        notes.push(Note::new(
            path,
            format!(
                "{}'s package by release: {}.",
                library.name, library.package
            ),
        ));
    }
    let user = stage.iter().find(|i| i.keyword == "USER");
    let start = before_start(&text.lines, stage);
    let at = user.map_or(start, |i| above_comments(&text.lines, i.first).min(start));
    text.insert(
        at,
        format!(
            "RUN apt-get update -qq && apt-get install --no-install-recommends -y {package} && rm -rf /var/lib/apt/lists/*"
        ),
    );
    true
}

/// The line of the first `ENTRYPOINT` or `CMD`, else the stage's end.
fn before_start(lines: &[String], stage: &[Instruction]) -> usize {
    let starts = |i: &&Instruction| matches!(i.keyword.as_str(), "CMD" | "ENTRYPOINT");
    match stage.iter().find(starts) {
        Some(start) => above_comments(lines, start.first),
        None => stage.last().map_or(0, |i| i.last + 1),
    }
}

/// Comments right above an instruction belong to it.
fn above_comments(lines: &[String], mut at: usize) -> usize {
    while at > 0 && lines[at - 1].starts_with('#') && lines[at - 1] != WHY_NO_PATH {
        at -= 1;
    }
    at
}

/// Quoted so that nothing in it is expanded.
fn quoted(value: &str, escape: char) -> String {
    if is_plain(value) && !value.is_empty() {
        return value.to_owned();
    }
    let mut quoted = String::from('"');
    for c in value.chars() {
        if c == '"' || c == '$' || c == escape {
            quoted.push(escape);
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests;
