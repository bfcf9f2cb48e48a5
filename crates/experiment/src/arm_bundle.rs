//! The bundle of an arm that takes other versions of gems (`gem.NAME`), or whose Ruby the application's Gemfile does not
//! allow: a Gemfile and its lock in the run folder, so that the application's own are left alone.

use knobs::Overlay;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// Variables and their values.
pub type Variables = BTreeMap<String, String>;

/// Asks Bundler: Ruby knows what a Gemfile means.
const SCRIPT: &str = include_str!("arm_bundle/bundle.rb");

/// The folder of all bundles, in the run folder.
const FOLDER: &str = "bundles";

/// The agent's variable (`docs/agent.md`).
const VERSIONS: &str = "POWERBAND_SETUP_VERSIONS";

/// What Bundler says of gems that are not there, with a capital letter or without.
const NOT_INSTALLED: &str = "ould not find";

/// Lines of what Bundler says that go into a message.
const LINES: usize = 4;

/// What a server needs to run with a bundle.
#[derive(Debug, Default, Clone, PartialEq, Eq, Deserialize)]
pub struct ArmBundle {
    /// Selects the bundle; empty where the application's own serves.
    pub environment: Variables,
    /// What Bundler activates of the gems that the arm names.
    pub versions: BTreeMap<String, String>,
}

impl ArmBundle {
    /// The variables of a server: those that select the bundle, and the one that makes the agent report the activated versions.
    pub fn variables(&self) -> Variables {
        let mut variables = self.environment.clone();
        if !self.versions.is_empty() {
            let gems: Vec<&str> = self.versions.keys().map(String::as_str).collect();
            variables.insert(VERSIONS.to_owned(), gems.join(","));
        }
        variables
    }
}

/// The bundles of all arms, by what each depends on; or why a bundle cannot be made.
#[derive(Debug, Default)]
pub struct Bundles(HashMap<BundleKey, Result<ArmBundle, String>>);

#[derive(Debug, PartialEq, Eq, Hash)]
struct BundleKey {
    ruby: Option<String>,
    gemfile: Option<String>,
    gems: BTreeMap<String, String>,
    /// Variables that a Gemfile may read.
    variables: Overlay,
}

impl BundleKey {
    /// `None` where the application's own bundle serves for certain.
    fn of(overlay: &Overlay) -> Option<BundleKey> {
        let gems = overlay.gems();
        let ruby = overlay.ruby().map(str::to_owned);
        (ruby.is_some() || !gems.is_empty()).then(|| BundleKey {
            ruby,
            gemfile: overlay.gemfile().map(str::to_owned),
            gems,
            variables: overlay.of_free_variables(),
        })
    }

    /// The knobs that need it, for messages.
    fn shown(&self) -> String {
        let gems = self.gems.iter();
        let mut shown: Vec<String> = gems
            .map(|(gem, version)| format!("{}{gem}={version}", knobs::GEM))
            .collect();
        shown.extend(self.ruby.as_ref().map(|ruby| format!("ruby={ruby}")));
        shown.join(",")
    }
}

/// What Bundler resolves a Gemfile with.
pub struct Resolver<'a> {
    /// The application's folder.
    pub app_dir: &'a Path,
    /// The run folder.
    pub scratch: &'a Path,
    /// The Ruby of the arm.
    pub ruby: &'a OsStr,
    /// The application's variables and the arm's.
    pub env: Variables,
}

impl Bundles {
    /// Resolves the bundle that the arm needs, once; the reason where that fails.
    pub fn make(&mut self, overlay: &Overlay, resolver: &Resolver<'_>) -> Result<(), String> {
        let Some(key) = BundleKey::of(overlay) else {
            return Ok(());
        };
        let number = self.0.len();
        let made = self.0.entry(key).or_insert_with_key(|key| {
            let folder = resolver.scratch.join(FOLDER).join(number.to_string());
            let bundle = resolver.bundle(key, &folder);
            bundle.map_err(|why| format!("{}: {why}", key.shown()))
        });
        made.as_ref().map(|_| ()).map_err(Clone::clone)
    }

    /// The bundle that Powerband has made for an arm; `None` where the application's own serves.
    pub fn of(&self, overlay: &Overlay) -> Option<&ArmBundle> {
        let bundle = self.0.get(&BundleKey::of(overlay)?)?.as_ref().ok()?;
        (!bundle.environment.is_empty()).then_some(bundle)
    }
}

impl Resolver<'_> {
    fn bundle(&self, key: &BundleKey, folder: &Path) -> Result<ArmBundle, String> {
        // A resumed run resolves it again.
        match std::fs::remove_dir_all(folder) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(format!("{} cannot be removed: {e}", folder.display()));
            }
            _ => {}
        }
        let requirements = key
            .gems
            .iter()
            .map(|(gem, version)| format!("{gem}={}", requirement(version)));
        let output = Command::new(self.ruby)
            .args(["-e", SCRIPT, "--"])
            .arg(folder)
            .args(requirements)
            .current_dir(self.app_dir)
            .envs(&self.env)
            .env_remove("RUBYOPT")
            .stdin(Stdio::null())
            .output()
            .map_err(|e| format!("{} cannot be started: {e}", self.ruby.display()))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(refusal(&said, &key.gems));
        }
        let bundle: ArmBundle = serde_json::from_slice(&output.stdout)
            .map_err(|e| format!("Bundler's answer cannot be read: {e}"))?;
        let absent = bundle
            .versions
            .iter()
            .find(|(_, version)| version.is_empty());
        match absent {
            Some((gem, _)) => Err(format!(
                "the bundle does not activate {gem}: the Gemfile leaves it out here, by a group (bundle config without), a platform or a \
                 condition; take the gem out of that"
            )),
            None => Ok(bundle),
        }
    }
}

/// `6.6` is the newest installed version of 6.6, `6.6.0` that one.
fn requirement(version: &str) -> String {
    match version.split('.').count() {
        1 | 2 => format!("~> {version}.0"),
        _ => format!("= {version}"),
    }
}

/// What Bundler said, with the remedy.
fn refusal(said: &str, gems: &BTreeMap<String, String>) -> String {
    let lines = said.lines().map(str::trim);
    // RubyGems names gems of other Rubies.
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with("Ignoring "));
    let lines: Vec<&str> = lines.take(LINES).collect();
    let said = lines.join(" ");
    let installs: Vec<String> = gems
        .iter()
        .map(|(gem, version)| format!("gem install {gem} --version '{}'", requirement(version)))
        .collect();
    // Everything else, such as a conflict, says what to do by itself.
    match (said.contains(NOT_INSTALLED), installs.is_empty()) {
        (false, _) => said,
        (true, true) => format!("{said}; install the gems of the Gemfile for this Ruby"),
        (true, false) => format!(
            "{said}; install what is missing, such as by {}, for the Ruby of this configuration",
            installs.join(" && ")
        ),
    }
}

#[cfg(test)]
mod tests;
