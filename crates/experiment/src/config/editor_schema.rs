//! A JSON Schema of `powerband.toml`, for editors that complete and check TOML. The rules for each value are in full
//! in `docs/configuration.md`, and checked where it is read.

use knobs::{CATALOGUE, Kind, Knob};
use serde_json::{Map, Value, json};

/// What an editor is to expect of a value; text will always do.
#[derive(Clone, Copy)]
enum Like {
    Text,
    Whole,
    Number,
    Switch,
    Numbers,
}

type Keys = &'static [(&'static str, Like, &'static str)];

const SECTIONS: [(&str, &str, Keys); 9] = [
    (
        "app",
        "The application.",
        &[
            ("dir", Like::Text, "Its folder, from this file's."),
            (
                "prepare",
                Like::Text,
                "Command, run once before the first trial; KEY=VALUE lines that it prints join the environment.",
            ),
            (
                "environment",
                Like::Text,
                "RAILS_ENV and RACK_ENV of the server.",
            ),
        ],
    ),
    (
        "server",
        "How it starts.",
        &[
            (
                "kind",
                Like::Text,
                "puma, unicorn, pitchfork, falcon or passenger (in Apache).",
            ),
            (
                "command",
                Like::Text,
                "Command instead of Puma's, with {port}, {threads}, {workers} and {config}.",
            ),
            (
                "config",
                Like::Text,
                "The server's own configuration file, from the application's folder.",
            ),
            (
                "front",
                Like::Text,
                "nginx or none: what stands in front and is measured with it.",
            ),
            ("tls", Like::Switch, "Whether nginx speaks TLS."),
            (
                "ready_path",
                Like::Text,
                "Path that is asked until the status is below 500.",
            ),
            ("boot_timeout", Like::Text, "Longest start, such as 90s."),
            ("port", Like::Whole, "Port instead of a free one."),
        ],
    ),
    (
        "objective",
        "Limits and rate.",
        &[
            (
                "slo",
                Like::Text,
                "Latency that must be kept, such as p99=250ms.",
            ),
            (
                "max_memory",
                Like::Text,
                "PSS of the whole process tree, such as 1GiB; none: no limit, also where a cgroup has one.",
            ),
            (
                "rate",
                Like::Number,
                "Arrival rate at which latency is measured, per second.",
            ),
            (
                "least",
                Like::Text,
                "What tune makes as little as it can within the limits, instead of the most throughput: latency, memory or \
                 processes.",
            ),
            (
                "total_rate",
                Like::Number,
                "What all servers together are to serve, requests per second: tune says how many that takes.",
            ),
            (
                "server_cost",
                Like::Number,
                "What one server costs, in any unit and period.",
            ),
        ],
    ),
    (
        "tune",
        "Time and choice.",
        &[
            ("budget", Like::Text, "Time for the whole run, such as 20m."),
            (
                "blocks",
                Like::Whole,
                "Blocks of the deciding comparison, 6 to 24.",
            ),
            (
                "calibrate",
                Like::Whole,
                "Blocks in which the baseline is compared with itself first, 6 to 24.",
            ),
            (
                "max_arms",
                Like::Whole,
                "Configurations in the elimination rounds, 2 to 8.",
            ),
            (
                "earlier_runs",
                Like::Switch,
                "Whether earlier runs of the same application set the plan.",
            ),
            (
                "margin",
                Like::Text,
                "A difference that does not matter, such as 3%.",
            ),
            ("seed", Like::Whole, "Of every random choice."),
            ("threads", Like::Numbers, "Thread counts that may be tried."),
            ("workers", Like::Numbers, "Worker counts that may be tried."),
            (
                "window",
                Like::Text,
                "Length of each of a trial's two windows, such as 5s.",
            ),
            (
                "age",
                Like::Text,
                "Requests that each trial answers before its memory is compared, such as 50k-requests.",
            ),
            (
                "timeout",
                Like::Text,
                "Longest wait for an answer, such as 10s.",
            ),
            (
                "knobs",
                Like::Numbers,
                "Knobs that tune searches too, each such as malloc_arena_max=2, or usual.",
            ),
            ("connections", Like::Whole, "Clients of the closed loop."),
            (
                "generator_core",
                Like::Switch,
                "Whether the load generator has a core of its own.",
            ),
            (
                "keep_alive",
                Like::Switch,
                "Whether connections are kept; otherwise each request has one of its own.",
            ),
            ("runs_dir", Like::Text, "Where run folders are made."),
        ],
    ),
    (
        "check",
        "What check compares and asserts.",
        &[
            (
                "against",
                Like::Text,
                "Revision to compare with, such as main.",
            ),
            (
                "revision",
                Like::Text,
                "Revision to check; otherwise HEAD, with nothing changed that is not committed.",
            ),
            (
                "assert",
                Like::Numbers,
                "Limits on the change, each such as throughput >= -3%, p95 <= +5% or memory <= +10%.",
            ),
        ],
    ),
    (
        "files",
        "What tune's answer is written down for, as diffs, in addition to the application's own files.",
        &[
            (
                "systemd_unit",
                Like::Text,
                "Unit that starts the server, such as shop.service: its drop-in.",
            ),
            (
                "nginx",
                Like::Text,
                "nginx.conf, or a file that its http includes.",
            ),
            ("apache", Like::Text, "Apache's configuration of Passenger."),
            (
                "deployment",
                Like::Text,
                "Manifest with the Deployment of the server: limits, variables and command of its container.",
            ),
            (
                "configmap",
                Like::Text,
                "Manifest with the ConfigMap of its variables.",
            ),
            ("kamal", Like::Text, "Kamal's config/deploy.yml."),
            ("procfile", Like::Text, "Procfile."),
        ],
    ),
    (
        "safety",
        "What is allowed.",
        &[
            (
                "allow_unsafe",
                Like::Switch,
                "Methods other than GET and HEAD.",
            ),
            (
                "allow_remote",
                Like::Numbers,
                "Databases, caches and upstreams on other machines, each such as db.staging:5432.",
            ),
        ],
    ),
    (
        "hooks",
        "Before and after each trial.",
        &[
            (
                "before_trial",
                Like::Text,
                "Command before the server starts.",
            ),
            ("after_trial", Like::Text, "Command after it has ended."),
        ],
    ),
    (
        "workload",
        "The requests.",
        &[
            ("path", Like::Text, "One path to GET."),
            (
                "file",
                Like::Text,
                "File of weighted requests, or of recorded traffic.",
            ),
            (
                "replay_host",
                Like::Switch,
                "Whether requests of recorded traffic have the Host that they were recorded with.",
            ),
            (
                "headers",
                Like::Numbers,
                "Headers of every request, each such as Accept-Language: en.",
            ),
            (
                "command",
                Like::Text,
                "Command that compare runs in each configuration's environment, instead of a server that is asked.",
            ),
            (
                "command_timeout",
                Like::Text,
                "Longest that one run of it may take, such as 30m.",
            ),
        ],
    ),
];

