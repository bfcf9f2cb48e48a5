//! The environment's name, what is logged, what is left on from looking for something, what is loaded besides.

use host::{Outcome, Severity};
use servers::agent::INJECT_OPTION;

use super::either;
use crate::application::ApplicationFacts;
use crate::named::Named;

/// What costs time in each request, or in each allocation, and is meant for an afternoon.
const LEFT_ON: &[&str] = &["GC::Profiler.enable", "trace_object_allocations_start"];

pub(super) fn environment(facts: &ApplicationFacts) -> Outcome {
    Outcome::of(&facts.environment, |environment| {
        let why = "In development Rails reloads code, checks files before each request, keeps no templates and logs each \
                   query: the same request takes many times as long, and threads wait for the reloader's lock.";
        let remedy =
            "set it to production: RAILS_ENV and RACK_ENV, or app.environment in powerband.toml";
        let (name, from) = match &environment.named {
            Named::As { name, from } => (name, from),
            Named::NotSeen(why) => return Outcome::not_known(why.clone()),
            Named::Unset => {
                return Outcome::found(
                    Severity::Note,
                    "nothing says in which environment the application runs",
                    "neither the server's command line and configuration nor RAILS_ENV, RACK_ENV or APP_ENV in the \
                     environment that the process was started with",
                    "Rails, Rack and Puma take development then, unless the application's own files set it.",
                    remedy,
                );
            }
        };
        let evidence = format!("{name} ({from})");
        match name.as_str() {
            "development" => Outcome::found(
                either(facts),
                "the application runs in development",
                evidence,
                why,
                remedy,
            ),
            "test" => Outcome::found(
                either(facts),
                "the application runs in its test environment",
                evidence,
                "Caches are off there and services are replaced by stand-ins, so that requests take another time than \
                 they will.",
                remedy,
            ),
            _ => Outcome::Fine(evidence),
        }
    })
}

pub(super) fn log_level(facts: &ApplicationFacts) -> Outcome {
    Outcome::of(&facts.environment, |environment| {
        let found = |evidence: String, remedy: &str| {
            Outcome::found(
                either(facts),
                "every query and every template is logged",
                evidence,
                "At the level debug Rails builds and writes a line for each query, with its values: that takes CPU time while \
                 the GVL is held, and disk time.",
                remedy,
            )
        };
        let section = match environment.section() {
            Ok(section) => section,
            Err(why) => return Outcome::not_known(why),
        };
        let place = format!("config/environments/{section}.rb");
        let debug = |line: &str| {
            let words: String = line.split_whitespace().collect();
            words.starts_with("config.log_level=")
                && [":debug", "\"debug\"", "'debug'"]
                    .iter()
                    .any(|end| words.ends_with(end))
        };
        // A level that the file names stands whatever the variable says: Rails looks at the variable only where a file does.
        let mut lines = facts
            .config_files
            .iter()
            .flatten()
            .filter(|file| file.place == place)
            .flat_map(|file| file.lines(debug));
        if let Some(line) = lines.next() {
            return found(line, "set config.log_level to :info there");
        }
        if let Some(level) = environment.get("RAILS_LOG_LEVEL") {
            let evidence = format!("RAILS_LOG_LEVEL={level}");
            return match level.to_ascii_lowercase().as_str() {
                "debug" => found(evidence, "set RAILS_LOG_LEVEL to info"),
                _ => Outcome::Fine(evidence),
            };
        }
        Outcome::of(&facts.config_files, |_| {
            Outcome::fine(format!("neither RAILS_LOG_LEVEL nor {place} says debug"))
        })
    })
}

pub(super) fn profiling(facts: &ApplicationFacts) -> Outcome {
    Outcome::of(&facts.config_files, |files| {
        let left_on = |line: &str| {
            let stress = line
                .split_whitespace()
                .collect::<String>()
                .starts_with("GC.stress=true");
            stress || LEFT_ON.iter().any(|call| line.contains(call))
        };
        let lines: Vec<String> = files.iter().flat_map(|file| file.lines(left_on)).collect();
        if lines.is_empty() {
            return Outcome::fine(format!(
                "no profiling call in {} files below config",
                files.len()
            ));
        }
        Outcome::found(
            either(facts),
            "profiling is left on",
            lines.join("; "),
            "GC::Profiler keeps a record of every collection for ever and measures each; tracing allocations makes each \
             allocation slower. Neither is meant to stay on.",
            "remove the line, or switch it on by a variable when you need it; GC.stat and powerband run show the work of the \
             collector at a lower cost",
        )
    })
}

/// YJIT is a check by itself, and neither the agent nor what `bundle exec` sets is foreign.
fn is_known(option: &str) -> bool {
    let bundler = option.starts_with("-r") && option.ends_with("bundler/setup");
    option.starts_with("--yjit") || option == INJECT_OPTION || bundler
}

