//! The connection pool in Rails' `config/database.yml`, changed line by line so that comments, anchors, ERB and order stay.
//!
//! Production's databases alone, each with what it merges in from anchors. A pool that follows `RAILS_MAX_THREADS` stays so; its default
//! is raised, as that of the threads in config/puma.rb is. A larger pool does no harm and may be another process's (Sidekiq reads the
//! same file).

mod outline;

use crate::text::{Text, indent};
use crate::{Change, Note};
use outline::Outline;

/// The section whose databases the server uses.
const SECTION: &str = "production";
/// The newer name is Rails 8.1's.
const KEYS: [&str; 2] = ["pool", "max_connections"];
const THREADS: &str = "RAILS_MAX_THREADS";

/// What a pool holds where the file does not say.
const RAILS_DEFAULT: u32 = 5;

/// Connections that each of production's databases needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needed {
    pub pool: u32,
    /// What `RAILS_MAX_THREADS` will hold.
    pub threads: u32,
    /// Whether the pool itself was measured; otherwise one that is large enough needs no word.
    pub measured: bool,
}

/// At least so many connections for each of production's databases.
pub fn write(path: &str, before: &str, needed: Needed, notes: &mut Vec<Note>) -> Change {
    let pool = needed.pool;
    let mut text = Text::of(before);
    let mut said: Vec<String> = Vec::new();
    // Each turn changes one line at most, and none that is right.
    for _ in 0..=text.lines.len() + 1 {
        said.clear();
        match step(&text.lines, needed, &mut said) {
            Ok(Some(Edit::Replace(at, line))) => text.lines[at] = line,
            Ok(Some(Edit::Insert(at, line))) => text.insert(at, line),
            Ok(None) => break,
            Err(why) => {
                said.push(format!(
                    "{why}, so the file stays as it is; make sure that {SECTION} has a pool of at least {pool}."
                ));
                notes.extend(said.into_iter().map(|said| Note::new(path, said)));
                return Change::private(path, before, Text::of(before).whole());
            }
        }
    }
    said.dedup();
    notes.extend(said.into_iter().map(|said| Note::new(path, said)));
    Change::private(path, before, text.whole())
}

enum Edit {
    Replace(usize, String),
    Insert(usize, String),
}

/// The first change that is still to make.
fn step(lines: &[String], needed: Needed, said: &mut Vec<String>) -> Result<Option<Edit>, String> {
    let Needed {
        pool,
        threads,
        measured,
    } = needed;
    let outline = Outline::of(lines)?;
    for config in outline.databases(SECTION)? {
        if let Some(url) = outline.effective(config, &["url"])?
            && outline.value(url).contains("pool=")
        {
            said.push(format!(
                "line {}: the URL has a pool of its own; let it be at least {pool}.",
                outline.line(url) + 1
            ));
            continue;
        }
        let Some(at) = outline.effective(config, &KEYS)? else {
            if !measured && pool <= RAILS_DEFAULT {
                continue;
            }
            return add(&outline, lines, config, pool).map(Some);
        };
        let (line, value) = (outline.line(at), outline.value(at));
        let number = value.trim_matches(['"', '\'']).parse::<u32>();
        match number {
            Ok(number) if number < pool => {
                let colon = lines[line].find(':').unwrap_or(0);
                let (key, rest) = lines[line].split_at(colon);
                let rest = rest.replacen(&number.to_string(), &pool.to_string(), 1);
                return Ok(Some(Edit::Replace(line, format!("{key}{rest}"))));
            }
            Ok(number) if measured && number > pool => said.push(format!(
                "line {}: a pool of {number} is more than the {pool} that are needed; it may stay.",
                line + 1
            )),
            Ok(_) => {}
            Err(_) => match with_default(&lines[line], value, needed) {
                Some(raised) => return Ok(Some(Edit::Replace(line, raised))),
                None => said.extend(follows(value, line, pool, threads)),
            },
        }
    }
    Ok(None)
}

/// The line of a pool that follows the threads, with a default of as many as are needed where its own is smaller.
fn with_default(line: &str, value: &str, needed: Needed) -> Option<String> {
    let Needed { pool, threads, .. } = needed;
    let plain = value.starts_with("<%=") && !value.contains(['+', '*']);
    let at = line.find(THREADS).filter(|_| plain && pool <= threads)? + THREADS.len();
    let (before, rest) = line.split_at(at);
    let from = rest.find(|c: char| c.is_ascii_digit())?;
    let digits = rest[from..].find(|c: char| !c.is_ascii_digit())?;
    let default: u32 = rest[from..from + digits].parse().ok()?;
    let after = &rest[from + digits..];
    (default < pool).then(|| format!("{before}{}{pool}{after}", &rest[..from]))
}

/// What is to be said of a pool that is computed.
fn follows(value: &str, line: usize, pool: u32, threads: u32) -> Option<String> {
    let line = line + 1;
    if !value.starts_with("<%=") || !value.contains(THREADS) {
        return Some(format!(
            "line {line}: the pool comes from elsewhere; let it be at least {pool}."
        ));
    }
    if pool > threads && !value.contains(['+', '*']) {
        return Some(format!(
            "line {line}: the pool follows {THREADS} = {threads}, and {pool} are needed; add to it there."
        ));
    }
    let rest = &value[value.find(THREADS)? + THREADS.len()..];
    let digits = rest.trim_start_matches(|c: char| !c.is_ascii_digit());
    let default = digits.split(|c: char| !c.is_ascii_digit()).next()?;
    let default = default
        .parse::<u32>()
        .ok()
        .filter(|default| *default < pool)?;
    Some(format!(
        "line {line}: the pool follows {THREADS} and is {default} where that is not set; set it to {threads} in the server's \
         environment (Rails alone does not read .env), or raise the default there to {pool}."
    ))
}

/// Next to the adapter, so that an anchor that all databases share has it once.
fn add(outline: &Outline, lines: &[String], config: usize, pool: u32) -> Result<Edit, String> {
    let new_name = lines
        .iter()
        .any(|l| l.trim_start().starts_with("max_connections:"));
    let key = KEYS[usize::from(new_name)];
    let (at, beside) = match outline.effective(config, &["adapter"])? {
        Some(adapter) => (outline.line(adapter) + 1, outline.line(adapter)),
        None => match outline.children(config).first() {
            Some(child) => (outline.line(*child), outline.line(*child)),
            None => {
                return Err(format!(
                    "line {} has no lines below it",
                    outline.line(config) + 1
                ));
            }
        },
    };
    Ok(Edit::Insert(
        at,
        format!("{}{key}: {pool}", indent(&lines[beside])),
    ))
}

#[cfg(test)]
mod tests;
