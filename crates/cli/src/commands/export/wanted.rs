//! From the arguments to what is exported and where to: every value checked, every problem reported at once.

use super::resource::{Attributes, VARIABLE, resource};
use super::secrets::Secrets;
use crate::Failure;
use crate::args::ExportArgs;
use crate::client::{self, AddressFlag};
use crate::commands::parquet::name_refused;
use crate::commands::within::within;
use crate::listener::{address, name};
use experiment::config::{Asked, Problem, parse_size};
use http::Uri;
use std::env::VarError;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

pub const LISTEN: &str = "--listen";
const OTLP: AddressFlag = AddressFlag {
    name: "--otlp",
    example: "http://127.0.0.1:4318",
    secrets: "--header-file or --token-file",
};
/// Of metrics, behind a receiver's address.
const PATH: &str = "/v1/metrics";
const INTERVALS: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(3600);
const DAY: Duration = Duration::from_secs(24 * 3600);
const ROTATIONS: RangeInclusive<Duration> = Duration::from_secs(60)..=DAY;
const KEPT: RangeInclusive<Duration> = DAY..=Duration::from_secs(3650 * 24 * 3600);

/// What is exported.
#[derive(Debug)]
pub struct Wanted {
    /// `None`: where the agent writes.
    pub folder: Option<PathBuf>,
    /// `None`: every application.
    pub application: Option<String>,
    pub endpoints: usize,
    /// Also the duration of requests by OpenTelemetry's names.
    pub opentelemetry: bool,
    pub scrapes: Option<Scrapes>,
    pub pushes: Option<Pushes>,
    pub files: Option<Files>,
    /// One push, or files of one look, and no more.
    pub once: bool,
}

/// Where scrapes are answered, and how.
#[derive(Debug)]
pub struct Scrapes {
    pub address: SocketAddr,
    pub path: String,
    pub hosts: Vec<String>,
}

/// Where readings are pushed, and how.
#[derive(Debug)]
pub struct Pushes {
    /// With `/v1/metrics`.
    pub uri: Uri,
    pub interval: Duration,
    /// Attributes of the resource.
    pub resource: Vec<(String, String)>,
    pub secrets: Secrets,
    pub ca: Option<PathBuf>,
}

/// Which Parquet files are written.
#[derive(Debug)]
pub struct Files {
    pub folder: PathBuf,
    pub service: String,
    pub instance: String,
    /// Empty where it is not known.
    pub version: String,
    pub sample: u32,
    pub rotate: Duration,
    /// How many days stay in addition to today.
    pub days: u16,
    pub bytes: u64,
}

impl Wanted {
    pub fn of(args: &ExportArgs) -> Result<Wanted, Failure> {
        let mut problems = Vec::new();
        let scrapes = scrapes(args, &mut problems);
        let mut wrong: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let sent = args.otlp.is_some() || args.parquet.is_some();
        let resource = match sent {
            true => resource_of(args, &mut wrong),
            false => Attributes::new(),
        };
        let pushes = pushes(args, &resource, &mut wrong);
        let files = files(args, &resource, &mut wrong);
        if args.listen.is_none() && !sent {
            wrong.push(
                "nothing is asked for; give --listen 127.0.0.1:9401 to be scraped by Prometheus, --otlp http://127.0.0.1:4318 to push, or --parquet DIR to write files"
                    .to_owned(),
            );
        }
        if !wrong.is_empty() {
            return Err(Failure::usage(wrong.join("\n")));
        }
        Ok(Wanted {
            folder: args.folder.clone(),
            application: (args.application != "all").then(|| args.application.clone()),
            endpoints: args.endpoints.unwrap_or(metrics::ENDPOINTS),
            opentelemetry: args.opentelemetry,
            scrapes,
            pushes,
            files,
            once: args.once,
        })
    }
}

