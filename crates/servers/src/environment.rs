//! The variables that are added to a server's environment.

use std::collections::BTreeMap;

use crate::agent;
use crate::spec::{ServerCommand, ServerSpec};

/// The variable that names the file of an experiment in production. With it a Puma that has the gem's plugin draws an arm.
pub const EXPERIMENT: &str = "POWERBAND_EXPERIMENT";

/// The server's environment on top of powerband's own (`inherited` looks that up): what the user
/// gave, then the settings under test, which win.
pub(crate) fn environment(
    spec: &ServerSpec,
    port: u16,
    inherited: impl Fn(&str) -> Option<String>,
) -> BTreeMap<String, String> {
    let mut env = spec.env.clone();
    let given = |key: &str| env.get(key).cloned().or_else(|| inherited(key));
    let rails = given("RAILS_ENV");
    let rack = given("RACK_ENV");
    let name = rails
        .clone()
        .or_else(|| rack.clone())
        .unwrap_or_else(|| "production".into());
    let in_experiment = given(EXPERIMENT).is_some();
    let injected = spec.agent.as_ref().map(|agent| {
        agent::injection(
            &agent.lib_dir,
            &agent.ext_path,
            Some(&agent.flight_dir),
            given,
        )
    });
    env.insert("RAILS_ENV".into(), rails.unwrap_or_else(|| name.clone()));
    env.insert("RACK_ENV".into(), rack.unwrap_or(name));
    let threads = spec.settings.threads;
    // Falcon has no threads to set, and a pool of one connection would be too small for its fibers.
    let has_fibers = matches!(spec.command, ServerCommand::Falcon { .. });
    if let Some(pool) = spec.pool.or((!has_fibers).then_some(threads.into())) {
        env.insert("RAILS_MAX_THREADS".into(), pool.to_string());
    }
    if !has_fibers {
        env.insert("RAILS_MIN_THREADS".into(), threads.to_string());
    }
    env.insert("WEB_CONCURRENCY".into(), spec.settings.workers.to_string());
    env.insert("PORT".into(), port.to_string());
    if in_experiment {
        // A measured server has the settings under test, and no arm's.
        env.insert(EXPERIMENT.into(), String::new());
    }
    env.extend(
        injected
            .into_iter()
            .flatten()
            .map(|(key, value)| (key.to_string(), value)),
    );
    env
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::GuardProgram;
    use crate::spec::{Agent, Settings};

    fn spec(threads: u16, command: ServerCommand) -> ServerSpec {
        let guard = GuardProgram {
            exe: "/proc/self/exe".into(),
            arg: "guard".into(),
        };
        let settings = Settings {
            threads,
            workers: 2,
            preload: false,
        };
        ServerSpec {
            command,
            ..ServerSpec::new("/nowhere", settings, "/nowhere/work", guard)
        }
    }

    #[test]
    fn the_settings_win_over_the_environment_and_the_agent_goes_first() {
        let mut spec = spec(3, ServerCommand::Custom { words: vec![] });
        spec.env.insert("RAILS_MAX_THREADS".into(), "50".into());
        spec.agent = Some(Agent {
            lib_dir: "/gem/lib".into(),
            ext_path: "/ext.so".into(),
            flight_dir: "/flight".into(),
        });
        let inherited = |key: &str| match key {
            "RUBYOPT" => Some("-W0".to_string()),
            "RACK_ENV" => Some("staging".to_string()),
            _ => None,
        };
        let env = environment(&spec, 4000, inherited);
        for (key, value) in [
            ("RAILS_MAX_THREADS", "3"),
            ("RAILS_MIN_THREADS", "3"),
            ("WEB_CONCURRENCY", "2"),
            ("PORT", "4000"),
            ("RAILS_ENV", "staging"),
            ("RACK_ENV", "staging"),
            ("RUBYOPT", "-rpowerband/inject -W0"),
            ("RUBYLIB", "/gem/lib"),
            ("POWERBAND_EXT", "/ext.so"),
            ("POWERBAND_DIR", "/flight"),
        ] {
            assert_eq!(env.get(key).map(String::as_str), Some(value), "{key}");
        }
    }

    #[test]
    fn a_measured_server_is_in_no_experiment() {
        let spec = spec(3, ServerCommand::Custom { words: vec![] });
        let env = |experiment: Option<&str>| {
            let inherited = |key: &str| experiment.filter(|_| key == EXPERIMENT).map(str::to_owned);
            environment(&spec, 4000, inherited).get(EXPERIMENT).cloned()
        };
        assert_eq!(env(Some("arms.toml")).as_deref(), Some(""));
        assert_eq!(env(None), None);
    }

    #[test]
    fn the_fibers_of_falcon_have_the_pool_that_the_application_gives_them() {
        let mut spec = spec(1, ServerCommand::Falcon { program: vec![] });
        let pool = |spec: &ServerSpec| {
            let env = environment(spec, 4000, |_| None);
            assert_eq!(env.get("RAILS_MIN_THREADS"), None);
            env.get("RAILS_MAX_THREADS").cloned()
        };
        assert_eq!(pool(&spec), None);
        spec.env.insert("RAILS_MAX_THREADS".into(), "20".into());
        assert_eq!(pool(&spec).as_deref(), Some("20"));
        spec.pool = Some(32);
        assert_eq!(pool(&spec).as_deref(), Some("32"));
    }
}
