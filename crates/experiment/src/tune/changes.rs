//! A configuration as files, against what the application has.

use crate::arm_ruby::PATH;
use crate::bench::Bench;
use crate::request::{Arm, Experiment, ServerKind};
use advice::{AllocatorLibrary, File, Files, Recommended, Server, Variable};
use knobs::{Allocator, Overlay, PRELOAD, Program, SETUP};
use run::FileChange;
use std::collections::BTreeMap;
use std::path::Path;

/// Of nginx's buffers, as a trial sets them.
const BUFFER_BYTES: u64 = 4096;

/// The changes, and what is left to a person.
pub fn changes(bench: &Bench<'_>, arm: &Arm) -> (Vec<FileChange>, Vec<String>) {
    let experiment = bench.experiment;
    let files = files(bench);
    let written = advice::write_down(&recommended(bench, arm), &files);
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
    let by_hand = by_hand(&arm.overlay, files.nginx.is_some());
    let unasked = (experiment.kind == ServerKind::Passenger && experiment.files.apache.is_none())
        .then(|| {
            "passenger.conf: name Apache's configuration of Passenger as apache in [files], and the diff is against it"
                .to_owned()
        });
    let changes = written.changes.into_iter().map(|change| FileChange {
        path: change.path,
        diff: change.diff,
    });
    (
        changes.collect(),
        notes.chain(calls).chain(by_hand).chain(unasked).collect(),
    )
}

fn recommended(bench: &Bench<'_>, arm: &Arm) -> Recommended {
    let settings = arm.settings;
    let server = match bench.experiment.kind {
        ServerKind::Puma => Server::Puma,
        ServerKind::Unicorn => Server::Unicorn,
        ServerKind::Passenger => Server::Passenger,
    };
    let variables = bench.variables(arm);
    Recommended {
        variables: variables
            .iter()
            .filter(|(name, _)| *name != PRELOAD || arm.overlay.allocator().is_none())
            // Where the Ruby is, is the machine's affair.
            .filter(|(name, _)| *name != PATH || arm.overlay.ruby().is_none())
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
        passenger: passenger(&arm.overlay),
        nginx: nginx(&arm.overlay),
        ..Recommended::of(server, settings.workers, settings.threads, settings.preload)
    }
}

/// The application's files, and those of its machine that were named.
fn files(bench: &Bench<'_>) -> Files {
    let experiment = bench.experiment;
    let app = experiment.app_dir.as_path();
    let own = |usual: &str| {
        let named = experiment.server_config.clone();
        let path = named
            .or_else(|| servers::configuration(&bench.command, app, &experiment.environment))
            .unwrap_or_else(|| app.join(usual));
        as_it_is(&path, path.strip_prefix(app).unwrap_or(&path))
    };
    let named = |path: &Path| as_it_is(path, path);
    let mut files = Files {
        environment: Some(as_it_is(&app.join(".env"), Path::new(".env"))),
        dockerfile: existing(app, "Dockerfile"),
        database_yml: existing(app, "config/database.yml"),
        systemd: drop_in(experiment),
        nginx: experiment.files.nginx.as_deref().map(named),
        ..Files::default()
    };
    match experiment.kind {
        ServerKind::Puma => files.puma = Some(own("config/puma.rb")),
        ServerKind::Unicorn => files.unicorn = Some(own("config/unicorn.rb")),
        ServerKind::Passenger => {
            let apache = experiment.files.apache.as_deref().map(named);
            let new = || File {
                path: "passenger.conf".to_owned(),
                text: String::new(),
            };
            files.apache = Some(apache.unwrap_or_else(new));
        }
    }
    files
}

/// What is there of the drop-in, which need not exist yet.
fn drop_in(experiment: &Experiment) -> Option<File> {
    let path = advice::drop_in(experiment.files.systemd_unit.as_deref()?);
    Some(as_it_is(Path::new(&path), Path::new(&path)))
}

/// A file; one that is not there is empty.
fn as_it_is(path: &Path, name: &Path) -> File {
    File {
        path: name.display().to_string(),
        text: std::fs::read_to_string(path).unwrap_or_default(),
    }
}

/// Settings of the servers that no file is written for.
fn by_hand(overlay: &Overlay, with_nginx: bool) -> Vec<String> {
    let nginx = overlay.directives(Program::Nginx).into_iter();
    let nginx = nginx.filter(|(directive, _)| !with_nginx || *directive == "proxy_buffering");
    let nginx = nginx.map(|(directive, value)| match directive {
        "proxy_buffering" => format!(
            "nginx: {directive} {}",
            if value == "1" { "on" } else { "off" }
        ),
        "proxy_buffers" => format!("nginx: {directive} {value} 4k"),
        _ => format!("nginx: {directive} {value}"),
    });
    let passenger = overlay.directives(Program::Passenger).into_iter();
    let passenger = passenger.filter(|(directive, _)| *directive == "PassengerMaxRequests");
    let passenger = passenger.map(|(directive, value)| format!("Apache: {directive} {value}"));
    let ruby = overlay.ruby().map(|named| {
        format!("ruby: {named} ran it; let the image, the unit or the version manager start the server with such a one")
    });
    nginx.chain(passenger).chain(ruby).collect()
}

fn number(set: &BTreeMap<&'static str, String>, directive: &str) -> Option<u32> {
    set.get(directive)?.parse().ok()
}

fn puma(overlay: &Overlay) -> advice::Puma {
    let set = overlay.directives(Program::Puma);
    advice::Puma {
        wait_for_less_busy_worker_s: number(&set, "wait_for_less_busy_worker")
            .map(|ms| f64::from(ms) / 1e3),
        fork_worker: number(&set, "fork_worker").map(advice::ForkWorker::AfterRequests),
    }
}

fn passenger(overlay: &Overlay) -> advice::Passenger {
    let set = overlay.directives(Program::Passenger);
    advice::Passenger {
        min_instances: number(&set, "PassengerMinInstances"),
        max_instances_per_app: number(&set, "PassengerMaxInstancesPerApp"),
        max_request_queue_size: number(&set, "PassengerMaxRequestQueueSize"),
        ..advice::Passenger::default()
    }
}

fn nginx(overlay: &Overlay) -> advice::Nginx {
    let set = overlay.directives(Program::Nginx);
    advice::Nginx {
        worker_processes: number(&set, "worker_processes").map(advice::NginxWorkers::Count),
        upstream_keepalive: number(&set, "keepalive"),
        upstream: None,
        proxy_buffers: number(&set, "proxy_buffers").map(|number| advice::ProxyBuffers {
            number,
            size_bytes: BUFFER_BYTES,
        }),
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
