//! The examples at the end of the help of each verb, for those that have none next to their
//! flags.

use clap::Command;

/// What a user wants, and the command for it.
type Example = (&'static str, &'static str);

const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "tune",
        &[
            (
                "A first verdict in about three minutes",
                "powerband tune --quick",
            ),
            (
                "The settings that serve the most while 99 % of the requests end within 250 ms",
                "powerband tune --path /products --slo p99=250ms --budget 20m",
            ),
            (
                "The allocator, the garbage collector and more, searched together",
                "powerband tune --workload workload.toml --knobs usual --budget 40m",
            ),
            (
                "The least memory that serves 80 requests a second",
                "powerband tune --least memory --rate 80/s --slo p99=250ms",
            ),
            (
                "The number of Sidekiq's threads with which a script does a queue of jobs in the least time",
                "powerband tune --workload-command 'ruby drain.rb {concurrency}' --knobs value.concurrency=5,10,25",
            ),
        ],
    ),
    (
        "compare",
        &[
            (
                "Today's settings against two others",
                "powerband compare threads=3 threads=5 threads=5,workers=2",
            ),
            (
                "Another allocator",
                "powerband compare threads=5 threads=5,allocator=jemalloc",
            ),
            (
                "What a mirror logged of its shadows",
                "powerband compare --shadow-log monday.log.pbc",
            ),
        ],
    ),
    (
        "check",
        &[
            (
                "This commit against the main branch",
                "powerband check --against main --path /products",
            ),
            (
                "Limits of several figures, for continuous integration",
                "powerband check --against v1.4 --assert 'throughput >= -3%' --assert 'memory <= +10%' --junit check.xml",
            ),
        ],
    ),
    (
        "sweep",
        &[
            (
                "One to five threads with two workers",
                "powerband sweep threads=1,2,3,4,5 --baseline workers=2",
            ),
            (
                "A variable of the garbage collector",
                "powerband sweep gc.malloc_limit=16MiB,32MiB,64MiB",
            ),
        ],
    ),
    (
        "capacity",
        &[
            (
                "The highest rate of this application",
                "powerband capacity --path /products --slo p99=250ms",
            ),
            (
                "Whether a server that runs serves 90 requests a second",
                "powerband capacity http://127.0.0.1:3000/ --slo p99=250ms --at-least 90/s",
            ),
        ],
    ),
    (
        "run",
        &[
            (
                "A server with the agent inside",
                "powerband run -- bundle exec puma -C config/puma.rb",
            ),
            ("What it does meanwhile", "powerband inspect"),
            (
                "Puma with the settings that an experiment in production draws for this pod",
                "powerband run --experiment powerband-experiment.toml -- bundle exec puma",
            ),
        ],
    ),
    (
        "load",
        &[
            (
                "One client, ten seconds",
                "powerband load http://127.0.0.1:3000/",
            ),
            (
                "As ab: 1000 requests by 10 clients",
                "powerband load http://127.0.0.1:3000/ -n 1000 -c 10",
            ),
            (
                "100 a second, as independent users send them",
                "powerband load http://127.0.0.1:3000/ --rate 100",
            ),
            (
                "From 10 up to 200 a second",
                "powerband load http://127.0.0.1:3000/ --rate 10..200 --duration 2m",
            ),
            (
                "The pages of a workload file",
                "powerband load http://127.0.0.1:3000 --rate 40 --duration 1m --workload workload.toml",
            ),
            (
                "Limits, for continuous integration",
                "powerband load http://127.0.0.1:3000/ --rate 40 --assert p99=250ms,errors=0.1%",
            ),
            (
                "Recorded traffic, twice as fast",
                "powerband load http://127.0.0.1:3000 --replay access.log --speed 2x",
            ),
            (
                "The runs of several machines as one",
                "powerband load merge machine-*.json --assert p99=250ms",
            ),
        ],
    ),
    (
        "export",
        &[
            (
                "For Prometheus on this host, every process of this user",
                "powerband export --listen 127.0.0.1:9401",
            ),
            (
                "A sidecar that Prometheus scrapes by the pod's address",
                "powerband export --listen 0.0.0.0:9401",
            ),
            (
                "To a collector of OpenTelemetry, every 15 seconds",
                "powerband export --otlp http://127.0.0.1:4318 --service shop",
            ),
        ],
    ),
    (
        "verdict",
        &[
            (
                "Which arm is better, from what Prometheus has of the fleet",
                "powerband verdict powerband-experiment.toml --prometheus https://prometheus.internal:9090",
            ),
            (
                "Halt each arm whose guardrail is broken",
                "powerband verdict powerband-experiment.toml --prometheus http://127.0.0.1:9090 --halt",
            ),
            (
                "Before and after a change, without an experiment",
                "powerband verdict --before 2026-11-09/2026-11-16 --after 2026-11-16/2026-11-23 --prometheus http://127.0.0.1:9090",
            ),
        ],
    ),
    (
        "drift",
        &[
            (
                "Whether what the newest run assumed holds for the fleet today",
                "powerband drift --prometheus https://prometheus.internal:9090 --match 'job=\"shop\"'",
            ),
            (
                "The same as alerting rules",
                "powerband drift --rules --match 'job=\"shop\"' >powerband-drift.rules.yml",
            ),
        ],
    ),
    (
        "inspect",
        &[
            ("Servers of this user", "powerband inspect"),
            (
                "The flight files of one of them, with all figures",
                "powerband inspect /tmp/powerband-flight --full",
            ),
            ("The last ten minutes", "powerband inspect --last 10m"),
        ],
    ),
    (
        "watch",
        &[
            ("Why servers are slow now; q ends it", "powerband watch"),
            ("The same in a browser", "powerband watch --serve"),
            (
                "The next ten seconds as text",
                "powerband watch --once --for 10s",
            ),
            (
                "One endpoint, its processes and its slowest requests, as text",
                "powerband watch --endpoint orders#index --once",
            ),
        ],
    ),
    (
        "memory",
        &[
            (
                "Servers with the agent, for an hour",
                "powerband memory --for 1h",
            ),
            (
                "A process and all below it, as a document and as CSV",
                "powerband memory --pid 4711 --json --csv memory.csv",
            ),
            (
                "A command, from its start until Ctrl-C",
                "powerband memory -- bundle exec puma -w 2",
            ),
            (
                "Before and after a change",
                "powerband memory --compare before.json after.json",
            ),
        ],
    ),
    (
        "leak",
        &[
            ("The requests of powerband.toml", "powerband leak"),
            (
                "One page, with more requests",
                "powerband leak --path /products --requests 20000",
            ),
        ],
    ),
    (
        "predict",
        &[
            (
                "Other numbers of processes and threads at today's rate",
                "powerband predict FLIGHT_DIR --objective p99=250ms",
            ),
            (
                "A database that takes twice as long",
                "powerband predict FLIGHT_DIR --what-if io=2x",
            ),
        ],
    ),
    (
        "trace",
        &[(
            "Five seconds of every thread, for ui.perfetto.dev",
            "powerband trace --gvl --for 5s",
        )],
    ),
    (
        "advise",
        &[
            (
                "What a server that runs with the agent suggests",
                "powerband advise",
            ),
            (
                "A folder of flight files",
                "powerband advise /tmp/powerband/1000",
            ),
        ],
    ),
    (
        "doctor",
        &[
            (
                "This host and the application in this folder",
                "powerband doctor",
            ),
            ("A server that runs", "powerband doctor --pid 4711"),
        ],
    ),
    (
        "report",
        &[
            ("The newest run again", "powerband report"),
            (
                "With charts, as one file for a browser",
                "powerband report --html=report.html",
            ),
        ],
    ),
    (
        "runs",
        &[
            ("All runs and what they occupy", "powerband runs"),
            (
                "Delete all but the newest five",
                "powerband runs --prune --keep 5 --yes",
            ),
        ],
    ),
];

