//! Collections that memory outside of the slots sets off.

use crate::looked::{Change, Checked, Looked};
use crate::seen::{LEAST, LEAST_MAJORS, Seen, caused, default_number, major_by, mib, of};
use flight::{Cause, Collection, CollectionKind, MajorBy};
use stats::summary::median;

/// Shopify's autotuner 1.1 takes the same shares.
const SHARE_OF_MINORS: f64 = 0.1;
const SHARE_OF_MAJORS: f64 = 0.01;
/// A limit so many times as high as what had been taken when it was reached.
const OLD_FACTOR: f64 = 4.0;
const MIB: f64 = (1 << 20) as f64;

/// Minor collections that `gc.malloc_limit` sets off.
pub(crate) fn young(seen: &Seen) -> Checked {
    let minors = seen.minors();
    let by_malloc = caused(&minors, Cause::Malloc);
    if minors.len() < LEAST {
        return Err(format!(
            "the logs have {}, and {LEAST} are the least that show their causes",
            run::counted(minors.len() as u64, "minor collection")
        ));
    }
    let found = format!(
        "{} minor collections began because objects had taken memory outside of their slots",
        of(by_malloc.len(), minors.len())
    );
    if by_malloc.len() < LEAST || by_malloc.len() as f64 <= SHARE_OF_MINORS * minors.len() as f64 {
        return Ok(Looked::Leave(found));
    }
    let cost = seen.cost(&by_malloc, CollectionKind::Minor);
    if seen.is_cheap(&by_malloc, CollectionKind::Minor) {
        return Ok(Looked::Leave(format!("{found}: {cost}")));
    }
    let most = seen.number("gc.malloc_limit_max")?;
    // Ruby lowers a limit above its maximum to it.
    let limit = seen.number("gc.malloc_limit")?.min(most);
    let taken = taken(&by_malloc, |c| c.malloc_increase);
    let default = default_number("gc.malloc_limit")?;
    let default_most = default_number("gc.malloc_limit_max")?;
    let wanted = in_mib((2.0 * limit).max(default));
    let wanted_most = in_mib((2.0 * most).max(default_most));
    let effect = match (wanted, wanted_most) == (default, default_most) {
        true => format!(
            "Ruby collects less often for this reason. Variables lower its defaults ({} and {}): remove them if this is better",
            mib(default),
            mib(default_most)
        ),
        false => format!(
            "the limit becomes {:.0} times as high, so that Ruby collects up to so many times less often for this reason",
            wanted / limit
        ),
    };
    Ok(Looked::Suggest(Change {
        settings: vec![
            ("gc.malloc_limit", size(wanted)),
            ("gc.malloc_limit_max", size(wanted_most)),
        ],
        evidence: format!(
            "{found}{taken}, with limits of {} to {}; {}",
            mib(limit),
            mib(most),
            cost
        ),
        effect,
        cost: "memory outside of the slots grows by up to the new limit in each process between two collections",
    }))
}

/// Major collections that `gc.oldmalloc_limit` sets off.
pub(crate) fn old(seen: &Seen) -> Checked {
    let majors = seen.majors_by_limits()?;
    let by_old = major_by(&majors, MajorBy::OldMalloc);
    let found = format!(
        "{} major collections began because objects had taken memory outside of their slots since the last major one",
        of(by_old.len(), majors.len())
    );
    if by_old.len() < LEAST_MAJORS || by_old.len() as f64 <= SHARE_OF_MAJORS * majors.len() as f64 {
        return Ok(Looked::Leave(found));
    }
    let cost = seen.cost(&by_old, CollectionKind::Major);
    if seen.is_cheap(&by_old, CollectionKind::Major) {
        return Ok(Looked::Leave(format!("{found}: {cost}")));
    }
    let most = seen.number("gc.oldmalloc_limit_max")?;
    let reached = median_of(&by_old, |c| c.oldmalloc_increase).unwrap_or(most);
    let wanted = next_power_of_two(OLD_FACTOR * reached.max(most / 2.0));
    let limit = size(wanted.max(default_number("gc.oldmalloc_limit_max")?));
    Ok(Looked::Suggest(Change {
        settings: vec![
            ("gc.oldmalloc_limit", limit.clone()),
            ("gc.oldmalloc_limit_max", limit),
        ],
        evidence: format!(
            "{found}{}, with a limit of at most {}; {}",
            taken(&by_old, |c| c.oldmalloc_increase),
            mib(most),
            cost
        ),
        effect: "Ruby starts fewer major collections for this reason; the growth of the old objects still starts them".to_owned(),
        cost: "old objects that are no longer in use keep their memory longer",
    }))
}

fn taken(these: &[&Collection], of: fn(&Collection) -> Option<u64>) -> String {
    median_of(these, of).map_or(String::new(), |bytes| {
        format!(" ({} at the median)", mib(bytes))
    })
}

fn median_of(these: &[&Collection], of: fn(&Collection) -> Option<u64>) -> Option<f64> {
    let sizes: Vec<f64> = these
        .iter()
        .filter_map(|c| of(c))
        .map(|bytes| bytes as f64)
        .collect();
    median(&sizes)
}

fn next_power_of_two(bytes: f64) -> f64 {
    (bytes / MIB).max(1.0).log2().ceil().exp2() * MIB
}

/// Whole MiB, one at least.
fn in_mib(bytes: f64) -> f64 {
    (bytes / MIB).round().clamp(1.0, MIB) * MIB
}

