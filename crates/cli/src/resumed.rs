//! `--resume RUN` alone asks what the run was asked: its command line is kept in its folder, but for what may be secret.
//!
//! What is given again takes the place of what was kept; whether it agrees with what was measured is `experiment`'s to say.

mod plain;

use crate::args::{Cli, Command, ExperimentArgs};
use crate::{Failure, asked};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, CommandFactory, FromArgMatches};
use run::{Folder, FolderError, Kind, Typed, Withheld};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Of this sitting alone.
const NOT_ASKED: [&str; 4] = ["resume", "json", "quiet", "gem"];
/// Assignments whose values are never kept, and what stands behind their names.
const ASSIGNMENTS: [(&str, char); 2] = [("env", '='), ("header", ':')];
/// Commands, which are kept only where they are plain.
const COMMANDS: [&str; 4] = ["server", "before_trial", "after_trial", "workload_command"];
/// Paths that start where they are typed.
const PATHS: [&str; 7] = [
    "config", "app", "workload", "runs", "markdown", "junit", "gem",
];

/// What was typed to start this process.
pub fn typed() -> Option<Typed> {
    let directory = std::env::current_dir().ok()?;
    let matches = Cli::command().get_matches();
    let (verb, given) = matches.subcommand()?;
    of_command(verb, given, directory)
}

/// The command as it is typed, or as the run that is resumed was asked.
pub fn whole(cli: Cli) -> Result<Cli, Failure> {
    let Some((kind, args, run)) = experiment_args(&cli.command)
        .and_then(|(kind, args)| Some((kind, args, args.resume.as_ref()?)))
    else {
        return Ok(cli);
    };
    let Some(run) = run else {
        return Err(unnamed(&runs_folder(args), kind));
    };
    let folder = folder(args, run)?;
    if let Err(FolderError::NoRun(_)) = Folder::open(&folder) {
        return Err(Failure::usage(format!(
            "--resume = {:?}: there is no {}; name a run that powerband runs lists, or its folder",
            run.display().to_string(),
            folder.join("run.json").display()
        )));
    }
    let refused = |why: &dyn std::fmt::Display| Failure::usage(why.to_string());
    let kept = Folder::open(&folder).and_then(|folder| folder.read_typed());
    let Some(kept) = kept.map_err(|e| refused(&e))? else {
        return Ok(cli);
    };
    if !is_own(&folder) {
        return Err(Failure::usage(format!(
            "{} is not yours alone, and --resume runs the commands that it names; make it yours (chown, chmod go-w), or start \
             a new run",
            folder.display()
        )));
    }
    let Some(now) = typed() else {
        return Ok(cli);
    };
    if kept.verb != now.verb {
        return Err(Failure::usage(format!(
            "{} is a run of {}; go on with it with: powerband {} --resume {}",
            folder.display(),
            kept.verb,
            kept.verb,
            folder.display()
        )));
    }
    let matches = Cli::command().get_matches();
    let missing = missing(&kept, &matches);
    if !missing.is_empty() {
        return Err(Failure::usage(format!(
            "{} keeps no copy of what may be secret; give the same again: {}",
            folder.display(),
            missing.join(" ")
        )));
    }
    let words = words(&kept, &matches, &folder);
    std::env::set_current_dir(&kept.directory).map_err(|why| {
        Failure::usage(format!(
            "{} was started in {}, which cannot be entered: {why}; put that folder back, or start a new run",
            folder.display(),
            kept.directory.display()
        ))
    })?;
    let parsed = without_variables().try_get_matches_from(words);
    parsed
        .and_then(|matches| Cli::from_arg_matches(&matches))
        .map_err(|why| refused(&why.render()))
}

/// Whether no other user can have written into the folder.
fn is_own(folder: &Path) -> bool {
    let own = |path: &Path| {
        std::fs::symlink_metadata(path).is_ok_and(|found| {
            found.uid() == rustix::process::geteuid().as_raw()
                && found.mode() & 0o022 == 0
                && !found.is_symlink()
        })
    };
    own(folder) && own(&folder.join("typed.json"))
}

/// How to go on with a run: what has to be given again stands behind it.
pub fn how(verb: &str, folder: &Path) -> String {
    let kept = Folder::open(folder).and_then(|folder| folder.read_typed());
    let withheld = kept.ok().flatten().map(|typed| typed.withheld);
    let shown = withheld.unwrap_or_default().into_iter().map(|w| w.shown);
    std::iter::once(format!("powerband {verb} --resume {}", folder.display()))
        .chain(shown)
        .collect::<Vec<_>>()
        .join(" ")
}