fn scrapes(args: &ExportArgs, problems: &mut Vec<Problem>) -> Option<Scrapes> {
    let listen = Asked::new(args.listen.clone()?, LISTEN);
    let address = address(&listen).map_err(|problem| problems.push(problem));
    let mut hosts = Vec::new();
    for text in &args.host {
        match name(text.trim()) {
            Some(host) => hosts.push(host),
            None => problems.push(Problem::of(
                &Asked::new(text.clone(), "--host"),
                "no host's name",
                "give a name or an address without scheme and port, such as shop-metrics.internal",
            )),
        }
    }
    let plain = |c: char| c.is_ascii_graphic() && !matches!(c, '?' | '#' | '%');
    if !args.path.starts_with('/') || !args.path.chars().all(plain) || args.path == "/livez" {
        problems.push(Problem::of(
            &Asked::new(args.path.clone(), "--path"),
            "no path for scrapes",
            "give one that begins with / and is not /livez, such as /metrics",
        ));
    }
    Some(Scrapes {
        address: address.ok()?,
        path: args.path.clone(),
        hosts,
    })
}

fn resource_of(args: &ExportArgs, wrong: &mut Vec<String>) -> Attributes {
    let variable = match std::env::var(VARIABLE) {
        Err(VarError::NotUnicode(_)) => {
            wrong.push(format!(
                "{VARIABLE}: it is not UTF-8; write other bytes as %XX"
            ));
            None
        }
        found => found.ok(),
    };
    resource(args, variable.as_deref(), wrong)
}

fn files(args: &ExportArgs, resource: &Attributes, wrong: &mut Vec<String>) -> Option<Files> {
    let folder = args.parquet.clone()?;
    let of = |key: &str| {
        let found = resource.iter().find(|(one, _)| one == key);
        found.map_or_else(String::new, |(_, value)| value.clone())
    };
    let (service, instance) = (of("service.name"), of("service.instance.id"));
    for (name, flag) in [
        (&service, "--service"),
        (&instance, "--resource service.instance.id"),
    ] {
        if !name.is_empty() {
            wrong.extend(name_refused(flag, name));
        }
    }
    let rotate = within(&args.rotate, "--rotate", &ROTATIONS, "1m to 1d");
    let keep = within(&args.keep, "--keep", &KEPT, "1d to 3650d");
    let bytes = parse_size(&Asked::new(args.max_size.clone(), "--max-size"));
    let mut refuse = |problem: Problem| wrong.push(problem.to_string());
    let rotate = rotate.map_err(&mut refuse).ok();
    let keep = keep.map_err(&mut refuse).ok();
    let bytes = bytes.map_err(&mut refuse).ok();
    let days = keep?.as_secs().div_ceil(DAY.as_secs());
    Some(Files {
        folder,
        service,
        instance,
        version: of("service.version"),
        sample: args.sample,
        rotate: rotate?,
        days: u16::try_from(days).unwrap_or(u16::MAX),
        bytes: bytes?,
    })
}

fn pushes(args: &ExportArgs, resource: &Attributes, wrong: &mut Vec<String>) -> Option<Pushes> {
    let asked = args.otlp.as_deref()?.trim();
    let secrets = match (&args.token_file, &args.header_file) {
        (Some(file), _) => Secrets::Token(file.clone()),
        (None, Some(file)) => Secrets::Headers(file.clone()),
        (None, None) => Secrets::None,
    };
    if let Err(failure) = secrets.headers() {
        wrong.push(failure.message);
    }
    let uri = OTLP.address(asked).and_then(|uri| match secrets {
        Secrets::None => Ok(uri),
        _ => OTLP.keeps_secrets(&uri).map(|()| uri),
    });
    // What is checked, and shown in a message, is what was given.
    let uri = uri.and_then(|uri| OTLP.address(&with_path(&uri)));
    let uri = uri.map_err(|failure| wrong.push(failure.message));
    if let (Some(file), Ok(uri)) = (&args.ca, &uri)
        && client::is_plain(uri)
    {
        wrong.push(format!(
            "--ca = {file:?}: --otlp is not encrypted and has no certificate; give an https address, or no --ca"
        ));
    }
    let interval = within(&args.interval, "--interval", &INTERVALS, "1s to 1h");
    let interval = interval.map_err(|problem| wrong.push(problem.to_string()));
    Some(Pushes {
        resource: resource.clone(),
        uri: uri.ok()?,
        interval: interval.ok()?,
        secrets,
        ca: args.ca.clone(),
    })
}

