//! From flags to the request that `experiment` resolves, each value with the flag that it came from.

use crate::args::{ExperimentArgs, TuneArgs};
use crate::{Failure, output};
use experiment::config::{
    ArmRequest, Asked, Problem, Request, parse_arm, parse_named, parse_sweep, read_all,
};
use experiment::{Arm, Goal, HEAD};
use run::Kind;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file that is read when it is there and none was named.
pub const CONFIG_NAME: &str = "powerband.toml";

/// What is to be known of a recording is said before anything is made of it.
pub fn tell_notes(notes: &[String]) {
    notes.iter().for_each(|note| output::error(note));
}

/// Whether a flag was typed. A value that only the flag's variable gives is for any command that reads it.
pub fn is_typed(text: Option<&String>, variable: Option<&String>) -> bool {
    text.is_some() && text != variable
}

/// [`merged`], and says which file was found without being named, with what it gives.
pub fn request(
    args: &ExperimentArgs,
    tune: Option<&TuneArgs>,
    baseline: Option<&String>,
) -> Result<(Request, Vec<Problem>), Failure> {
    let found = merged(args, tune, baseline)?;
    if let Some(path) = config_path(args).filter(|_| args.config.is_none()) {
        let given = match found.0.given_by(CONFIG_NAME) {
            given if given.is_empty() => given,
            given => format!(" ({given})"),
        };
        output::say(&format!("settings from {}{given}", path.display()));
    }
    Ok(found)
}

/// Flags and file merged, with what is wrong with either so far. `baseline` is the flag of the command that has one.
pub fn merged(
    args: &ExperimentArgs,
    tune: Option<&TuneArgs>,
    baseline: Option<&String>,
) -> Result<(Request, Vec<Problem>), Failure> {
    let (file, mut problems) = match config_path(args) {
        Some(path) => from_file(&path)?,
        None => (Request::default(), Vec::new()),
    };
    let flags = flags(args, tune, baseline, &mut problems);
    let mut merged = flags.or(file);
    // A folder given by flag starts from here, one in the file from the file.
    if let Some(app) = &args.app {
        let here = std::path::absolute(app).unwrap_or_else(|_| PathBuf::from(app));
        merged.app_dir = Some(Asked::new(here.display().to_string(), "--app"));
    }
    for (given, place, flag) in [
        (&args.workload, &mut merged.workload_file, "--workload"),
        (&args.runs, &mut merged.runs_dir, "--runs"),
    ] {
        if let Some(path) = given {
            let here = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
            *place = Some(Asked::new(here.display().to_string(), flag));
        }
    }
    if merged.runs_dir.is_none() {
        let here = std::path::absolute("powerband-runs")
            .unwrap_or_else(|_| PathBuf::from("powerband-runs"));
        merged.runs_dir = Some(Asked::new(here.display().to_string(), "the default"));
    }
    if let (Some(run), Some(runs)) = (tune.and_then(|t| t.since.as_ref()), &merged.runs_dir) {
        let folder = run::runs::find(Path::new(&runs.text), run);
        merged.since = Some(Asked::new(folder.display().to_string(), "--since"));
    }
    Ok((merged, problems))
}

/// What a configuration file asks for, and every problem of the file itself.
pub fn from_file(path: &Path) -> Result<(Request, Vec<Problem>), Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        Failure::usage(format!(
            "--config = {:?}: {e}; name a file that can be read",
            path.display().to_string()
        ))
    })?;
    Ok(read_all(&text, path))
}

fn config_path(args: &ExperimentArgs) -> Option<PathBuf> {
    if args.config.is_some() {
        return args.config.clone();
    }
    let beside = match &args.app {
        Some(app) => Path::new(app).join(CONFIG_NAME),
        None => PathBuf::from(CONFIG_NAME),
    };
    beside.is_file().then_some(beside)
}