fn experiment_args(command: &Command) -> Option<(Kind, &ExperimentArgs)> {
    match command {
        Command::Tune(args) => Some((Kind::Tune, &args.experiment)),
        Command::Compare(args) => Some((Kind::Compare, &args.experiment)),
        Command::Sweep(args) => Some((Kind::Sweep, &args.experiment)),
        Command::Check(args) => Some((Kind::Check, &args.experiment)),
        Command::Advise(args) => Some((Kind::Prove, &args.experiment)),
        _ => None,
    }
}

/// `--resume` without RUN: the newest run of this kind that can go on is named, else of another kind, and is not taken unasked.
fn unnamed(runs: &Path, kind: Kind) -> Failure {
    let newest = run::runs::newest_to_resume(runs, kind);
    let remedy = match newest {
        Ok(Some((kind, folder))) => {
            format!("the newest that can go on: {}", how(kind.verb(), &folder))
        }
        Ok(None) => format!(
            "none in {} can go on (powerband runs --runs DIR lists those of another folder); start a new run",
            runs.display()
        ),
        Err(why) => why.to_string(),
    };
    Failure::usage(format!("--resume names no run; {remedy}"))
}

/// The folder that runs are in.
pub fn runs_folder(args: &ExperimentArgs) -> PathBuf {
    // What is wrong with the configuration matters once it is known which one it is.
    let request = asked::merged(args, None, None).map(|(request, _)| request);
    let runs = request.ok().and_then(|request| {
        let runs = request.runs_dir?;
        Some(request.base_dir.join(runs.text))
    });
    runs.unwrap_or_else(|| PathBuf::from("powerband-runs"))
}

/// The run's folder, absolute.
fn folder(args: &ExperimentArgs, run: &Path) -> Result<PathBuf, Failure> {
    let folder = run::runs::find(&runs_folder(args), run);
    std::path::absolute(&folder).map_err(|why| Failure::usage(format!("{}: {why}", run.display())))
}

fn of_command(verb: &str, given: &ArgMatches, directory: PathBuf) -> Option<Typed> {
    let root = Cli::command();
    let command = root.find_subcommand(verb)?;
    let mut typed = Typed {
        verb: verb.to_owned(),
        directory,
        given: BTreeMap::new(),
        withheld: Vec::new(),
    };
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        if NOT_ASKED.contains(&id) || !is_given(given, id, true) {
            continue;
        }
        let values = values(given, argument);
        if let Some(sign) = sign(id) {
            typed.withheld.extend(values.iter().map(|value| {
                let name = name(value, sign).to_owned();
                Withheld {
                    argument: id.to_owned(),
                    shown: match sign {
                        ':' => format!("--{id} '{name}: …'"),
                        _ => format!("--{id} {name}{sign}…"),
                    },
                    variable: Some(name),
                }
            }));
        } else if values.iter().any(|value| may_be_secret(id, value)) {
            typed.withheld.push(Withheld {
                argument: id.to_owned(),
                variable: None,
                shown: match argument.get_long() {
                    Some(long) => format!("--{long} …"),
                    None => "SETTINGS …".to_owned(),
                },
            });
        } else {
            typed.given.insert(id.to_owned(), values);
        }
    }
    Some(typed)
}

/// Whether it was typed, or, where that counts, a variable says it.
pub fn is_given(matches: &ArgMatches, id: &str, by_variable: bool) -> bool {
    match matches.try_contains_id(id) {
        Ok(true) => match matches.value_source(id) {
            Some(ValueSource::CommandLine) => true,
            Some(ValueSource::EnvVariable) => by_variable,
            _ => false,
        },
        _ => false,
    }
}

fn is_switch(argument: &Arg) -> bool {
    matches!(argument.get_action(), ArgAction::SetTrue)
}

fn values(matches: &ArgMatches, argument: &Arg) -> Vec<String> {
    if is_switch(argument) {
        return Vec::new();
    }
    let raw = matches.get_raw(argument.get_id().as_str());
    raw.into_iter()
        .flatten()
        .map(|value| value.to_string_lossy().into_owned())
        .collect()
}

/// Whether a value is not kept.
fn may_be_secret(id: &str, value: &str) -> bool {
    knobs::shown_command(&knobs::masked(value)) != value
        || COMMANDS.contains(&id) && !plain::is_plain(value)
}