/// The command line with these examples.
pub fn added(mut command: Command) -> Command {
    for (verb, examples) in EXAMPLES {
        command = command.mut_subcommand(verb, |verb| {
            let mut text = String::from("Examples:");
            for (what, example) in *examples {
                text += &format!("\n  # {what}\n  {example}");
            }
            if let Some(rest) = verb.get_after_help() {
                text += &format!("\n\n{rest}");
            }
            verb.after_help(text)
        });
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::{CommandFactory, Parser};

    fn help(verb: &Command) -> String {
        verb.get_after_help()
            .map_or_else(String::new, ToString::to_string)
    }

    /// A verb with verbs below it may have the examples there.
    fn in_all(verb: &Command) -> String {
        verb.get_subcommands().map(in_all).collect::<String>() + &help(verb)
    }

    #[test]
    fn every_verb_has_examples() {
        let without_flags = ["completions", "man", "help"];
        for verb in added(Cli::command()).get_subcommands() {
            let name = verb.get_name();
            let there = in_all(verb).contains("  powerband ");
            assert!(
                there || without_flags.contains(&name),
                "{name} has no example"
            );
        }
    }

    #[test]
    fn every_example_is_a_command() {
        let mut seen = 0;
        for verb in added(Cli::command()).get_subcommands() {
            // A backslash goes on in the next line.
            let text = in_all(verb);
            let pieces: Vec<&str> = text.split("\\\n").map(str::trim_start).collect();
            let text = pieces.concat();
            for line in text.lines().filter(|line| line.starts_with("  powerband ")) {
                // A remark stands behind two spaces.
                let example = line.trim().split("  ").next().unwrap_or_default();
                let words = servers::split_words(example).unwrap();
                if let Err(wrong) = Cli::try_parse_from(&words) {
                    panic!("{example}: {wrong}");
                }
                seen += 1;
            }
        }
        assert!(seen > 30, "{seen}");
    }

    /// The commands in the blocks of a page, each in one line.
    fn commands(page: &str) -> Vec<String> {
        let mut found = Vec::new();
        let mut in_block = false;
        let joined = page
            .split("\\\n")
            .map(str::trim_start)
            .collect::<Vec<_>>()
            .concat();
        for line in joined.lines() {
            if line.trim_start().starts_with("```") {
                in_block = !in_block;
                continue;
            }
            // A remark, another command or a file stands behind.
            let line = line.trim_start().trim_start_matches("$ ");
            let is_quoted = |at: &usize| line[..*at].matches('\'').count() % 2 == 1;
            let end = [" #", " |", " >", " &", " 2>", ";"]
                .iter()
                .filter_map(|mark| {
                    let mut found = line.match_indices(mark).map(|(at, _)| at);
                    found.find(|at| !is_quoted(at))
                })
                .min();
            let command = line[..end.unwrap_or(line.len())].trim();
            if in_block && command.starts_with("powerband ") {
                found.push(command.to_owned());
            }
        }
        found
    }

    #[test]
    fn every_command_of_the_docs_is_one() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let pages = std::fs::read_dir(format!("{root}/docs"))
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let pages = pages.filter(|path| path.extension().is_some_and(|e| e == "md"));
        let mut wrong = Vec::new();
        let mut seen = 0;
        for path in pages.chain([format!("{root}/README.md").into()]) {
            for command in commands(&std::fs::read_to_string(&path).unwrap()) {
                seen += 1;
                let words = servers::split_words(&command).unwrap();
                if let Err(why) = Cli::try_parse_from(&words) {
                    wrong.push(format!("{}: {command}: {why}", path.display()));
                }
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(seen > 50, "{seen}");
    }
}