fn flags(
    args: &ExperimentArgs,
    tune: Option<&TuneArgs>,
    baseline: Option<&String>,
    problems: &mut Vec<Problem>,
) -> Request {
    let given = |value: &Option<String>, flag: &str| {
        value.as_ref().map(|text| Asked::new(text.clone(), flag))
    };
    let switch = |on: bool, flag: &str| on.then(|| Asked::new("true", flag));
    let mut request = Request {
        path: given(&args.path, "--path"),
        slo: given(&args.slo, "--slo"),
        max_memory: given(&args.max_memory, "--max-memory"),
        rate: given(&args.rate, "--rate"),
        budget: given(&args.budget, "--budget"),
        blocks: given(&args.blocks, "--blocks"),
        calibrate: given(&args.calibrate, "--calibrate"),
        window: given(&args.window, "--window"),
        age: given(&args.age, "--age"),
        margin: given(&args.margin, "--margin"),
        timeout: given(&args.timeout, "--timeout"),
        seed: given(&args.seed, "--seed"),
        command: given(&args.server, "--server"),
        server_config: given(&args.puma_config, "--puma-config"),
        port: given(&args.port, "--port"),
        environment: given(&args.environment, "--environment"),
        before_trial: given(&args.before_trial, "--before-trial"),
        after_trial: given(&args.after_trial, "--after-trial"),
        connections: given(&args.connections, "--connections"),
        generator_core: given(&args.generator_core, "--generator-core"),
        keep_alive: args
            .kept
            .asked()
            .map(|kept| Asked::new(kept.to_string(), "--keep-alive")),
        headers: args
            .header
            .iter()
            .map(|header| Asked::new(header.clone(), "--header"))
            .collect(),
        allow_unsafe: switch(args.allow_unsafe, "--allow-unsafe"),
        replay_host: switch(args.replay_host, "--replay-host"),
        keep_flights: switch(args.keep_flights, "--keep-flights"),
        allow_remote: args
            .allow_remote
            .iter()
            .map(|remote| Asked::new(remote.clone(), "--allow-remote"))
            .collect(),
        baseline: baseline.map(|text| Asked::new(text.clone(), "--baseline")),
        // Placeholders that `request` replaces by absolute paths, so that the merge knows they were given.
        workload_file: given(&args.workload, "--workload"),
        ..Request::default()
    };
    if let Some(tune) = tune {
        let variable = std::env::var("POWERBAND_BUDGET").ok();
        let budget_is_typed = is_typed(args.budget.as_ref(), variable.as_ref());
        let since = tune.since.is_some() && !budget_is_typed;
        request.quick = switch(tune.quick, "--quick").or(switch(since, "--since"));
        // The budget of the variable is for runs that are not quick, as that of a file is.
        if request.quick.is_some() && !budget_is_typed {
            request.budget = None;
        }
        request.knobs = tune
            .knobs
            .iter()
            .map(|k| Asked::new(k.clone(), "--knobs"))
            .collect();
        request.threads = given(&tune.threads, "--threads");
        request.workers = given(&tune.workers, "--workers");
        request.max_arms = given(&tune.max_arms, "--max-arms");
        request.earlier_runs = given(&tune.earlier_runs, "--earlier-runs");
        request.least = given(&tune.least, "--least");
        request.total_rate = given(&tune.total_rate, "--total-rate");
        request.server_cost = given(&tune.server_cost, "--server-cost");
    }
    let (env, wrong) = assignments(&args.env);
    problems.extend(wrong);
    for (key, value) in env {
        request.env.insert(key, Asked::new(value, "--env"));
    }
    request
}

/// The variables of `--env KEY=VALUE`, and what is wrong with the others.
pub fn assignments(given: &[String]) -> (BTreeMap<String, String>, Vec<Problem>) {
    let (mut env, mut problems) = (BTreeMap::new(), Vec::new());
    for assignment in given {
        match assignment.split_once('=') {
            Some((key, value)) if !key.is_empty() => {
                env.insert(key.to_owned(), value.to_owned());
            }
            _ => problems.push(Problem::of(
                &Asked::new(assignment.clone(), "--env"),
                "sets nothing",
                "write KEY=VALUE",
            )),
        }
    }
    (env, problems)
}

