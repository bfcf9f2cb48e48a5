//! `advise --prove`: each suggestion becomes an arm against today's settings.

use super::command;
use crate::args::{AdviseArgs, Cli, ExperimentArgs};
use crate::commands::experiments::{Files, conduct, otherwise};
use crate::{Failure, asked, output, resumed};
use adviser::Seen;
use clap::{Args, Command, CommandFactory};
use experiment::config::{Asked, Problem, Request, parse_arm};
use experiment::{Arm, Goal};
use run::advise::Document;
use run::{Folder, Kind, Proof, Tested};
use std::path::Path;

/// Where the settings come from, in messages.
const OF_ADVICE: &str = "the advice";
/// What `advise` alone takes as well.
const OF_PAGE: [&str; 2] = ["json", "quiet"];

/// A flag of a measurement that was typed without `--prove`.
pub(super) fn refuse_without_prove() -> Result<(), Failure> {
    let all = Cli::command().get_matches();
    let Some((_, given)) = all.subcommand() else {
        return Ok(());
    };
    let flags = ExperimentArgs::augment_args(Command::new("advise"));
    let typed = flags.get_arguments().filter(|flag| {
        let id = flag.get_id().as_str();
        !OF_PAGE.contains(&id) && resumed::is_given(given, id, false)
    });
    let named: Vec<String> = typed
        .filter_map(|flag| Some(format!("--{}", flag.get_long()?)))
        .collect();
    match named.is_empty() {
        true => Ok(()),
        false => Err(Failure::usage(format!(
            "{}: advise reads what was recorded and measures nothing; add --prove, or leave it out",
            named.join(", ")
        ))),
    }
}

/// What a run of these suggestions is asked; `None` where there is nothing to prove.
///
/// # Errors
/// The files do not say what runs today.
pub(super) fn proof(document: &Document, seen: &Seen) -> Result<Option<Proof>, Failure> {
    if document.suggestions.is_empty() {
        return Ok(None);
    }
    let today = command::today(seen).ok_or_else(|| {
        Failure::no_answer(
            "the files do not say with how many threads and workers of Puma the server runs; compare the suggestions with powerband \
             compare --config FILE",
        )
    })?;
    let tested = document.suggestions.iter().map(|one| Tested {
        check: one.check.clone(),
        settings: one.settings.clone(),
        evidence: one.evidence.clone(),
        arm: String::new(),
        judged: None,
    });
    let environment = command::collector_variables(seen).into_iter();
    Ok(Some(Proof {
        today,
        environment: environment
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        suggestions: tested.collect(),
        together: None,
    }))
}

/// Measures; `application` is the folder that the files name.
pub(super) fn prove(
    args: AdviseArgs,
    mut proof: Proof,
    application: Option<&str>,
) -> Result<u8, Failure> {
    let mut experiment = args.experiment;
    // A powerband.toml in the current folder, or --config, names the application.
    let is_configured = experiment.config.is_some() || Path::new(asked::CONFIG_NAME).is_file();
    if experiment.app.is_none() && !is_configured {
        experiment.app = application
            .filter(|folder| Path::new(folder).is_dir())
            .map(str::to_owned);
    }
    let (mut request, mut problems) = asked::request(&experiment, None, None)?;
    request.rehearse = args.rehearse.then(|| Asked::new("true", "--rehearse"));
    problems.extend(asked::without_command(&mut request, "advise --prove"));
    // Keys of the file that only tune and compare use.
    request.least = None;
    request.arms.clear();
    let mut environment = of_advice(&proof);
    environment.append(&mut request.env);
    request.env = environment;
    let arms = arms(&proof, &request).unwrap_or_else(|found| {
        problems.extend(found);
        Vec::new()
    });
    for (tested, arm) in proof.suggestions.iter_mut().zip(arms.iter().skip(1)) {
        tested.arm.clone_from(&arm.name);
    }
    request.proof = Some(proof);
    let kind = Kind::Prove;
    conduct(
        &experiment,
        request,
        kind,
        Ok(Goal::Arms { kind, arms }),
        problems,
        Files {
            markdown: args.markdown.as_deref(),
            junit: None,
        },
    )
}

/// The suggestions of a run that goes on: the files may suggest others by now.
pub(super) fn kept(experiment: &ExperimentArgs, run: &Path) -> Result<(Proof, String), Failure> {
    let folder = run::runs::find(&resumed::runs_folder(experiment), run);
    let document = Folder::open(&folder).and_then(|folder| folder.read());
    let document = document.map_err(|why| Failure::usage(why.to_string()))?;
    let app_dir = document.plan.app_dir;
    match document.proof {
        Some(proof) => Ok((proof, app_dir)),
        None => {
            let verb = document.kind.verb();
            Err(Failure::usage(format!(
                "{} is a run of {verb}; go on with it with: {}",
                folder.display(),
                resumed::how(verb, &folder)
            )))
        }
    }
}

/// Says that nothing is to be measured.
pub(super) fn nothing_to_prove() {
    output::say("nothing to prove: no other settings are suggested");
}

fn of_advice(proof: &Proof) -> std::collections::BTreeMap<String, Asked> {
    let all = proof.environment.iter();
    all.map(|(name, value)| (name.clone(), Asked::new(value.clone(), OF_ADVICE)))
        .collect()
}

/// Today's settings, and each suggestion on top of them.
fn arms(proof: &Proof, request: &Request) -> Result<Vec<Arm>, Vec<Problem>> {
    let otherwise = otherwise(request);
    let parse = |text: String| parse_arm(&Asked::new(text, OF_ADVICE), &otherwise);
    let mut arms = vec![parse(proof.today.clone())?];
    for tested in &proof.suggestions {
        arms.push(parse(report::with_settings(
            &proof.today,
            &report::typed(&tested.settings),
        ))?);
    }
    Ok(arms)
}
