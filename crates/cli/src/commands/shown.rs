//! `report`, and what is generated from the arguments: completions and the manual page.

use super::experiments::find;
use crate::args::{Cli, ReportArgs};
use crate::{Failure, output};
use clap::CommandFactory;
use run::Folder;
use run::runs::newest;
use std::path::Path;

/// `powerband report`.
pub fn report(args: ReportArgs) -> Result<u8, Failure> {
    let folder = match &args.run {
        Some(run) => Folder::open(&find(&args.runs, run)),
        None => {
            let newest = newest(&args.runs).map_err(|e| Failure::usage(e.to_string()))?;
            Folder::open(&newest.ok_or_else(|| {
                Failure::usage(format!("there is no run under {}; make one with powerband tune, or name its folder with --runs", args.runs.display()))
            })?)
        }
    };
    let folder = folder.map_err(|e| Failure::usage(e.to_string()))?;
    if let Some(file) = &args.html {
        return html(&folder, file.as_deref());
    }
    let document = folder.read().map_err(|e| Failure::usage(e.to_string()))?;
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

/// Writes the page as HTML, and prints where it is.
fn html(folder: &Folder, file: Option<&Path>) -> Result<u8, Failure> {
    let document = folder.read().map_err(|e| Failure::usage(e.to_string()))?;
    let page = report::html_page(&document);
    let written = match file {
        None => folder.write_page(&page).map_err(|e| e.to_string()),
        Some(file) => std::fs::write(file, &page)
            .map(|()| file.to_owned())
            .map_err(|e| {
                format!(
                    "--html = \"{}\": {e}; name a file in a folder that you may write to",
                    file.display()
                )
            }),
    };
    let path = written.map_err(Failure::usage)?;
    output::print(&format!("{}\n", path.display()))?;
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
pub fn man() -> Result<u8, Failure> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut page)
        .map_err(|e| Failure::usage(e.to_string()))?;
    output::print(&String::from_utf8_lossy(&page))?;
    Ok(0)
}
