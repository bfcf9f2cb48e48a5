//! What is requested: one request made of flags, a workload file, or recorded traffic.

use crate::args::RequestArgs;
use crate::commands::topic;
use experiment::config::{
    Asked, Hosts, Problem, Recording, parse_whole, read_file, read_traffic, recording,
};
use kafka::Address;
use load::{Workload, WorkloadProblem};
use std::path::Path;
use toml::{Table, Value};

/// What is requested, and its name for people.
#[derive(Debug)]
pub struct Requested {
    /// For the generator.
    pub workload: Workload,
    /// `GET /products`, or the file.
    pub name: String,
    /// When, where a recording says so that is to be sent as it came.
    pub instants_ns: Option<Vec<u64>>,
    /// What is to be known of a recording.
    pub notes: Vec<String>,
}

/// The file that is named, or the one request that URL and flags describe. `share`: of a topic, what this generator sends of it.
pub fn requested(
    args: &RequestArgs,
    path: &str,
    share: Option<Recording>,
) -> Result<Requested, Vec<Problem>> {
    let named = [(&args.replay, "--replay"), (&args.workload, "--workload")];
    let named = named.map(|(file, flag)| Some((file.as_deref()?, flag)));
    let requested = match named {
        [Some(_), Some(_)] => {
            return Err(vec![Problem::with(
                "--replay and --workload exclude each other",
                "give --workload with --rate for requests of your own timing, or --replay alone",
            )]);
        }
        [Some((file, flag)), None] | [None, Some((file, flag))] => {
            from_file(args, file, flag, path, share)?
        }
        [None, None] => from_flags(args, path)?,
    };
    match refused(&requested.workload, args.allow_unsafe) {
        Some(problem) => Err(vec![problem]),
        None => Ok(requested),
    }
}

/// Methods that may change the application's data.
pub fn refused(workload: &Workload, allow_unsafe: bool) -> Option<Problem> {
    let methods = workload.unsafe_methods();
    (!methods.is_empty() && !allow_unsafe).then(|| {
        Problem::with(
            format!(
                "{} would be sent, which may change the application's data",
                methods.join(", ")
            ),
            "pass --allow-unsafe if the server's data may be changed",
        )
    })
}

fn from_file(
    args: &RequestArgs,
    file: &Path,
    named_by: &str,
    path: &str,
    share: Option<Recording>,
) -> Result<Requested, Vec<Problem>> {
    let address = topic::named(file).and_then(|text| Address::parse(text).ok());
    let name = address.map_or_else(|| file.display().to_string(), |a| a.to_string());
    let mut problems = Vec::new();
    let with_file = |flag: &str| {
        Problem::with(
            format!("{flag} and {named_by} exclude each other"),
            format!("what is requested stands in the file; leave out {flag}, or {named_by}"),
        )
    };
    for (given, flag) in [
        (args.method.is_some(), "--method"),
        (args.body.is_some(), "--body"),
        (args.body_file.is_some(), "--body-file"),
        (path != "/", "a path in the URL"),
    ] {
        if given {
            problems.push(with_file(flag));
        }
    }
    let hosts = match args.replay_host {
        true => Hosts::Recorded,
        false => Hosts::Target,
    };
    let toml = named_by == "--workload" && file.extension().is_some_and(|e| e == "toml");
    let read = match share {
        Some(recording) => Ok(of_recording(recording, name)),
        None if toml => from_toml(file, name),
        None => from_recording(args, file, named_by, hosts, name),
    };
    match read {
        Ok(requested) if problems.is_empty() => Ok(requested),
        Ok(_) => Err(problems),
        Err(found) => {
            problems.extend(found);
            Err(problems)
        }
    }
}

fn from_toml(file: &Path, name: String) -> Result<Requested, Vec<Problem>> {
    let text = std::fs::read_to_string(file).map_err(|e| {
        let asked = Asked::new(&name, "--workload");
        vec![Problem::of(&asked, e, "name a file that can be read")]
    })?;
    let folder = file.parent().unwrap_or(Path::new("."));
    let (read, notes) = match text.parse::<Table>() {
        Ok(table) if table.contains_key("workload") => of_powerband_toml(&text, file, folder)?,
        _ => (Workload::from_toml_in(&text, folder), Vec::new()),
    };
    let workload = read.map_err(|found| of_file(&found, &name))?;
    Ok(Requested {
        workload,
        name,
        instants_ns: None,
        notes,
    })
}

type Read = Result<Workload, Vec<WorkloadProblem>>;

