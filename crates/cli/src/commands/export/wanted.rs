//! From the arguments to what is exported and where to: every value checked, every problem reported at once.

use crate::Failure;
use crate::args::ExportArgs;
use crate::commands::flight_counters;
use crate::listener::{address, name};
use experiment::config::{Asked, Problem};
use std::net::SocketAddr;
use std::path::PathBuf;

pub const LISTEN: &str = "--listen";

/// What is exported.
#[derive(Debug)]
pub struct Wanted {
    pub folder: PathBuf,
    /// `None`: every application.
    pub application: Option<String>,
    pub endpoints: usize,
    pub scrapes: Option<Scrapes>,
}

/// Where scrapes are answered, and how.
#[derive(Debug)]
pub struct Scrapes {
    pub address: SocketAddr,
    pub path: String,
    pub hosts: Vec<String>,
    pub opentelemetry: bool,
}

impl Wanted {
    pub fn of(args: &ExportArgs) -> Result<Wanted, Failure> {
        let mut problems = Vec::new();
        let scrapes = scrapes(args, &mut problems);
        if args.listen.is_none() {
            problems.push(Problem::with(
                "nothing is asked for",
                "give --listen 127.0.0.1:9401 to be scraped by Prometheus",
            ));
        }
        if !problems.is_empty() {
            let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
            return Err(Failure::usage(lines.join("\n")));
        }
        let own = flight_counters::own_folder;
        Ok(Wanted {
            folder: args.folder.clone().unwrap_or_else(own),
            application: (args.application != "all").then(|| args.application.clone()),
            endpoints: args.endpoints.unwrap_or(metrics::ENDPOINTS),
            scrapes,
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
        opentelemetry: args.opentelemetry,
    })
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
    fn all_applications_unless_one_is_named() {
        let all = wanted("/run/x --listen :0").unwrap();
        assert_eq!((all.application, all.endpoints), (None, 20));
        let one = wanted("--listen :0 --application /srv/shop --endpoints 0").unwrap();
        assert_eq!(one.application.as_deref(), Some("/srv/shop"));
        assert_eq!(one.endpoints, 0);
    }
}
