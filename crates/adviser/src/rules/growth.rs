//! A heap that is much larger than what it holds.

use crate::looked::{Change, Checked, Looked};
use crate::seen::{LEAST_MAJORS, Seen, percent};
use flight::CollectionKind;
use stats::summary::median;

/// Of the slots after a major collection, free.
const MUCH_FREE: f64 = 0.5;
/// A smaller heap is not worth a setting.
const LEAST_SLOTS: f64 = 200_000.0;
/// What one of Ruby's maintainers sets where boot makes heaps too large.
const FACTOR: f64 = 1.3;
const MOST_SLOTS: f64 = 200_000.0;

/// `gc.heap_growth_factor` and `gc.heap_growth_max_slots`.
pub(crate) fn heap_growth(seen: &Seen) -> Checked {
    let mut free = Vec::new();
    let mut slots = Vec::new();
    for process in &seen.processes {
        let Some(heap) = &process.heap else { continue };
        let in_pools: u64 = heap.pools.iter().map(|pool| pool.slots).sum();
        let per_page = in_pools as f64 / heap.pages.max(1) as f64;
        // Early major collections are of the boot.
        let majors = process
            .collections
            .iter()
            .filter(|c| c.kind == Some(CollectionKind::Major) && c.over);
        let majors: Vec<_> = majors.collect();
        for one in &majors[majors.len() / 2..] {
            let (Some(live), Some(pages)) = (one.live_after, one.pages_after) else {
                continue;
            };
            let all = f64::from(pages) * per_page;
            if all > 0.0 {
                free.push((1.0 - live as f64 / all).max(0.0));
                slots.push(all);
            }
        }
    }
    if free.len() < LEAST_MAJORS {
        return Err(format!(
            "the slots that stay free are known of {}, and {LEAST_MAJORS} are the least",
            run::counted(free.len() as u64, "major collection")
        ));
    }
    let (free, slots) = (median(&free).unwrap_or(0.0), median(&slots).unwrap_or(0.0));
    let found = format!(
        "after a major collection {} of {} slots are free at the median",
        percent(free),
        run::grouped(slots.round() as u64)
    );
    if free < MUCH_FREE || slots < LEAST_SLOTS {
        return Ok(Looked::Leave(found));
    }
    // A step that is set smaller already stays.
    let wanted = [
        ("gc.heap_growth_factor", FACTOR),
        ("gc.heap_growth_max_slots", MOST_SLOTS),
    ];
    let mut settings = Vec::new();
    for (knob, value) in wanted {
        if value < seen.number(knob)? {
            settings.push((knob, value.to_string()));
        }
    }
    if settings.is_empty() {
        return Ok(Looked::Leave(format!(
            "{found}; the steps in which the heap grows are as small already"
        )));
    }
    Ok(Looked::Suggest(Change {
        settings,
        evidence: found,
        effect: "Ruby makes the heap larger in smaller steps, so that boot leaves fewer free slots"
            .to_owned(),
        cost: "more collections until the heap has the size that it needs",
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::samples::{collection, heap, seen, suggested};
    use flight::Collection;

    fn with(live: u64) -> Seen {
        let mut seen = seen();
        let process = &mut seen.processes[0];
        process.heap = Some(heap(&[(40, 300_000), (80, 200_000)]));
        let one = Collection {
            live_after: Some(live),
            pages_after: Some(400),
            over: true,
            ..collection()
        };
        process.collections = vec![one; 6];
        seen
    }

    #[test]
    fn smaller_steps_are_worth_a_test_where_most_slots_stay_free() {
        let change = suggested(heap_growth(&with(200_000)));
        assert_eq!(
            change.settings[0],
            ("gc.heap_growth_factor", "1.3".to_owned())
        );
        assert!(
            change.evidence.contains("60.0 % of 500,000 slots are free"),
            "{}",
            change.evidence
        );
        assert!(matches!(heap_growth(&with(400_000)), Ok(Looked::Leave(_))));
        let mut few = with(200_000);
        few.processes[0].collections.truncate(3);
        assert!(heap_growth(&few).is_err());
        let mut limited = with(200_000);
        let environment = limited.environment.as_mut().unwrap();
        environment.insert("RUBY_GC_HEAP_GROWTH_FACTOR".to_owned(), "1.2".to_owned());
        environment.insert(
            "RUBY_GC_HEAP_GROWTH_MAX_SLOTS".to_owned(),
            "500000".to_owned(),
        );
        assert_eq!(
            suggested(heap_growth(&limited)).settings,
            [("gc.heap_growth_max_slots", "200000".to_owned())]
        );
        let environment = limited.environment.as_mut().unwrap();
        environment.insert(
            "RUBY_GC_HEAP_GROWTH_MAX_SLOTS".to_owned(),
            "100000".to_owned(),
        );
        assert!(matches!(heap_growth(&limited), Ok(Looked::Leave(why)) if why.contains("already")));
    }
}
