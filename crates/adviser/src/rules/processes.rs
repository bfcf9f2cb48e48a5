//! What processes share, and glibc's arenas.

use crate::looked::{Change, Checked, Looked};
use crate::seen::{Seen, mib};

/// Puma's own number of requests.
const REFORK_AFTER: u64 = 1_000;

/// How many workers serve, and whether they are forked from a preloaded process; no workers are one process.
fn workers(seen: &Seen) -> Result<(u32, bool), String> {
    match (seen.server.workers, seen.server.preload) {
        (Some(few @ (0 | 1)), _) => Ok((few, false)),
        (Some(workers), Some(preload)) => Ok((workers, preload)),
        (None, _) | (_, None) => {
            Err("the files do not say how the server makes its processes".to_owned())
        }
    }
}

/// `preload=true`.
pub(crate) fn preloading(seen: &Seen) -> Checked {
    Ok(match workers(seen)? {
        (0 | 1, _) => Looked::Leave("one process serves".to_owned()),
        (workers, true) => Looked::Leave(format!("{workers} workers are forked from a preloaded process")),
        (workers, false) => Looked::Suggest(Change {
            settings: vec![("preload", "true".to_owned())],
            evidence: format!("each of {workers} workers loads the application for itself, and they share none of it"),
            effect: "the application is loaded once, before the workers are forked, which then share its memory".to_owned(),
            cost: "connections and threads that the application makes while it loads must be made again in each worker (on_worker_boot)",
        }),
    })
}

/// `warmup=on`, and `compact=on` before Ruby 3.3.
pub(crate) fn warm_up(seen: &Seen) -> Checked {
    let (workers, preload) = workers(seen)?;
    if workers > 1 && !preload {
        return Ok(Looked::Leave(
            "no workers are forked from a preloaded process".to_owned(),
        ));
    }
    if let Some(setup) = seen.setup.filter(|setup| setup.warmup || setup.compact) {
        return Ok(Looked::Leave(format!(
            "{} is called before requests are served",
            if setup.warmup {
                "Process.warmup"
            } else {
                "GC.compact"
            }
        )));
    }
    let (knob, call) = match seen.is_ruby(3, 3)? {
        true => ("warmup", "Process.warmup"),
        false => ("compact", "GC.compact"),
    };
    let forked = match preload {
        true => format!("{workers} workers are forked from a preloaded process"),
        false => "one process serves".to_owned(),
    };
    Ok(Looked::Suggest(Change {
        settings: vec![(knob, "on".to_owned())],
        evidence: format!(
            "{forked}, and the agent was not asked for {call}; whether the application calls it is not known"
        ),
        effect: match preload {
            true => "a major collection and compaction before the fork, after which the workers share more of the heap",
            false => "a major collection and compaction before the first request, which leave fewer half-empty pages",
        }
        .to_owned(),
        cost: "the boot takes longer by that collection",
    }))
}

/// `puma.fork_worker`.
pub(crate) fn reforking(seen: &Seen) -> Checked {
    let (workers, preload) = workers(seen)?;
    if !seen.server.name.starts_with("puma") {
        return Ok(Looked::Leave(
            "the server is not Puma, whose worker 0 can fork the others".to_owned(),
        ));
    }
    if !preload {
        return Ok(Looked::Leave(
            "no workers are forked from a preloaded process".to_owned(),
        ));
    }
    let heaps = seen.processes.iter().filter_map(|one| one.heap.as_ref());
    let largest = heaps.map(|heap| heap.pages * u64::from(heap.page_bytes));
    let Some(largest) = largest.max() else {
        return Err("the files do not say how large Ruby's heap is".to_owned());
    };
    let requests = seen.processes.iter().map(|one| one.requests).max();
    let requests = requests.unwrap_or(0);
    if requests < REFORK_AFTER {
        return Err(format!(
            "a worker has served {}, and {} are the least that show what it warms up",
            run::counted(requests, "request"),
            run::grouped(REFORK_AFTER)
        ));
    }
    Ok(Looked::Suggest(Change {
        settings: vec![("puma.fork_worker", REFORK_AFTER.to_string())],
        evidence: format!(
            "{workers} workers are forked from a process that has served nothing; after {} one has a heap of {}, of which it shares only \
             the pages that were not written since",
            run::counted(requests, "request"),
            mib(largest as f64)
        ),
        effect: "worker 0 forks the others again once it has served that number, so that they share what it has warmed up".to_owned(),
        cost: "each worker ends and starts once more; connections and threads of worker 0 must survive its fork; before Puma 7.2 \
               throughput fell after it (puma#3599)",
    }))
}