/// As `compare` takes it.
fn size(bytes: f64) -> String {
    format!("{:.0}MiB", in_mib(bytes) / MIB)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::samples::{seen, suggested};

    fn minors(by_malloc: usize, others: usize, pause_ns: u64) -> Seen {
        let mut seen = seen();
        let one = |cause| Collection {
            kind: Some(CollectionKind::Minor),
            major_by: None,
            cause: Some(cause),
            pause_ns,
            malloc_increase: Some(18 << 20),
            ..crate::rules::samples::collection()
        };
        let mut all = vec![one(Cause::Malloc); by_malloc];
        all.extend(vec![one(Cause::NewObject); others]);
        seen.processes[0].collections = all;
        seen
    }

    #[test]
    fn limits_that_variables_lower_become_rubys_defaults() {
        let mut seen = minors(20, 100, 20_000_000);
        let mut settings = |young: &str, most: &str| {
            let variables = [
                ("RUBY_GC_MALLOC_LIMIT".to_owned(), young.to_owned()),
                ("RUBY_GC_MALLOC_LIMIT_MAX".to_owned(), most.to_owned()),
            ];
            seen.environment = Some(variables.into());
            let change = suggested(super::young(&seen));
            let lowered = change.effect.contains("Variables lower");
            assert_eq!(lowered, young == most, "{}", change.effect);
            change
                .settings
                .into_iter()
                .map(|(_, set)| set)
                .collect::<Vec<_>>()
        };
        assert_eq!(settings("65536", "65536"), ["16MiB", "32MiB"]);
        assert_eq!(settings("15728640", "33554432"), ["30MiB", "64MiB"]);
    }

    #[test]
    fn the_limit_is_doubled_where_it_sets_off_a_tenth_of_costly_minors() {
        let change = suggested(young(&minors(20, 100, 20_000_000)));
        assert_eq!(
            change.settings,
            [
                ("gc.malloc_limit", "32MiB".to_owned()),
                ("gc.malloc_limit_max", "64MiB".to_owned())
            ]
        );
        assert!(
            change.evidence.starts_with("20 of 120 (16.7 %) minor")
                && change.evidence.contains("18.0 MiB at the median")
                && change.evidence.contains("limits of 16.0 MiB to 32.0 MiB"),
            "{}",
            change.evidence
        );
        let left = |seen: &Seen| matches!(young(seen), Ok(Looked::Leave(_)));
        // A tenth exactly, too few, too cheap.
        assert!(left(&minors(10, 90, 20_000_000)));
        assert!(left(&minors(9, 3, 20_000_000)));
        let mut cheap = minors(20, 100, 20_000_000);
        cheap.collected_share = Some(0.01);
        assert!(left(&cheap));
        assert!(young(&minors(5, 4, 20_000_000)).is_err());
    }

    #[test]
    fn limits_that_are_set_are_doubled_and_what_is_no_number_is_not_known() {
        let mut set = minors(20, 100, 20_000_000);
        let environment = set.environment.as_mut().unwrap();
        environment.insert("RUBY_GC_MALLOC_LIMIT".to_owned(), "67108864".to_owned());
        let change = suggested(young(&set));
        // Ruby lowers it to the maximum, 32 MiB.
        assert_eq!(change.settings[0].1, "64MiB");
        assert_eq!(change.settings[1].1, "64MiB");
        let environment = set.environment.as_mut().unwrap();
        environment.insert("RUBY_GC_MALLOC_LIMIT".to_owned(), "64m".to_owned());
        assert!(matches!(young(&set), Err(why) if why.contains("\"64m\"")));
        for ignored in ["0", "1e8", "-5"] {
            let environment = set.environment.as_mut().unwrap();
            environment.insert("RUBY_GC_MALLOC_LIMIT".to_owned(), ignored.to_owned());
            assert!(young(&set).is_err(), "{ignored}");
        }
    }

    #[test]
    fn the_limit_of_old_objects_is_above_what_they_take() {
        let mut seen = seen();
        let one = |major_by, taken: u64| Collection {
            major_by: Some(major_by),
            oldmalloc_increase: Some(taken),
            pause_ns: 200_000_000,
            ..crate::rules::samples::collection()
        };
        seen.processes[0].collections = vec![one(MajorBy::OldMalloc, 130 << 20); 3];
        let change = suggested(old(&seen));
        assert_eq!(
            change.settings[0],
            ("gc.oldmalloc_limit", "1024MiB".to_owned())
        );
        assert!(
            change.evidence.starts_with("3 of 3 (100.0 %) major"),
            "{}",
            change.evidence
        );
        seen.processes[0].collections.pop();
        assert!(old(&seen).is_err());
        seen.processes[0].collections = vec![one(MajorBy::OldGen, 0); 3];
        assert!(matches!(old(&seen), Ok(Looked::Leave(found)) if found.starts_with("0 of 3")));
        // What a call of GC.start collects is nobody's limit.
        seen.processes[0].collections = vec![one(MajorBy::Force, 130 << 20); 9];
        assert!(matches!(old(&seen), Err(why) if why.starts_with("the logs have 0 major")));
    }

    #[test]
    fn what_they_cost_is_said_by_their_part_of_the_pauses() {
        let seen = minors(60, 60, 10_000_000);
        assert!(
            suggested(young(&seen))
                .evidence
                .contains("take 2.5 % of the time for which requests run Ruby")
        );
    }
}
