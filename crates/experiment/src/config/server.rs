//! Which server it is, what stands in front of it, and the files that they are started by.

use super::values::{parse_bool, parse_list, parse_threads, parse_workers};
use super::{Asked, Problem, Request};
use crate::request::{Front, Goal};
use crate::server_kind::ServerKind;
use knobs::{Place, Program};
use run::Settings;

const KINDS: [ServerKind; 5] = [
    ServerKind::Puma,
    ServerKind::Unicorn,
    ServerKind::Pitchfork,
    ServerKind::Falcon,
    ServerKind::Passenger,
];

/// Which server the request names, Puma where it names none or one that is not known.
pub fn named(request: &Request) -> ServerKind {
    kind(request, &mut Vec::new())
}

/// Likewise, with what is wrong.
pub fn kind(request: &Request, problems: &mut Vec<Problem>) -> ServerKind {
    let Some(asked) = &request.kind else {
        return ServerKind::Puma;
    };
    let kind = KINDS.into_iter().find(|kind| kind.name() == asked.text);
    kind.unwrap_or_else(|| {
        problems.push(Problem::of(
            asked,
            "no server that Powerband configures",
            "give puma, unicorn, pitchfork, falcon or passenger, or a command of your own with server.command",
        ));
        ServerKind::Puma
    })
}

/// What stands in front, where anything does.
pub fn front(request: &Request, problems: &mut Vec<Problem>) -> Option<Front> {
    let mut tls = false;
    if let Some(asked) = &request.tls {
        match parse_bool(asked) {
            Ok(yes) => tls = yes,
            Err(problem) => problems.push(problem),
        }
    }
    match request
        .front
        .as_ref()
        .map(|asked| (asked, asked.text.as_str()))
    {
        None | Some((_, "none")) => {
            if let (true, Some(asked)) = (tls, &request.tls) {
                problems.push(Problem::of(
                    asked,
                    "nothing stands in front that could speak TLS",
                    "set server.front = \"nginx\" too",
                ));
            }
            None
        }
        Some((_, "nginx")) => Some(Front { tls }),
        Some((asked, _)) => {
            problems.push(Problem::of(
                asked,
                "nothing that Powerband can put in front",
                "give nginx or none",
            ));
            None
        }
    }
}

/// What contradicts the kind of server: a command for one that has its own, knobs of programs that are not
/// started, more than one thread where there is but one.
pub fn misplaced(
    request: &Request,
    kind: ServerKind,
    front: Option<&Front>,
    goal: &Goal,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    if let (Some(command), true) = (&request.command, kind != ServerKind::Puma) {
        problems.push(Problem::of(
            command,
            format_args!("server.kind = {:?} has a command of its own", kind.name()),
            "give one of them",
        ));
    }
    if let (Some(config), ServerKind::Falcon) = (&request.server_config, kind) {
        problems.push(Problem::of(
            config,
            "falcon serve reads no configuration file",
            "leave it out",
        ));
    }
    let Goal::Arms { arms, .. } = goal else {
        problems.extend(unsearchable(request, kind, front));
        return problems;
    };
    let mut named = Vec::new();
    for arm in arms {
        for (program, knob) in arm.overlay.programs() {
            let remedy = not_started(program, request, kind, front);
            if let Some(remedy) = remedy.filter(|_| !named.contains(&knob)) {
                named.push(knob);
                problems.push(Problem::with(
                    format!(
                        "{knob} is set, and no {} is started that takes it",
                        program.name()
                    ),
                    remedy,
                ));
            }
        }
        problems.extend(impossible(kind, arm, arm.settings));
    }
    problems
}

/// Whether the server is a command of the user's own to which Puma's directives cannot be given.
fn takes_no_file(request: &Request) -> bool {
    let command = request.command.as_ref();
    command.is_some_and(|command| !command.text.contains("{config}"))
}

/// What to set so that this program is started and takes directives; `None` where it is so.
fn not_started(
    program: Program,
    request: &Request,
    kind: ServerKind,
    front: Option<&Front>,
) -> Option<String> {
    let server = match program {
        Program::Puma => ServerKind::Puma,
        Program::Pitchfork => ServerKind::Pitchfork,
        Program::Passenger => ServerKind::Passenger,
        Program::Nginx => {
            return front
                .is_none()
                .then(|| "set server.front = \"nginx\"".to_owned());
        }
    };
    if kind != server {
        return Some(format!("set server.kind = {:?}", server.name()));
    }
    (kind == ServerKind::Puma && takes_no_file(request))
        .then(|| "add -C {config} to server.command".to_owned())
}

