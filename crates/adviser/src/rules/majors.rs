//! Major collections: how often, and when.

use crate::looked::{Change, Checked, Looked};
use crate::seen::{LEAST_MAJORS, Seen, major_by, of, percent};
use flight::{CollectionKind, MajorBy};

/// Shopify's autotuner 1.1 takes the same share.
const SHARE_WITHOUT_BARRIER: f64 = 0.1;
/// From this share of the slowest 1 % of the requests on, moving the major collections is worth a test.
const SHARE_OF_SLOWEST: f64 = 0.1;

/// `gc.heap_oldobject_limit_factor`.
pub(crate) fn old_objects(seen: &Seen) -> Checked {
    let majors = seen.majors_by_limits()?;
    let these = major_by(&majors, MajorBy::OldGen);
    let factor = seen.number("gc.heap_oldobject_limit_factor")?;
    let found = format!(
        "{} major collections began because the old objects had become {factor} times as many",
        of(these.len(), majors.len())
    );
    if these.len() < LEAST_MAJORS {
        return Ok(Looked::Leave(found));
    }
    let cost = seen.cost(&these, CollectionKind::Major);
    if seen.is_cheap(&these, CollectionKind::Major) {
        return Ok(Looked::Leave(format!("{found}: {cost}")));
    }
    Ok(Looked::Suggest(Change {
        settings: vec![("gc.heap_oldobject_limit_factor", (2.0 * factor).to_string())],
        evidence: format!("{found}; {cost}"),
        effect: "Ruby lets twice as many old objects be made before it starts a major collection"
            .to_owned(),
        cost: "old objects that are no longer in use stay longer, so that the heap is larger",
    }))
}

/// `gc.heap_remembered_wb_unprotected_objects_limit_ratio`.
pub(crate) fn write_barriers(seen: &Seen) -> Checked {
    const KNOB: &str = "gc.heap_remembered_wb_unprotected_objects_limit_ratio";
    if !seen.is_ruby(3, 3)? {
        return Ok(Looked::Leave(format!(
            "{} has no setting for this limit, 3.3 and later have",
            seen.ruby_name()
        )));
    }
    let majors = seen.majors_by_limits()?;
    let these = major_by(&majors, MajorBy::Shady);
    let found = format!(
        "{} major collections began because of objects without a write barrier, which native code makes",
        of(these.len(), majors.len())
    );
    let share = these.len() as f64 / majors.len().max(1) as f64;
    if these.len() < LEAST_MAJORS || share <= SHARE_WITHOUT_BARRIER {
        return Ok(Looked::Leave(found));
    }
    let cost = seen.cost(&these, CollectionKind::Major);
    if seen.is_cheap(&these, CollectionKind::Major) {
        return Ok(Looked::Leave(format!("{found}: {cost}")));
    }
    let ratio = seen.number(KNOB)?;
    Ok(Looked::Suggest(Change {
        settings: vec![(KNOB, (2.0 * ratio).to_string())],
        evidence: format!("{found}, with a limit of {ratio} of the old objects; {cost}"),
        effect: "Ruby starts fewer major collections for this reason".to_owned(),
        cost: "each minor collection looks at more objects",
    }))
}

