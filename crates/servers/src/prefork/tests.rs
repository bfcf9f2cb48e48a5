use super::*;

const ASKED: Settings = Settings {
    threads: 1,
    workers: 2,
    preload: true,
};

#[test]
fn the_file_that_a_command_names_is_found() {
    let named = |words: &str| {
        let words: Vec<String> = words.split(' ').map(String::from).collect();
        named_in(&words).map(String::from)
    };
    assert_eq!(named("unicorn -c a.rb -E x -c b.rb"), Some("b.rb".into()));
    assert_eq!(named("unicorn --config-file=c.rb"), Some("c.rb".into()));
    assert_eq!(named("bundle exec unicorn"), None);
}

fn spec(server: PreforkServer) -> PreforkSpec {
    PreforkSpec {
        refork_after: Some("50,100,false".parse().unwrap()),
        refork_max_unavailable: Some(2),
        ..PreforkSpec::of(server, vec![server.program().into()])
    }
}

fn worker(nr: u16, preload: bool) -> ReadyWorker {
    ReadyWorker {
        nr,
        pid: 7,
        preload,
        version: "6.1.0".into(),
        generation: 0,
        refork_after: None,
        refork_max_unavailable: None,
    }
}

#[test]
fn a_worker_that_crashed_is_none_of_a_later_generation() {
    let reforks = |nr, generation, counts: &str| ReadyWorker {
        generation,
        refork_after: Some(serde_json::from_str(counts).unwrap()),
        ..worker(nr, true)
    };
    let two = [reforks(0, 0, "[50]"), reforks(1, 0, "[50]")];
    let with = |nr, generation| [two.to_vec(), vec![reforks(nr, generation, "[50]")]].concat();
    assert!(only_reforked(&two) && only_reforked(&with(0, 1)));
    assert!(!only_reforked(&with(0, 0)));
    assert!(!only_reforked(&[reforks(0, 0, "[false]")]));
    assert!(!only_reforked(&[worker(0, true), worker(1, true)]));
}

#[test]
fn what_is_under_test_comes_after_the_applications_own() {
    for (server, directives) in [
        (PreforkServer::Unicorn, "preload_app true\n"),
        (
            PreforkServer::Pitchfork,
            "refork_after [50,100,false]\nrefork_max_unavailable 2\n",
        ),
    ] {
        let own = Some(Path::new("/a/it's.rb"));
        let paths = (Path::new("/w/r"), Path::new("/w/p"));
        let text = config_text(ASKED, &spec(server), own, 80, paths.0, paths.1);
        let own = text
            .find(r"instance_eval(File.read('/a/it\'s.rb')")
            .unwrap();
        let set = text.find(&format!("worker_processes 2\n{directives}"));
        assert!(Some(own) < set, "{text}");
    }
}

#[test]
fn every_setting_that_did_not_take_is_named() {
    let server = PreforkServer::Unicorn;
    let read = compare(ASKED, server, &[worker(0, true), worker(1, true)]);
    assert_eq!(read.mismatches, []);
    assert_eq!(read.server.as_deref(), Some("Unicorn 6.1.0"));
    let read = compare(ASKED, server, &[worker(1, false)]);
    let knobs: Vec<_> = read.mismatches.iter().map(|m| m.knob.as_ref()).collect();
    assert_eq!(knobs, ["workers", "preload"]);
}

#[test]
fn reforking_that_did_not_take_is_named() {
    let asked = spec(PreforkServer::Pitchfork);
    let told = |after: Option<&str>, most| {
        let worker = ReadyWorker {
            refork_after: after.map(|text| serde_json::from_str(text).unwrap()),
            refork_max_unavailable: most,
            ..worker(0, true)
        };
        not_reforked(&asked, &worker).map(|m| (m.knob.into_owned(), m.runs_with))
    };
    let after = |runs: &str| Some(("pitchfork.refork_after".to_owned(), runs.to_owned()));
    assert_eq!(told(Some("[50,100,false]"), Some(2)), None);
    assert_eq!(told(Some("[50]"), Some(2)), after("[50]"));
    assert_eq!(told(None, Some(2)), after("nothing"));
    let most = told(Some("[50,100,false]"), Some(1)).unwrap();
    assert_eq!(most.0, "pitchfork.refork_max_unavailable");
    for (after, reforks) in [
        (Some("[50,false]"), true),
        (Some("[false]"), false),
        (None, false),
    ] {
        let worker = ReadyWorker {
            refork_after: after.map(|text| serde_json::from_str(text).unwrap()),
            ..worker(0, true)
        };
        assert_eq!(worker.reforks(), reforks, "{after:?}");
    }
    let nothing_asked = PreforkSpec::of(PreforkServer::Pitchfork, Vec::new());
    assert_eq!(not_reforked(&nothing_asked, &worker(0, true)), None);
}
