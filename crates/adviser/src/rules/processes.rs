//! What processes share, and glibc's arenas.

use crate::looked::{Change, Looked};
use crate::seen::Seen;

/// `preload=true`.
pub(crate) fn preloading(seen: &Seen) -> Looked {
    match (seen.server.workers, seen.server.preload) {
        (None, _) | (Some(2..), None) => {
            Looked::NotKnown("the files do not say how the server makes its processes".to_owned())
        }
        (Some(0 | 1), _) => Looked::Leave("one process serves".to_owned()),
        (Some(workers), Some(true)) => Looked::Leave(format!(
            "{workers} workers are forked from a preloaded process"
        )),
        (Some(workers), Some(false)) => Looked::Suggest(Change {
            settings: vec![("preload", "true".to_owned())],
            evidence: format!(
                "{workers} workers load the application one by one, and share none of it"
            ),
            effect: "the application is loaded once, before the workers are forked, which then share its memory".to_owned(),
            cost: "connections and threads that the application makes while it loads must be made again in each worker (on_worker_boot)",
        }),
    }
}

/// `warmup=on`.
pub(crate) fn warm_up(seen: &Seen) -> Looked {
    let workers = match (seen.server.workers, seen.server.preload) {
        (None, _) | (Some(2..), None) => {
            return Looked::NotKnown(
                "the files do not say how the server makes its processes".to_owned(),
            );
        }
        (Some(workers @ 2..), Some(true)) => workers,
        _ => return Looked::Leave("no workers are forked from a preloaded process".to_owned()),
    };
    match seen.is_ruby(3, 3) {
        Err(why) => return Looked::NotKnown(why),
        Ok(false) => {
            return Looked::Leave(format!(
                "{} has no Process.warmup, 3.3 and later have",
                seen.ruby_name()
            ));
        }
        Ok(true) => {}
    }
    if seen.setup.is_some_and(|setup| setup.warmup) {
        return Looked::Leave("the process that forks the workers calls it".to_owned());
    }
    Looked::Suggest(Change {
        settings: vec![("warmup", "on".to_owned())],
        evidence: format!(
            "{workers} workers are forked from a preloaded process, and the agent was not asked for Process.warmup; whether the \
             application calls it is not known"
        ),
        effect: "a major collection and compaction before the fork, after which the workers share more of the heap".to_owned(),
        cost: "the boot takes longer by that collection",
    })
}

/// `malloc_arena_max=2`.
pub(crate) fn arenas(seen: &Seen) -> Looked {
    if seen.allocator != "glibc" {
        let allocator = match seen.allocator.as_str() {
            "" => {
                return Looked::NotKnown(
                    "the files do not say which allocator the server uses".to_owned(),
                );
            }
            other => other,
        };
        return Looked::Leave(format!(
            "the allocator is {allocator}, which has no such arenas"
        ));
    }
    let Some(environment) = &seen.environment else {
        return Looked::NotKnown("the environment of the server is not known".to_owned());
    };
    if let Some(set) = environment.get("MALLOC_ARENA_MAX") {
        return Looked::Leave(format!("MALLOC_ARENA_MAX={set}"));
    }
    match seen.server.max_threads {
        None => Looked::NotKnown("the files do not say how many threads a process has".to_owned()),
        Some(0 | 1) => Looked::Leave("one thread of a process allocates".to_owned()),
        Some(threads) => Looked::Suggest(Change {
            settings: vec![("malloc_arena_max", "2".to_owned())],
            evidence: format!(
                "glibc may give an arena to each thread, those of Puma and of Ruby among them: {threads} serve requests; MALLOC_ARENA_MAX is not \
                 set"
            ),
            effect: "the threads of a process share two arenas, so that fewer half-empty ones stay"
                .to_owned(),
            cost: "threads that allocate outside of the GVL may wait for one another",
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::samples::{seen, suggested};

    #[test]
    fn workers_that_share_nothing_may_preload_and_those_that_do_may_warm_up() {
        let mut seen = seen();
        seen.server.workers = Some(3);
        seen.server.preload = Some(false);
        assert_eq!(suggested(preloading(&seen)).settings[0].0, "preload");
        assert!(matches!(warm_up(&seen), Looked::Leave(_)));
        seen.server.preload = Some(true);
        assert!(matches!(preloading(&seen), Looked::Leave(_)));
        assert_eq!(
            suggested(warm_up(&seen)).settings,
            [("warmup", "on".to_owned())]
        );
        seen.setup = Some(crate::seen::Setup {
            warmup: true,
            oob_gc: 0,
            minor_only: false,
        });
        assert!(matches!(warm_up(&seen), Looked::Leave(_)));
        seen.server.workers = Some(0);
        seen.setup = None;
        assert!(matches!(preloading(&seen), Looked::Leave(_)));
        assert!(matches!(warm_up(&seen), Looked::Leave(_)));
        seen.server.workers = None;
        assert!(matches!(preloading(&seen), Looked::NotKnown(_)));
    }

    #[test]
    fn arenas_are_of_several_threads_under_glibc_alone() {
        let mut seen = seen();
        assert_eq!(
            suggested(arenas(&seen)).settings,
            [("malloc_arena_max", "2".to_owned())]
        );
        seen.server.max_threads = Some(1);
        assert!(matches!(arenas(&seen), Looked::Leave(_)));
        seen.server.max_threads = Some(5);
        let environment = seen.environment.as_mut().unwrap();
        environment.insert("MALLOC_ARENA_MAX".to_owned(), "4".to_owned());
        assert!(matches!(arenas(&seen), Looked::Leave(set) if set == "MALLOC_ARENA_MAX=4"));
        seen.environment = None;
        assert!(matches!(arenas(&seen), Looked::NotKnown(_)));
        seen.allocator = "jemalloc".to_owned();
        assert!(matches!(arenas(&seen), Looked::Leave(_)));
        seen.allocator = String::new();
        assert!(matches!(arenas(&seen), Looked::NotKnown(_)));
    }
}
