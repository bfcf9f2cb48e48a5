//! What failing runs of a screen have in common.

/// A run of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Which factors were at their alternative.
    pub changed: Vec<bool>,
    pub failed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Culprit {
    /// No run with this factor changed has succeeded, which is so of no other one.
    Factor(usize),
    /// Nor of others, of which this one failed most often.
    Likely(usize),
    /// These two together.
    Pair(usize, usize),
}

/// Failures at which one factor may be blamed although others are under the same suspicion. In a folded design no two
/// columns agree in so many pairs of eight unless both are to blame.
const BEYOND_CHANCE: usize = 5;

/// The cause of the failures, if the successes leave but one explanation, or if there are enough of them, or if these are
/// `all` the runs there will be. `suspects` are the factors still in the screen.
pub fn culprit(runs: &[Run], suspects: &[usize], all: bool) -> Option<Culprit> {
    // What an earlier culprit explains is no evidence against others.
    let unexplained: Vec<&Run> = runs
        .iter()
        .filter(|run| run.failed)
        .filter(|run| (0..run.changed.len()).all(|f| !run.changed[f] || suspects.contains(&f)))
        .collect();
    let tally = |changed: &dyn Fn(&Run) -> bool| {
        let failed = unexplained.iter().filter(|run| changed(run)).count();
        let succeeded = runs.iter().any(|run| !run.failed && changed(run));
        (failed >= 2 && !succeeded).then_some(failed)
    };
    let factors: Vec<(usize, usize)> = suspects
        .iter()
        .filter_map(|&f| Some((f, tally(&|run| run.changed[f])?)))
        .collect();
    if let Some((factor, failed)) = factors.iter().copied().max_by_key(|(_, failed)| *failed) {
        if factors.len() == 1 {
            return Some(Culprit::Factor(factor));
        }
        return (failed >= BEYOND_CHANCE || all).then_some(Culprit::Likely(factor));
    }
    let mut pairs = Vec::new();
    for (nth, &one) in suspects.iter().enumerate() {
        for &other in &suspects[nth + 1..] {
            let failed = tally(&|run| run.changed[one] && run.changed[other]);
            // Two together are to blame only if they explain every failure that is left.
            if failed.is_some_and(|failed| failed == unexplained.len()) {
                pairs.push(Culprit::Pair(one, other));
            }
        }
    }
    (pairs.len() == 1 || all)
        .then(|| pairs.first().copied())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::design;

    /// The runs of a screen of seven factors in which these fail, one pair after the other until a culprit is found.
    fn blamed(fails: impl Fn(&[bool]) -> bool, seed: u64) -> (Option<Culprit>, usize) {
        let suspects: Vec<usize> = (0..7).collect();
        let mut runs = Vec::new();
        let pairs = design::pairs(7, seed).unwrap();
        for (nth, one) in pairs.iter().enumerate() {
            let opposite: Vec<bool> = one.iter().map(|x| !x).collect();
            for changed in [one.clone(), opposite] {
                let failed = fails(&changed);
                runs.push(Run { changed, failed });
            }
            let found = culprit(&runs, &suspects, nth + 1 == pairs.len());
            if found.is_some() {
                return (found, nth + 1);
            }
        }
        (None, pairs.len())
    }

    #[test]
    fn one_factor_is_found_after_a_few_pairs() {
        for seed in 0..50 {
            let (found, pairs) = blamed(|changed| changed[3], seed);
            assert_eq!(found, Some(Culprit::Factor(3)), "seed {seed}");
            assert!(pairs <= 5, "seed {seed}: after {pairs} pairs");
        }
    }

    #[test]
    fn so_are_two_that_do_not_go_together() {
        let found = (0..50).map(|seed| blamed(|c| c[2] && c[5], seed).0);
        let right = found.filter(|f| *f == Some(Culprit::Pair(2, 5))).count();
        assert!(right >= 45, "{right} of 50");
    }

    #[test]
    fn nobody_is_blamed_where_nothing_or_one_run_fails() {
        assert_eq!(blamed(|_| false, 1).0, None);
        let one = design::pairs(7, 2).unwrap()[4].clone();
        assert_eq!(blamed(|changed| changed == one, 2).0, None);
    }
}
