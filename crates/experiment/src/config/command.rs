//! A command that is run instead of a server that is asked: what it takes, and what means nothing to it.

use super::{Asked, Problem, Request, parse_duration};
use crate::request::{Arm, Goal, WorkloadCommand};
use knobs::{Overlay, POOL, Place, RUBY, SETUP};
use std::time::Duration;

/// Longest that one run may take by default.
const TIMEOUT: Duration = Duration::from_secs(30 * 60);

/// The command, with everything that contradicts it.
pub fn resolved(
    request: &Request,
    goal: &Goal,
    problems: &mut Vec<Problem>,
) -> Option<WorkloadCommand> {
    let timeout = request.command_timeout.as_ref().map(parse_duration);
    let timeout = match timeout {
        Some(Err(problem)) => {
            problems.push(problem);
            TIMEOUT
        }
        Some(Ok(timeout)) => timeout,
        None => TIMEOUT,
    };
    let asked = request.workload_command.as_ref()?;
    if asked.text.trim().is_empty() {
        problems.push(Problem::of(
            asked,
            "no command",
            "give one, such as \"bin/rails test\"",
        ));
    }
    let requests = [
        (request.path.is_some(), "a path"),
        (request.workload_file.is_some(), "a workload file"),
        (request.workload_inline.is_some(), "requests"),
    ];
    for (_, what) in requests.into_iter().filter(|(given, _)| *given) {
        problems.push(Problem::with(
            format!(
                "{} together with {what}: a command is asked nothing",
                asked.origin
            ),
            "give one of them",
        ));
    }
    problems.extend(not_for_commands(request, goal));
    if let Goal::Arms { arms, .. } = goal {
        problems.extend(wrong_with(arms));
    }
    Some(WorkloadCommand {
        text: asked.text.clone(),
        timeout,
        today: Overlay::default(),
    })
}

/// What is wrong with the arms of a comparison.
fn wrong_with(arms: &[Arm]) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let [alone] = arms {
        problems.push(Problem::with(
            format!("{} is compared with nothing", alone.clone().of_command()),
            "name a second configuration",
        ));
    }
    let mut told = Vec::new();
    for knob in arms.iter().flat_map(|arm| of_a_server(&arm.overlay)) {
        if !told.contains(&knob) {
            problems.push(no_knob(&knob, ""));
            told.push(knob);
        }
    }
    problems
}

/// The arms by what they set alone.
pub fn goal(goal: Goal) -> Goal {
    match goal {
        Goal::Tune => Goal::Tune,
        Goal::Arms { kind, arms } => Goal::Arms {
            kind,
            arms: arms.into_iter().map(Arm::of_command).collect(),
        },
    }
}

/// Threads, workers and preloading among the knobs of an arm as it was typed: a command has no such thing.
pub fn of_servers(asked: &Asked) -> Vec<Problem> {
    let parts = knobs::parts(&asked.text);
    let of_servers = parts
        .iter()
        .map(|part| part.name.as_str())
        .filter(|name| knobs::SETTINGS.contains(name));
    of_servers
        .map(|name| no_knob(name, &format!(" in {}", asked.origin)))
        .collect()
}

pub fn no_knob(knob: &str, place: &str) -> Problem {
    Problem::with(
        format!("{knob}{place} is a server's, and --workload-command starts none"),
        "leave it out; allocator, malloc_arena_max, malloc_conf, tcmalloc.*, mimalloc.*, gc.*, thread_timeslice, yjit, gemfile, \
         gem.*, env.* and value.* (such as {ruby} in the command) are what a command's environment can have",
    )
}

/// Its knobs that a command's environment does not hold.
pub fn of_a_server(overlay: &Overlay) -> Vec<String> {
    let of_catalogue = overlay.of_catalogue().filter(|knob| {
        knob.place != Place::Environment
            || knob.variable.starts_with(SETUP)
            || [POOL, RUBY].contains(&knob.name)
    });
    of_catalogue.map(|knob| knob.name.to_owned()).collect()
}

