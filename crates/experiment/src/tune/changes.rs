//! A configuration as files, against what the application has.

use crate::bench::Bench;
use crate::request::Arm;
use advice::{AllocatorLibrary, File, Files, Recommended, Server, Variable};
use knobs::{Allocator, Overlay, PRELOAD, Program, SETUP};
use run::FileChange;
use std::path::Path;

/// The changes, and what is left to a person.
pub fn changes(bench: &Bench<'_>, arm: &Arm) -> (Vec<FileChange>, Vec<String>) {
    let experiment = bench.experiment;
    let app = experiment.app_dir.as_path();
    let config = experiment
        .server_config
        .clone()
        .or_else(|| servers::own_config(app, &experiment.environment))
        .unwrap_or_else(|| app.join("config/puma.rb"));
    let name = config.strip_prefix(app).unwrap_or(&config);
    let settings = arm.settings;
    let variables = bench.variables(arm);
    let recommended = Recommended {
        variables: variables
            .iter()
            .filter(|(name, _)| *name != PRELOAD || arm.overlay.allocator().is_none())
            // In production the application's own configuration makes these calls.
            .filter(|(name, _)| !name.starts_with(SETUP))
            .map(|(name, value)| Variable {
                secret: knobs::is_secret(name, value),
                name: name.clone(),
                value: value.clone(),
            })
            .collect(),
        allocator: arm.overlay.allocator().map(library),
        pool: arm.overlay.pool(),
        puma: puma(&arm.overlay),
        ..Recommended::of(
            Server::Puma,
            settings.workers,
            settings.threads,
            settings.preload,
        )
    };
    let files = Files {
        puma: Some(File {
            path: name.display().to_string(),
            text: std::fs::read_to_string(&config).unwrap_or_default(),
        }),
        environment: Some(File {
            path: ".env".to_owned(),
            text: std::fs::read_to_string(app.join(".env")).unwrap_or_default(),
        }),
        dockerfile: existing(app, "Dockerfile"),
        database_yml: existing(app, "config/database.yml"),
        ..Files::default()
    };
    let written = advice::write_down(&recommended, &files);
    let notes = written
        .notes
        .into_iter()
        .map(|note| format!("{}: {}", note.about, note.text));
    let calls = arm
        .overlay
        .chosen()
        .into_iter()
        .filter(|chosen| chosen.variable.starts_with(SETUP))
        .map(|chosen| {
            format!(
                "{}={} is a call, which no file of settings makes: docs/knobs.md says which",
                chosen.knob, chosen.value
            )
        });
    // nginx's own files are not among the application's.
    let fronts = arm.overlay.directives(Program::Nginx).into_iter();
    let fronts = fronts.map(|(directive, value)| match directive {
        "proxy_buffering" => format!(
            "nginx: {directive} {}",
            if value == "1" { "on" } else { "off" }
        ),
        "proxy_buffers" => format!("nginx: {directive} {value} 4k"),
        _ => format!("nginx: {directive} {value}"),
    });
    let changes = written.changes.into_iter().map(|change| FileChange {
        path: change.path,
        diff: change.diff,
    });
    (
        changes.collect(),
        notes.chain(calls).chain(fronts).collect(),
    )
}

fn puma(overlay: &Overlay) -> advice::Puma {
    let set = overlay.directives(Program::Puma);
    let number = |directive: &str| set.get(directive)?.parse::<u32>().ok();
    advice::Puma {
        wait_for_less_busy_worker_s: number("wait_for_less_busy_worker")
            .map(|ms| f64::from(ms) / 1e3),
        fork_worker: number("fork_worker").map(advice::ForkWorker::AfterRequests),
    }
}

/// A file that the application has.
fn existing(app: &Path, name: &str) -> Option<File> {
    let text = std::fs::read_to_string(app.join(name)).ok()?;
    Some(File {
        path: name.to_owned(),
        text,
    })
}

fn library(allocator: Allocator) -> AllocatorLibrary {
    AllocatorLibrary {
        name: allocator.name().to_owned(),
        soname: allocator
            .libraries()
            .first()
            .map_or_else(String::new, |name| (*name).to_owned()),
        package: allocator.package().to_owned(),
    }
}
