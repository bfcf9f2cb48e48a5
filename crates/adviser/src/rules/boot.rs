//! A heap that grows after the boot, one collection after another.

use crate::looked::{Change, Checked, Looked};
use crate::seen::{Process, Seen, mib};
use flight::Heap;

/// The heap grew at least so much, in so many collections.
const GREW: f64 = 1.5;
const LEAST_COLLECTIONS: usize = 5;
/// In the second half of the log a heap that has its size grows by less.
const STEADY: f64 = 1.01;
/// Shopify's autotuner 1.1 leaves a pool that is as near to its setting.
const NEAR: f64 = 0.01;
const NEAR_SLOTS: f64 = 1_000.0;

const POOLS: [&str; 5] = [
    "gc.heap_0_init_slots",
    "gc.heap_1_init_slots",
    "gc.heap_2_init_slots",
    "gc.heap_3_init_slots",
    "gc.heap_4_init_slots",
];

/// `gc.heap_0_init_slots` to `gc.heap_4_init_slots`.
pub(crate) fn heap_at_boot(seen: &Seen) -> Checked {
    if !seen.is_ruby(3, 3)? {
        return Ok(Looked::Leave(format!(
            "{} has one setting for all pools, which 3.3 no longer has",
            seen.ruby_name()
        )));
    }
    let largest = seen
        .processes
        .iter()
        .filter_map(|one| Some((one, one.heap.as_ref()?)));
    let Some((process, heap)) = largest.max_by_key(|(_, heap)| heap.pages) else {
        return Err("the files do not say how large Ruby's heap is".to_owned());
    };
    if heap.pools.len() != POOLS.len() {
        return Ok(Looked::Leave(format!(
            "{} has {} pools of slots; the settings that are known are of five",
            seen.ruby_name(),
            heap.pools.len()
        )));
    }
    if !process.is_whole {
        return Err(
            "the logs no longer hold the first collections, so that it is not known how the heap grew".to_owned(),
        );
    }
    let Some(course) = Course::of(process, heap) else {
        return Err("too few collections are in the logs to show how the heap grew".to_owned());
    };
    let found = format!(
        "in process {} the heap grew from {} to {} in {} collections",
        process.pid,
        mib(course.first_bytes),
        mib(course.last_bytes),
        course.while_growing
    );
    if course.last_bytes < GREW * course.first_bytes || course.while_growing < LEAST_COLLECTIONS {
        return Ok(Looked::Leave(found));
    }
    if !course.is_steady {
        return Err(format!(
            "{found}, and still grows: ask again when it has its size"
        ));
    }
    let settings: Vec<_> = POOLS
        .iter()
        .zip(&heap.pools)
        .filter(|(knob, pool)| {
            seen.number(knob)
                .is_ok_and(|set| is_larger(pool.slots, set))
        })
        .map(|(knob, pool)| {
            (
                *knob,
                pool.slots.div_ceil(1_000).saturating_mul(1_000).to_string(),
            )
        })
        .collect();
    if settings.is_empty() {
        return Ok(Looked::Leave(format!(
            "{found}, and starts with the size that it reaches"
        )));
    }
    Ok(Looked::Suggest(Change {
        settings,
        evidence: format!("{found}, and then kept its size"),
        effect:
            "Ruby makes the heap at boot as large as it becomes, without the collections in between"
                .to_owned(),
        cost: "a process that would have stayed smaller has the memory as well; slots that stay empty cost it",
    }))
}

/// Fewer slots than Ruby makes at boot are no reason to make fewer.
fn is_larger(slots: u64, set: f64) -> bool {
    slots as f64 > set + (NEAR * set).max(NEAR_SLOTS)
}

/// How the heap of a process grew.
struct Course {
    first_bytes: f64,
    last_bytes: f64,
    /// Collections until it had nearly its last size.
    while_growing: usize,
    is_steady: bool,
}