/// The requests of a `powerband.toml`, and a note on headers, which are not sent.
fn of_powerband_toml(
    text: &str,
    file: &Path,
    folder: &Path,
) -> Result<(Read, Vec<String>), Vec<Problem>> {
    let configured = read_file(text, file)?;
    let lacks = |remedy: String| {
        let asked = Asked::new(file.display().to_string(), "--workload");
        vec![Problem::of(&asked, "has no requests", remedy)]
    };
    // In the order of `tune`.
    let workload = if let Some(path) = &configured.path {
        Workload::get(&path.text)
    } else if let Some(other) = &configured.workload_file {
        let other = &other.text;
        return Err(lacks(format!(
            "its requests are in another file: give {other}"
        )));
    } else if let Some(inline) = &configured.workload_inline {
        Workload::from_toml_in(&inline.text, folder)
    } else {
        return Err(lacks("add [[workload.request]] entries".to_owned()));
    };
    let notes = match configured.headers.as_slice() {
        [] => Vec::new(),
        _ => vec![format!(
            "headers under [workload] in {} are not sent; give them with --header",
            file.display()
        )],
    };
    Ok((workload, notes))
}

fn from_recording(
    args: &RequestArgs,
    file: &Path,
    flag: &str,
    hosts: Hosts,
    name: String,
) -> Result<Requested, Vec<Problem>> {
    let amplify = args.amplify.as_ref().map(|times| {
        let asked = Asked::new(times, "--amplify");
        parse_amplify(&asked).map_err(|problem| vec![problem])
    });
    let times = amplify.transpose()?.unwrap_or(1);
    let traffic = read_traffic(file, &Asked::new(&name, flag))?.amplified(times);
    let recording = recording(traffic, &name, hosts)?;
    Ok(of_recording(recording, name))
}

fn of_recording(recording: Recording, name: String) -> Requested {
    Requested {
        workload: recording.workload,
        name,
        instants_ns: recording.instants_ns,
        notes: recording.notes,
    }
}

/// What is wrong in a file, each with its place there.
fn of_file(problems: &[WorkloadProblem], name: &str) -> Vec<Problem> {
    let told =
        |p: &WorkloadProblem| Problem::with(format!("{} in {name}: {}", p.key, p.value), &p.remedy);
    problems.iter().map(told).collect()
}

/// By way of a workload's table, so that the same rules hold.
fn from_flags(args: &RequestArgs, path: &str) -> Result<Requested, Vec<Problem>> {
    let mut request = Table::new();
    request.insert("path".into(), path.into());
    for (key, value) in [
        ("method", &args.method),
        ("body", &args.body),
        ("body_file", &args.body_file),
    ] {
        if let Some(value) = value {
            request.insert(key.into(), value.as_str().into());
        }
    }
    let mut workload = Table::new();
    workload.insert("request".into(), Value::Array(vec![request.into()]));
    let method = args.method.as_deref().unwrap_or("GET");
    match Workload::from_value(&workload.into()) {
        Ok(workload) => Ok(Requested {
            workload,
            name: format!("{method} {path}"),
            instants_ns: None,
            notes: Vec::new(),
        }),
        Err(found) => Err(found.iter().map(of_flag).collect()),
    }
}

/// The flag in place of the key that it stands for.
fn of_flag(problem: &WorkloadProblem) -> Problem {
    let key = problem
        .key
        .strip_prefix("request[1].")
        .unwrap_or(&problem.key);
    let flag = match key {
        "path" => "the URL's path".to_owned(),
        key => format!("--{}", key.replace('_', "-")),
    };
    Problem::with(format!("{flag}: {}", problem.value), &problem.remedy)
}

/// `--amplify`.
pub fn parse_amplify(asked: &Asked) -> Result<u64, Problem> {
    parse_whole(asked, 1, 1_000, "times that each request is sent")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Requested, String> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("powerband.toml");
        std::fs::write(&file, text).unwrap();
        from_toml(&file, "powerband.toml".to_owned()).map_err(|problems| {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            lines.join("\n")
        })
    }

    #[test]
    fn the_requests_of_a_powerband_toml_are_read() {
        let text = "[tune]\nbudget = '3m'\n[workload]\nheaders = ['X-A: b']\n[[workload.request]]\npath = '/a'\n\
                    [[workload.request]]\nname = 'search'\npath = '/b?q=c'\n";
        let requested = read(text).unwrap();
        assert_eq!(requested.workload.names(), ["GET /a", "search"]);
        assert!(
            requested.notes[0].contains("--header"),
            "{:?}",
            requested.notes
        );
        let both = "[workload]\npath = '/only'\n[[workload.request]]\npath = '/a'\n";
        assert_eq!(read(both).unwrap().workload.names(), ["GET /only"]);
        let one = read("[workload]\npath = '/only'\n").unwrap();
        assert_eq!(one.workload.names(), ["GET /only"]);
        let other = read("[workload]\nfile = 'pages.toml'\n").unwrap_err();
        assert!(other.contains("give pages.toml"), "{other}");
        let none = read("[tune]\nbudget = '3m'\n[workload]\n").unwrap_err();
        assert!(none.contains("[[workload.request]]"), "{none}");
    }
}
