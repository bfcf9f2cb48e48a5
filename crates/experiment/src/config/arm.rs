//! Configurations as they are typed: `threads=5,workers=2,gc.malloc_limit=32MiB`.

use super::values::{parse_bool, parse_threads, parse_workers};
use super::{ArmRequest, Asked, Problem};
use crate::request::Arm;
use run::Settings;

/// Characters of a name.
const LONGEST_NAME: usize = 40;

/// A whole configuration; settings that are not named stay as in `otherwise`.
///
/// # Errors
/// All that is wrong with it.
pub fn parse_arm(asked: &Asked, otherwise: &Arm) -> Result<Arm, Vec<Problem>> {
    parse_baseline(asked, otherwise).map(settled)
}

/// What others take their knobs from: preloading without workers is kept for those that have some.
///
/// # Errors
/// All that is wrong with it.
pub fn parse_baseline(asked: &Asked, otherwise: &Arm) -> Result<Arm, Vec<Problem>> {
    // Messages repeat what was typed, which may hold secrets.
    let shown = Asked::new(knobs::masked(&asked.text), asked.origin.clone());
    let mut arm = otherwise.clone();
    let mut problems = Vec::new();
    for part in knobs::parts(&asked.text) {
        let set = match &part.value {
            Some(value) => set(&mut arm, &part.name, value, &shown),
            None => Err(Problem::of(
                &shown,
                format_args!("{:?} sets nothing", part.name),
                "write KNOB=VALUE, such as threads=5,workers=2",
            )),
        };
        problems.extend(set.err());
    }
    whole(arm, &shown, problems)
}

/// A configuration of the file with its name.
///
/// # Errors
/// All that is wrong with it.
pub fn parse_named(asked: &ArmRequest, otherwise: &Arm) -> Result<Arm, Vec<Problem>> {
    let mut problems = Vec::new();
    let name = &asked.name.text;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if !begins || name.len() > LONGEST_NAME || !name.chars().all(plain) {
        problems.push(Problem::of(
            &asked.name,
            "no name of a configuration, which becomes part of file names",
            format!("give up to {LONGEST_NAME} letters, digits, ., _ and -"),
        ));
    }
    match parse_arm(&asked.knobs, otherwise) {
        Ok(arm) if problems.is_empty() => Ok(Arm {
            label: Some(name.clone()),
            name: name.clone(),
            ..arm
        }),
        Ok(_) => Err(problems),
        Err(found) => {
            problems.extend(found);
            Err(problems)
        }
    }
}

/// The arms of a sweep: one knob at several values, `KNOB=V1,V2,…`.
///
/// # Errors
/// All that is wrong with it.
pub fn parse_sweep(asked: &Asked, otherwise: &Arm) -> Result<Vec<Arm>, Vec<Problem>> {
    let text = &asked.text;
    let asked = &Asked::new(knobs::masked(text), asked.origin.clone());
    let Some((knob, values)) = text.split_once('=') else {
        return Err(vec![Problem::of(
            asked,
            "no values",
            "write KNOB=V1,V2,…, such as threads=1,2,3",
        )]);
    };
    let knob = knob.trim();
    if !is_known(knob) {
        return Err(vec![unknown(asked, knob)]);
    }
    if knob == "preload" && otherwise.settings.workers == 0 {
        return Err(vec![Problem::of(
            asked,
            "single mode has nothing to preload",
            "name a cluster with --baseline workers=2",
        )]);
    }
    let (mut arms, mut problems) = (Vec::new(), Vec::new());
    for value in knobs::values(values) {
        let one = Asked::new(
            knobs::masked(&format!("{knob}=\"{value}\"")),
            asked.origin.clone(),
        );
        let mut arm = otherwise.clone();
        let wrong = set(&mut arm, knob, &value, &one).err();
        match whole(arm, &one, wrong.into_iter().collect()).map(settled) {
            Ok(arm) => arms.push(arm),
            Err(found) => problems.extend(found),
        }
    }
    if arms.len() < 2 && problems.is_empty() {
        problems.push(Problem::of(
            asked,
            "one value is no sweep",
            "give two values or more",
        ));
    }
    if problems.is_empty() {
        Ok(arms)
    } else {
        Err(problems)
    }
}

