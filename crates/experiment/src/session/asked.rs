//! What a resumed run is asked again: the settings that it must share with its start.

use crate::git::git;
use crate::request::{Experiment, Goal};
use crate::run_key::RunKey;
use run::Settings;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

const SERVER_COMMAND: &str = "the server's command";
const CODE: &str = "the application's code";
const VERSION: &str = "the version of powerband";
/// The settings whose values a message shows: they are no secrets, and are kept as people write them.
const READABLE: [&str; 11] = [
    "--age",
    "--calibrate",
    "--keep-alive",
    "--since",
    "--threads",
    "--workers",
    "the connections",
    "the environment's name",
    "the margin",
    "the objective",
    "the timeout",
];
/// The settings that make trials of two runs those of the same application under the same load.
const OF_THE_APPLICATION: [&str; 13] = [
    "--generator-core",
    "--header",
    "--keep-alive",
    "the application",
    "the connections",
    "the environment",
    "the environment's name",
    "the hooks",
    "the list of services",
    "the server",
    SERVER_COMMAND,
    "the timeout",
    "the workload",
];
/// Code files that a message names.
const MOST_NAMED: usize = 3;
/// The files that are compared, as git pathspecs. Rails rewrites the schema when it migrates; that alone changes no answer.
const CODE_FILES: [&str; 8] = [
    "*.rb",
    "*.ru",
    "*.erb",
    "*.haml",
    "*.slim",
    "*.jbuilder",
    "Gemfile*",
    ":(exclude)db/schema.rb",
];

/// The first setting that differs from what the run was asked at its start, with both values where they can be shown, and the remedy.
///
/// A run that keeps no trial may continue with changed code.
pub(super) fn changed(
    before: &BTreeMap<String, String>,
    experiment: &Experiment,
    key: &RunKey,
    keeps_trials: bool,
    began: Option<SystemTime>,
) -> Option<String> {
    let mut now = asked(experiment, key);
    // Runs that earlier builds started have this one in clear.
    let in_clear = format!("{:?}", experiment.command);
    if before.get(SERVER_COMMAND) == Some(&in_clear) {
        now.insert(SERVER_COMMAND.to_owned(), in_clear);
    }
    // Runs that earlier builds started have no digest of the code.
    let compares_code = keeps_trials && before.contains_key(CODE);
    // Another version may write down the same settings in other words.
    let version = now.keys().filter(|name| *name == VERSION);
    let mut names = version.chain(now.keys()).chain(before.keys());
    let name = names
        .find(|name| (compares_code || *name != CODE) && now.get(*name) != before.get(*name))?;
    let detail = match name.as_str() {
        CODE => began.and_then(|began| written_since(&experiment.app_dir, began)),
        readable if READABLE.contains(&readable) => {
            let value = |of: &BTreeMap<String, String>| given(of.get(name));
            Some(format!("{} then, {} now", value(before), value(&now)))
        }
        _ => None,
    };
    let detail = detail.map_or_else(String::new, |detail| format!(" ({detail})"));
    let remedy = match name.as_str() {
        CODE => "put the code back",
        _ => "ask as you did then",
    };
    Some(format!(
        "{name} has changed since{detail}, and its trials would not be comparable; {remedy}"
    ))
}

/// Whether a run with this key was asked to measure the same application under the same load. Its code, limits and configurations may
/// be others.
pub(super) fn is_of_same_application(
    before: &BTreeMap<String, String>,
    experiment: &Experiment,
    key: &RunKey,
) -> bool {
    let now = of_settings(experiment, key);
    OF_THE_APPLICATION
        .iter()
        .all(|name| now.get(*name) == before.get(*name))
}

/// The code files that were written after this time. A file that was removed, or came back with an old time, is not among them.
fn written_since(app_dir: &Path, began: SystemTime) -> Option<String> {
    let listed = list(app_dir, &["ls-files", "-z"])?;
    let newer = |path: &&str| {
        let written = std::fs::metadata(app_dir.join(path)).and_then(|of| of.modified());
        written.is_ok_and(|written| written > began)
    };
    let files: Vec<&str> = listed.split_terminator('\0').filter(newer).collect();
    let named = run::first_of(&files, MOST_NAMED);
    (!files.is_empty()).then(|| format!("newer files: {named}"))
}