/// The arms of `compare`, those of the file where none are named. The same configuration twice is an A/A comparison,
/// allowed when it is all that is compared.
pub fn compared(
    texts: &[String],
    named: &[ArmRequest],
    otherwise: &Arm,
) -> Result<Goal, Vec<Problem>> {
    let mut arms: Vec<Arm> = Vec::new();
    let mut problems = Vec::new();
    if texts.is_empty() {
        for asked in named {
            match parse_named(asked, otherwise) {
                Ok(arm) => arms.push(arm),
                Err(found) => problems.extend(found),
            }
        }
        for (index, asked) in named.iter().enumerate() {
            if named[..index]
                .iter()
                .any(|other| other.name.text == asked.name.text)
            {
                problems.push(Problem::of(
                    &asked.name,
                    "two configurations have this name",
                    "give each a name of its own",
                ));
            }
        }
        if named.is_empty() {
            problems.push(Problem::with(
                "no configurations to compare",
                "name them, such as threads=3 threads=5,workers=2, or write each as [[arm]] in powerband.toml",
            ));
        }
        return goal(Kind::Compare, arms, problems);
    }
    for text in texts {
        match parse_arm(&Asked::new(text.clone(), "SETTINGS"), otherwise) {
            Ok(arm) => arms.push(arm),
            Err(found) => problems.extend(found),
        }
    }
    match arms.as_mut_slice() {
        [first, second] if first == second => second.name.push_str("-again"),
        _ => distinct(&arms, &mut problems),
    }
    goal(Kind::Compare, arms, problems)
}

/// The arms of `sweep`: one knob at several values.
pub fn swept(text: &str, otherwise: &Arm) -> Result<Goal, Vec<Problem>> {
    let arms = parse_sweep(&Asked::new(text, "sweep"), otherwise)?;
    let mut problems = Vec::new();
    distinct(&arms, &mut problems);
    goal(Kind::Sweep, arms, problems)
}

/// The arms of `check`: the settings with either revision. One without a revision to compare with is refused by `resolve`.
pub fn checked(request: &Request, otherwise: &Arm) -> Goal {
    let named = |asked: &Option<Asked>| {
        let text = asked.as_ref().map_or(HEAD, |asked| &asked.text);
        otherwise.clone().at_revision(text)
    };
    let (against, mut checked) = (named(&request.against), named(&request.revision));
    if checked == against {
        checked.label = checked.label.map(|label| format!("{label} (again)"));
    }
    Goal::Arms {
        kind: Kind::Check,
        arms: vec![against, checked],
    }
}

fn goal(kind: Kind, arms: Vec<Arm>, problems: Vec<Problem>) -> Result<Goal, Vec<Problem>> {
    if problems.is_empty() {
        Ok(Goal::Arms { kind, arms })
    } else {
        Err(problems)
    }
}

/// Each configuration once.
fn distinct(arms: &[Arm], problems: &mut Vec<Problem>) {
    for (index, arm) in arms.iter().enumerate() {
        if arms[..index].contains(arm) {
            problems.push(Problem::with(
                format!("{arm} is named twice"),
                "name each configuration once",
            ));
        }
    }
}

/// Takes the file's command out of a request for a verb that sends requests, and says so.
pub fn without_command(request: &mut Request, verb: &str) -> Option<Problem> {
    let asked = request.workload_command.take()?;
    Some(Problem::with(
        format!(
            "{}: {verb} sends requests, and runs no command",
            asked.origin
        ),
        "leave it out, or give the requests with --path or --workload",
    ))
}

/// A flag that a verb refuses: its name, its value where it has one, the variable that gives it too, and why.
pub type Refused<'a> = (&'a str, &'a Option<String>, &'a str, &'a str);

/// Problems of flags that would change nothing. Keys of a file and variables are there for other verbs, too.
pub fn refused(flags: &[Refused<'_>]) -> Vec<Problem> {
    flags
        .iter()
        .filter(|(_, text, variable, _)| {
            is_typed(text.as_ref(), std::env::var(variable).ok().as_ref())
        })
        .filter_map(|(flag, text, _, why)| {
            let asked = Asked::new((*text).clone()?, *flag);
            Some(Problem::of(&asked, why, "leave it out"))
        })
        .collect()
}

/// All problems in one message.
pub fn failure(problems: &[Problem]) -> Failure {
    Failure::usage(
        problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n"),
    )
}