/// A configuration of what can be tuned alone.
///
/// # Errors
/// All that is wrong with it, a knob of the environment among that.
pub fn parse_settings(asked: &Asked, otherwise: Settings) -> Result<Settings, Vec<Problem>> {
    let arm = parse_arm(asked, &Arm::of(otherwise))?;
    let beyond = |chosen: knobs::Chosen| {
        let is_variable = !chosen.knob.starts_with(knobs::VALUE)
            && chosen.variable.chars().any(|c| c.is_ascii_uppercase())
            && knobs::find(&chosen.knob).is_none_or(|knob| knob.place == knobs::Place::Environment);
        Problem::with(
            format!(
                "{} in {}: only compare and sweep take knobs beyond threads, workers and preload",
                chosen.knob, asked.origin
            ),
            match is_variable {
                true => format!(
                    "set the variable {} with --env or in [app.env]",
                    chosen.variable
                ),
                false => "leave it out, or search it with --knobs".to_owned(),
            },
        )
    };
    let problems: Vec<Problem> = arm.overlay.chosen().into_iter().map(beyond).collect();
    if problems.is_empty() {
        Ok(arm.settings)
    } else {
        Err(problems)
    }
}

fn set(arm: &mut Arm, knob: &str, value: &str, asked: &Asked) -> Result<(), Problem> {
    let one = |text: &str| Asked::new(text, format!("{knob} in {}", asked.origin));
    match knob {
        "threads" => arm.settings.threads = parse_threads(&one(value))?,
        "workers" => arm.settings.workers = parse_workers(&one(value))?,
        "preload" => arm.settings.preload = parse_bool(&one(value))?,
        _ if !is_known(knob) => return Err(unknown(asked, knob)),
        _ => {
            let free = [knobs::ENV, knobs::VALUE];
            let variable = free.iter().find_map(|prefix| knob.strip_prefix(prefix));
            let text = knobs::shown(variable.unwrap_or_default(), value);
            arm.overlay
                .set(knob, value)
                .map_err(|wrong| Problem::of(&one(text), wrong.what, wrong.remedy))?;
        }
    }
    Ok(())
}

/// Single mode has no workers to preload for; Puma itself ignores it.
fn settled(arm: Arm) -> Arm {
    let preload = arm.settings.preload && arm.settings.workers > 0;
    Arm::with(
        Settings {
            preload,
            ..arm.settings
        },
        arm.overlay,
    )
}

fn whole(arm: Arm, asked: &Asked, mut problems: Vec<Problem>) -> Result<Arm, Vec<Problem>> {
    let contradictions = arm.overlay.contradictions().into_iter();
    problems.extend(contradictions.map(|wrong| Problem::of(asked, wrong.what, wrong.remedy)));
    if problems.is_empty() {
        Ok(Arm::with(arm.settings, arm.overlay))
    } else {
        Err(problems)
    }
}

fn is_known(knob: &str) -> bool {
    knobs::SETTINGS.contains(&knob) || knobs::is_known(knob)
}

