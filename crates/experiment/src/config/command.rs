//! A command that is run instead of a server that is asked: what it takes, and what means nothing to it.

use super::{Asked, Problem, Request, parse_baseline, parse_duration, placeholders, search_knobs};
use crate::request::{Arm, Goal, SearchKnob, WorkloadCommand};
use knobs::{Overlay, POOL, Place, RUBY, SETUP, VALUE};
use run::Settings;
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

/// The knobs that `tune` searches for a command, without the values that run today, and these.
pub fn searched(request: &Request, problems: &mut Vec<Problem>) -> (Vec<SearchKnob>, Overlay) {
    let is_setting = |asked: &&Asked| {
        let name = asked.text.split('=').next().unwrap_or_default();
        knobs::SETTINGS.contains(&name.trim())
    };
    let (settings, asked): (Vec<&Asked>, Vec<&Asked>) = request.knobs.iter().partition(is_setting);
    problems.extend(settings.iter().flat_map(|asked| of_servers(asked)));
    let asked: Vec<Asked> = asked.into_iter().cloned().collect();
    let mut knobs = match search_knobs::resolve(&asked, &Goal::Tune) {
        Ok(knobs) => knobs,
        Err(found) => {
            problems.extend(found);
            return Default::default();
        }
    };
    if knobs.is_empty() && settings.is_empty() {
        let asked = request.workload_command.as_ref();
        problems.push(Problem::with(
            format!(
                "{}: no knob is named whose values tune could try with the command",
                asked.map_or("--workload-command", |asked| &asked.origin)
            ),
            "name one with its values, such as --knobs value.concurrency=5,10,25 for {concurrency} in the command",
        ));
    }
    let is_of_server = |knob: &SearchKnob| {
        let values = knob.values.iter();
        let mut overlays = values.filter_map(|value| Overlay::of(&[(&knob.name, value)]).ok());
        overlays.any(|overlay| !of_a_server(&overlay).is_empty())
    };
    // What is usual for servers is not asked for.
    knobs.retain(|knob| !(knob.usual && is_of_server(knob)));
    let of_servers = knobs.iter().filter(|knob| is_of_server(knob));
    problems.extend(of_servers.map(|knob| no_knob(&knob.name, "")));
    let mut today = baseline(request, problems);
    for knob in &mut knobs {
        problems.extend(without_today(knob, &mut today, request));
    }
    (knobs, today)
}

/// What `--baseline` or the file's `[baseline]` sets for a command.
fn baseline(request: &Request, problems: &mut Vec<Problem>) -> Overlay {
    let Some(asked) = &request.baseline else {
        return Overlay::default();
    };
    // A file's may be a server's, too.
    if asked.origin.starts_with("--") {
        problems.extend(of_servers(asked));
    }
    match parse_baseline(asked, &Arm::of(Settings::PUMA_DEFAULT)) {
        Ok(arm) => {
            let knobs = of_a_server(&arm.overlay);
            problems.extend(knobs.iter().map(|knob| no_knob(knob, "")));
            arm.overlay
        }
        Err(found) => {
            problems.extend(found);
            Overlay::default()
        }
    }
}

