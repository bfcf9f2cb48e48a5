//! A configuration as files, against what the application has.

mod by_hand;

use crate::arm_bundle::{ArmBundle, Variables};
use crate::arm_ruby::PATH;
use crate::bench::Bench;
use crate::puma_statements;
use crate::request::{Arm, Experiment};
use crate::server_kind::ServerKind;
use advice::{AllocatorLibrary, File, Files, Recommended, Server, Variable};
use by_hand::{COMPACT, WARMUP, by_hand, calls_before_fork};
use knobs::{Allocator, Overlay, PRELOAD, Program, SETUP};
use run::FileChange;
use std::collections::BTreeMap;
use std::path::Path;

/// Of nginx's buffers, as a trial sets them.
const BUFFER_BYTES: u64 = 4096;
/// The application's environment file.
const ENVIRONMENT: &str = ".env";
/// The variable that carries a pool in trials.
const DATABASE: &str = "DATABASE_URL";

/// The changes, and what is left to be set or looked at by hand.
pub fn changes(bench: &Bench<'_>, arm: &Arm) -> (Vec<FileChange>, Vec<String>) {
    let experiment = bench.experiment;
    let bundle = bench.arm_environments.bundle(&arm.overlay);
    let variables = without_bundle(bench.variables(arm), bundle, &arm.overlay);
    let (mut changes, mut left) = set_down(experiment.kind, arm, &variables, &files(bench));
    for change in &mut changes {
        change.crc32 = Some(crc32(&experiment.app_dir.join(&change.path)));
    }
    if experiment.kind == ServerKind::Passenger && experiment.files.apache.is_none() {
        left.push(
            "passenger.conf: name Apache's configuration of Passenger as apache in [files], and the diff is against it"
                .to_owned(),
        );
    }
    (changes, left)
}

/// The variables without those of a bundle, which is in the run folder: what the arm itself sets takes their place.
fn without_bundle(
    mut variables: Variables,
    bundle: Option<&ArmBundle>,
    overlay: &Overlay,
) -> Variables {
    if let Some(bundle) = bundle {
        variables.retain(|name, _| !bundle.environment.contains_key(name));
        variables.extend(overlay.variables());
    }
    variables
}

/// CRC-32 of a file, 0 of one that is not there.
pub fn crc32(file: &Path) -> u32 {
    std::fs::read(file).map_or(0, |bytes| crc32fast::hash(&bytes))
}

/// The application's environment file, where there is one or a gem that would load a new one.
fn environment(app: &Path) -> Option<File> {
    let is_read = ["dotenv", "dotenv-rails"]
        .iter()
        .any(|gem| servers::bundles(app, gem));
    let file = app.join(ENVIRONMENT);
    (is_read || file.exists()).then(|| as_it_is(&file, Path::new(ENVIRONMENT)))
}

/// Everything that the arm sets: in the files as diffs, and the rest with the reason why it is in none.
fn set_down(
    kind: ServerKind,
    arm: &Arm,
    variables: &BTreeMap<String, String>,
    files: &Files,
) -> (Vec<FileChange>, Vec<String>) {
    let recommended = recommended(kind, arm, variables);
    let mut written = advice::write_down(&recommended, files);
    if files.environment.is_none() {
        let by_hand = advice::variables_by_hand(&recommended, &written);
        written.notes.extend(by_hand);
    }
    let by_hand = by_hand::count(kind, arm)
        .into_iter()
        .chain(by_hand(kind, arm, files));
    let notes = written
        .notes
        .into_iter()
        .map(|note| format!("{}: {}", note.about, note.text));
    let changes = written.changes.into_iter().map(|change| FileChange {
        hidden: change.hides_a_line(),
        path: change.path,
        diff: change.diff,
        crc32: None,
    });
    (changes.collect(), by_hand.chain(notes).collect())
}

