//! The URL and how to reach it.

use crate::args::TargetArgs;
use experiment::config::Problem;
use load::{Target, TlsOptions};

/// Where to connect, and the path and query to ask for.
pub fn target(args: &TargetArgs) -> Result<(Target, String), Problem> {
    if args.insecure
        && let Some(cacert) = &args.cacert
    {
        return Err(Problem::with(
            format!(
                "--insecure takes any certificate, and --cacert (or POWERBAND_CACERT) = \"{}\" names who to trust",
                cacert.display()
            ),
            "give one of the two",
        ));
    }
    let tls = TlsOptions {
        cacert: args.cacert.clone(),
        insecure: args.insecure,
        ..TlsOptions::default()
    };
    let found = match &args.unix_socket {
        Some(socket) => Target::over_unix_socket(socket, args.url(), &tls),
        None => Target::from_url(args.url(), &tls),
    };
    let (target, path) = found.map_err(|e| {
        let said = e.to_string();
        // The library's messages end in the remedy.
        match said.rsplit_once(": ") {
            Some((what, remedy)) => Problem::with(what, remedy),
            None => Problem::with(said, "correct the URL"),
        }
    })?;
    Ok(match &args.host {
        Some(host) => (target.with_host(host), path),
        None => (target, path),
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        target: TargetArgs,
    }

    #[test]
    fn trusting_somebody_and_anybody_is_refused() {
        let line = ["load", "https://127.0.0.1/", "--insecure"];
        assert!(target(&Line::parse_from(line).target).is_ok());
        let both = line.into_iter().chain(["--cacert", "ours.pem"]);
        let problem = target(&Line::parse_from(both).target).unwrap_err();
        let said = format!("{problem:?}");
        assert!(
            said.contains("--insecure") && said.contains("ours.pem"),
            "{said}"
        );
    }
}
