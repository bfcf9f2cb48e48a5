//! `report`, and what is generated from the arguments: completions and the manual page.

use super::desktop;
use super::runs::none_under;
use crate::args::{Cli, ReportArgs};
use crate::{Failure, examples, output, verbs};
use clap::CommandFactory;
use report::Readable;
use run::Folder;
use run::runs::{find, newest, newest_experiment};
use std::path::{Path, PathBuf};

/// `powerband report`.
pub fn report(args: ReportArgs) -> Result<u8, Failure> {
    if let Some(file) = args
        .run
        .as_deref()
        .map(Path::new)
        .filter(|path| path.is_file())
    {
        return of_file(&args, file);
    }
    let names_document = |run: &&PathBuf| run.extension().is_some_and(|e| e == "json");
    if let Some(file) = args.run.as_ref().filter(names_document) {
        return Err(Failure::usage(format!(
            "{}: there is no such file; name one that --json wrote, or a run (powerband runs lists them)",
            file.display()
        )));
    }
    let folder = match &args.run {
        Some(run) => find(&args.kept.runs, run),
        None => {
            // What capacity and predict leave has no diff.
            let newest = match args.diff {
                true => newest_experiment(&args.kept.runs),
                false => newest(&args.kept.runs),
            };
            let newest = newest.map_err(|e| Failure::usage(e.to_string()))?;
            newest.ok_or_else(|| Failure::usage(none_under("run", &args.kept.runs)))?
        }
    };
    if let Some(document) = run::runs::other_document(&folder) {
        return of_file(&args, &document);
    }
    let folder = Folder::open(&folder);
    let folder = folder.map_err(|e| Failure::usage(e.to_string()))?;
    let document = folder.read().map_err(|e| Failure::usage(e.to_string()))?;
    if let Some(file) = &args.html {
        let page = Readable::Run(Box::new(document)).html();
        let written = match file {
            None => folder
                .write_page(&page)
                .map_err(|e| Failure::usage(e.to_string()))?,
            Some(file) => html(&page, file)?,
        };
        return said(&written, opens(&args));
    }
    if args.diff {
        return diff(&document);
    }
    let worker = folder.worker();
    match worker.filter(|_| !args.json && document.verdict.is_none()) {
        Some(worker) => output::print(&report::page_while_running(
            &document,
            worker,
            output::style(),
        ))?,
        None => output::document(&document, args.json, args.full)?,
    }
    Ok(0)
}

/// A document that `--json` printed into a file.
fn of_file(args: &ReportArgs, file: &Path) -> Result<u8, Failure> {
    let wrong = |why: String| Failure::usage(format!("{}: {why}", file.display()));
    let text = std::fs::read_to_string(file)
        .map_err(|e| wrong(format!("{e}; name a file that can be read")))?;
    let document = Readable::parse(&text).map_err(wrong)?;
    if args.diff {
        return match &document {
            Readable::Run(document) => diff(document),
            _ => Err(Failure::usage(format!(
                "--diff: {} is no document of a run; name a tune",
                file.display()
            ))),
        };
    }
    match &args.html {
        Some(page) => {
            let beside = || file.with_extension("html");
            let page = page.clone().unwrap_or_else(beside);
            said(&html(&document.html(), &page)?, opens(args))
        }
        None if args.json => {
            output::json(&document)?;
            Ok(0)
        }
        None => {
            output::print(&document.page(args.full, output::style()))?;
            Ok(0)
        }
    }
}

/// The changes of the application's files as one diff. stderr has what else the answer sets: applied alone, the diff would not be the
/// configuration that was measured.
fn diff(document: &run::Document) -> Result<u8, Failure> {
    let Some(verdict) = &document.verdict else {
        return Err(Failure::usage(format!(
            "--diff: {} has no answer yet; powerband report {} shows its state",
            document.id, document.id
        )));
    };
    let (by_git, others): (Vec<_>, Vec<_>) =
        (verdict.changes.iter()).partition(|change| change.applies_in_application());
    for change in others {
        output::error(&format!(
            "not in this diff: {}, whose diff powerband report {} shows",
            change.path, document.id
        ));
    }
    let folder = Path::new(&document.plan.app_dir);
    // Of a document from another machine the application may not be here.
    let changed = by_git.iter().filter(|change| {
        let now = experiment::file_crc32(&folder.join(&change.path));
        folder.is_dir() && change.crc32.is_some_and(|then| then != now)
    });
    let changed: Vec<&str> = changed.map(|change| change.path.as_str()).collect();
    if !changed.is_empty() {
        return Err(Failure {
            message: format!(
                "--diff: {} changed since the run, perhaps by this diff: its lines would go to other places; powerband report {} shows \
                 them, make the changes by hand",
                changed.join(", "),
                document.id
            ),
            code: 1,
        });
    }
    for left in &verdict.by_hand {
        output::error(&format!("by hand: {left}"));
    }
    if by_git.is_empty() {
        return Err(Failure {
            message: format!(
                "{} has no change for git apply: {}",
                document.id, verdict.sentence
            ),
            code: 1,
        });
    }
    let text: String = by_git.iter().map(|change| &*change.diff).collect();
    output::print(&text)?;
    Ok(0)
}

/// Writes the page.
fn html(page: &str, file: &Path) -> Result<PathBuf, Failure> {
    let written = std::fs::write(file, page).map(|()| file.to_owned());
    written.map_err(|e| {
        Failure::usage(format!(
            "--html = \"{}\": {e}; name a file in a folder that you may write to",
            file.display()
        ))
    })
}

/// Whether the page is shown at once: to a person at a desktop who named no file for it.
fn opens(args: &ReportArgs) -> bool {
    args.html == Some(None) && !args.no_open && desktop::is_there()
}

/// Prints where it is, and opens it in the browser. Where that does not start, the place is enough.
fn said(page: &Path, open: bool) -> Result<u8, Failure> {
    output::print(&format!("{}\n", page.display()))?;
    if open {
        // No absolute path is an option.
        let page = std::path::absolute(page).unwrap_or_else(|_| page.to_owned());
        desktop::open(page.as_ref());
    }
    Ok(0)
}

/// `powerband completions`.
pub fn completions(shell: clap_complete::Shell) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "powerband", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(0)
}

/// `powerband man`.
pub fn man(folder: Option<&Path>) -> Result<u8, Failure> {
    let command = verbs::grouped(examples::added(Cli::command()));
    if let Some(folder) = folder {
        return clap_mangen::generate_to(command, folder)
            .map(|()| 0)
            .map_err(|e| {
                Failure::usage(format!(
                    "--dir = {:?}: {e}; name a folder that is there and can be written",
                    folder.display().to_string()
                ))
            });
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|e| Failure::usage(e.to_string()))?;
    output::print(&String::from_utf8_lossy(&page))?;
    Ok(0)
}
