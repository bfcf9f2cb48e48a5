//! The command that tests the suggestions.

use adviser::Seen;
use run::advise::Suggestion;

/// They change memory or the time of collections as well.
const OTHERS: [&str; 3] = ["MALLOC_ARENA_MAX", "MALLOC_CONF", "RUBY_YJIT_ENABLE"];

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
        report::with_settings(&today, &report::typed(&suggestion.settings))
    };
    words.extend(suggestions.iter().map(with));
    let quoted = words.iter().map(|word| report::shell_word(word));
    Some(quoted.collect::<Vec<_>>().join(" "))
}

/// `threads=5,workers=2,preload=true`; `None` for servers that `compare` starts only with a configuration.
pub(super) fn today(seen: &Seen) -> Option<String> {
    let server = &seen.server;
    if server.name.split(' ').next() != Some("puma") {
        return None;
    }
    let workers = server.workers?;
    let mut today = vec![
        format!("threads={}", server.max_threads?),
        format!("workers={workers}"),
    ];
    if workers > 0
        && let Some(preload) = server.preload
    {
        today.push(format!("preload={preload}"));
    }
    let mut allocators = knobs::Allocator::ALL.iter().skip(1);
    if let Some(other) = allocators.find(|one| one.name() == seen.allocator) {
        today.push(format!("allocator={}", other.name()));
    }
    if let Some(setup) = seen.setup {
        today.extend(setup.warmup.then(|| "warmup=on".to_owned()));
        today.extend(setup.compact.then(|| "compact=on".to_owned()));
        today.extend(setup.out_of_band());
    }
    Some(today.join(","))
}

/// Variables of memory that the server has, and that a trial would not have.
pub(super) fn collector_variables(seen: &Seen) -> Vec<(&str, &str)> {
    let environment = seen.environment.iter().flatten();
    environment
        .filter(|(name, _)| knobs::sets_collector(name) || OTHERS.contains(&name.as_str()))
        .map(|(name, value)| (name.as_str(), value.as_str()))
        .collect()
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
            installed: Vec::new(),
            jit: String::new(),
            processes: Vec::new(),
            watched_s: 0.0,
            collected_share: None,
            stopped: None,
            environment: None,
            setup: None,
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
        let mut seen = seen("puma 6.6.0", Some(2), Some(false));
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
    fn what_the_server_has_is_in_every_arm_and_other_servers_have_no_command() {
        let arms = [suggested(&[("malloc_arena_max", "2")])];
        let mut own = seen("puma 6.6.0", Some(0), Some(true));
        own.allocator = "jemalloc".to_owned();
        own.setup = Some(adviser::Setup {
            warmup: true,
            compact: false,
            oob_gc: 9,
            minor_only: false,
        });
        assert_eq!(
            command(&own, &arms).unwrap(),
            "powerband compare threads=5,workers=0,allocator=jemalloc,warmup=on,oob_gc=9 \
             threads=5,workers=0,allocator=jemalloc,warmup=on,oob_gc=9,malloc_arena_max=2"
        );
        assert_eq!(command(&seen("unicorn 6.1.0", Some(4), None), &arms), None);
        assert_eq!(command(&seen("puma 6.6.0", None, None), &arms), None);
    }
}
