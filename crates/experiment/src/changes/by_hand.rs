//! What a configuration sets and no diff holds: what to do by hand, and why no file is written for it.

use crate::request::Arm;
use crate::server_kind::ServerKind;
use advice::Files;
use knobs::{Allocator, Chosen, POD_CPUS, POOL, Place, Program, RUBY, SETUP, VALUE};

pub const WARMUP: &str = "warmup";
pub const COMPACT: &str = "compact";

/// Whether calls that prepare the heap were made once, in the master that then forks the workers. With `fork_worker` the first
/// worker makes them.
pub fn calls_before_fork(arm: &Arm) -> bool {
    let reforks = arm
        .overlay
        .directives(Program::Puma)
        .contains_key("fork_worker");
    arm.settings.workers > 0 && arm.settings.preload && !reforks
}

/// Processes, where no file has their number.
pub fn count(kind: ServerKind, arm: &Arm) -> Option<String> {
    let workers = arm.settings.workers;
    (kind == ServerKind::Falcon).then(|| {
        format!(
            "set by hand: workers={workers}: `falcon serve --count {workers}`, or `count {workers}` in the service of falcon.rb"
        )
    })
}

/// A line for each knob of the arm that no file of these holds.
pub fn by_hand(kind: ServerKind, arm: &Arm, files: &Files) -> Vec<String> {
    let chosen = arm.overlay.chosen().into_iter();
    // What is as it is by default was measured as today's configuration is.
    let chosen = chosen.filter(|chosen| chosen.value != "default");
    chosen
        .filter_map(|chosen| {
            let what = what_to_do(kind, arm, files, &chosen)?;
            Some(format!(
                "set by hand: {}={}: {what}",
                chosen.knob, chosen.value
            ))
        })
        .collect()
}

/// Nothing where a file holds it. An unknown knob is a variable, and the environment's file has every variable.
fn what_to_do(kind: ServerKind, arm: &Arm, files: &Files, chosen: &Chosen) -> Option<String> {
    if let Some(name) = chosen.knob.strip_prefix(VALUE) {
        return Some(format!(
            "it fills {{{name}}} in the commands and templates of powerband.toml; set it where the service's own \
             configuration has it"
        ));
    }
    if chosen.variable.starts_with(SETUP) {
        return call(kind, arm, chosen);
    }
    let place = knobs::find(&chosen.knob).map(|knob| knob.place);
    let text = match (chosen.knob.as_str(), place) {
        ("allocator", _) if arm.overlay.allocator() == Some(Allocator::Glibc) => {
            "a diff takes LD_PRELOAD out of the files that it is given; where the variable is set elsewhere, take the \
             other allocator out there"
                .to_owned()
        }
        (POOL, _) if files.database_yml.is_none() => format!(
            "there is no config/database.yml; give DATABASE_URL the parameter pool={}",
            chosen.value
        ),
        (RUBY, _) => "this Ruby ran the server; let the image, the unit or the version manager start the server with \
                      it, because no configuration of the application decides that; a Gemfile that names another Ruby is to name this one"
            .to_owned(),
        (_, Some(Place::Configuration(Program::Nginx))) => nginx(files, chosen)?,
        (_, Some(Place::Group)) if files.deployment.is_none() && files.kamal.is_none() => pod(chosen),
        _ => return None,
    };
    Some(text)
}

/// What the agent called as the server started.
fn call(kind: ServerKind, arm: &Arm, chosen: &Chosen) -> Option<String> {
    let once_loaded = |call: &str| {
        match (kind, calls_before_fork(arm)) {
            // In config/puma.rb.
            (ServerKind::Puma, true) => None,
            (ServerKind::Unicorn, true) => Some(format!(
                "`{call} if worker.nr.zero?` as the first line of before_fork in config/unicorn.rb; Unicorn keeps one \
             before_fork only, so a second one would replace yours"
            )),
            (ServerKind::Pitchfork, true) => Some(format!(
                "`{call}` as the last line of after_mold_fork in config/pitchfork.rb; Pitchfork keeps one after_mold_fork only, so a \
             second one would replace yours"
            )),
            _ => Some(format!(
                "{} in an initializer: each process calls it once the application is loaded, and the server's configuration \
             has no hook at that moment",
                after_initialize(call)
            )),
        }
    };
    let value = chosen.value.as_str();
    match (chosen.knob.as_str(), value) {
        // The agent does nothing then, as today.
        (_, "off") => None,
        (WARMUP, _) => once_loaded("Process.warmup"),
        (COMPACT, _) => once_loaded("GC.compact"),
        ("auto_compact", _) => Some(format!(
            "{} in an initializer: Ruby takes it by a call alone",
            after_initialize("GC.auto_compact = true")
        )),
        ("gc_profiler", _) => Some(format!(
            "{} in an initializer, or the agent of your monitoring: Ruby takes it by a call alone",
            after_initialize("GC::Profiler.enable")
        )),
        ("require", _) => Some(format!(
            "`require \"{value}\"` in config/application.rb, behind Bundler.require, with the gem in the Gemfile; the \
             agent loaded it before the application"
        )),
        ("oob_gc", _) => Some(format!(
            "nothing but code in the server sets it: the agent collected garbage after every {value} requests of a process, \
             while it served none. Puma's out_of_band and Passenger's out-of-band work do something similar: measure them \
             before you rely on this figure"
        )),
        ("oob_major", _) => Some(
            "`GC.config(rgengc_allow_full_mark: false)` in each process that serves, and `GC.start if \
             GC.latest_gc_info(:need_major_by)` in Puma's out_of_band, or after each request of a server with one thread"
                .to_owned(),
        ),
        (other, _) => Some(format!(
            "the agent called it: docs/knobs.md says what {other} does"
        )),
    }
}

fn after_initialize(call: &str) -> String {
    format!("`Rails.application.config.after_initialize {{ {call} }}`")
}

/// The limits of the container, which a trial's control group had.
fn pod(chosen: &Chosen) -> String {
    let (resource, docker) = match chosen.knob.as_str() {
        POD_CPUS => ("cpu", "--cpus"),
        _ => ("memory", "--memory"),
    };
    format!(
        "as resources.limits.{resource} of the container in Kubernetes, or docker run {docker}; the trial's server was in a control group \
         with this limit"
    )
}

fn nginx(files: &Files, chosen: &Chosen) -> Option<String> {
    let value = chosen.value.as_str();
    let directive = match chosen.variable.as_str() {
        "proxy_buffers" => format!("proxy_buffers {value} 4k;"),
        directive => format!("{directive} {value};"),
    };
    match (&files.nginx, chosen.variable.as_str()) {
        (None, _) => Some(format!(
            "`{directive}` in nginx's configuration; name that file as nginx in [files], and the diff is against it"
        )),
        // It may stand in any location, and the innermost one wins.
        (Some(_), "proxy_buffering") => Some(format!(
            "`{directive}` in the location that passes requests on; a diff does not tell which one that is"
        )),
        (Some(_), _) => None,
    }
}