impl Course {
    fn of(process: &Process, heap: &Heap) -> Option<Course> {
        let pages: Vec<f64> = process
            .collections
            .iter()
            .filter_map(|c| c.pages_after)
            .map(f64::from)
            .collect();
        let before = process.collections.iter().find_map(|c| c.pages_before);
        let first = before.map(f64::from).or(pages.first().copied())?;
        let last = *pages.last()?;
        let middle = pages[pages.len() / 2];
        let page_bytes = f64::from(heap.page_bytes);
        Some(Course {
            first_bytes: first * page_bytes,
            last_bytes: last * page_bytes,
            while_growing: pages
                .iter()
                .take_while(|pages| **pages * STEADY < last)
                .count()
                + 1,
            is_steady: last <= middle * STEADY,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::samples::{collection, heap, seen, suggested};
    use flight::Collection;
    use proptest::prelude::*;

    /// With these pages after each collection.
    fn grown(pages: &[u32]) -> Seen {
        let mut seen = seen();
        let process = &mut seen.processes[0];
        let after = pages.iter().map(|pages| Collection {
            pages_before: Some(100),
            pages_after: Some(*pages),
            ..collection()
        });
        process.collections = after.collect();
        process.heap = Some(heap(&[
            (40, 300_400),
            (80, 150_000),
            (160, 10_900),
            (320, 10_000),
            (640, 40_000),
        ]));
        seen
    }

    #[test]
    fn a_heap_that_grew_and_kept_its_size_is_worth_making_at_boot() {
        let steady = grown(&[110, 150, 200, 300, 400, 400, 400, 400, 400, 400, 400]);
        let change = suggested(heap_at_boot(&steady));
        // The third and the fourth pool have about what Ruby gives them.
        assert_eq!(
            change.settings,
            [
                ("gc.heap_0_init_slots", "301000".to_owned()),
                ("gc.heap_1_init_slots", "150000".to_owned()),
                ("gc.heap_4_init_slots", "40000".to_owned())
            ]
        );
        assert!(
            change
                .evidence
                .contains("from 6.2 MiB to 25.0 MiB in 5 collections"),
            "{}",
            change.evidence
        );
        let growing = grown(&[110, 150, 200, 250, 300, 330, 360, 400]);
        assert!(matches!(heap_at_boot(&growing), Err(why) if why.contains("still grows")));
        assert!(matches!(
            heap_at_boot(&grown(&[100; 20])),
            Ok(Looked::Leave(_))
        ));
        let mut cut = steady.clone();
        cut.processes[0].is_whole = false;
        assert!(heap_at_boot(&cut).is_err());
        let mut older = steady.clone();
        older.ruby = Some(knobs::Version(3, 2));
        assert!(matches!(heap_at_boot(&older), Ok(Looked::Leave(why)) if why.contains("3.2")));
        let mut many = steady;
        many.processes[0].heap.as_mut().unwrap().pools.pop();
        assert!(matches!(heap_at_boot(&many), Ok(Looked::Leave(why)) if why.contains("4 pools")));
    }

    proptest! {
        #[test]
        fn what_is_suggested_is_taken_and_suggests_nothing_again(
            slots in proptest::collection::vec(1_u64..9_000_000, 5),
        ) {
            let mut seen = grown(&[110, 150, 200, 300, 400, 400, 400, 400, 400, 400, 400]);
            let heap = seen.processes[0].heap.as_mut().unwrap();
            for (pool, slots) in heap.pools.iter_mut().zip(&slots) {
                pool.slots = *slots;
            }
            if let Ok(Looked::Suggest(change)) = heap_at_boot(&seen) {
                let typed: Vec<(&str, &str)> = change.settings.iter().map(|(k, v)| (*k, v.as_str())).collect();
                let variables = knobs::Overlay::of(&typed).unwrap().variables();
                seen.environment.as_mut().unwrap().extend(variables);
                prop_assert!(matches!(heap_at_boot(&seen), Ok(Looked::Leave(_))));
            }
        }
    }
}
