use super::*;

fn overlay(settings: &[(&str, &str)]) -> Overlay {
    Overlay::of(settings).unwrap()
}

#[test]
fn a_version_of_a_gem_is_no_variable() {
    let overlay = overlay(&[
        ("puma", "6.6"),
        ("gem.rack", "3.1.0"),
        ("gem.oj", "default"),
    ]);
    assert_eq!(
        overlay.to_string(),
        "gem.oj=default, gem.puma=6.6, gem.rack=3.1.0"
    );
    assert_eq!(overlay.name(), "gem.oj-default-gem.puma-6.6-gem.rack-3.1.0");
    assert!(overlay.variables().is_empty());
    let gems = [("puma", "6.6"), ("rack", "3.1.0")];
    let gems = gems.map(|(gem, version)| (gem.to_owned(), version.to_owned()));
    assert_eq!(overlay.gems(), gems.into());
    assert_eq!(overlay.chosen()[1].variable, "gem \"puma\"");
    for (name, version, said) in [
        ("gem.", "1", "no name of a gem"),
        ("gem.a b", "1", "no name of a gem"),
        ("gem.puma", "newest", "no version"),
        ("puma", ">= 6", "no version"),
        ("gem.puma", "6.", "no version"),
        ("gem.powerband", "1.0", "the agent"),
    ] {
        let why = Overlay::of(&[(name, version)]).unwrap_err().to_string();
        assert!(why.contains(said), "{name}={version}: {why}");
    }
}

#[test]
fn knobs_become_variables() {
    let overlay = overlay(&[
        ("gc.malloc_limit", "32MiB"),
        ("allocator", "jemalloc"),
        ("env.GREETING", "a b"),
    ]);
    let variables = overlay.variables();
    assert_eq!(variables["RUBY_GC_MALLOC_LIMIT"], "33554432");
    assert_eq!(variables["GREETING"], "a b");
    assert_eq!(variables.len(), 2, "{variables:?}");
    assert_eq!(overlay.allocator(), Some(Allocator::Jemalloc));
    assert_eq!(
        overlay.to_string(),
        "allocator=jemalloc, env.GREETING=a b, gc.malloc_limit=32MiB"
    );
}

#[test]
fn each_knob_goes_to_its_place() {
    let overlay = overlay(&[
        ("nginx.workers", "3"),
        ("passenger.min_instances", "default"),
        ("value.shared_buffers", "64MB"),
        ("warmup", "on"),
        ("pool", "7"),
    ]);
    let nginx = overlay.directives(Program::Nginx);
    assert_eq!(
        nginx,
        BTreeMap::from([("worker_processes", "3".to_owned())])
    );
    assert!(overlay.directives(Program::Passenger).is_empty());
    assert!(overlay.programs().contains_key(&Program::Passenger));
    assert_eq!(overlay.placeholders()["shared_buffers"], "64MB");
    assert_eq!(overlay.pool(), Some(7));
    let variables = overlay.variables();
    assert_eq!(variables.len(), 1, "{variables:?}");
    assert_eq!(variables["POWERBAND_SETUP_WARMUP"], "1");
}

#[test]
fn a_name_does_not_depend_on_a_free_value() {
    for knob in ["env.PASSWORD", "value.password", "malloc_conf"] {
        let long = "x".repeat(80);
        for secret in ["hunter2", "correct horse", &long] {
            let name = |value: &str| overlay(&[(knob, value)]).name();
            assert_eq!(name(secret), name("y"), "{knob}");
        }
    }
}

#[test]
fn no_secret_is_shown_or_named() {
    let url = overlay(&[("env.DATABASE_URL", "postgres://me:hunter2@127.0.0.1/x")]);
    for shown in [
        url.to_string(),
        format!("{url:?}"),
        format!("{:?}", url.chosen()),
        url.name(),
    ] {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
    assert!(url.variables()["DATABASE_URL"].contains("hunter2"));
}

#[test]
fn names_fit_into_file_names_and_differ_as_overlays_do() {
    let one = overlay(&[("gc.malloc_limit", "32MiB")]);
    assert_eq!(one.name(), "gc.malloc_limit-32MiB");
    let free = overlay(&[("env.A", "x/y"), ("yjit", "on")]);
    assert_eq!(free.name(), "env.A-yjit-on");
    assert!(free.has_free_value() && !one.has_free_value());
    let names: Vec<(&str, &str)> = crate::CATALOGUE
        .iter()
        .map(|knob| (knob.name, knob.example))
        .collect();
    assert!(overlay(&names).name().len() <= LONGEST_NAME);
    assert_eq!(Overlay::default().name(), "");
    let (a, b) = (
        overlay(&[("malloc_conf", "a-yjit-on")]),
        overlay(&[("malloc_conf", "a"), ("yjit", "on")]),
    );
    assert_ne!(a.name(), b.name());
}

#[test]
fn knobs_that_mean_nothing_together_are_told() {
    let said = overlay(&[
        ("allocator", "jemalloc"),
        ("malloc_arena_max", "2"),
        ("env.LD_PRELOAD", "x.so"),
    ])
    .contradictions();
    assert_eq!(said.len(), 2, "{said:?}");
    let needs = |settings: &[(&str, &str)]| overlay(settings).needs();
    assert_eq!(
        needs(&[("malloc_conf", "a:1")]),
        Some(("malloc_conf", Allocator::Jemalloc))
    );
    assert_eq!(
        needs(&[("tcmalloc.release_rate", "0")]),
        Some(("tcmalloc.release_rate", Allocator::Tcmalloc))
    );
    let of_two = overlay(&[("malloc_conf", "a:1"), ("mimalloc.purge_delay", "1ms")]);
    assert_eq!(of_two.contradictions().len(), 1);
    assert_eq!(needs(&[("malloc_conf", "default"), ("yjit", "on")]), None);
    assert_eq!(
        needs(&[("allocator", "glibc"), ("malloc_arena_max", "1")]),
        Some(("allocator", Allocator::Glibc))
    );
    assert!(
        overlay(&[("malloc_arena_max", "2")])
            .contradictions()
            .is_empty()
    );
    assert_eq!(
        overlay(&[("allocator", "glibc"), ("malloc_conf", "narenas:1")])
            .contradictions()
            .len(),
        1
    );
}
