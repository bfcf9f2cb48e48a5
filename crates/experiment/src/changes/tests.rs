use super::*;
use knobs::{CATALOGUE, Kind, Knob, Place};
use run::Settings;

/// Every value of a knob that is worth a look: its example, each word that it takes, and what is by default.
fn values(knob: &Knob) -> Vec<&'static str> {
    let mut values = match knob.kind {
        Kind::OneOf(words) => words.to_vec(),
        Kind::Switch => vec!["on", "off"],
        _ => vec![knob.example],
    };
    if Overlay::of(&[(knob.name, "default")]).is_ok() {
        values.push("default");
    }
    values
}

/// Whether a trial with this value runs what one without it does.
fn as_today(knob: &Knob, value: &str) -> bool {
    let variable = knob.place == Place::Environment
        && !knob.variable.starts_with(SETUP)
        && !["pool", "ruby"].contains(&knob.name);
    (value == "default" && !variable) || (value == "off" && knob.variable.starts_with(SETUP))
}

fn all_settings(kind: ServerKind) -> Vec<Settings> {
    let settings = |workers, threads, preload| Settings {
        workers,
        threads,
        preload,
    };
    match kind {
        ServerKind::Puma => vec![
            settings(0, 7, false),
            settings(2, 7, false),
            settings(2, 7, true),
        ],
        ServerKind::Unicorn | ServerKind::Passenger => {
            vec![settings(3, 1, false), settings(3, 1, true)]
        }
        ServerKind::Pitchfork => vec![settings(3, 1, true)],
        ServerKind::Falcon => vec![settings(3, 1, false)],
    }
}

fn file(path: &str, text: &str) -> Option<File> {
    Some(File {
        path: path.to_owned(),
        text: text.to_owned(),
    })
}

/// An application with nothing but what its server needs, and one with every file that is known.
fn applications() -> [Files; 2] {
    let bare = Files {
        puma: file("config/puma.rb", ""),
        prefork: file("config/unicorn.rb", ""),
        apache: file("passenger.conf", ""),
        environment: file(".env", ""),
        ..Files::default()
    };
    let whole = Files {
        dockerfile: file("Dockerfile", "FROM ruby:3.3\nCMD [\"puma\"]\n"),
        systemd: file("powerband.conf", ""),
        database_yml: file(
            "config/database.yml",
            "production:\n  adapter: sqlite3\n  pool: 1\n",
        ),
        nginx: file(
            "nginx.conf",
            "events {}\nhttp {\n  upstream a {\n    server b;\n  }\n}\n",
        ),
        deployment: file(
            "deployment.yml",
            "kind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n        - name: shop\n",
        ),
        ..bare.clone()
    };
    [bare, whole]
}

/// The variables as a bench has them: an allocator's library and a Ruby's folder depend on the machine.
fn variables(overlay: &Overlay) -> BTreeMap<String, String> {
    let mut variables = overlay.variables();
    if overlay.allocator().is_some() {
        variables.insert(PRELOAD.to_owned(), "/lib/of/this/machine.so".to_owned());
    }
    if overlay.pool().is_some() {
        variables.insert(
            DATABASE.to_owned(),
            "sqlite3:/of/the/trials?pool=7".to_owned(),
        );
    }
    variables
}

/// What is added to files, and what is to be set by hand, of this configuration.
fn told(
    kind: ServerKind,
    settings: Settings,
    overlay: &Overlay,
    files: &Files,
) -> (Vec<String>, Vec<String>) {
    let arm = Arm::with(settings, overlay.clone());
    let (changes, by_hand) = set_down(kind, &arm, &variables(overlay), files);
    let added = changes.iter().flat_map(|change| change.diff.lines());
    let added = added.filter(|line| line.starts_with('+') && !line.starts_with("+++"));
    (added.map(str::to_owned).collect(), by_hand)
}

/// Whether it is in a file, or by hand with its reason.
fn is_there(knob: &Knob, value: &str, (added, by_hand): &(Vec<String>, Vec<String>)) -> bool {
    let directive = match knob.name {
        "warmup" => "before_fork { Process.warmup }",
        "compact" => "before_fork { GC.compact }",
        "pool" => "pool: ",
        "pod.cpus" => "cpu: ",
        "pod.memory" => "memory: ",
        _ => knob.variable,
    };
    let by_hand_as = format!("set by hand: {}={value}: ", knob.name);
    added.iter().any(|line| line.contains(directive))
        || by_hand
            .iter()
            .any(|line| line.starts_with(&by_hand_as) && line.len() > by_hand_as.len() + 20)
}

