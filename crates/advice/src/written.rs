//! One recommendation in every file that there is.

use crate::database_yml::Needed;
use crate::{
    Change, File, Files, Knobs, Note, Recommended, Server, apache, database_yml, dockerfile,
    environment, kamal, kubernetes, nginx, prefork, procfile, puma, systemd, variable,
};

/// What to change, and what is left to a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Written {
    /// Files that differ from what they should be.
    pub changes: Vec<Change>,
    pub notes: Vec<Note>,
}

/// Variables that are read before any line of Ruby runs, so that dotenv sets them too late.
const BEFORE_RUBY: [&str; 6] = [
    "BUNDLE_",
    "LD_",
    "MALLOC_",
    "MIMALLOC_",
    "RUBY",
    "TCMALLOC_",
];

/// The connections that a process needs: as many as were measured, or one for each thread.
fn needed(recommended: &Recommended) -> Option<Needed> {
    let threads = u32::from(recommended.threads);
    let several = recommended.server == Server::Puma && threads > 1;
    let pool = recommended.pool.or(several.then_some(threads))?;
    Some(Needed {
        pool,
        threads,
        measured: recommended.pool.is_some(),
    })
}

/// The variables of a recommendation for an application that loads no file of them. `written` has the other files.
#[must_use]
pub fn variables_by_hand(recommended: &Recommended, written: &Written) -> Vec<Note> {
    // `write_down` has noted what is no plain variable.
    let wanted = variable::wanted(recommended, &mut Vec::new());
    let mut notes = Vec::new();
    let change = environment::write(".env", "", &wanted, &mut notes);
    let added: Vec<&str> = change.added().collect();
    // Otherwise it seems to repeat the number of threads of the server's file.
    let pool = match added
        .iter()
        .any(|line| line.starts_with("RAILS_MAX_THREADS="))
    {
        true => "; Rails sizes its pool of database connections by RAILS_MAX_THREADS",
        false => "",
    };
    let is_set = |change: &&Change| {
        let words: Vec<&str> = change.added().flat_map(str::split_whitespace).collect();
        added.iter().all(|line| words.contains(line))
    };
    let set = written.changes.iter().find(is_set);
    let begun = set.map_or_else(
        || "set".to_owned(),
        |change| {
            format!(
                "the diff of {} sets them; for a server that starts in another way, set them",
                change.path
            )
        },
    );
    if !added.is_empty() {
        notes.push(Note::new(
            "variables",
            format!(
                "{begun} where the server is started (systemd's Environment, Docker's --env, Foreman's .env), because no dotenv gem would \
                 load them from a file: {}{pool}",
                added.join(" ")
            ),
        ));
    }
    notes
}

/// The files that start the server in containers, or on a platform.
fn of_deployment(
    recommended: &Recommended,
    files: &Files,
    wanted: &[variable::Wanted],
    notes: &mut Vec<Note>,
) -> Vec<Change> {
    let mut changes = Vec::new();
    let asked = |wanted, adds| kubernetes::Asked {
        recommended,
        wanted,
        adds,
    };
    let mut elsewhere = wanted.to_vec();
    if let Some(File { path, text }) = &files.deployment {
        let names = kubernetes::names(text, recommended, wanted);
        elsewhere.retain(|wanted| !names.contains(&wanted.name));
        let asked = asked(wanted, files.configmap.is_none());
        changes.push(kubernetes::deployment(path, text, asked, notes));
    }
    if let Some(File { path, text }) = &files.configmap {
        changes.push(kubernetes::config_map(
            path,
            text,
            asked(&elsewhere, true),
            notes,
        ));
    }
    if let Some(File { path, text }) = &files.kamal {
        changes.push(kamal::write(path, text, asked(wanted, true), notes));
    }
    if let Some(File { path, text }) = &files.procfile {
        changes.push(procfile::write(path, text, recommended, wanted, notes));
    }
    changes
}

/// Writes a recommendation into the files that are wanted. Applied to its own output it changes nothing.
#[must_use]
pub fn write_down(recommended: &Recommended, files: &Files) -> Written {
    let mut written = Written::default();
    let notes = &mut written.notes;
    let wanted = variable::wanted(recommended, notes);
    let knobs = Knobs {
        workers: recommended.workers,
        threads: recommended.threads,
        preload: recommended.preload,
    };
    let server = recommended.server;
    let mut changes = Vec::new();
    if let Some(File { path, text }) = files.puma.as_ref().filter(|_| server == Server::Puma) {
        changes.push(puma::write(path, text, knobs, &recommended.puma, notes));
    }
    let forks = [Server::Unicorn, Server::Pitchfork].contains(&server);
    if let Some(File { path, text }) = files.prefork.as_ref().filter(|_| forks) {
        changes.push(prefork::write(path, text, recommended, notes));
    }
    if let Some(File { path, text }) = &files.environment {
        let change = environment::write(path, text, &wanted, notes);
        let early = |w: &&variable::Wanted| BEFORE_RUBY.iter().any(|p| w.name.starts_with(p));
        let early = wanted.iter().filter(early).map(|w| w.name.as_str());
        let early: Vec<&str> = early.collect();
        if !early.is_empty() && !change.diff.is_empty() {
            notes.push(Note::new(
                path,
                format!(
                    "{} must be in the environment before Ruby starts: a shell, systemd, Docker or Foreman sets them \
                     from this file, the dotenv gem too late.",
                    early.join(", ")
                ),
            ));
        }
        changes.push(change);
    }
    if let Some(File { path, text }) = &files.dockerfile {
        let allocator = recommended.allocator.as_ref();
        changes.push(dockerfile::write(path, text, &wanted, allocator, notes));
    }
    if let Some(File { path, text }) = &files.systemd {
        changes.push(systemd::write(path, text, &wanted, notes));
    }
    if let (Some(File { path, text }), Some(needed)) = (&files.database_yml, needed(recommended)) {
        changes.push(database_yml::write(path, text, needed, notes));
    }
    if let Some(File { path, text }) = &files.nginx {
        changes.push(nginx::write(path, text, &recommended.nginx, notes));
    }
    if let Some(File { path, text }) = files
        .apache
        .as_ref()
        .filter(|_| server == Server::Passenger)
    {
        changes.push(apache::write(path, text, recommended, notes));
    }
    changes.extend(of_deployment(recommended, files, &wanted, notes));
    written.changes = changes.into_iter().filter(|c| !c.diff.is_empty()).collect();
    written
}
