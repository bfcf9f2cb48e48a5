//! What Rails says of its pages: their routes, and what each answers.

use super::super::guard_program;
use crate::{Failure, output};
use servers::commands::{CommandSpec, RunningCommand, Waited};
use servers::{by_shell, safety};
use setup::Pages;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// How the routes are asked for.
pub const ROUTES: &str = "bin/rails routes";
/// The application boots for it.
const WITHIN: Duration = Duration::from_secs(60);
const ASK: &str = "bin/rails runner \"$POWERBAND_SCRIPT\"";

/// The pages that Rails knows; `None` where it has none.
pub fn pages(
    folder: &Path,
    env: &BTreeMap<String, String>,
    environment: &str,
) -> Result<Option<Pages>, Failure> {
    output::error(&format!(
        "no log with requests is here: asking {ROUTES}, which boots the application"
    ));
    let failed = |why: String| {
        Failure::no_answer(format!(
            "{ROUTES} failed, so that the pages of this application are not known and nothing is written: {why}\n  powerband init --from FILE \
             takes the pages of a log or a recording instead; --env gives the application a variable, as [app.env] of powerband.toml does"
        ))
    };
    let dir = tempfile::tempdir().map_err(|e| failed(e.to_string()))?;
    let log = dir.path().join("routes");
    run(ROUTES, folder, env, &log).map_err(failed)?;
    let routes = std::fs::read_to_string(&log).map_err(|e| failed(e.to_string()))?;
    let Some(pages) = Pages::of_routes(&routes) else {
        return Ok(None);
    };
    let pages = match asked(&pages, folder, env, environment) {
        Ok(written) => match pages.answered(&written) {
            Ok(pages) => {
                if let Some((raised, count)) = pages.raised_by_several() {
                    output::error(&format!(
                        "{count} pages raise {raised}{}",
                        remedy(raised, environment)
                    ));
                }
                pages
            }
            Err((pages, why)) => {
                not_asked(&format!(
                    "none answers in the {environment} environment ({why}){}",
                    remedy(&why, environment)
                ));
                pages
            }
        },
        Err(why) => {
            not_asked(&why);
            pages
        }
    };
    Ok(Some(pages.shortened()))
}

/// What to do about an exception, where that is known.
fn remedy(raised: &str, environment: &str) -> String {
    let known = servers::remedy(raised, environment);
    known.map_or_else(String::new, |remedy| {
        format!("; {remedy}, then run powerband init --force")
    })
}

fn not_asked(why: &str) {
    output::error(&format!(
        "pages of the routes are listed unchecked, those that need a login or fail among them: {why}"
    ));
}

/// Asks for each page once, as tune does before it measures; what was answered.
fn asked(
    pages: &Pages,
    folder: &Path,
    env: &BTreeMap<String, String>,
    environment: &str,
) -> Result<String, String> {
    let mut env = env.clone();
    for name in ["RAILS_ENV", "RACK_ENV"] {
        env.insert(name.to_owned(), environment.to_owned());
    }
    if let Some(danger) = safety::check(&env, folder, &[]).first() {
        return Err(format!("they are not asked, because {danger}"));
    }
    let io = |e: std::io::Error| e.to_string();
    let dir = tempfile::tempdir().map_err(io)?;
    let at = |name: &str| dir.path().join(name);
    let paths: String = pages
        .pages
        .iter()
        .map(|page| format!("{}\n", page.path))
        .collect();
    std::fs::write(at("script.rb"), setup::SCRIPT).map_err(io)?;
    std::fs::write(at("paths"), paths).map_err(io)?;
    for (name, file) in [
        ("SCRIPT", "script.rb"),
        ("PATHS", "paths"),
        ("ANSWERS", "answers"),
    ] {
        let file = at(file).display().to_string();
        env.insert(format!("POWERBAND_{name}"), file);
    }
    let most = setup::MOST_PAGES.to_string();
    env.insert("POWERBAND_MOST".to_owned(), most);
    run(ASK, folder, &env, &at("log")).map_err(|why| {
        format!("they could not be asked in the {environment} environment: {why}")
    })?;
    std::fs::read_to_string(at("answers")).map_err(io)
}

/// Runs a command to its end; why it did not succeed.
fn run(
    command: &str,
    folder: &Path,
    env: &BTreeMap<String, String>,
    log: &Path,
) -> Result<(), String> {
    let running = RunningCommand::start(&CommandSpec {
        guard: &guard_program(),
        words: &by_shell(command),
        cwd: folder,
        env,
        log: Some(log),
    });
    let running = running.map_err(|e| e.to_string())?;
    let why = match running.wait(WITHIN) {
        Waited::Ended(exit, _) if exit.success() => None,
        Waited::Running => Some(format!("it did not end within {} s", WITHIN.as_secs())),
        _ => Some(running.brief()),
    };
    running.stop();
    why.map_or(Ok(()), Err)
}