fn with_path(uri: &Uri) -> String {
    let given = uri.to_string();
    let given = given.trim_end_matches('/');
    match given.ends_with(PATH) {
        true => given.to_owned(),
        false => format!("{given}{PATH}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn wanted(words: &str) -> Result<Wanted, Failure> {
        let words = ["powerband", "export"].into_iter().chain(words.split(' '));
        match Cli::try_parse_from(words).unwrap().command {
            Command::Export(args) => Wanted::of(&args),
            _ => unreachable!(),
        }
    }

    #[test]
    fn every_problem_is_named_at_once() {
        let said = wanted("--listen 9401 --path metrics --host http://a").unwrap_err();
        assert_eq!(said.code, 2);
        for part in [
            "--listen = \"9401\": no address",
            "--path = \"metrics\": no path",
            "--host = \"http://a\": no host's name",
        ] {
            assert!(said.message.contains(part), "{}", said.message);
        }
        let none = wanted("/run/x").unwrap_err();
        assert!(none.message.contains("give --listen"), "{}", none.message);
    }

    #[test]
    fn a_receiver_needs_an_address_and_a_service() {
        let said = wanted("--otlp 4318 --interval 15 --resource x --token-file /none/token");
        let said = said.unwrap_err().message;
        for part in [
            "--token-file = \"/none/token\"",
            "--otlp = \"4318\": no",
            "--interval = \"15\": a time without a unit",
            "--resource = \"x\": no key",
            "give --service shop",
        ] {
            assert!(said.contains(part), "{part} in {said}");
        }
        let said = wanted(
            "--otlp http://a --ca /x --service shop --resource service.name=a --resource k=1 --resource k=2",
        );
        let said = said.unwrap_err().message;
        for part in [
            "--ca = \"/x\": --otlp is not encrypted",
            "--resource = \"k=2\": k is given twice",
            "--resource has service.name as well",
        ] {
            assert!(said.contains(part), "{part} in {said}");
        }
        let said = wanted("--otlp https://a/?key=hunter2 --service shop").unwrap_err();
        assert!(
            said.message
                .starts_with("--otlp = \"https://a/\": it has parameters"),
            "{}",
            said.message
        );
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "hunter2").unwrap();
        let words = format!(
            "--otlp http://10.0.0.1:4318 --service shop --token-file {}",
            file.path().display()
        );
        let said = wanted(&words).unwrap_err().message;
        assert!(said.contains("in plain text"), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }

    #[test]
    fn what_is_given_takes_the_place_of_what_is_usual() {
        for url in ["http://a", "http://a/v1/metrics/"] {
            let pushes = wanted(&format!("--otlp {url} --service shop"))
                .unwrap()
                .pushes;
            assert_eq!(pushes.unwrap().uri.to_string(), "http://a/v1/metrics");
        }
        let words = "--otlp https://a/otlp/ --service shop --resource host.name=x --resource service.version=4=2";
        let pushes = wanted(words).unwrap().pushes.unwrap();
        assert_eq!(pushes.uri.to_string(), "https://a/otlp/v1/metrics");
        assert_eq!(pushes.interval, Duration::from_secs(15));
        let of = |key: &str| {
            let found: Vec<_> = pushes
                .resource
                .iter()
                .filter(|(one, _)| one == key)
                .collect();
            assert_eq!(found.len(), 1, "{key}");
            found[0].1.as_str()
        };
        assert_eq!([of("service.name"), of("host.name")], ["shop", "x"]);
        assert_eq!(of("service.version"), "4=2");
        assert!(!of("service.instance.id").is_empty());
    }

    #[test]
    fn all_applications_unless_one_is_named() {
        let all = wanted("/run/x --listen :0").unwrap();
        assert_eq!((all.application, all.endpoints), (None, 20));
        let one = wanted("--listen :0 --application /srv/shop --endpoints 0").unwrap();
        assert_eq!(one.application.as_deref(), Some("/srv/shop"));
        assert_eq!(one.endpoints, 0);
    }
}