/// What was asked for that only a server has. Of a file, which may be a server's too, only what would change the answer.
fn not_for_commands(request: &Request, goal: &Goal) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut refuse = |asked: &Option<Asked>, wherever: bool| {
        if let Some(asked) = asked
            && (wherever || asked.origin.starts_with("--"))
        {
            problems.push(Problem::of(
                asked,
                "means nothing to --workload-command, which starts no server and sends no request",
                "leave it out",
            ));
        }
    };
    // --since implies a quick run, and is refused itself.
    let quick = (request.quick.clone()).filter(|_| request.since.is_none());
    for asked in [
        &request.command,
        &request.server_config,
        &request.port,
        &request.slo,
        &request.max_memory,
        &request.rate,
        // The runs of a comparison are counted, those of a search are not.
        match goal {
            Goal::Tune => &None,
            Goal::Arms { .. } => &request.budget,
        },
        &request.since,
        &quick,
        &request.threads,
        &request.workers,
        &request.least,
        &request.total_rate,
        &request.server_cost,
        &request.window,
        &request.age,
        &request.timeout,
        &request.connections,
        &request.replay_host,
        &request.generator_core,
        &request.earlier_runs,
    ] {
        refuse(asked, false);
    }
    refuse(&request.calibrate, true);
    for service in &request.services {
        problems.push(Problem::with(
            format!("service {:?}: a service is started with a server, and --workload-command starts none", service.name.text),
            "let the command, or hooks.before_trial, use one that runs already, and leave [[service]] out",
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ServiceRequest;
    use run::{Kind, Settings};

    fn arm(knobs: &[(&str, &str)]) -> Arm {
        let overlay = Overlay::of(knobs).unwrap();
        Arm::with(Settings::PUMA_DEFAULT, overlay)
    }

    fn arms(arms: Vec<Arm>) -> Goal {
        let kind = Kind::Compare;
        Goal::Arms { kind, arms }
    }

    fn request() -> Request {
        Request {
            workload_command: Some(Asked::new("rake", "--workload-command")),
            ..Request::default()
        }
    }

    fn told(request: &Request, goal: &Goal) -> Vec<String> {
        let mut problems = Vec::new();
        resolved(request, goal, &mut problems);
        problems.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_a_command_s_environment_can_have_is_taken() {
        let all = [
            ("env.A", "1"),
            ("gc.malloc_limit", "32MiB"),
            ("allocator", "glibc"),
            ("malloc_arena_max", "2"),
            ("yjit", "on"),
            ("gemfile", "Gemfile.next"),
            ("gem.rack", "3.1"),
            ("value.size", "3"),
        ];
        assert_eq!(told(&request(), &arms(vec![arm(&[]), arm(&all)])), [""; 0]);
        let timeout = |text: &str| Request {
            command_timeout: Some(Asked::new(text, "workload.command_timeout")),
            ..request()
        };
        let goal = arms(vec![arm(&[]), arm(&all)]);
        let taken = resolved(&timeout("2m"), &goal, &mut Vec::new()).unwrap();
        assert_eq!(taken.timeout, Duration::from_secs(120));
        assert_eq!(told(&timeout("2"), &goal).len(), 1);
    }

    #[test]
    fn what_only_a_server_has_is_refused() {
        for knob in [
            ("warmup", "on"),
            ("require", "oj"),
            ("pool", "5"),
            ("ruby", "/usr/bin/ruby"),
            ("nginx.workers", "2"),
            ("passenger.min_instances", "2"),
            ("puma.fork_worker", "5"),
        ] {
            // In both arms, and reported once.
            let said = told(
                &request(),
                &arms(vec![arm(&[knob]), arm(&[knob, ("env.A", "1")])]),
            );
            assert_eq!(said.len(), 1, "{said:?}");
            assert!(said[0].starts_with(knob.0), "{said:?}");
        }
        for (text, wrong) in [
            ("threads=5,yjit=on", 1),
            ("workers=2,preload=true", 2),
            ("env.threads=5", 0),
        ] {
            assert_eq!(
                of_servers(&Asked::new(text, "SETTINGS")).len(),
                wrong,
                "{text}"
            );
        }
    }

    #[test]
    fn flags_of_servers_are_refused_and_what_a_file_says_of_them_is_not() {
        let both = || arms(vec![arm(&[]), arm(&[("env.A", "1")])]);
        let asked = |origin: &str| Request {
            slo: Some(Asked::new("p99=1s", origin)),
            budget: Some(Asked::new("8m", origin)),
            ..request()
        };
        assert_eq!(told(&asked("--slo"), &both()).len(), 2);
        assert_eq!(
            told(&asked("tune.budget in powerband.toml"), &both()).len(),
            0
        );
        let calibrated = Request {
            calibrate: Some(Asked::new("6", "tune.calibrate in powerband.toml")),
            path: Some(Asked::new("/", "--path")),
            services: vec![ServiceRequest {
                name: Asked::new("db", "service"),
                command: Asked::new("db {port}", "service"),
                port_env: None,
                template: None,
                ready_path: None,
            }],
            ..request()
        };
        assert_eq!(told(&calibrated, &both()).len(), 3);
        assert_eq!(told(&request(), &arms(vec![arm(&[])])).len(), 1);
    }

    #[test]
    fn arms_are_named_by_what_they_set() {
        let mut again = arm(&[]);
        again.name.push_str("-again");
        let named = |arm: Arm| {
            let arm = arm.of_command();
            (arm.name.clone(), arm.to_string())
        };
        let own = |name: &str, called: &str| (name.to_owned(), called.to_owned());
        assert_eq!(named(arm(&[])), own("as-it-is", "as it is"));
        assert_eq!(named(again), own("as-it-is-again", "as it is (again)"));
        assert_eq!(named(arm(&[("yjit", "on")])), own("yjit-on", "yjit=on"));
    }

    #[test]
    fn a_search_has_a_budget_and_no_limits_of_requests() {
        let asked = |text: &str, origin: &str| Some(Asked::new(text, origin));
        let request = Request {
            budget: asked("8m", "--budget"),
            rate: asked("80/s", "--rate"),
            threads: asked("1,2", "--threads"),
            quick: asked("true", "--quick"),
            ..request()
        };
        let said = told(&request, &Goal::Tune);
        for (refused, said) in ["--rate", "--quick", "--threads"].iter().zip(&said) {
            assert!(
                said.starts_with(refused) && said.contains("starts no server"),
                "{said}"
            );
        }
        assert_eq!(said.len(), 3, "{said:?}");
    }
}