/// Settings that this server cannot run with; `whose` they are.
pub fn impossible(
    kind: ServerKind,
    whose: impl std::fmt::Display,
    settings: Settings,
) -> Vec<Problem> {
    let mut problems = Vec::new();
    if !kind.has_threads() && settings.threads > 1 {
        let serves = match kind.has_fibers() {
            true => "serves its requests in fibers of one thread",
            false => "serves one request at a time",
        };
        problems.push(Problem::with(
            format!(
                "{whose}: threads = {}, and a process of {} {serves}",
                settings.threads,
                kind.name()
            ),
            "leave threads out, and set workers",
        ));
    }
    if !kind.has_threads() && settings.workers == 0 {
        problems.push(Problem::with(
            format!("{whose}: workers = 0, and {} needs one", kind.name()),
            "give workers = 1 or more",
        ));
    } else if let Some(always) = kind.preloads().filter(|&always| always != settings.preload) {
        let does = if always { "always" } else { "never" };
        problems.push(Problem::with(
            format!(
                "{whose}: preload = {}, and {} {does} loads the application before it forks",
                settings.preload,
                kind.title()
            ),
            "leave preload out",
        ));
    }
    problems
}

/// What `tune` is asked to search and this server does not have.
fn unsearchable(request: &Request, kind: ServerKind, front: Option<&Front>) -> Vec<Problem> {
    let mut problems = Vec::new();
    let at = |asked: &Asked, threads, workers| {
        let settings = Settings {
            threads,
            workers,
            preload: kind.preloads().unwrap_or(false),
        };
        impossible(kind, &asked.origin, settings)
    };
    // Invalid values are reported where they are read.
    if let Some(asked) = &request.threads {
        let threads = parse_list(asked, parse_threads).unwrap_or_default();
        problems.extend(
            threads
                .into_iter()
                .flat_map(|threads| at(asked, threads, 1)),
        );
    }
    if let Some(asked) = &request.workers {
        let workers = parse_list(asked, parse_workers).unwrap_or_default();
        problems.extend(
            workers
                .into_iter()
                .flat_map(|workers| at(asked, 1, workers)),
        );
    }
    for asked in &request.knobs {
        let name = asked.text.split('=').next().unwrap_or_default().trim();
        let remedy = match knobs::find(name).map(|knob| knob.place) {
            Some(Place::Configuration(program)) => not_started(program, request, kind, front),
            Some(Place::Environment | Place::Group) => None,
            None if name.starts_with(knobs::VALUE) => {
                Some("placeholders are for compare and sweep".to_owned())
            }
            None => (knobs::is_known(name) && !name.starts_with(knobs::ENV))
                .then(|| "versions of gems are for compare and sweep".to_owned()),
        };
        let Some(remedy) = remedy else {
            continue;
        };
        let shown = Asked::new(knobs::masked(&asked.text), asked.origin.clone());
        problems.push(Problem::of(&shown, "tune cannot search it here", remedy));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Arm;
    use run::Kind;

    fn asked(text: &str) -> Option<Asked> {
        Some(Asked::new(text, "server in powerband.toml"))
    }

    fn arms(settings: Settings, knobs: &[(&str, &str)]) -> Goal {
        let overlay = knobs::Overlay::of(knobs).unwrap();
        Goal::Arms {
            kind: Kind::Compare,
            arms: vec![Arm::with(settings, overlay)],
        }
    }

    #[test]
    fn kinds_and_fronts_are_words() {
        let mut problems = Vec::new();
        let request = Request {
            kind: asked("passenger"),
            front: asked("nginx"),
            tls: asked("true"),
            ..Request::default()
        };
        assert_eq!(kind(&request, &mut problems), ServerKind::Passenger);
        assert_eq!(front(&request, &mut problems), Some(Front { tls: true }));
        assert!(problems.is_empty(), "{problems:?}");
        let request = Request {
            kind: asked("thin"),
            tls: asked("true"),
            ..Request::default()
        };
        kind(&request, &mut problems);
        assert_eq!(front(&request, &mut problems), None);
        assert_eq!(problems.len(), 2, "{problems:?}");
    }

    #[test]
    fn what_tune_cannot_search_is_reported() {
        let reported = |knob: &str, front: Option<Front>| {
            let request = Request {
                knobs: vec![Asked::new(knob, "--knobs")],
                ..Request::default()
            };
            misplaced(&request, ServerKind::Puma, front.as_ref(), &Goal::Tune).len()
        };
        let nginx = Some(Front { tls: false });
        assert_eq!(
            (
                reported("nginx.workers=2", None),
                reported("nginx.workers=2", nginx)
            ),
            (1, 0)
        );
        assert_eq!(
            (
                reported("passenger.min_instances=2", None),
                reported("value.a=1", None)
            ),
            (1, 1)
        );
        assert_eq!(reported("malloc_arena_max=2", None), 0);
    }

    #[test]
    fn what_a_server_of_one_thread_cannot_be_searched_for_is_reported() {
        let reported = |kind, threads, workers, knob: &str| {
            let asked = |text: &str, origin| Some(Asked::new(text, origin));
            let request = Request {
                threads: asked(threads, "--threads"),
                workers: asked(workers, "--workers"),
                knobs: asked(knob, "--knobs").into_iter().collect(),
                ..Request::default()
            };
            let problems = misplaced(&request, kind, None, &Goal::Tune);
            problems.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let knob = "passenger.min_instances=2";
        assert_eq!(reported(ServerKind::Passenger, "1", "1,2", knob).len(), 0);
        let wrong = reported(ServerKind::Unicorn, "1,3", "0,2", knob);
        for (problem, word) in wrong.iter().zip(["--threads", "--workers", "--knobs"]) {
            assert!(problem.starts_with(word), "{problem}");
        }
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        let knob = "puma.fork_worker=0";
        assert_eq!(reported(ServerKind::Puma, "1,3", "0,2", knob).len(), 0);
        assert_eq!(reported(ServerKind::Passenger, "1", "2", knob).len(), 1);
        let knob = "pitchfork.refork_after=50,100";
        assert_eq!(reported(ServerKind::Pitchfork, "1", "1,2", knob).len(), 0);
        let wrong = reported(ServerKind::Unicorn, "1", "1,2", knob);
        assert!(
            wrong[0].contains("set server.kind = \"pitchfork\""),
            "{wrong:?}"
        );
    }

    #[test]
    fn a_file_that_falcon_would_not_read_is_refused() {
        let request = Request {
            server_config: Some(Asked::new("config/falcon.rb", "--puma-config")),
            ..Request::default()
        };
        let wrong = |kind| misplaced(&request, kind, None, &Goal::Tune).len();
        assert_eq!(
            (wrong(ServerKind::Falcon), wrong(ServerKind::Unicorn)),
            (1, 0)
        );
    }

    #[test]
    fn a_server_that_leaves_no_choice_of_preloading_is_reported() {
        let settings = |workers, preload| Settings {
            workers,
            threads: 1,
            preload,
        };
        let wrong = |workers, preload| {
            let found = impossible(ServerKind::Pitchfork, "one", settings(workers, preload));
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(wrong(2, true), [""; 0]);
        let without = wrong(2, false);
        assert!(
            without.len() == 1 && without[0].contains("Pitchfork always loads"),
            "{without:?}"
        );
        let falcon = impossible(ServerKind::Falcon, "one", settings(2, true));
        assert!(falcon[0].to_string().contains("Falcon never loads"));
        assert!(impossible(ServerKind::Falcon, "one", settings(2, false)).is_empty());
        // Without workers nothing says whether to preload.
        assert_eq!(wrong(0, false).len(), 1);
        for preload in [false, true] {
            let unicorn = impossible(ServerKind::Unicorn, "one", settings(2, preload));
            assert!(unicorn.is_empty());
        }
    }

    #[test]
    fn knobs_of_programs_that_are_not_started_are_reported() {
        let request = Request::default();
        let unicorn = ServerKind::Unicorn;
        let two = Settings {
            workers: 2,
            threads: 1,
            preload: false,
        };
        let wrong = arms(
            two,
            &[("passenger.min_instances", "2"), ("nginx.workers", "2")],
        );
        assert_eq!(misplaced(&request, unicorn, None, &wrong).len(), 2);
        let threads = arms(Settings { threads: 5, ..two }, &[]);
        assert_eq!(misplaced(&request, unicorn, None, &threads).len(), 1);
        assert_eq!(
            misplaced(&request, ServerKind::Puma, None, &threads).len(),
            0
        );
        let right = arms(two, &[("nginx.workers", "2")]);
        assert!(misplaced(&request, unicorn, Some(&Front { tls: false }), &right).is_empty());
    }
}
