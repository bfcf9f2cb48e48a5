//! `doctor`: what spoils a measurement or harms a server here, as a page or a document.

use super::init::is_application;
use crate::args::DoctorArgs;
use crate::{Failure, asked, output};
use ::doctor::{Asked, Configured, PumaConfig, Unexamined};
use experiment::ServerKind;
use experiment::config::{parse_settings, server_kind};
use host::{HostError, Roots};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Between the two readings of what changes: long enough for a share of 2 % to be two ticks of each CPU.
const SPAN: Duration = Duration::from_secs(1);

/// `powerband doctor`.
pub fn doctor(args: DoctorArgs) -> Result<u8, Failure> {
    // With a process, a file that happens to lie in this folder is another application's.
    let usual = Path::new(asked::CONFIG_NAME);
    let config = args
        .config
        .clone()
        .or_else(|| (args.pid.is_none() && usual.is_file()).then(|| usual.to_owned()));
    let configured = match &config {
        Some(path) => Some(from_file(path)?),
        None if args.pid.is_none() => here(),
        None => None,
    };
    let asked = Asked {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        checked_at: jiff::Timestamp::now().to_string(),
        pid: args.pid,
        configured,
        config,
        span: SPAN,
    };
    let document = ::doctor::examine(&asked, &Roots::default()).map_err(|e| match e {
        Unexamined::Host(gone @ HostError::Gone { pid }) => {
            Failure::usage(format!("--pid = {pid}: {gone}; name a running process"))
        }
        Unexamined::Host(e) => Failure::no_answer(e.to_string()),
        Unexamined::NotAServer(why) => {
            let pid = args.pid.unwrap_or_default();
            Failure::usage(format!("--pid = {pid}: {why}"))
        }
    })?;
    if args.json {
        output::json(&document)?;
    } else {
        output::print(&report::doctor_page(&document, output::style()))?;
    }
    Ok(document.exit_code)
}

fn from_file(path: &Path) -> Result<Configured, Failure> {
    let (request, mut problems) = asked::from_file(path)?;
    let folder = request
        .app_dir
        .as_ref()
        .map_or(".", |asked| asked.text.as_str());
    let folder = absolute(&request.base_dir.join(folder));
    let kind = server_kind(&request);
    let baseline = request.baseline.as_ref().and_then(|asked| {
        let settings = parse_settings(asked, kind.defaults());
        let settings = settings.map_err(|found| problems.extend(found)).ok()?;
        Some((settings, asked.origin.clone()))
    });
    if !problems.is_empty() {
        return Err(asked::failure(&problems));
    }
    if !folder.is_dir() {
        return Err(Failure::usage(format!(
            "app.dir in {}: {} is no folder; name the application's",
            path.display(),
            folder.display()
        )));
    }
    let config = request
        .server_config
        .as_ref()
        .map(|asked| folder.join(&asked.text));
    let variables = request.env.iter();
    Ok(Configured {
        puma: (request.command.is_none() && kind == ServerKind::Puma).then_some(PumaConfig(config)),
        variables: variables
            .map(|(name, asked)| (name.clone(), asked.text.clone()))
            .collect(),
        baseline,
        ..plain(folder, request.environment.as_ref())
    })
}

/// This folder, if it is an application's.
fn here() -> Option<Configured> {
    is_application(Path::new(".")).then(|| plain(absolute(Path::new(".")), None))
}

fn plain(folder: PathBuf, environment: Option<&experiment::config::Asked>) -> Configured {
    let (environment, environment_from) = match environment {
        Some(asked) => (asked.text.clone(), asked.origin.clone()),
        None => (
            "production".to_owned(),
            "as tune, compare and sweep set it".to_owned(),
        ),
    };
    Configured {
        folder,
        environment,
        environment_from,
        variables: Default::default(),
        puma: Some(PumaConfig::default()),
        baseline: None,
    }
}

/// Without the dots of `./` at its end.
fn absolute(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