/// `yjit=on`.
pub(crate) fn yjit(seen: &Seen) -> Checked {
    match seen.jit.as_str() {
        "off" => {}
        "none" => {
            return Ok(Looked::Leave(format!(
                "{} was built without it",
                seen.ruby_name()
            )));
        }
        "" => return Err("the files do not say whether Ruby has YJIT".to_owned()),
        other => return Ok(Looked::Leave(format!("the compiler is {other}"))),
    }
    if !seen.is_ruby(3, 3)? {
        return Ok(Looked::Leave(format!(
            "YJIT of {} takes much more memory than that of 3.3 and later",
            seen.ruby_name()
        )));
    }
    Ok(Looked::Suggest(Change {
        settings: vec![("yjit", "on".to_owned())],
        evidence: "Ruby was built with YJIT and runs without it".to_owned(),
        effect: "Ruby compiles the methods that run often".to_owned(),
        cost: "each process holds its compiled code, tens of MiB, which workers do not share: the comparison of memory counts it",
    }))
}

/// `allocator=jemalloc`, with options.
pub(crate) fn allocator(seen: &Seen) -> Checked {
    if seen.allocator.is_empty() {
        return Err("the files do not say which allocator the server uses".to_owned());
    }
    if seen.allocator != "glibc" {
        return Ok(Looked::Leave(format!(
            "the allocator is {}",
            seen.allocator
        )));
    }
    if !seen.installed.contains(&knobs::Allocator::Jemalloc) {
        return Ok(Looked::Leave(format!(
            "jemalloc is not installed on this machine ({})",
            knobs::Allocator::Jemalloc.package()
        )));
    }
    Ok(Looked::Suggest(Change {
        settings: vec![
            ("allocator", "jemalloc".to_owned()),
            ("malloc_conf", "narenas:2,dirty_decay_ms:1000".to_owned()),
        ],
        evidence: "the allocator is glibc's, and jemalloc is installed".to_owned(),
        effect: "two arenas for all threads, and free pages go back to the kernel after a second"
            .to_owned(),
        cost: "rankings of allocators do not transfer between applications",
    }))
}

