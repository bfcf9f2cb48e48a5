//! `init`: a `powerband.toml` with the requests that users send; and what `powerband` alone says of a folder.

mod rails;

use super::folder_of;
use crate::args::InitArgs;
use crate::{Failure, asked, output};
use experiment::config::read_all;
use servers::ServerCommand;
use setup::{Application, Beginning, Pages, Server};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Any of these makes a folder an application's.
const APPLICATION: &[&str] = &[
    "config.ru",
    "config/application.rb",
    "config/puma.rb",
    "Gemfile",
];

const LOGS: [&str; 2] = ["log/production.log", "log/development.log"];
/// Of a log its end: what users ask for lately.
const MOST_OF_A_LOG: u64 = 64 << 20;

/// `powerband init`.
pub fn init(args: &InitArgs) -> Result<u8, Failure> {
    let folder = &args.app;
    if !is_application(folder) {
        return Err(Failure::usage(format!(
            "--app = {:?}: no application is there ({}); name its folder",
            folder.display().to_string(),
            APPLICATION.join(", ")
        )));
    }
    let file = folder.join(asked::CONFIG_NAME);
    let replace = args.force || is_kept_whole(&file);
    if file.exists() && !replace && !args.print {
        return Err(Failure::usage(format!(
            "{}: the file is there already; add --force to replace all of it but [app.env], or --print to see what would be written",
            file.display()
        )));
    }
    let (env, wrong) = asked::assignments(&args.env);
    if !wrong.is_empty() {
        return Err(asked::failure(&wrong));
    }
    let application = application(folder);
    let (file_env, environment) = from_file(&file)?;
    let mut all_env = file_env.clone();
    all_env.extend(env);
    let (pages, from) = match &args.from {
        Some(from) => {
            let pages = pages_of(from)?.ok_or_else(|| {
                Failure::usage(format!(
                    "--from = {:?}: no GET request for a page is in it; name another file",
                    from.display().to_string()
                ))
            })?;
            (Some(pages), from.display().to_string())
        }
        None => found(folder, &application, &all_env, &environment)?,
    };
    let text = setup::written(&Beginning {
        application: &application,
        pages: pages.as_ref(),
        from: &from,
        today: today(folder, application.server),
        env: &file_env,
    });
    if args.print {
        output::print(&text)?;
        return Ok(0);
    }
    written(&file, &text, replace)
        .map_err(|e| Failure::usage(format!("{}: {e}; --print shows the text", file.display())))?;
    let requests = match &pages {
        Some(pages) => format!(
            "{} from {from}{}",
            run::counted(pages.pages.len() as u64, "page"),
            match pages.left_out.len() {
                0 => String::new(),
                left => format!(", and {left} more as comments, with the reason"),
            }
        ),
        None => "GET / alone, since no log and no routes were found".to_owned(),
    };
    // Pages of a log or a recording were not requested, so that some may no longer answer.
    let advice = match &pages {
        Some(pages) if !pages.left_out.is_empty() => "Read it, and",
        _ => {
            "Read it, and take out the pages that need a login or a record that is not there; then"
        }
    };
    output::say(&format!(
        "{} is written for {application}: {requests}. {advice} run powerband tune, which names the pages that fail while it warms up, \
         and measures nothing then",
        file.display()
    ));
    if !args.env.is_empty() {
        output::say(
            "values of --env are not written: give them to powerband tune again, or write them under [app.env]",
        );
    }
    Ok(0)
}

/// `powerband` alone: what is here, and what to do about it.
pub fn welcome() -> Result<u8, Failure> {
    let here = Path::new(".");
    let mut text = String::new();
    if is_application(here) {
        let application = application(here);
        let today = match today(here, application.server) {
            Some((threads, workers)) => format!(
                ", configured for {} and {}",
                match workers {
                    0 => "a single process".to_owned(),
                    workers => run::counted(u64::from(workers), "worker"),
                },
                run::counted(u64::from(threads), "thread")
            ),
            None => String::new(),
        };
        text += &format!("This folder holds {application}{today}.\n\n");
    } else {
        text += "This folder holds no Ruby application. In the folder of one:\n\n";
    }
    let first = match here.join(asked::CONFIG_NAME).is_file() {
        true => ("tune", "find the threads and workers that serve the most"),
        false => ("init", "write a powerband.toml with your users' requests"),
    };
    let verbs = [
        first,
        (
            "tune --path / --slo p99=250ms",
            "search for one page, without powerband.toml",
        ),
        ("doctor", "find what spoils measurements or harms a server"),
        (
            "run -- bundle exec puma",
            "start the server with the agent; see powerband inspect",
        ),
        (
            "load http://127.0.0.1:3000/ --rate 40",
            "send load to any URL",
        ),
        ("help", "all verbs; help VERB has flags and examples"),
    ];
    let width = verbs.iter().map(|(verb, _)| verb.len()).max().unwrap_or(0);
    for (verb, what) in verbs {
        text += &format!("  powerband {verb:width$}   {what}\n");
    }
    output::print(&text)?;
    Ok(0)
}

