//! Ruby itself: its allocator, its collector's settings, its compiler.

use std::collections::BTreeMap;

use host::{Outcome, Severity};
use knobs::Allocator;
use servers::interpreter::RubyProbe;

use crate::application::{ApplicationFacts, Environment};

pub(super) fn malloc_arenas(facts: &ApplicationFacts) -> Outcome {
    let known = facts.environment.clone().and_then(|environment| {
        let interpreter = facts.interpreter.clone()?;
        Ok((environment, interpreter))
    });
    Outcome::of(&known, |(environment, interpreter)| {
        let set = environment.get("MALLOC_ARENA_MAX");
        if interpreter.contains("ld-musl") {
            let Some(set) = set else {
                return Outcome::fine(format!(
                    "Ruby is linked with musl ({interpreter}), which has no arenas"
                ));
            };
            return Outcome::found(
                Severity::Note,
                "MALLOC_ARENA_MAX does nothing here",
                format!("MALLOC_ARENA_MAX={set}, and Ruby is linked with musl ({interpreter})"),
                "It is a setting of glibc's malloc. musl has one heap for all threads, under one lock, which is what \
                 several threads may wait for instead.",
                "remove it; where threads allocate much, try an image with glibc, or another allocator",
            );
        }
        if let Some(set) = set {
            return Outcome::fine(format!("MALLOC_ARENA_MAX={set}"));
        }
        if let Some(allocator) = other_allocator(environment) {
            return Outcome::fine(format!("{allocator} takes malloc's place"));
        }
        Outcome::of(&facts.threads, |threads| {
            if threads.count <= 1 {
                return Outcome::fine("one thread has one arena");
            }
            Outcome::found(
                Severity::Note,
                "glibc may give each thread memory of its own",
                format!(
                    "MALLOC_ARENA_MAX is not set, with {} threads ({}) on {} cores: up to {} arenas a process; loader \
                     {interpreter}",
                    threads.count,
                    threads.from,
                    facts.cores,
                    8 * facts.cores
                ),
                "Arenas that threads leave half empty make a process grow over days. Fewer of them cost little in Ruby, \
                 where one thread runs at a time.",
                "where memory is short, try MALLOC_ARENA_MAX=2, or jemalloc by LD_PRELOAD, and compare; a Ruby that is \
                 itself linked with jemalloc needs neither",
            )
        })
    })
}

fn other_allocator(environment: &Environment) -> Option<&'static str> {
    if environment
        .get("GLIBC_TUNABLES")
        .is_some_and(|tunables| tunables.contains("glibc.malloc.arena_max"))
    {
        return Some("glibc.malloc.arena_max in GLIBC_TUNABLES");
    }
    let preload = environment.get(knobs::PRELOAD)?;
    let found = Allocator::mapped(preload.split([':', ' ']));
    (found != Allocator::Glibc).then(|| found.name())
}