/// `malloc_arena_max=2`.
pub(crate) fn arenas(seen: &Seen) -> Checked {
    if seen.allocator.is_empty() {
        return Err("the files do not say which allocator the server uses".to_owned());
    }
    if seen.allocator != "glibc" {
        return Ok(Looked::Leave(format!(
            "the allocator is {}, which has no such arenas",
            seen.allocator
        )));
    }
    let environment = seen.environment.as_ref();
    let environment = environment.ok_or("the environment of the server is not known")?;
    if let Some(set) = environment.get("MALLOC_ARENA_MAX") {
        return Ok(Looked::Leave(format!("MALLOC_ARENA_MAX={set}")));
    }
    let threads = seen.server.max_threads;
    let threads = threads.ok_or("the files do not say how many threads a process has")?;
    if threads < 2 {
        return Ok(Looked::Leave(
            "one thread of a process allocates".to_owned(),
        ));
    }
    Ok(Looked::Suggest(Change {
        settings: vec![("malloc_arena_max", "2".to_owned())],
        evidence: format!(
            "glibc may give an arena to each thread, those of Puma and of Ruby among them: {threads} serve requests, and \
             MALLOC_ARENA_MAX is not set"
        ),
        effect: "the threads of a process share two arenas, so that fewer half-empty ones stay"
            .to_owned(),
        cost: "threads that allocate outside of the GVL may wait for one another",
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::samples::{heap, seen, suggested};

    #[test]
    fn workers_that_share_nothing_may_preload_and_those_that_do_may_warm_up() {
        let mut seen = seen();
        seen.server.workers = Some(3);
        seen.server.preload = Some(false);
        assert_eq!(suggested(preloading(&seen)).settings[0].0, "preload");
        assert!(matches!(warm_up(&seen), Ok(Looked::Leave(_))));
        seen.server.preload = Some(true);
        assert!(matches!(preloading(&seen), Ok(Looked::Leave(_))));
        assert_eq!(
            suggested(warm_up(&seen)).settings,
            [("warmup", "on".to_owned())]
        );
        for warmup in [true, false] {
            seen.setup = Some(crate::seen::Setup {
                warmup,
                compact: !warmup,
                oob_gc: 0,
                minor_only: false,
            });
            assert!(matches!(warm_up(&seen), Ok(Looked::Leave(_))));
        }
        seen.server.workers = Some(0);
        seen.setup = None;
        assert!(matches!(preloading(&seen), Ok(Looked::Leave(_))));
        let alone = suggested(warm_up(&seen));
        assert!(alone.evidence.starts_with("one process serves"));
        seen.ruby = Some(knobs::Version(3, 2));
        assert_eq!(
            suggested(warm_up(&seen)).settings,
            [("compact", "on".to_owned())]
        );
        seen.server.workers = None;
        assert!(preloading(&seen).is_err());
    }

    #[test]
    fn workers_that_have_served_may_be_forked_from_a_warm_one() {
        let mut seen = seen();
        seen.server.name = "puma 6.6.0".to_owned();
        seen.server.workers = Some(2);
        seen.server.preload = Some(true);
        assert!(reforking(&seen).is_err());
        seen.processes[0].heap = Some(heap(&[(40, 1)]));
        let change = suggested(reforking(&seen));
        assert_eq!(change.settings, [("puma.fork_worker", "1000".to_owned())]);
        assert!(
            change.evidence.contains("a heap of 25.0 MiB"),
            "{}",
            change.evidence
        );
        seen.processes[0].requests = 999;
        assert!(reforking(&seen).is_err());
        for (name, preload) in [("unicorn 6.1.0", true), ("puma 6.6.0", false)] {
            seen.server.name = name.to_owned();
            seen.server.preload = Some(preload);
            assert!(matches!(reforking(&seen), Ok(Looked::Leave(_))));
        }
    }

    #[test]
    fn what_is_there_and_not_in_use_is_worth_a_test() {
        let mut seen = seen();
        assert_eq!(suggested(yjit(&seen)).settings, [("yjit", "on".to_owned())]);
        seen.jit = "yjit".to_owned();
        assert!(matches!(yjit(&seen), Ok(Looked::Leave(_))));
        seen.jit = String::new();
        assert!(yjit(&seen).is_err());
        assert!(
            matches!(allocator(&seen), Ok(Looked::Leave(why)) if why.contains("not installed"))
        );
        seen.installed = vec![knobs::Allocator::Jemalloc];
        let change = suggested(allocator(&seen));
        let typed: Vec<(&str, &str)> = change
            .settings
            .iter()
            .map(|(k, v)| (*k, v.as_str()))
            .collect();
        assert_eq!(knobs::Overlay::of(&typed).unwrap().contradictions(), []);
        seen.allocator = "tcmalloc".to_owned();
        assert!(matches!(allocator(&seen), Ok(Looked::Leave(_))));
    }

    #[test]
    fn arenas_are_of_several_threads_under_glibc_alone() {
        let mut seen = seen();
        assert_eq!(
            suggested(arenas(&seen)).settings,
            [("malloc_arena_max", "2".to_owned())]
        );
        seen.server.max_threads = Some(1);
        assert!(matches!(arenas(&seen), Ok(Looked::Leave(_))));
        seen.server.max_threads = Some(5);
        let environment = seen.environment.as_mut().unwrap();
        environment.insert("MALLOC_ARENA_MAX".to_owned(), "4".to_owned());
        assert!(matches!(arenas(&seen), Ok(Looked::Leave(set)) if set == "MALLOC_ARENA_MAX=4"));
        seen.environment = None;
        assert!(arenas(&seen).is_err());
        seen.allocator = "jemalloc".to_owned();
        assert!(matches!(arenas(&seen), Ok(Looked::Leave(_))));
        seen.allocator = String::new();
        assert!(arenas(&seen).is_err());
    }
}
