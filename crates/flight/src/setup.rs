//! What processes report of their set-up (`contract/setup-v1.md`): which calls the agent made in a server for an
//! experiment, so that a measurement knows what it measured. The comparison with the request is left to others.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::directory::find_named;
use crate::error::FlightError;
use crate::file::open_regular;

/// Many times what a report takes.
const MAX_BYTES: u64 = 64 << 10;

/// A path and what reading it gave.
pub type SetupResult = (PathBuf, Result<Setup, FlightError>);

/// One process's report. Fields unknown to this version are ignored.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Setup {
    pub pid: u32,
    pub start_ticks: u64,
    pub role: Role,
    /// Its heap was warmed up, by itself or by the process that it was forked from.
    pub warmup: bool,
    /// Likewise.
    pub compact: bool,
    pub auto_compact: bool,
    pub gc_profiler: bool,
    /// After how many requests the collector is run out of band; 0 is never.
    pub oob_gc: u32,
    /// How often that was, at least: a second may be missing.
    pub oob_gc_runs: u64,
    /// Full runs of the collector are made out of band alone.
    pub oob_gc_minor_only: bool,
    /// They are made when Ruby needs one.
    #[serde(default)]
    pub oob_major: bool,
    /// What was loaded, as it was asked for.
    #[serde(rename = "require")]
    pub required: Vec<String>,
    /// The activated versions of the gems that were asked for; empty where a gem is not activated.
    #[serde(default)]
    pub versions: BTreeMap<String, String>,
    /// What of this the process did that this one was forked from.
    pub inherited: Vec<String>,
    pub failed: Vec<Failure>,
}

/// What a process is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Server,
    /// It forks those that serve and serves nothing itself.
    Master,
    #[serde(other)]
    Other,
}

/// What was asked for and did not come about.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Failure {
    pub what: String,
    pub why: String,
}

/// The reports under a root folder that can be read, ordered by path: `<root>/<uid>/setup-*.json` and
/// `<root>/setup-*.json`. Where nothing was asked for there are none; a folder that is not there has none.
#[must_use]
pub fn setups(root: &Path) -> Vec<Setup> {
    let found = read_setups(root).unwrap_or_default();
    found
        .into_iter()
        .filter_map(|(_, read)| read.ok())
        .collect()
}

/// The same, with those that cannot be read and why.
///
/// # Errors
/// When the root itself cannot be read, for instance because no agent has made it.
pub fn read_setups(root: &Path) -> Result<Vec<SetupResult>, FlightError> {
    let found = find_named(root, is_report)?.into_iter().map(|path| {
        let report = read(&path);
        (path, report)
    });
    Ok(found.collect())
}

/// One that is still being written, or was never finished, has another extension.
fn is_report(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name.starts_with("setup-"))
        && path.extension().is_some_and(|e| e == "json")
}

fn read(path: &Path) -> Result<Setup, FlightError> {
    let mut bytes = Vec::new();
    open_regular(path)?
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|source| FlightError::Io {
            path: path.to_owned(),
            source,
        })?;
    parse(&bytes).map_err(|reason| FlightError::Setup {
        path: path.to_owned(),
        reason,
    })
}