/// What a resumed run must share with its start: its settings and its code.
pub(super) fn asked(experiment: &Experiment, key: &RunKey) -> BTreeMap<String, String> {
    let mut asked = of_settings(experiment, key);
    // A check compares the commits of its revisions.
    if experiment.revisions.all.is_empty()
        && let Some(code) = code(&experiment.app_dir)
    {
        asked.insert(CODE.to_owned(), key.digest(&code));
    }
    asked
}

/// The settings alone, without a question to git. Values that may be secrets are digests under the run's key.
fn of_settings(experiment: &Experiment, key: &RunKey) -> BTreeMap<String, String> {
    let hashed = |values: &dyn std::fmt::Debug| key.digest(&format!("{values:?}"));
    let shown = |value: &dyn std::fmt::Debug| format!("{value:?}");
    let arms = match &experiment.goal {
        Goal::Tune => Vec::new(),
        Goal::Arms { arms, .. } => arms.iter().map(|a| a.name.clone()).collect(),
    };
    let hooks = (
        &experiment.prepare,
        &experiment.before_trial,
        &experiment.after_trial,
    );
    // The `Debug` of a searched knob leaves out its values.
    let searched: Vec<_> = experiment
        .knobs
        .iter()
        .map(|k| (&k.name, &k.values))
        .collect();
    // The `Debug` of a header leaves out its value.
    let headers = experiment.headers.iter();
    let headers: Vec<_> = headers.map(|h| (h.name(), h.value())).collect();
    let mut asked = BTreeMap::from(
        [
            (VERSION, env!("CARGO_PKG_VERSION").to_owned()),
            ("the command", experiment.goal.kind().verb().to_owned()),
            ("the list of configurations", shown(&arms)),
            ("the application", shown(&experiment.app_dir)),
            ("the environment's name", experiment.environment.clone()),
            ("the environment", hashed(&experiment.env)),
            (SERVER_COMMAND, hashed(&experiment.command)),
            (
                "the server",
                shown(&(
                    experiment.kind,
                    &experiment.front,
                    &experiment.server_config,
                )),
            ),
            ("the connections", given(experiment.connections)),
            ("--generator-core", shown(&experiment.generator_core)),
            ("--keep-alive", yes_or_no(experiment.keep_alive)),
            ("--header", hashed(&headers)),
            ("--rehearse", shown(&experiment.rehearse)),
            ("the list of services", hashed(&experiment.services)),
            ("the hooks", hashed(&hooks)),
            ("the workload", hashed(&experiment.workload)),
            ("the objective", experiment.objective.to_string()),
            (
                "the margin",
                format!("{} %", (experiment.margin * 1e10).round() / 1e8),
            ),
            ("--calibrate", given(experiment.calibrate)),
            ("--knobs", hashed(&searched)),
            ("the timeout", shown(&experiment.timeout)),
            ("--threads", listed(experiment.threads.as_deref())),
            ("--workers", listed(experiment.workers.as_deref())),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    if let Some(command) = &experiment.workload_command {
        asked.insert("--workload-command".to_owned(), hashed(&command.text));
    }
    if let Some(requests) = experiment.age {
        asked.insert("--age".to_owned(), format!("{requests} requests"));
    }
    if let Some(earlier) = &experiment.since {
        asked.insert("--since".to_owned(), earlier.since.run.clone());
    }
    if !experiment.revisions.all.is_empty() {
        asked.insert(
            "the commit of a revision".to_owned(),
            shown(&experiment.revisions.all),
        );
        asked.insert("--assert".to_owned(), shown(&experiment.assertions));
    }
    // A label names a configuration, and may stand for other values by now.
    asked.insert(
        "what configurations set".to_owned(),
        hashed(&(of_arms(experiment), templates(experiment))),
    );
    asked
}

/// The code files in git's index with their digests, and the changes that are not staged; `None` outside a git repository.
fn code(app_dir: &Path) -> Option<String> {
    let files = list(app_dir, &["ls-files", "--stage"]).filter(|files| !files.is_empty())?;
    let changes = list(
        app_dir,
        &["diff", "--no-ext-diff", "--no-textconv", "--binary"],
    )?;
    Some(format!("{files}\n{changes}"))
}

/// What git says of the code files.
fn list(app_dir: &Path, command: &[&str]) -> Option<String> {
    let words: Vec<&str> = command
        .iter()
        .chain(&["--"])
        .chain(&CODE_FILES)
        .copied()
        .collect();
    git(app_dir, &words).ok()
}

fn given(value: Option<impl ToString>) -> String {
    value.map_or_else(|| "not given".to_owned(), |value| value.to_string())
}

fn listed(values: Option<&[u16]>) -> String {
    let joined = |values: &[u16]| {
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        values.join(",")
    };
    given(values.map(joined))
}

fn yes_or_no(value: bool) -> String {
    match value {
        true => "yes",
        false => "no",
    }
    .to_owned()
}

/// Each arm with all that it sets.
fn of_arms(experiment: &Experiment) -> Vec<(String, Settings, BTreeMap<String, String>)> {
    let Goal::Arms { arms, .. } = &experiment.goal else {
        return Vec::new();
    };
    arms.iter()
        .map(|arm| {
            let overlay = &arm.overlay;
            let mut set = overlay.variables();
            set.extend(overlay.chosen().into_iter().map(|c| (c.knob, c.value)));
            set.extend(overlay.placeholders());
            (arm.name.clone(), arm.settings, set)
        })
        .collect()
}

/// The texts of services' templates.
fn templates(experiment: &Experiment) -> Vec<String> {
    let named = experiment
        .services
        .iter()
        .filter_map(|s| s.template.as_ref());
    named
        .map(|path| std::fs::read_to_string(path).unwrap_or_default())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Asked, Request, resolve};
    use crate::sample_repository::Repository;
    use run::{Folder, LatencyObjective};
    use std::time::Duration;

    /// An experiment with this secret in its environment, its server's command and its searched values.
    fn experiment(secret: &str) -> Experiment {
        let asked = |text: &str| Asked::new(text, "a test");
        let request = Request {
            env: BTreeMap::from([("TOKEN".to_owned(), asked(secret))]),
            command: Some(asked(&format!(
                "puma -C {{config}} --control-token {secret}"
            ))),
            headers: vec![asked(&format!("Authorization: {secret}"))],
            knobs: vec![asked(&format!("env.OTHER={secret},x"))],
            base_dir: env!("CARGO_MANIFEST_DIR").into(),
            ..Request::default()
        };
        resolve(request, Goal::Tune, 1).unwrap()
    }

    #[test]
    fn a_secret_that_is_asked_for_is_a_digest_under_the_runs_key() {
        let root = tempfile::tempdir().unwrap();
        let key = |id| RunKey::create(&Folder::create(root.path(), id).unwrap()).unwrap();
        let (one, other) = (key("one"), key("other"));
        let differing = |a: &BTreeMap<String, String>, b: &BTreeMap<String, String>| {
            let names = a.keys().filter(|name| a[*name] != b[*name]);
            names.cloned().collect::<Vec<_>>()
        };
        let asked_first = asked(&experiment("hunter2"), &one);
        assert!(!format!("{asked_first:?}").contains("hunter2"));
        assert_eq!(asked(&experiment("hunter2"), &one), asked_first);
        let secret = [
            "--header",
            "--knobs",
            "the environment",
            "the server's command",
        ];
        let changed = asked(&experiment("hunter3"), &one);
        assert_eq!(differing(&asked_first, &changed), secret);
        let of_another_run = asked(&experiment("hunter2"), &other);
        for name in secret {
            assert_ne!(asked_first[name], of_another_run[name]);
        }
    }

    #[test]
    fn code_that_changed_is_named_and_other_files_are_not() {
        let repository = Repository::with("app/app.rb");
        let app = repository.app();
        let first = code(&app).unwrap();
        repository.write("app/README.md", "2");
        repository.write("lib/elsewhere.rb", "2");
        assert_eq!(code(&app).unwrap(), first);
        repository.write("app/app.rb", "second");
        assert_ne!(code(&app).unwrap(), first);
        repository.commit("app/app.rb", "second");
        assert_ne!(code(&app).unwrap(), first);
        repository.commit("app/app.rb", "first");
        assert_eq!(
            code(&app).unwrap(),
            first,
            "another commit of the same code"
        );
        assert_eq!(code(tempfile::tempdir().unwrap().path()), None);
    }

    #[test]
    fn what_changed_is_shown_with_both_values_or_the_files() {
        let root = tempfile::tempdir().unwrap();
        let key = RunKey::create(&Folder::create(root.path(), "one").unwrap()).unwrap();
        let first = experiment("hunter2");
        let before = asked(&first, &key);
        let differing = |change: &dyn Fn(&mut Experiment)| {
            let mut now = first.clone();
            change(&mut now);
            changed(&before, &now, &key, true, None).unwrap()
        };
        assert_eq!(
            differing(&|now| now.objective.latency = Some(LatencyObjective {
                percentile: 99.0,
                limit_ms: 250.0
            })),
            "the objective has changed since (no limit then, p99 ≤ 250 ms now), and its trials would not be comparable; ask as you did then"
        );
        assert_eq!(
            differing(&|now| now.threads = Some(vec![1, 5])),
            "--threads has changed since (not given then, 1,5 now), and its trials would not be comparable; ask as you did then"
        );
        assert_eq!(
            differing(&|now| now.age = Some(50_000)),
            "--age has changed since (not given then, 50000 requests now), and its trials would not be comparable; ask as you did then"
        );
        assert_eq!(
            differing(&|now| {
                now.env.insert("TOKEN".to_owned(), "hunter3".to_owned());
            }),
            "the environment has changed since, and its trials would not be comparable; ask as you did then"
        );

        let repository = Repository::with("app/app.rb");
        let app = repository.app();
        let began = SystemTime::now() - Duration::from_secs(10);
        let before = std::fs::File::open(app.join("app.rb")).unwrap();
        before.set_modified(began).unwrap();
        assert_eq!(written_since(&app, began), None);
        for name in ["a", "b", "c", "d", "e"] {
            repository.commit(&format!("app/{name}.rb"), name);
        }
        assert_eq!(
            written_since(&app, began).as_deref(),
            Some("newer files: a.rb, b.rb, c.rb and 2 more")
        );
    }

    #[test]
    fn a_run_of_an_earlier_build_has_no_digest_of_the_code() {
        let root = tempfile::tempdir().unwrap();
        let key = RunKey::create(&Folder::create(root.path(), "one").unwrap()).unwrap();
        let experiment = experiment("hunter2");
        let mut before = asked(&experiment, &key);
        before.remove(CODE);
        assert_eq!(changed(&before, &experiment, &key, true, None), None);
        before.insert(CODE.to_owned(), "another".to_owned());
        assert_eq!(
            changed(&before, &experiment, &key, true, None),
            Some(format!(
                "{CODE} has changed since, and its trials would not be comparable; put the code back"
            ))
        );
        assert_eq!(changed(&before, &experiment, &key, false, None), None);
    }

    #[test]
    fn a_run_that_keeps_the_servers_command_in_clear_can_be_resumed() {
        let root = tempfile::tempdir().unwrap();
        let key = RunKey::create(&Folder::create(root.path(), "one").unwrap()).unwrap();
        let experiment = experiment("hunter2");
        let mut before = asked(&experiment, &key);
        assert_eq!(changed(&before, &experiment, &key, true, None), None);
        let in_clear =
            |token: &str| format!("Some(\"puma -C {{config}} --control-token {token}\")");
        before.insert(SERVER_COMMAND.to_owned(), in_clear("hunter2"));
        assert_eq!(changed(&before, &experiment, &key, true, None), None);
        before.insert(SERVER_COMMAND.to_owned(), in_clear("hunter3"));
        let differs = changed(&before, &experiment, &key, true, None);
        assert!(differs.unwrap().starts_with(SERVER_COMMAND));
    }
}