/// What separates a name from its value in an argument that holds assignments.
fn sign(id: &str) -> Option<char> {
    let found = ASSIGNMENTS.iter().find(|(known, _)| *known == id);
    found.map(|(_, sign)| *sign)
}

fn name(assignment: &str, sign: char) -> &str {
    assignment
        .split_once(sign)
        .map_or(assignment, |(name, _)| name)
}

/// What is not kept and not given again.
fn missing(kept: &Typed, matches: &ArgMatches) -> Vec<String> {
    let Some((_, now)) = matches.subcommand() else {
        return Vec::new();
    };
    let given = |withheld: &Withheld| {
        let id = withheld.argument.as_str();
        let (Some(wanted), Some(sign)) = (&withheld.variable, sign(id)) else {
            return is_given(now, id, true);
        };
        let raw = now.get_raw(id).into_iter().flatten();
        let mut names = raw.map(|value| name(&value.to_string_lossy(), sign).to_owned());
        names.any(|name| name == *wanted)
    };
    let missing = kept.withheld.iter().filter(|withheld| !given(withheld));
    missing.map(|withheld| withheld.shown.clone()).collect()
}

/// The words that ask what the run was asked, with what is typed now in the place of what was.
fn words(kept: &Typed, matches: &ArgMatches, folder: &Path) -> Vec<OsString> {
    let mut words: Vec<OsString> = vec!["powerband".into(), (&kept.verb).into()];
    let root = Cli::command();
    let (Some(command), Some((_, now))) = (root.find_subcommand(&kept.verb), matches.subcommand())
    else {
        return words;
    };
    let withheld = |id: &str| kept.withheld.iter().any(|w| w.argument == id);
    let typed_now = |id: &str| is_given(now, id, withheld(id) || NOT_ASKED.contains(&id));
    // A path in the place of a workload file, and the like.
    let replaced = |argument: &Arg| {
        let excludes = |one: &Arg, other: &Arg| {
            let found = command.get_arg_conflicts_with(one);
            found.iter().any(|found| found.get_id() == other.get_id())
        };
        let mut others = command.get_arguments();
        others.any(|other| {
            typed_now(other.get_id().as_str())
                && (excludes(argument, other) || excludes(other, argument))
        })
    };
    // The last one of flags that override one another counts.
    let mut last: Vec<OsString> = Vec::new();
    let mut behind: Vec<OsString> = Vec::new();
    for argument in command.get_arguments() {
        let id = argument.get_id().as_str();
        let values = if id == "resume" {
            vec![folder.display().to_string()]
        } else if typed_now(id) {
            let values = values(now, argument);
            match PATHS.contains(&id) {
                true => values.iter().map(|path| absolute(path)).collect(),
                false => values,
            }
        } else if let Some(values) = kept.given.get(id).filter(|_| !replaced(argument)) {
            values.clone()
        } else {
            continue;
        };
        let options = match typed_now(id) {
            true => &mut last,
            false => &mut words,
        };
        match argument.get_long() {
            None => behind.extend(values.into_iter().map(OsString::from)),
            Some(long) if is_switch(argument) => options.push(format!("--{long}").into()),
            Some(long) => options.extend(values.iter().map(|v| format!("--{long}={v}").into())),
        }
    }
    words.append(&mut last);
    if !behind.is_empty() {
        words.push("--".into());
        words.extend(behind);
    }
    words
}

fn absolute(path: &str) -> String {
    let found = std::path::absolute(path).map(|path| path.display().to_string());
    found.unwrap_or_else(|_| path.to_owned())
}