pub(super) fn gc_settings(facts: &ApplicationFacts) -> Outcome {
    Outcome::of(&facts.environment, |environment| {
        let set: BTreeMap<String, String> = environment
            .variables
            .iter()
            .filter(|(name, _)| knobs::sets_collector(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        if set.is_empty() {
            return Outcome::fine("no RUBY_GC_ variable is set");
        }
        Outcome::of(&facts.ruby_probe, |ruby_probe| {
            let wrong = knobs::refusals(&ruby_probe.stderr, &set);
            let all: Vec<&str> = set.keys().map(String::as_str).collect();
            if wrong.is_empty() {
                return Outcome::fine(format!("Ruby takes {}", all.join(", ")));
            }
            Outcome::found(
                Severity::HarmsServer,
                "settings of the garbage collector have no effect",
                wrong.join("; "),
                "Ruby ignores unknown names without a message, and reports values that it refuses only when it is started \
                 with -w. The collector then runs with other settings than you believe.",
                "remove them, or set those that this Ruby's manual page lists; ruby -w -e '' prints what it takes",
            )
        })
    })
}

pub(super) fn yjit(facts: &ApplicationFacts) -> Outcome {
    Outcome::of(&facts.environment, |environment| {
        Outcome::of(&facts.ruby_probe, |ruby_probe| {
            yjit_of(environment, ruby_probe)
        })
    })
}

fn yjit_of(environment: &Environment, ruby_probe: &RubyProbe) -> Outcome {
    let why = "YJIT compiles what runs often. Where requests are mostly Ruby they become shorter, for some tens of \
                   megabytes a process; it needs a longer warm-up before anything is measured.";
    if ruby_probe.yjit.is_none() {
        return Outcome::found(
            Severity::Note,
            "this Ruby has no YJIT",
            "RubyVM::YJIT is not there",
            why,
            "where requests spend their time in Ruby (powerband inspect), try a Ruby that was built with it",
        );
    }
    // Ruby takes more than 1 for yes.
    let variable = ruby_probe.yjit == Some(true)
        || environment
            .get("RUBY_YJIT_ENABLE")
            .is_some_and(|value| value.trim() == "1");
    let option = environment.get("RUBYOPT").is_some_and(|options| {
        options
            .split_whitespace()
            .any(|word| word.starts_with("--yjit") && word != "--yjit-disable")
    });
    match (variable, option) {
        (true, _) => Outcome::fine("the environment switches it on"),
        (_, true) => Outcome::fine("--yjit is in RUBYOPT"),
        _ => Outcome::found(
            Severity::Note,
            "the environment does not switch YJIT on",
            "this Ruby has it, and neither RUBY_YJIT_ENABLE=1 nor --yjit in RUBYOPT is set; Rails 7.2 and later \
                 switch it on by themselves (config.yjit)",
            why,
            "where Rails does not do it, compare with RUBY_YJIT_ENABLE=1",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::samples::{application, counted, found, with};

    #[test]
    fn arenas_are_a_note_for_several_threads_under_glibc_alone() {
        let finding = found(malloc_arenas(&application()));
        assert_eq!(finding.severity, Severity::Note);
        assert!(
            finding.evidence.contains("5 threads") && finding.evidence.contains("up to 32"),
            "{finding:?}"
        );
        assert!(matches!(
            malloc_arenas(&with("MALLOC_ARENA_MAX", "2")),
            Outcome::Fine(_)
        ));
        assert!(matches!(
            malloc_arenas(&with("LD_PRELOAD", "/x/libjemalloc.so.2")),
            Outcome::Fine(_)
        ));
        assert!(
            found(malloc_arenas(&with("LD_PRELOAD", "/x/other.so")))
                .evidence
                .contains("not set")
        );
        let mut one = application();
        one.threads = Ok(counted(1));
        assert!(matches!(malloc_arenas(&one), Outcome::Fine(_)));
    }

    #[test]
    fn under_musl_the_setting_does_nothing() {
        let mut facts = with("MALLOC_ARENA_MAX", "2");
        facts.interpreter = Ok("/lib/ld-musl-x86_64.so.1".to_owned());
        assert!(found(malloc_arenas(&facts)).what.contains("does nothing"));
        facts.environment.as_mut().unwrap().variables.clear();
        assert!(matches!(malloc_arenas(&facts), Outcome::Fine(_)));
        facts.interpreter = Err("no binary".to_owned());
        assert_eq!(
            malloc_arenas(&facts),
            Outcome::NotKnown("no binary".to_owned())
        );
    }

    const SAID: &str = "RUBY_GC_MALLOC_LIMIT_MAX=64000000 (default value: 33554432)\n\
        RUBY_GC_OLDMALLOC_LIMIT_GROWTH_FACTOR=0.500000 (default value: 1.200000) is ignored because it must be greater than 1.000000.\n";

    fn said(variable: &str) -> Outcome {
        let mut facts = with(variable, "1");
        facts.ruby_probe.as_mut().unwrap().stderr = SAID.to_owned();
        gc_settings(&facts)
    }

    #[test]
    fn ruby_has_the_word_on_its_settings() {
        assert!(matches!(said("RUBY_GC_MALLOC_LIMIT_MAX"), Outcome::Fine(_)));
        assert!(
            found(said("RUBY_GC_OLDMALLOC_LIMIT_GROWTH_FACTOR"))
                .evidence
                .contains("must be greater")
        );
        // Known to Ruby under a longer name only.
        assert_eq!(
            found(said("RUBY_GC_MALLOC_LIMIT")).evidence,
            "this Ruby does not know RUBY_GC_MALLOC_LIMIT"
        );
        assert!(matches!(said("RUBY_GC_LIBRARY"), Outcome::Fine(_)));
        assert!(
            found(said("RUBY_FREE_MIN"))
                .evidence
                .contains("does not know")
        );
    }

    #[test]
    fn yjit_is_a_note_unless_it_is_asked_for() {
        assert_eq!(found(yjit(&application())).severity, Severity::Note);
        assert!(matches!(
            yjit(&with("RUBY_YJIT_ENABLE", "1")),
            Outcome::Fine(_)
        ));
        assert!(matches!(
            yjit(&with("RUBYOPT", "-W0 --yjit-exec-mem-size=64")),
            Outcome::Fine(_)
        ));
        assert_eq!(
            found(yjit(&with("RUBYOPT", "--yjit-disable"))).severity,
            Severity::Note
        );
        let mut running = application();
        running.ruby_probe.as_mut().unwrap().yjit = Some(true);
        assert!(matches!(yjit(&running), Outcome::Fine(_)));
        let mut without = application();
        without.ruby_probe.as_mut().unwrap().yjit = None;
        assert!(found(yjit(&without)).what.contains("no YJIT"));
    }
}