fn parse(bytes: &[u8]) -> Result<Setup, String> {
    #[derive(Deserialize)]
    struct Version {
        v: u64,
    }
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("it has more than {MAX_BYTES} bytes"));
    }
    let said = |e: serde_json::Error| e.to_string();
    let Version { v } = serde_json::from_slice(bytes).map_err(said)?;
    if v != 1 {
        return Err(format!(
            "its version is {v}, and this powerband reads version 1"
        ));
    }
    serde_json::from_slice(bytes).map_err(said)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    fn samples() -> PathBuf {
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../contract/samples/setup")
    }

    fn sample(name: &str) -> String {
        fs::read_to_string(samples().join(name))
            .expect("the golden samples are part of the repository")
    }

    #[test]
    fn golden_samples() {
        let failed = |what: &str, why: &str| Failure {
            what: what.to_owned(),
            why: why.to_owned(),
        };
        let all = Setup {
            pid: 4711,
            start_ticks: 123_456,
            role: Role::Server,
            warmup: true,
            compact: true,
            auto_compact: true,
            gc_profiler: true,
            oob_gc: 5,
            oob_gc_runs: 3,
            oob_gc_minor_only: true,
            oob_major: true,
            required: vec!["oj".to_owned(), "/srv/shop/drop in.rb".to_owned()],
            versions: [("puma", "6.6.0"), ("rack", "")]
                .map(|(gem, version)| (gem.to_owned(), version.to_owned()))
                .into(),
            inherited: vec!["compact".to_owned(), "warmup".to_owned()],
            failed: Vec::new(),
        };
        let none = Setup {
            pid: 4712,
            start_ticks: 123_999,
            role: Role::Server,
            warmup: false,
            compact: false,
            auto_compact: false,
            gc_profiler: false,
            oob_gc: 0,
            oob_gc_runs: 0,
            oob_gc_minor_only: false,
            oob_major: false,
            required: Vec::new(),
            versions: BTreeMap::new(),
            inherited: Vec::new(),
            failed: vec![
                failed("warmup", "Process.warmup needs Ruby 3.3, this is 3.2.3"),
                failed(
                    "oob_gc",
                    "POWERBAND_SETUP_OOB_GC=\"often\"\n\\: it must be N, for once after N requests, from 1 to \
                     1000000, or 0; it is left out",
                ),
            ],
        };
        assert_eq!(setups(&samples()), [all, none]);
    }

    #[test]
    fn later_agents_may_say_more() {
        let text = sample("setup-4711-123456.json")
            .replace(r#""v":1,"#, r#""v":1,"weather":{"today":["fair"]},"#)
            .replace(r#""server""#, r#""spare""#);
        assert_eq!(
            parse(text.as_bytes()).map(|setup| setup.role),
            Ok(Role::Other)
        );
    }

    #[test]
    fn earlier_agents_report_no_versions() {
        let text = sample("setup-4711-123456.json");
        let earlier = text.replace(r#""versions":{"puma":"6.6.0","rack":""},"#, "");
        assert_ne!(text, earlier);
        let setup = parse(earlier.as_bytes()).expect("a report");
        assert!(setup.versions.is_empty());
    }

    #[test]
    fn what_is_no_report_says_why() {
        let good = sample("setup-4711-123456.json");
        let said = |text: &str| parse(text.as_bytes()).expect_err("no report");
        assert_eq!(
            said(&good.replace(r#""v":1"#, r#""v":2"#)),
            "its version is 2, and this powerband reads version 1"
        );
        assert!(said(&good.replace("warmup", "warmth")).contains("missing field `warmup`"));
        assert!(said(&good[..40]).contains("EOF"));
        assert_eq!(
            said(&format!("{good}{}", " ".repeat(65_536))),
            "it has more than 65536 bytes"
        );
        for bytes in [&b""[..], b"\xff\xfe", b"[]", b"null", &[b'['; 60_000]] {
            parse(bytes).expect_err("no report");
        }
    }

    #[test]
    fn users_folders_and_files_that_are_none() {
        let root = tempfile::tempdir().expect("a folder");
        let user = root.path().join("1000");
        fs::create_dir_all(user.join("setup-9-9.json")).expect("a folder");
        let good = sample("setup-4712-123999.json");
        fs::write(user.join("setup-4712-123999.json"), &good).expect("written");
        fs::write(user.join("setup-4712-123999.json-0123abcd"), "{").expect("written");
        fs::write(user.join("setup-5-5.json"), "{").expect("written");
        fs::write(user.join("5-5-00000000.flight"), "").expect("written");
        symlink(
            user.join("setup-4712-123999.json"),
            user.join("setup-6-6.json"),
        )
        .expect("a link");

        let found = read_setups(root.path()).expect("the root is there");
        let names: Vec<_> = found
            .iter()
            .map(|(path, read)| (path.file_name().expect("a name").to_str(), read.is_ok()))
            .collect();
        assert_eq!(
            names,
            [
                (Some("setup-4712-123999.json"), true),
                (Some("setup-5-5.json"), false),
                (Some("setup-6-6.json"), false),
                (Some("setup-9-9.json"), false),
            ]
        );
        let reason = found[1].1.as_ref().expect_err("cut off").to_string();
        assert!(
            reason.contains("setup-5-5.json is no report of a set-up: EOF"),
            "{reason}"
        );
        let pids: Vec<u32> = setups(root.path()).iter().map(|setup| setup.pid).collect();
        assert_eq!(pids, [4712]);
        assert!(setups(&root.path().join("nowhere")).is_empty());
    }
}
