//! The command that tests the suggestions.

use adviser::Seen;
use run::advise::Suggestion;

/// `powerband compare TODAY TODAY,SUGGESTION …`; `None` without suggestions, and where today's settings are not known.
pub(super) fn command(seen: &Seen, suggestions: &[Suggestion]) -> Option<String> {
    let today = today(seen)?;
    if suggestions.is_empty() {
        return None;
    }
    let mut words = vec!["powerband".to_owned(), "compare".to_owned()];
    for (name, value) in collector_variables(seen) {
        words.extend(["--env".to_owned(), format!("{name}={value}")]);
    }
    words.push(today.clone());
    let with = |suggestion: &Suggestion| {
        let settings = suggestion.settings.iter();
        // What a suggestion sets anew is not said twice.
        let mut all: Vec<String> = today
            .split(',')
            .filter(|one| {
                !suggestion
                    .settings
                    .contains_key(one.split('=').next().unwrap_or_default())
            })
            .map(str::to_owned)
            .collect();
        all.extend(settings.map(|(knob, value)| format!("{knob}={value}")));
        all.join(",")
    };
    words.extend(suggestions.iter().map(with));
    let quoted = words.iter().map(|word| shell_word(word));
    Some(quoted.collect::<Vec<_>>().join(" "))
}

/// `threads=5,workers=2,preload=true`.
fn today(seen: &Seen) -> Option<String> {
    let server = &seen.server;
    let workers = server.workers?;
    let mut today = Vec::new();
    if server.name == "Puma" {
        today.push(format!("threads={}", server.max_threads?));
    }
    today.push(format!("workers={workers}"));
    if workers > 0
        && let Some(preload) = server.preload
    {
        today.push(format!("preload={preload}"));
    }
    Some(today.join(","))
}

/// Variables of the collector that the server has, and that a trial would not have.
fn collector_variables(seen: &Seen) -> Vec<(&str, &str)> {
    let environment = seen.environment.iter().flatten();
    environment
        .filter(|(name, _)| knobs::sets_collector(name) || *name == "MALLOC_ARENA_MAX")
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
}

fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "=,._/:-".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn seen(name: &str, workers: Option<u32>, preload: Option<bool>) -> Seen {
        Seen {
            ruby: None,
            server: flight::Server {
                name: name.to_owned(),
                workers,
                min_threads: Some(3),
                max_threads: Some(5),
                preload,
                worker_index: None,
            },
            allocator: String::new(),
            processes: Vec::new(),
            watched_s: 0.0,
            stopped: None,
            environment: None,
            warmed_up: None,
        }
    }

    fn suggested(settings: &[(&str, &str)]) -> Suggestion {
        let settings = settings
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()));
        Suggestion {
            check: "a".to_owned(),
            settings: settings.collect(),
            variables: BTreeMap::new(),
            evidence: String::new(),
            effect: String::new(),
            cost: String::new(),
        }
    }

    #[test]
    fn each_suggestion_is_an_arm_against_todays_settings() {
        let arms = [
            suggested(&[
                ("gc.malloc_limit", "32MiB"),
                ("gc.malloc_limit_max", "64MiB"),
            ]),
            suggested(&[("preload", "true")]),
        ];
        let mut seen = seen("Puma", Some(2), Some(false));
        assert_eq!(
            command(&seen, &arms).unwrap(),
            "powerband compare threads=5,workers=2,preload=false \
             threads=5,workers=2,preload=false,gc.malloc_limit=32MiB,gc.malloc_limit_max=64MiB threads=5,workers=2,preload=true"
        );
        let of = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        seen.environment = Some(BTreeMap::from([
            of("RUBY_GC_MALLOC_LIMIT", "1 0"),
            of("SECRET_KEY_BASE", "x"),
        ]));
        let said = command(&seen, &arms[1..]).unwrap();
        assert!(
            said.starts_with("powerband compare --env 'RUBY_GC_MALLOC_LIMIT=1 0' threads=5,"),
            "{said}"
        );
        assert!(!said.contains("SECRET"), "{said}");
        assert_eq!(command(&seen, &[]), None);
    }

    #[test]
    fn a_server_without_threads_has_workers_alone_and_an_unknown_one_no_command() {
        let arms = [suggested(&[("malloc_arena_max", "2")])];
        assert_eq!(
            command(&seen("Unicorn", Some(4), None), &arms).unwrap(),
            "powerband compare workers=4 workers=4,malloc_arena_max=2"
        );
        assert_eq!(command(&seen("Puma", None, None), &arms), None);
        assert!(
            command(&seen("Puma", Some(0), Some(true)), &arms)
                .unwrap()
                .contains(" threads=5,workers=0 ")
        );
    }
}