pub fn is_application(folder: &Path) -> bool {
    APPLICATION.iter().any(|name| folder.join(name).is_file())
}

fn application(folder: &Path) -> Application {
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
    Application::of_bundle(&text("Gemfile.lock"), &text("Gemfile"))
}

/// Threads and workers, as Puma itself reads the configuration.
fn today(folder: &Path, server: Server) -> Option<(u16, u16)> {
    if server != Server::Puma {
        return None;
    }
    let command = ServerCommand::Puma {
        program: servers::default_puma_command(folder),
        config: None,
    };
    let production = [("RAILS_ENV", "production"), ("RACK_ENV", "production")];
    let env: BTreeMap<String, String> = production
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let found = servers::configured(&command, folder, &env)?;
    Some((found.threads, found.workers))
}

/// The first source that has pages, and its name.
fn found(
    folder: &Path,
    application: &Application,
    env: &BTreeMap<String, String>,
    environment: &str,
) -> Result<(Option<Pages>, String), Failure> {
    for name in LOGS {
        // A log that cannot be read is no reason to stop: the routes are left.
        if let Ok(Some(pages)) = pages_of(&folder.join(name)) {
            return Ok((Some(pages), name.to_owned()));
        }
    }
    let asked = application.is_rails() && folder.join("bin/rails").is_file();
    let pages = match asked {
        true => rails::pages(folder, env, environment)?,
        false => None,
    };
    Ok((pages, rails::ROUTES.to_owned()))
}

/// The variables and the environment that an existing file gives the application. It fails where the file has errors: they
/// would be lost.
fn from_file(file: &Path) -> Result<(BTreeMap<String, String>, String), Failure> {
    let text = match file.is_file() {
        true => std::fs::read_to_string(file).map_err(|e| {
            let file = file.display();
            Failure::usage(format!("{file}: {e}; make it readable, or remove it"))
        })?,
        false => String::new(),
    };
    let (request, problems) = read_all(&text, file);
    if !problems.is_empty() {
        let Failure { message, .. } = asked::failure(&problems);
        return Err(Failure::usage(format!(
            "{message}\n  init keeps [app.env] of this file: correct it, or remove it"
        )));
    }
    let env = request.env.into_iter();
    let env = env.map(|(name, asked)| (name, asked.text)).collect();
    let environment = request.environment.map(|asked| asked.text);
    Ok((env, environment.unwrap_or_else(|| "production".to_owned())))
}

/// Whether a file has [app.env] alone, which is kept: what an application needs to boot is written down before its pages are known.
fn is_kept_whole(file: &Path) -> bool {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let Ok(table) = text.parse::<toml::Table>() else {
        return false;
    };
    let app = table.get("app").and_then(toml::Value::as_table);
    let keys = app.map(|app| app.keys().map(String::as_str).collect::<Vec<_>>());
    // A comment would be lost.
    table.len() == 1 && keys == Some(vec!["env"]) && !text.contains('#')
}

/// What a file holds of requests; `None` where it has no page.
fn pages_of(path: &Path) -> Result<Option<Pages>, Failure> {
    let wrong = |why: String, remedy: &str| {
        Failure::usage(format!(
            "--from = {:?}: {why}; {remedy}",
            path.display().to_string()
        ))
    };
    let mut file =
        File::open(path).map_err(|e| wrong(e.to_string(), "name a file that can be read"))?;
    let end =
        end_of(&mut file).map_err(|e| wrong(e.to_string(), "name a file that can be read"))?;
    let text = String::from_utf8_lossy(&end);
    if setup::is_rails_log(&text) {
        return Ok(Pages::of_rails_log(&text));
    }
    let file =
        File::open(path).map_err(|e| wrong(e.to_string(), "name a file that can be read"))?;
    let traffic = capture::Traffic::read_from(file)
        .map_err(|e| wrong(e.to_string(), "docs/traffic.md lists the formats"))?;
    Ok(Pages::of_traffic(&traffic))
}

fn end_of(file: &mut File) -> std::io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(MOST_OF_A_LOG)))?;
    let mut end = Vec::new();
    file.take(MOST_OF_A_LOG).read_to_end(&mut end)?;
    Ok(end)
}

/// Whole or not at all, with the mode of the file that it replaces.
fn written(file: &PathBuf, text: &str, replace: bool) -> std::io::Result<()> {
    if !replace {
        let mut new = OpenOptions::new().write(true).create_new(true).open(file)?;
        return new.write_all(text.as_bytes());
    }
    let replaced = file.metadata().map(|old| old.permissions()).ok();
    // Of a new file: the umask takes from it what others may not do.
    let mode = replaced.clone().unwrap_or(Permissions::from_mode(0o666));
    let mut new = tempfile::Builder::new()
        .permissions(mode)
        .tempfile_in(folder_of(file))?;
    if let Some(mode) = replaced {
        new.as_file().set_permissions(mode)?;
    }
    new.write_all(text.as_bytes())?;
    new.persist(file)?;
    Ok(())
}