/// Takes today's value out of those that are tried. A placeholder has to have one: without a baseline it is the first.
fn without_today(knob: &mut SearchKnob, today: &mut Overlay, request: &Request) -> Vec<Problem> {
    let mut problems = Vec::new();
    let placeholder = knob.name.strip_prefix(VALUE);
    if let (Some(name), Some(command)) = (placeholder, &request.workload_command) {
        problems.extend(placeholders::fills_nothing(name, &[&command.text]));
    }
    let runs = |value: &str, today: &Overlay| {
        Overlay::of(&[(&knob.name, value)]).is_ok_and(|value| today.holds(&value))
    };
    let named = today.chosen().iter().any(|chosen| chosen.knob == knob.name);
    if placeholder.is_some()
        && !named
        && let Some(first) = knob.values.first()
        && let Err(wrong) = today.set(&knob.name, first)
    {
        problems.push(Problem::with(wrong.what, wrong.remedy));
    }
    let others = knob.values.iter().filter(|value| !runs(value, today));
    let others: Vec<String> = others.cloned().collect();
    for value in &others {
        let mut with = today.clone();
        if with.set(&knob.name, value).is_ok() {
            let contradictions = with.contradictions().into_iter();
            problems.extend(contradictions.map(|wrong| Problem::with(wrong.what, wrong.remedy)));
        }
    }
    if others.is_empty() {
        problems.push(Problem::with(
            format!("{} has one value, which runs today already", knob.name),
            format!("give others too, such as --knobs {}=V1,V2", knob.name),
        ));
    }
    knob.values = others;
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

fn no_knob(knob: &str, place: &str) -> Problem {
    Problem::with(
        format!("{knob}{place} is a server's, and --workload-command starts none"),
        "leave it out; allocator, malloc_arena_max, malloc_conf, tcmalloc.*, mimalloc.*, gc.*, thread_timeslice, yjit, gemfile, \
         gem.*, env.* and value.* (such as {ruby} in the command) are what a command's environment can have",
    )
}

/// Its knobs that a command's environment does not hold.
fn of_a_server(overlay: &Overlay) -> Vec<String> {
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
        &request.quick,
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

    /// The knobs as they are tried, what runs today, and what is wrong.
    fn searched_for(
        command: &str,
        knobs: &[&str],
        baseline: Option<&str>,
    ) -> (Vec<String>, String, Vec<String>) {
        let asked = |text: &&str| Asked::new(*text, "--knobs");
        let request = Request {
            workload_command: Some(Asked::new(command, "--workload-command")),
            knobs: knobs.iter().map(asked).collect(),
            baseline: baseline.map(|text| Asked::new(text, "--baseline")),
            ..Request::default()
        };
        let mut problems = Vec::new();
        let (knobs, today) = searched(&request, &mut problems);
        let shown = |knob: &SearchKnob| format!("{}={}", knob.name, knob.values.join(","));
        let problems = problems.iter().map(ToString::to_string).collect();
        (
            knobs.iter().map(shown).collect(),
            today.to_string(),
            problems,
        )
    }

    #[test]
    fn what_runs_today_is_the_baseline_s_value_and_else_the_first_of_a_placeholder() {
        let command = "sidekiq -c {concurrency}";
        let knobs = ["value.concurrency=5,10,25", "gc.malloc_limit=32MiB"];
        let (tried, today, wrong) = searched_for(command, &knobs, None);
        let others = ["value.concurrency=10,25", "gc.malloc_limit=32MiB"];
        assert_eq!(
            (tried, today.as_str(), wrong),
            (
                others.map(str::to_owned).to_vec(),
                "value.concurrency=5",
                Vec::new()
            )
        );
        let baseline = "value.concurrency=10,env.QUEUE=low";
        let (tried, today, wrong) = searched_for(command, &knobs[..1], Some(baseline));
        assert_eq!(tried, ["value.concurrency=5,25"]);
        assert_eq!(today, "env.QUEUE=low, value.concurrency=10");
        assert_eq!(wrong, [""; 0]);
    }

    #[test]
    fn a_search_without_anything_to_try_or_with_knobs_of_a_server_is_refused() {
        let command = "sidekiq -c {concurrency}";
        for (knobs, baseline, said) in [
            (&[][..], None, "no knob is named"),
            (&["value.concurrency=5"], None, "has one value"),
            (&["value.size=5,6"], None, "value.size fills nothing"),
            (&["threads=1,2"], None, "threads in --knobs is a server's"),
            (&["warmup=on"], None, "warmup is a server's"),
            (&["yjit=on"], Some("workers=2"), "workers in --baseline is"),
            (&["yjit=on"], Some("pool=2"), "pool is a server's"),
            (
                &["malloc_arena_max=2"],
                Some("allocator=jemalloc"),
                "malloc_arena_max means nothing to jemalloc",
            ),
        ] {
            let (_, _, wrong) = searched_for(command, knobs, baseline);
            assert_eq!(wrong.len(), 1, "{knobs:?}: {wrong:?}");
            assert!(wrong[0].contains(said), "{wrong:?}");
        }
        // What is usual for a server and means nothing here is left out.
        let (tried, _, wrong) = searched_for(command, &["usual"], None);
        assert_eq!(wrong, [""; 0]);
        assert!(
            tried.contains(&"malloc_arena_max=2".to_owned()),
            "{tried:?}"
        );
        assert!(
            !tried.iter().any(|knob| knob.starts_with("warmup")),
            "{tried:?}"
        );
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
