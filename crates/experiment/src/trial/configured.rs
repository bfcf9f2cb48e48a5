//! What an arm's knobs come to in the configurations that Powerband writes for a trial.

use crate::bench::Bench;
use crate::config::filled;
use crate::puma_statements;
use crate::request::Arm;
use knobs::Program;
use servers::{Nginx, ServerCommand, ServerSpec};
use std::collections::BTreeMap;
use std::str::FromStr;

/// The server's command and options, and what stands in front of it.
pub(super) fn for_arm(spec: &mut ServerSpec, bench: &Bench<'_>, arm: &Arm) {
    let overlay = &arm.overlay;
    spec.command = bench.place(arm).command.clone();
    spec.pool = overlay.pool();
    spec.puma = puma_statements::of(overlay);
    match &mut spec.command {
        ServerCommand::Custom { words } => {
            let values = overlay.placeholders();
            for word in words {
                *word = filled(word, &values);
            }
        }
        ServerCommand::Passenger(passenger) => {
            passenger.ruby = bench.ruby(arm).map(|ruby| ruby.program.clone());
            let asked = Directives(overlay.directives(Program::Passenger));
            asked.apply("PassengerMinInstances", &mut passenger.min_instances);
            asked.apply(
                "PassengerMaxInstancesPerApp",
                &mut passenger.max_instances_per_app,
            );
            asked.apply(
                "PassengerMaxRequestQueueSize",
                &mut passenger.max_request_queue_size,
            );
            asked.apply("PassengerMaxRequests", &mut passenger.max_requests);
        }
        ServerCommand::Puma { program, .. } | ServerCommand::Falcon { program } => {
            in_its_ruby(program, bench, arm);
        }
        ServerCommand::Prefork(prefork) => {
            in_its_ruby(&mut prefork.program, bench, arm);
            let asked = Directives(overlay.directives(Program::Pitchfork));
            prefork.refork_after = asked.value("refork_after");
            prefork.refork_max_unavailable = asked.value("refork_max_unavailable");
        }
    }
    spec.front = bench.experiment.front.map(|front| {
        let asked = Directives(overlay.directives(Program::Nginx));
        let mut nginx = Nginx {
            tls: front.tls,
            workers: 1,
            ..Nginx::default()
        };
        asked.apply("worker_processes", &mut nginx.workers);
        asked.apply("keepalive", &mut nginx.keepalive);
        asked.apply("proxy_buffers", &mut nginx.proxy_buffers.0);
        if let Some(on) = asked.value::<u8>("proxy_buffering") {
            nginx.proxy_buffering = on == 1;
        }
        nginx
    });
}

/// Starts the program with the arm's Ruby and bundle.
fn in_its_ruby(program: &mut Vec<String>, bench: &Bench<'_>, arm: &Arm) {
    // A program that RubyGems starts would activate the newest version.
    let bundled = bench.arm_environments.bundle(&arm.overlay).is_some();
    if bundled && program.first().is_some_and(|word| word != "bundle") {
        program.splice(0..0, ["bundle".to_owned(), "exec".to_owned()]);
    }
    // The first line of the script may name another Ruby.
    let ruby = bench.ruby(arm);
    let by = ruby.map(|ruby| [ruby.program.display().to_string(), "-S".to_owned()]);
    program.splice(0..0, by.into_iter().flatten());
}

/// Directives and their values, which the catalogue has checked.
struct Directives(BTreeMap<&'static str, String>);

impl Directives {
    fn value<T: FromStr>(&self, directive: &str) -> Option<T> {
        self.0.get(directive)?.parse().ok()
    }

    /// Where it is set, in place of what there is.
    fn apply<T: FromStr>(&self, directive: &str, place: &mut T) {
        if let Some(value) = self.value(directive) {
            *place = value;
        }
    }
}