fn unknown(asked: &Asked, knob: &str) -> Problem {
    let wrong = knobs::unknown(knob);
    Problem::of(asked, wrong.what, wrong.remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OTHERWISE: Settings = Settings {
        workers: 0,
        threads: 3,
        preload: false,
    };

    fn asked(text: &str) -> Asked {
        Asked::new(text, "--flag")
    }

    fn told(problems: &[Problem]) -> String {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        lines.join("\n")
    }

    #[test]
    fn settings_and_variables_are_typed_alike() {
        let text = "threads=5,gc.malloc_limit=32MiB,workers=2,preload=true,env.GREETING=a b";
        let arm = parse_arm(&asked(text), &Arm::of(OTHERWISE)).unwrap();
        let settings = Settings {
            workers: 2,
            threads: 5,
            preload: true,
        };
        assert_eq!(arm.settings, settings);
        assert_eq!(
            arm.to_string(),
            "2 workers × 5 threads, preloaded, env.GREETING=a b, gc.malloc_limit=32MiB"
        );
        let other = parse_arm(&asked("gc.malloc_limit=16MiB"), &arm).unwrap();
        assert_eq!(
            (other.settings, other.overlay.chosen().len()),
            (settings, 2)
        );
        assert_ne!(arm.name, other.name);
    }

    #[test]
    fn every_wrong_knob_is_named_at_once() {
        let text = "threads=0,workers=abc,turbo=1,gc.malloc_limit=9,yjit,env.PORT=1";
        let problems = parse_arm(&asked(text), &Arm::of(OTHERWISE)).unwrap_err();
        let said = told(&problems);
        assert_eq!(problems.len(), 6, "{said}");
        for words in [
            "unknown knob \"turbo\"",
            "from 1 to 256",
            "without a unit",
            "sets nothing",
            "--port",
        ] {
            assert!(said.contains(words), "{words} is missing in {said}");
        }
    }

    #[test]
    fn secrets_are_in_no_message() {
        let text = "env.API_TOKEN=hunter2,turbo=1,env.POWERBAND_KEY=hunter2";
        let said = told(&parse_arm(&asked(text), &Arm::of(OTHERWISE)).unwrap_err());
        assert!(
            said.contains("turbo") && !said.contains("hunter2"),
            "{said}"
        );
        let alone = parse_sweep(&asked("env.API_KEY=hunter2"), &Arm::of(OTHERWISE));
        let said = told(&alone.unwrap_err());
        assert!(
            said.contains("no sweep") && !said.contains("hunter2"),
            "{said}"
        );
        let sweep = parse_sweep(&asked("env.PORT_KEY=\"a\nhunter2\",b"), &Arm::of(OTHERWISE));
        let said = told(&sweep.unwrap_err());
        assert!(!said.contains("hunter2"), "{said}");
    }

    #[test]
    fn a_baseline_keeps_preloading_for_those_that_have_workers() {
        let baseline = parse_baseline(&asked("preload=true"), &Arm::of(OTHERWISE)).unwrap();
        let preloads = |text: &str| parse_arm(&asked(text), &baseline).unwrap().settings.preload;
        assert!(preloads("workers=2") && !preloads("threads=2"));
    }

    #[test]
    fn a_sweep_is_one_knob_at_several_values() {
        let swept = |text: &str| parse_sweep(&asked(text), &Arm::of(OTHERWISE));
        let arms = swept("gc.malloc_limit=16MiB,32MiB,default").unwrap();
        let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "w0t3-gc.malloc_limit-16MiB",
                "w0t3-gc.malloc_limit-32MiB",
                "w0t3-gc.malloc_limit-default"
            ]
        );
        let conf = swept("malloc_conf=\"narenas:1,tcache:false\",narenas:2").unwrap();
        assert_eq!(
            conf[0].overlay.variables()["MALLOC_CONF"],
            "narenas:1,tcache:false"
        );
        for (text, words) in [
            ("threads", "no values"),
            ("turbo=1,2", "unknown knob"),
            ("gc.malloc_limt=1MiB,2MiB", "did you mean gc.malloc_limit?"),
            ("threads=1", "no sweep"),
            ("preload=true,false", "single mode"),
            ("yjit=on,maybe", "on or off"),
        ] {
            let said = told(&swept(text).unwrap_err());
            assert!(said.contains(words), "{text}: {said}");
        }
    }

    #[test]
    fn what_is_tuned_takes_no_variables() {
        let said = told(&parse_settings(&asked("yjit=on,threads=2"), OTHERWISE).unwrap_err());
        assert!(
            said.contains("RUBY_YJIT_ENABLE") && said.contains("--env"),
            "{said}"
        );
    }
}