const SERVICE: Keys = &[
    ("name", Like::Text, "Its name in messages."),
    (
        "command",
        Like::Text,
        "Its command; {port}, {dir} and {template} are filled.",
    ),
    (
        "port_env",
        Like::Text,
        "Variable that gives service and application its port.",
    ),
    (
        "template",
        Like::Text,
        "File whose placeholders are filled for each trial.",
    ),
    (
        "ready_path",
        Like::Text,
        "Path that must answer with a status below 500.",
    ),
];

/// The schema.
pub fn editor_schema() -> Value {
    let mut sections = Map::new();
    for (name, about, keys) in SECTIONS {
        sections.insert(name.to_owned(), section(about, properties(keys)));
    }
    // Requests and sessions have a page and a reader of their own.
    let lists = json!({"type": "array", "items": {"type": "object"}});
    let environment = json!({
        "type": "object",
        "description": "Variables of the server, the hooks and the services.",
        "additionalProperties": like(Like::Text),
    });
    for (name, key, schema) in [
        ("app", "env", &environment),
        ("workload", "request", &lists),
        ("workload", "session", &lists),
    ] {
        sections[name]["properties"][key] = schema.clone();
    }
    let mut service = section("A process that the application needs.", properties(SERVICE));
    service["required"] = json!(["name", "command"]);
    sections.insert(
        "service".to_owned(),
        json!({"type": "array", "items": service}),
    );
    sections.insert(
        "baseline".to_owned(),
        section("What is compared with.", of_knobs()),
    );
    let mut arm = section(
        "A configuration to compare: its name and its knobs.",
        of_knobs(),
    );
    arm["properties"]["name"] = json!({
        "type": "string",
        "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$",
        "description": "What tables call it.",
    });
    arm["required"] = json!(["name"]);
    sections.insert("arm".to_owned(), json!({"type": "array", "items": arm}));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "powerband.toml",
        "description": "What Powerband measures, and how. docs/configuration.md says what each value may be.",
        "type": "object",
        "additionalProperties": false,
        "properties": sections,
    })
}