#[test]
fn whatever_a_configuration_sets_is_in_a_diff_or_by_hand() {
    let mut seen = 0;
    for kind in [
        ServerKind::Puma,
        ServerKind::Unicorn,
        ServerKind::Pitchfork,
        ServerKind::Falcon,
        ServerKind::Passenger,
    ] {
        let elsewhere = |knob: &Knob| match knob.place {
            Place::Configuration(Program::Puma) => kind != ServerKind::Puma,
            Place::Configuration(Program::Pitchfork) => kind != ServerKind::Pitchfork,
            Place::Configuration(Program::Passenger) => kind != ServerKind::Passenger,
            _ => false,
        };
        for settings in all_settings(kind) {
            for files in applications() {
                for knob in CATALOGUE.iter().filter(|knob| !elsewhere(knob)) {
                    for value in values(knob) {
                        let overlay = Overlay::of(&[(knob.name, value)]).unwrap();
                        let told = told(kind, settings, &overlay, &files);
                        assert!(
                            as_today(knob, value) || is_there(knob, value, &told),
                            "{kind:?} {settings} {}={value}: {told:?}",
                            knob.name
                        );
                        seen += 1;
                    }
                }
            }
        }
    }
    assert!(seen > 700, "{seen}");
}

#[test]
fn variables_and_placeholders_without_a_knob_are_there_and_secrets_are_not() {
    let overlay = Overlay::of(&[
        ("env.MY_CACHE", "on"),
        ("env.API_KEY", "hunter2"),
        ("value.shared_buffers", "64MB"),
    ])
    .unwrap();
    for files in applications() {
        let settings = all_settings(ServerKind::Puma)[2];
        let (added, by_hand) = told(ServerKind::Puma, settings, &overlay, &files);
        assert!(added.contains(&"+MY_CACHE=on".to_owned()), "{added:?}");
        let all = by_hand.join("\n");
        assert!(
            all.contains("set by hand: value.shared_buffers=64MB: ")
                && all.contains("API_KEY is a secret"),
            "{all}"
        );
        assert!(!format!("{added:?}{all}").contains("hunter2"), "{all}");
    }
}

#[test]
fn processes_threads_and_preloading_are_in_the_server_s_own_file() {
    let wanted = [
        (
            ServerKind::Puma,
            [
                "threads 7, 7",
                "workers ENV.fetch(\"WEB_CONCURRENCY\", 2)",
                "preload_app!",
            ],
        ),
        (
            ServerKind::Unicorn,
            ["worker_processes 3", "preload_app true", ""],
        ),
        (ServerKind::Pitchfork, ["worker_processes 3", "", ""]),
        (
            ServerKind::Passenger,
            ["PassengerMaxPoolSize 3", "PassengerSpawnMethod smart", ""],
        ),
    ];
    for (kind, lines) in wanted {
        for files in applications() {
            let settings = *all_settings(kind).last().unwrap();
            let (added, _) = told(kind, settings, &Overlay::default(), &files);
            for line in lines {
                assert!(added.iter().any(|a| a.contains(line)), "{line}: {added:?}");
            }
        }
    }
}

#[test]
fn the_number_of_falcons_processes_is_set_by_hand() {
    let settings = all_settings(ServerKind::Falcon)[0];
    for files in applications() {
        let (added, by_hand) = told(ServerKind::Falcon, settings, &Overlay::default(), &files);
        assert!(
            by_hand[0].contains("`falcon serve --count 3`"),
            "{by_hand:?}"
        );
        assert!(!added.concat().contains("WEB_CONCURRENCY"), "{added:?}");
    }
}

/// With `fork_worker` the agent makes the call in the first worker, and not where `before_fork` is.
#[test]
fn a_call_is_written_only_where_it_was_measured() {
    let overlay = Overlay::of(&[("puma.fork_worker", "1000"), ("warmup", "on")]).unwrap();
    let settings = all_settings(ServerKind::Puma)[2];
    let [bare, _] = applications();
    let (added, by_hand) = told(ServerKind::Puma, settings, &overlay, &bare);
    assert!(!format!("{added:?}").contains("warmup"), "{added:?}");
    assert!(
        by_hand
            .iter()
            .any(|line| line.starts_with("set by hand: warmup=on: ")),
        "{by_hand:?}"
    );
}

