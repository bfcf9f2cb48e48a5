//! Finds variables and configuration files that point at databases, caches and upstreams on other machines. Values that are
//! not understood are reported too.
//!
//! Messages show hosts and ports, never credentials. Addresses in the application's code are not found here; `experiment`
//! watches the connections of the processes while they run.

mod address;
mod danger;
mod dotenv;
mod erb;
mod files;
mod named;
mod remote;
mod yaml;

pub use danger::{Danger, What};
pub use remote::Remote;

use std::collections::BTreeMap;
use std::path::Path;

use crate::inherited;
use dotenv::Written;
use files::Context;
use named::{Names, found, is_of_a_store};
use small_sort::SmallSort;

/// What variables of tools and systems begin with, which applications do not use to connect. Only URLs of stores and names of
/// stores count in them. A tool that is missing here causes a refusal, and its message names the remedy.
const TOOLS: &[&str] = &[
    "ACTIONS",
    "ANDROID",
    "APT",
    "AWS_CONTAINER",
    "BUILD",
    "BUILDKITE",
    "BUNDLE",
    "BUNDLER",
    "CARGO",
    "CI",
    "CIRCLE",
    "CIRCLECI",
    "CONDA",
    "CONSUL",
    "DBUS",
    "DEB",
    "DEBUGINFOD",
    "DOCKER",
    "ECS",
    "GEM",
    "GIT",
    "GITHUB",
    "GITLAB",
    "GITPOD",
    "GO",
    "GOPROXY",
    "GPG",
    "HOMEBREW",
    "HUDSON",
    "JENKINS",
    "JOB",
    "KUBERNETES",
    "LC",
    "NIX",
    "NODE",
    "NOMAD",
    "NPM",
    "NVM",
    "ORYX",
    "PIP",
    "PYENV",
    "PYTHON",
    "RBENV",
    "RUBYGEMS",
    "RUBY_DOWNLOAD",
    "RUNNER",
    "RUN_ARTIFACTS",
    "RUN_CHANGES",
    "RUN_DISPLAY",
    "RUN_TESTS",
    "RUSTUP",
    "RVM",
    "SESSION",
    "SONAR",
    "SSH",
    "SUDO",
    "TRAVIS",
    "UV",
    "VAULT",
    "VSCODE",
    "WSL",
    "XDG",
    "YARN",
];

/// All addresses on other machines that are not allowed, and values that cannot be judged: in the server's environment (`env`
/// and this process's own), in the files that dotenv reads, and in `config/*.yml`.
pub fn check(env: &BTreeMap<String, String>, app_dir: &Path, allowed: &[Remote]) -> Vec<Danger> {
    let mut inherited = inherited::variables();
    inherited.retain(|name, _| !env.contains_key(name));
    check_with(env, &inherited, app_dir, allowed)
}

/// The values that cannot be judged, whatever services are allowed. For commands that may destroy data: the connection that ends
/// the run is seen after it has begun.
pub fn unclear(env: &BTreeMap<String, String>, app_dir: &Path) -> Vec<Danger> {
    let mut dangers = check(env, app_dir, &[]);
    dangers.retain(Danger::is_unclear);
    dangers
}

fn check_with(
    env: &BTreeMap<String, String>,
    inherited: &BTreeMap<String, String>,
    app_dir: &Path,
    allowed: &[Remote],
) -> Vec<Danger> {
    let of_process = |name: &str| env.get(name).or_else(|| inherited.get(name)).cloned();
    let named = |name: &str| of_process(name).filter(|value| !value.is_empty());
    let environment = named("RAILS_ENV").or_else(|| named("RACK_ENV"));
    let environment = environment.unwrap_or_else(|| "production".to_owned());
    let mut written = dotenv::read(app_dir, &environment, &of_process);
    written.retain(|name, _| of_process(name).is_none());
    let mut dangers = Vec::new();
    for (name, value) in env {
        dangers.extend(in_variable(name, name, value, Names::Count));
    }
    for (name, value) in inherited {
        let names = if is_of_a_tool(name) || is_service_link(name, inherited) {
            Names::Ignored
        } else {
            Names::Count
        };
        dangers.extend(in_variable(name, name, value, names));
    }
    for (name, Written { value, place }) in &written {
        dangers.extend(in_variable(place, name, value, Names::Count));
    }
    let context = Context {
        environment: &environment,
        variable: &|name| of_process(name).or_else(|| written.get(name).map(|w| w.value.clone())),
    };
    dangers.extend(files::scan(app_dir, &context));
    dangers.retain(|danger| !danger.is_allowed(allowed));
    dangers.small_sort();
    dangers.dedup();
    dangers
}

fn in_variable(place: &str, name: &str, value: &str, names: Names) -> impl Iterator<Item = Danger> {
    let place = place.to_owned();
    let found = found(name, value, names).into_iter();
    found.map(move |found| Danger::of(place.clone(), found))
}

fn is_of_a_tool(name: &str) -> bool {
    let name = name.trim_start_matches('_').to_ascii_uppercase();
    let begins = |tool: &str| {
        let rest = name.strip_prefix(tool);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    TOOLS.iter().any(|tool| begins(tool)) && !is_of_a_store(&name)
}

/// Whether Kubernetes has set the variable, as it does in every container for each Service of the namespace. A file that looks
/// one up is judged by its value.
fn is_service_link(name: &str, inherited: &BTreeMap<String, String>) -> bool {
    [
        ("_SERVICE_HOST", "_SERVICE_PORT"),
        ("_TCP_ADDR", "_TCP_PROTO"),
        ("_UDP_ADDR", "_UDP_PROTO"),
    ]
    .iter()
    .filter_map(|(end, sibling)| Some(format!("{}{sibling}", name.strip_suffix(end)?)))
    .any(|sibling| inherited.contains_key(&sibling))
}

#[cfg(test)]
mod tests;
