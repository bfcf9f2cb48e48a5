//! `report`, and what is generated from the arguments: completions and the manual page.

use super::experiments::find;
use crate::args::{Cli, ReportArgs};
use crate::{Failure, output};
use clap::CommandFactory;
use run::Folder;
use run::runs::newest;

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
    let (document, worker) = folder
        .and_then(|folder| Ok((folder.read()?, folder.worker())))
        .map_err(|e| Failure::usage(e.to_string()))?;
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