fn recommended(kind: ServerKind, arm: &Arm, variables: &BTreeMap<String, String>) -> Recommended {
    let settings = arm.settings;
    let server = match kind {
        ServerKind::Puma => Server::Puma,
        ServerKind::Unicorn => Server::Unicorn,
        ServerKind::Pitchfork => Server::Pitchfork,
        ServerKind::Falcon => Server::Falcon,
        ServerKind::Passenger => Server::Passenger,
    };
    // The trials' own database, which only carried the pool.
    let carries_pool =
        |name: &str| name == DATABASE && arm.overlay.pool().is_some() && !sets(arm, DATABASE);
    Recommended {
        variables: variables
            .iter()
            .filter(|(name, _)| *name != PRELOAD || arm.overlay.allocator().is_none())
            // Where the Ruby is, is the machine's affair.
            .filter(|(name, _)| *name != PATH || arm.overlay.ruby().is_none())
            // These are calls: `by_hand` and the server's own file have them.
            .filter(|(name, _)| !name.starts_with(SETUP))
            .filter(|(name, _)| !carries_pool(name))
            .map(|(name, value)| Variable {
                secret: knobs::is_secret(name, value),
                name: name.clone(),
                value: value.clone(),
            })
            .collect(),
        allocator: arm.overlay.allocator().map(library),
        pool: arm.overlay.pool(),
        puma: puma(arm),
        pitchfork: pitchfork(&arm.overlay),
        passenger: passenger(&arm.overlay),
        nginx: nginx(&arm.overlay),
        pod: advice::Pod {
            cpus: arm.overlay.pod_cpus(),
            memory_bytes: arm.overlay.pod_memory(),
        },
        ..Recommended::of(server, settings.workers, settings.threads, settings.preload)
    }
}

/// Whether the arm sets this variable by itself.
fn sets(arm: &Arm, variable: &str) -> bool {
    let chosen = arm.overlay.chosen();
    chosen.iter().any(|chosen| chosen.variable == variable)
}

/// The application's files, and those of its machine that were named.
fn files(bench: &Bench<'_>) -> Files {
    let experiment = bench.experiment;
    let app = experiment.app_dir.as_path();
    let file = |path: &Path| as_it_is(path, path.strip_prefix(app).unwrap_or(path));
    let own = |usual: &str| {
        let named = experiment.server_config.clone();
        let path = named
            .or_else(|| servers::configuration(&bench.own.command, app, &experiment.environment))
            .unwrap_or_else(|| app.join(usual));
        file(&path)
    };
    let mut files = Files {
        environment: environment(app),
        dockerfile: existing(app, "Dockerfile"),
        database_yml: existing(app, "config/database.yml"),
        systemd: drop_in(experiment),
        nginx: experiment.files.nginx.as_deref().map(file),
        deployment: experiment.files.deployment.as_deref().map(file),
        configmap: experiment.files.configmap.as_deref().map(file),
        kamal: experiment.files.kamal.as_deref().map(file),
        procfile: experiment.files.procfile.as_deref().map(file),
        ..Files::default()
    };
    match experiment.kind {
        ServerKind::Puma => files.puma = Some(own("config/puma.rb")),
        ServerKind::Unicorn => files.prefork = Some(own("config/unicorn.rb")),
        ServerKind::Pitchfork => files.prefork = Some(own("config/pitchfork.rb")),
        // A flag, or a line of its service's definition, has the number of processes.
        ServerKind::Falcon => {}
        ServerKind::Passenger => {
            let apache = experiment.files.apache.as_deref().map(file);
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

fn number(set: &BTreeMap<&'static str, String>, directive: &str) -> Option<u32> {
    set.get(directive)?.parse().ok()
}

fn puma(arm: &Arm) -> advice::Puma {
    // Where the agent makes these calls once, before the first fork, Puma's file can say the same.
    let before_fork = |knob: &str| calls_before_fork(arm) && arm.overlay.is_on(knob);
    advice::Puma {
        compact_before_fork: before_fork(COMPACT),
        warm_up_before_fork: before_fork(WARMUP),
        statements: puma_statements::of(&arm.overlay)
            .into_iter()
            .map(|one| (one.name, one.value.to_string()))
            .collect(),
    }
}

fn pitchfork(overlay: &Overlay) -> advice::Pitchfork {
    let set = overlay.directives(Program::Pitchfork);
    advice::Pitchfork {
        refork_after: set.get("refork_after").cloned(),
        refork_max_unavailable: number(&set, "refork_max_unavailable"),
    }
}

fn passenger(overlay: &Overlay) -> advice::Passenger {
    let set = overlay.directives(Program::Passenger);
    advice::Passenger {
        min_instances: number(&set, "PassengerMinInstances"),
        max_instances_per_app: number(&set, "PassengerMaxInstancesPerApp"),
        max_request_queue_size: number(&set, "PassengerMaxRequestQueueSize"),
        max_requests: number(&set, "PassengerMaxRequests"),
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

#[cfg(test)]
mod tests;