/// The trials' database is no setting of the application's.
#[test]
fn a_pool_does_not_write_down_the_database_of_the_trials() {
    let overlay = Overlay::of(&[("pool", "7")]).unwrap();
    let [bare, whole] = applications();
    let settings = all_settings(ServerKind::Puma)[0];
    let (added, by_hand) = told(ServerKind::Puma, settings, &overlay, &bare);
    assert!(!format!("{added:?}").contains(DATABASE), "{added:?}");
    assert!(
        by_hand.iter().any(|line| line.contains("pool=7")),
        "{by_hand:?}"
    );
    let (added, by_hand) = told(ServerKind::Puma, settings, &overlay, &whole);
    assert!(
        added.iter().any(|line| line.contains("pool: 7")),
        "{added:?}"
    );
    assert!(
        !by_hand.iter().any(|line| line.starts_with("set by hand")),
        "{by_hand:?}"
    );
}

#[test]
fn an_environment_file_is_written_where_something_loads_it() {
    let app = tempfile::tempdir().unwrap();
    let is_written = || environment(app.path()).is_some();
    assert!(!is_written());
    let lock = app.path().join("Gemfile.lock");
    std::fs::write(&lock, "GEM\n  specs:\n    dotenv-rails (3.1.4)\n").unwrap();
    assert!(is_written());
    std::fs::remove_file(&lock).unwrap();
    std::fs::write(app.path().join(".env"), "").unwrap();
    assert!(is_written(), "its author has it loaded");
}

#[test]
fn variables_that_no_file_holds_are_set_by_hand_without_credentials() {
    let [bare, _] = applications();
    let files = Files {
        environment: None,
        ..bare
    };
    let pairs = [
        ("env.MY_CACHE", "on"),
        ("env.UPSTREAM", "http://me:hunter2@upstream.internal/"),
        ("gc.heap_growth_factor", "1.3"),
    ];
    let overlay = Overlay::of(&pairs).unwrap();
    let settings = all_settings(ServerKind::Puma)[2];
    let (added, by_hand) = told(ServerKind::Puma, settings, &overlay, &files);
    assert!(
        added.iter().all(|line| !line.contains("MY_CACHE")),
        "{added:?}"
    );
    let variables = by_hand.iter().find(|line| line.starts_with("variables: "));
    let variables = variables.unwrap();
    for part in [
        "MY_CACHE=on",
        "RUBY_GC_HEAP_GROWTH_FACTOR=1.3",
        "by RAILS_MAX_THREADS",
    ] {
        assert!(variables.contains(part), "{variables}");
    }
    assert!(!by_hand.concat().contains("hunter2"), "{by_hand:?}");
    assert!(!by_hand.concat().contains("this file"), "{by_hand:?}");
    assert!(!by_hand.concat().contains("the diff of"), "{by_hand:?}");
    let built = Files {
        dockerfile: Some(File {
            path: "Dockerfile".to_owned(),
            text: "FROM ruby:3.3\nCMD [\"bin/rails\", \"server\"]\n".to_owned(),
        }),
        ..files
    };
    let overlay = Overlay::of(&pairs[..1]).unwrap();
    let (added, by_hand) = told(ServerKind::Puma, settings, &overlay, &built);
    assert!(added.contains(&"+ENV MY_CACHE=on".to_owned()), "{added:?}");
    let begun = "variables: the diff of Dockerfile sets them; for a server that starts in another way, set them where the server is started";
    assert!(
        by_hand.iter().any(|line| line.starts_with(begun)),
        "{by_hand:?}"
    );
}

#[test]
fn a_bundle_in_the_run_folder_is_written_into_no_file() {
    let of = |pairs: &[(&str, &str)]| -> Variables {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(own).collect()
    };
    let bundle = ArmBundle {
        environment: of(&[
            ("BUNDLE_GEMFILE", "/runs/1/bundles/0/Gemfile"),
            ("BUNDLE_APP_CONFIG", "/runs/1/bundles/0/.bundle"),
        ]),
        ..ArmBundle::default()
    };
    let mut set = bundle.environment.clone();
    set.insert("RUBY_YJIT_ENABLE".to_owned(), "1".to_owned());
    let overlay = |knobs: &[(&str, &str)]| Overlay::of(knobs).unwrap();
    let ruby = overlay(&[("ruby", "3.4"), ("yjit", "on")]);
    assert_eq!(
        without_bundle(set.clone(), Some(&bundle), &ruby),
        of(&[("RUBY_YJIT_ENABLE", "1")])
    );
    let gemfile = overlay(&[("ruby", "3.4"), ("yjit", "on"), ("gemfile", "Gemfile.next")]);
    let left = without_bundle(set.clone(), Some(&bundle), &gemfile);
    assert_eq!(left["BUNDLE_GEMFILE"], "Gemfile.next");
    assert_eq!(without_bundle(set.clone(), None, &ruby), set);
}