pub(super) fn injected_code(facts: &ApplicationFacts) -> Outcome {
    Outcome::of(&facts.environment, |environment| {
        let named = |name: &str| {
            let words = environment.get(name)?.split_whitespace();
            let words: Vec<&str> = words.filter(|word| !is_known(word)).collect();
            (!words.is_empty()).then(|| format!("{name}={}", words.join(" ")))
        };
        let set: Vec<String> = ["RUBYOPT", "LD_PRELOAD"]
            .into_iter()
            .filter_map(named)
            .collect();
        let options = environment.get("RUBYOPT").unwrap_or_default();
        let agent = match options.split_whitespace().any(|word| word == INJECT_OPTION) {
            true => " besides Powerband's agent",
            false => "",
        };
        if set.is_empty() {
            return Outcome::fine(format!("neither RUBYOPT nor LD_PRELOAD adds any{agent}"));
        }
        if facts.of_powerband {
            let set = set.join(", ");
            return Outcome::fine(format!(
                "{set}{agent}, set by the run of Powerband that started this server"
            ));
        }
        Outcome::found(
            Severity::Note,
            "code that is not the application's is loaded into Ruby",
            set.join(", ") + agent,
            "It is a part of what is measured: an allocator, a profiler or an option changes memory and speed of every \
             request.",
            "check that production loads the same code; if it does not, unset it here",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::samples::{application, found, named, with};
    use crate::config_files::ConfigFile;

    #[test]
    fn development_spoils_a_measurement_and_harms_a_server() {
        let mut facts = named("development");
        assert_eq!(
            found(environment(&facts)).severity,
            Severity::SpoilsMeasurements
        );
        facts.pid = Some(7);
        assert_eq!(found(environment(&facts)).severity, Severity::HarmsServer);
        assert!(matches!(
            environment(&named("production")),
            Outcome::Fine(_)
        ));
        assert!(matches!(environment(&named("staging")), Outcome::Fine(_)));
        let mut nameless = application();
        nameless.environment.as_mut().unwrap().named = Named::Unset;
        assert_eq!(found(environment(&nameless)).severity, Severity::Note);
        let mut unseen = application();
        unseen.environment.as_mut().unwrap().named = Named::NotSeen("a title".to_owned());
        assert_eq!(environment(&unseen), Outcome::not_known("a title"));
        assert_eq!(log_level(&unseen), Outcome::not_known("a title"));
        let mut hidden = application();
        hidden.environment = Err("another user's".to_owned());
        assert_eq!(
            environment(&hidden),
            Outcome::NotKnown("another user's".to_owned())
        );
    }

    fn config(place: &str, text: &str) -> ApplicationFacts {
        let mut facts = application();
        let (place, text) = (place.to_owned(), text.to_owned());
        facts.config_files = Ok(vec![ConfigFile { place, text }]);
        facts
    }

    #[test]
    fn the_level_is_the_variables_and_else_the_files() {
        assert!(
            found(log_level(&with("RAILS_LOG_LEVEL", "DEBUG")))
                .evidence
                .contains("DEBUG")
        );
        assert!(matches!(
            log_level(&with("RAILS_LOG_LEVEL", "warn")),
            Outcome::Fine(_)
        ));
        let file = config(
            "config/environments/production.rb",
            "Rails do\n  config.log_level = :debug\nend\n",
        );
        assert!(found(log_level(&file)).evidence.contains("production.rb:2"));
        let mut both = file.clone();
        let environment = both.environment.as_mut().unwrap();
        environment
            .variables
            .insert("RAILS_LOG_LEVEL".to_owned(), "warn".to_owned());
        assert!(found(log_level(&both)).evidence.contains("production.rb:2"));
        let default = "config.log_level = ENV.fetch('RAILS_LOG_LEVEL', 'info')\n";
        assert!(matches!(
            log_level(&config("config/environments/production.rb", default)),
            Outcome::Fine(_)
        ));
        let other = config(
            "config/environments/development.rb",
            "config.log_level = :debug\n",
        );
        assert!(matches!(log_level(&other), Outcome::Fine(_)));
    }

    #[test]
    fn profiling_is_found_by_its_line() {
        let file = config(
            "config/initializers/gc.rb",
            "# GC::Profiler.enable\nGC::Profiler.enable\n",
        );
        assert_eq!(
            found(profiling(&file)).evidence,
            "config/initializers/gc.rb:2: GC::Profiler.enable"
        );
        assert!(
            found(profiling(&config("config/a.rb", "GC.stress = true\n")))
                .evidence
                .contains("a.rb:1")
        );
        assert!(matches!(
            profiling(&config("config/a.rb", "GC::Profiler.raw_data\n")),
            Outcome::Fine(_)
        ));
    }

    #[test]
    fn what_is_loaded_besides_is_a_note() {
        let preload = found(injected_code(&with(
            "LD_PRELOAD",
            "/usr/lib/libjemalloc.so.2",
        )));
        assert_eq!(preload.severity, Severity::Note);
        assert_eq!(preload.evidence, "LD_PRELOAD=/usr/lib/libjemalloc.so.2");
        let mut facts = with("RUBYOPT", "-r/gems/bundler/setup -rpowerband/inject --yjit");
        let agent_alone = "neither RUBYOPT nor LD_PRELOAD adds any besides Powerband's agent";
        assert_eq!(injected_code(&facts), Outcome::fine(agent_alone));
        let environment = facts.environment.as_mut().unwrap();
        let preload = (
            "LD_PRELOAD".to_owned(),
            "/usr/lib/libjemalloc.so.2".to_owned(),
        );
        environment.variables.extend([preload]);
        let both = found(injected_code(&facts));
        assert_eq!(
            both.evidence,
            "LD_PRELOAD=/usr/lib/libjemalloc.so.2 besides Powerband's agent"
        );
        facts.of_powerband = true;
        assert!(
            matches!(injected_code(&facts), Outcome::Fine(said) if said.contains("run of Powerband"))
        );
        assert!(matches!(
            injected_code(&with("RUBYOPT", "--yjit")),
            Outcome::Fine(_)
        ));
        assert!(matches!(
            injected_code(&with("RUBYOPT", " ")),
            Outcome::Fine(_)
        ));
    }
}