/// Major collections between the requests (`oob_major`).
pub(crate) fn out_of_band(seen: &Seen) -> Checked {
    if let Some(moved) = seen.setup.and_then(|setup| setup.out_of_band()) {
        return Ok(Looked::Leave(format!("{moved} already")));
    }
    let Some(slowest) = seen.slowest(CollectionKind::Major) else {
        return Err(
            "fewer than 1,000 requests are on record, so that it is not known how many of the slowest waited for a major collection"
                .to_owned(),
        );
    };
    let found = format!(
        "{} of the slowest 1 % of the requests waited for a major collection",
        percent(slowest)
    );
    if slowest < SHARE_OF_SLOWEST {
        return Ok(Looked::Leave(found));
    }
    if !seen.is_ruby(3, 4)? {
        return Ok(Looked::Leave(format!(
            "{found}, but {} cannot leave major collections to the time between requests; 3.4 and later can",
            seen.ruby_name()
        )));
    }
    Ok(Looked::Suggest(Change {
        settings: vec![("oob_major", "on".to_owned())],
        evidence: found,
        effect:
            "a major collection runs when Ruby needs one, as soon as the process serves no request"
                .to_owned(),
        cost: "a process that always serves a request never runs them, so that its memory grows",
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::samples::{collection, seen, stopped, suggested};
    use flight::Collection;

    fn of_majors(by: MajorBy, count: usize, pause_ns: u64) -> Seen {
        let mut seen = seen();
        let one = Collection {
            major_by: Some(by),
            pause_ns,
            ..collection()
        };
        seen.processes[0].collections = vec![one; count];
        seen
    }

    #[test]
    fn the_factor_is_doubled_where_old_objects_start_costly_majors() {
        let change = suggested(old_objects(&of_majors(MajorBy::OldGen, 5, 80_000_000)));
        assert_eq!(
            change.settings,
            [("gc.heap_oldobject_limit_factor", "4".to_owned())]
        );
        assert!(
            change.evidence.contains("become 2 times as many"),
            "{}",
            change.evidence
        );
        let mut cheap = of_majors(MajorBy::OldGen, 5, 80_000_000);
        cheap.collected_share = Some(0.001);
        let few = of_majors(MajorBy::OldGen, 2, 80_000_000);
        assert!(old_objects(&few).is_err());
        for left in [cheap, of_majors(MajorBy::NoFree, 5, 80_000_000)] {
            assert!(matches!(old_objects(&left), Ok(Looked::Leave(_))));
        }
    }

    #[test]
    fn what_the_slowest_requests_wait_for_is_worth_a_test_however_short() {
        let mut seen = of_majors(MajorBy::OldGen, 5, 1_000);
        seen.collected_share = Some(0.001);
        seen.stopped = Some(stopped(0.3, 0.0));
        let change = suggested(old_objects(&seen));
        assert!(
            change
                .evidence
                .ends_with("30.0 % of the slowest 1 % of the requests waited for a major one"),
            "{}",
            change.evidence
        );
    }

    /// Of collections that the agent moves between the requests, `major_by` is the reason of those that did not happen.
    #[test]
    fn majors_that_are_moved_say_nothing_about_limits() {
        let mut seen = of_majors(MajorBy::OldGen, 12, 80_000_000);
        seen.ruby = Some(knobs::Version(3, 4));
        seen.stopped = Some(stopped(0.5, 0.0));
        for (oob_gc, expected) in [(50, "oob_gc=50 already"), (0, "oob_major=on already")] {
            seen.setup = Some(crate::seen::Setup {
                warmup: false,
                compact: false,
                oob_gc,
                minor_only: true,
            });
            assert!(old_objects(&seen).is_err());
            assert!(write_barriers(&seen).is_err());
            assert!(matches!(out_of_band(&seen), Ok(Looked::Leave(said)) if said == expected));
        }
    }

    #[test]
    fn the_ratio_is_doubled_from_ruby_3_3_on() {
        let mut seen = of_majors(MajorBy::Shady, 5, 80_000_000);
        let change = suggested(write_barriers(&seen));
        assert_eq!(change.settings[0].1, "0.02");
        seen.ruby = Some(knobs::Version(3, 2));
        assert!(matches!(write_barriers(&seen), Ok(Looked::Leave(why)) if why.contains("3.2")));
        seen.ruby = None;
        assert!(write_barriers(&seen).is_err());
    }

    #[test]
    fn majors_move_between_the_requests_where_the_slowest_wait_and_ruby_can() {
        let mut seen = of_majors(MajorBy::OldGen, 10, 1_000);
        assert!(out_of_band(&seen).is_err());
        seen.stopped = Some(stopped(0.2, 0.0));
        assert!(
            matches!(out_of_band(&seen), Ok(Looked::Leave(why)) if why.contains("3.4 and later"))
        );
        seen.ruby = Some(knobs::Version(3, 4));
        assert_eq!(
            suggested(out_of_band(&seen)).settings,
            [("oob_major", "on".to_owned())]
        );
        seen.stopped = Some(stopped(0.02, 0.0));
        assert!(matches!(out_of_band(&seen), Ok(Looked::Leave(_))));
    }
}