/// The definition of all commands without the variables of the settings: the run says what they were.
fn without_variables() -> clap::Command {
    Cli::command().mut_subcommands(|command| {
        command.mut_args(|argument| argument.env(clap::builder::Resettable::Reset))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(words: &str) -> ArgMatches {
        let words = words.split_whitespace();
        without_variables().try_get_matches_from(words).unwrap()
    }

    fn kept(words: &str) -> Typed {
        let matches = matches(words);
        let (verb, given) = matches.subcommand().unwrap();
        of_command(verb, given, PathBuf::from("/srv/shop")).unwrap()
    }

    fn again(kept: &Typed, now: &str) -> Vec<String> {
        let folder = Path::new("/srv/shop/powerband-runs/R");
        let words = words(kept, &matches(now), folder).into_iter();
        words.map(|word| word.into_string().unwrap()).collect()
    }

    #[test]
    fn a_bare_resume_asks_what_was_asked() {
        let first = "powerband tune --slo=p99=250ms --knobs=yjit=on --knobs=malloc_arena_max=2 --calibrate=10 --allow-unsafe --json";
        let mut said = again(&kept(first), "powerband tune --resume R");
        let mut expected: Vec<&str> = first.split(' ').collect();
        // How it speaks is of each sitting.
        expected.pop();
        expected.push("--resume=/srv/shop/powerband-runs/R");
        said.sort();
        expected.sort_unstable();
        assert_eq!(said, expected);
    }

    #[test]
    fn what_is_given_again_takes_the_place_of_what_was() {
        let kept = kept("powerband compare threads=1 threads=2 --budget 10m --workload w.toml");
        let said = again(
            &kept,
            "powerband compare --resume R --budget 20m --path /cart",
        );
        assert!(
            said.contains(&"--budget=20m".to_owned()) && said.contains(&"--path=/cart".to_owned())
        );
        assert!(
            !said
                .iter()
                .any(|word| word.contains("w.toml") || word.contains("10m"))
        );
        assert_eq!(said[said.len() - 3..], ["--", "threads=1", "threads=2"]);
    }

    #[test]
    fn of_flags_that_override_one_another_the_one_typed_now_counts() {
        let kept = kept("powerband compare threads=1 threads=2 --no-keep-alive");
        let said = again(&kept, "powerband compare --resume R --keep-alive").join(" ");
        let matches = matches(&said);
        let Ok(Cli {
            command: Command::Compare(args),
        }) = Cli::from_arg_matches(&matches)
        else {
            panic!("{said}")
        };
        assert_eq!(args.experiment.kept.asked(), Some(true), "{said}");
    }

    #[test]
    fn a_path_typed_now_starts_where_it_is_typed() {
        let kept = kept("powerband tune --app .");
        let here = std::env::current_dir().unwrap();
        let said = again(&kept, "powerband tune --resume R --gem gem --runs runs");
        for (flag, path) in [("gem", "gem"), ("runs", "runs")] {
            let expected = format!("--{flag}={}", here.join(path).display());
            assert!(said.contains(&expected), "{said:?}");
        }
    }

    #[test]
    fn a_command_that_is_not_plain_is_asked_for_again() {
        for flag in [
            "--before-trial",
            "--after-trial",
            "--server",
            "--workload-command",
        ] {
            let words = ["powerband", "compare", flag, "mysql -phunter2", "threads=1"];
            let given = without_variables().try_get_matches_from(words).unwrap();
            let (verb, given) = given.subcommand().unwrap();
            let kept = of_command(verb, given, PathBuf::from("/srv/shop")).unwrap();
            assert!(!format!("{kept:?}").contains("hunter2"), "{kept:?}");
            let said = missing(&kept, &matches("powerband compare --resume R"));
            assert_eq!(said, [format!("{flag} …")]);
        }
    }

    #[test]
    fn a_folder_that_others_can_write_is_not_ones_own() {
        use std::fs::{Permissions, set_permissions, write};
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        write(dir.path().join("typed.json"), "{}").unwrap();
        let mode = |path: &Path, mode| set_permissions(path, Permissions::from_mode(mode)).unwrap();
        mode(&dir.path().join("typed.json"), 0o600);
        assert!(is_own(dir.path()));
        mode(&dir.path().join("typed.json"), 0o620);
        assert!(!is_own(dir.path()));
        mode(&dir.path().join("typed.json"), 0o600);
        mode(dir.path(), 0o777);
        assert!(!is_own(dir.path()));
    }

    #[test]
    fn every_secret_that_is_missing_is_named_and_none_is_kept() {
        let first = "powerband compare threads=1 threads=1,env.API_TOKEN=hunter2 --env TOKEN=hunter2 --env MODE=fast \
                     --header X-Key:hunter2";
        let kept = kept(first);
        assert!(!format!("{kept:?}").contains("hunter2") && !format!("{kept:?}").contains("fast"));
        let missing_from = |now: &str| missing(&kept, &matches(now)).join(" ");
        let said = missing_from("powerband compare --resume R");
        for shown in [
            "SETTINGS …",
            "--env TOKEN=…",
            "--env MODE=…",
            "--header 'X-Key: …'",
        ] {
            assert!(said.contains(shown), "{said}");
        }
        assert_eq!(
            missing_from("powerband compare --resume R threads=1 threads=2 --env TOKEN=x"),
            "--env MODE=… --header 'X-Key: …'"
        );
    }
}