fn section(about: &str, properties: Map<String, Value>) -> Value {
    json!({
        "type": "object",
        "description": about,
        "additionalProperties": false,
        "properties": properties,
    })
}

fn properties(keys: Keys) -> Map<String, Value> {
    keys.iter()
        .map(|(key, kind, about)| {
            let mut schema = like(*kind);
            schema["description"] = json!(about);
            ((*key).to_owned(), schema)
        })
        .collect()
}

fn like(kind: Like) -> Value {
    match kind {
        // Numbers and booleans may be written as they are.
        Like::Text => json!({"type": ["string", "number", "boolean"]}),
        Like::Whole => json!({"type": ["integer", "string"]}),
        Like::Number => json!({"type": ["number", "string"]}),
        Like::Switch => json!({"type": ["boolean", "string"]}),
        Like::Numbers => json!({"type": ["array", "integer", "string"]}),
    }
}

/// Threads, workers, preloading and the catalogue, where a dot in a name opens a section.
fn of_knobs() -> Map<String, Value> {
    let mut properties = properties(&[
        ("threads", Like::Whole, "1 to 256 a process."),
        ("workers", Like::Whole, "0 to 256; 0 is Puma's single mode."),
        (
            "preload",
            Like::Switch,
            "Whether the application is loaded before workers are forked.",
        ),
    ]);
    for knob in CATALOGUE.iter() {
        let place = match knob.name.split_once('.') {
            None => &mut properties,
            Some((prefix, _)) => properties
                .entry(prefix)
                .or_insert_with(|| section("", Map::new()))["properties"]
                .as_object_mut()
                .expect("a section has properties"),
        };
        let key = knob.name.rsplit('.').next().unwrap_or(knob.name);
        place.insert(key.to_owned(), of_knob(knob));
    }
    for (key, about, value) in [
        (
            "env",
            "Any other variable of the server's environment.",
            like(Like::Text),
        ),
        (
            "value",
            "What stands for {NAME} in commands and templates.",
            like(Like::Text),
        ),
        (
            "gem",
            "Versions of gems that are installed.",
            like(Like::Whole),
        ),
    ] {
        let schema = json!({
            "type": "object",
            "description": about,
            "additionalProperties": value,
        });
        properties.insert(key.to_owned(), schema);
    }
    // A version, or a section of Puma's directives.
    let directives = properties.remove("puma");
    let version = json!({"type": "string", "description": "The version of Puma, of those that are installed."});
    properties.insert("puma".to_owned(), json!({"anyOf": [directives, version]}));
    properties
}

fn of_knob(knob: &Knob) -> Value {
    let mut schema = match knob.kind {
        Kind::Whole { .. } => like(Like::Whole),
        Kind::Counts { .. } => json!({"type": ["array", "integer", "string", "boolean"]}),
        Kind::Number { .. } => like(Like::Number),
        Kind::Switch => like(Like::Switch),
        Kind::OneOf(words) => json!({"enum": words}),
        Kind::Size { .. } | Kind::Milliseconds { .. } | Kind::Text => like(Like::Text),
    };
    if knobs::is_version(knob.name) {
        schema = json!({"type": "string"});
    }
    schema["description"] = json!(format!("{} Takes {}.", knob.about, knob.takes()));
    schema["examples"] = json!([knob.example]);
    schema
}
