//! What processes share, and glibc's arenas.

use crate::looked::{Change, Checked, Looked};
use crate::seen::Seen;

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

/// `warmup=on`.
pub(crate) fn warm_up(seen: &Seen) -> Checked {
    let (workers, preload) = workers(seen)?;
    if !preload {
        return Ok(Looked::Leave(
            "no workers are forked from a preloaded process".to_owned(),
        ));
    }
    if !seen.is_ruby(3, 3)? {
        return Ok(Looked::Leave(format!(
            "{} has no Process.warmup, 3.3 and later have",
            seen.ruby_name()
        )));
    }
    if seen.setup.is_some_and(|setup| setup.warmup) {
        return Ok(Looked::Leave(
            "the process that forks the workers calls it".to_owned(),
        ));
    }
    Ok(Looked::Suggest(Change {
        settings: vec![("warmup", "on".to_owned())],
        evidence: format!(
            "{workers} workers are forked from a preloaded process, and the agent was not asked for Process.warmup; whether the \
             application calls it is not known"
        ),
        effect: "a major collection and compaction before the fork, after which the workers share more of the heap".to_owned(),
        cost: "the boot takes longer by that collection",
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
    use crate::rules::samples::{seen, suggested};

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
        seen.setup = Some(crate::seen::Setup {
            warmup: true,
            oob_gc: 0,
            minor_only: false,
        });
        assert!(matches!(warm_up(&seen), Ok(Looked::Leave(_))));
        seen.server.workers = Some(0);
        seen.setup = None;
        assert!(matches!(preloading(&seen), Ok(Looked::Leave(_))));
        assert!(matches!(warm_up(&seen), Ok(Looked::Leave(_))));
        seen.server.workers = None;
        assert!(preloading(&seen).is_err());
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
