//! What a resumed run is asked again: the settings that it must share with its start.

use crate::git::git;
use crate::request::{Experiment, Goal};
use crate::run_key::RunKey;
use run::Settings;
use std::collections::BTreeMap;
use std::path::Path;

const SERVER_COMMAND: &str = "the server's command";
const CODE: &str = "the application's code";
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

/// The first setting that differs from what the run was asked at its start.
///
/// A run that keeps no trial may continue with changed code.
pub(super) fn changed(
    before: &BTreeMap<String, String>,
    experiment: &Experiment,
    key: &RunKey,
    keeps_trials: bool,
) -> Option<String> {
    let mut now = asked(experiment, key);
    // Runs that earlier builds started have this one in clear.
    let in_clear = format!("{:?}", experiment.command);
    if before.get(SERVER_COMMAND) == Some(&in_clear) {
        now.insert(SERVER_COMMAND.to_owned(), in_clear);
    }
    // Runs that earlier builds started have no digest of the code.
    let compares_code = keeps_trials && before.contains_key(CODE);
    let mut names = now.keys().chain(before.keys());
    let differs =
        names.find(|name| (compares_code || *name != CODE) && now.get(*name) != before.get(*name));
    differs.cloned()
}

/// The settings that a resumed run must share with its start. Values that may be secrets are digests under the run's key.
pub(super) fn asked(experiment: &Experiment, key: &RunKey) -> BTreeMap<String, String> {
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
            (
                "the version of powerband",
                env!("CARGO_PKG_VERSION").to_owned(),
            ),
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
            ("the connections", shown(&experiment.connections)),
            ("--generator-core", shown(&experiment.generator_core)),
            ("--keep-alive", shown(&experiment.keep_alive)),
            ("--header", hashed(&headers)),
            ("--rehearse", shown(&experiment.rehearse)),
            ("the list of services", hashed(&experiment.services)),
            ("the hooks", hashed(&hooks)),
            ("the workload", hashed(&experiment.workload)),
            ("the objective", shown(&experiment.objective)),
            ("the margin", shown(&experiment.margin)),
            ("--calibrate", shown(&experiment.calibrate)),
            ("--knobs", hashed(&searched)),
            ("the timeout", shown(&experiment.timeout)),
            (
                "--threads or --workers",
                shown(&(&experiment.threads, &experiment.workers)),
            ),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    if let Some(command) = &experiment.workload_command {
        asked.insert("--workload-command".to_owned(), hashed(&command.text));
    }
    if experiment.age.is_some() {
        asked.insert("--age".to_owned(), shown(&experiment.age));
    }
    if !experiment.revisions.all.is_empty() {
        asked.insert(
            "the commit of a revision".to_owned(),
            shown(&experiment.revisions.all),
        );
        asked.insert("--assert".to_owned(), shown(&experiment.assertions));
    }
    // A check compares the commits of its revisions.
    if experiment.revisions.all.is_empty()
        && let Some(code) = code(&experiment.app_dir)
    {
        asked.insert(CODE.to_owned(), key.digest(&code));
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
    let listed = |command: &[&str]| {
        let words: Vec<&str> = command
            .iter()
            .chain(&["--"])
            .chain(&CODE_FILES)
            .copied()
            .collect();
        git(app_dir, &words).ok()
    };
    let files = listed(&["ls-files", "--stage"]).filter(|files| !files.is_empty())?;
    let changes = listed(&["diff", "--no-ext-diff", "--no-textconv", "--binary"])?;
    Some(format!("{files}\n{changes}"))
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
    use run::Folder;

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
    fn a_run_of_an_earlier_build_has_no_digest_of_the_code() {
        let root = tempfile::tempdir().unwrap();
        let key = RunKey::create(&Folder::create(root.path(), "one").unwrap()).unwrap();
        let experiment = experiment("hunter2");
        let mut before = asked(&experiment, &key);
        before.remove(CODE);
        assert_eq!(changed(&before, &experiment, &key, true), None);
        before.insert(CODE.to_owned(), "another".to_owned());
        assert_eq!(
            changed(&before, &experiment, &key, true).as_deref(),
            Some(CODE)
        );
        assert_eq!(changed(&before, &experiment, &key, false), None);
    }

    #[test]
    fn a_run_that_keeps_the_servers_command_in_clear_can_be_resumed() {
        let root = tempfile::tempdir().unwrap();
        let key = RunKey::create(&Folder::create(root.path(), "one").unwrap()).unwrap();
        let experiment = experiment("hunter2");
        let mut before = asked(&experiment, &key);
        assert_eq!(changed(&before, &experiment, &key, true), None);
        let in_clear =
            |token: &str| format!("Some(\"puma -C {{config}} --control-token {token}\")");
        before.insert(SERVER_COMMAND.to_owned(), in_clear("hunter2"));
        assert_eq!(changed(&before, &experiment, &key, true), None);
        before.insert(SERVER_COMMAND.to_owned(), in_clear("hunter3"));
        let differs = changed(&before, &experiment, &key, true);
        assert_eq!(differs.as_deref(), Some(SERVER_COMMAND));
    }
}
