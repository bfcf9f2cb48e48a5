//! The exact Wilcoxon signed-rank test, its Hodges-Lehmann estimate and the
//! interval that inverts it.
//!
//! Assumption: differences of separate blocks are independent and symmetric
//! about their median. Nothing else is asked of their distribution. What a
//! verdict makes of the p-values is `compare`'s business.
//!
//! Ties share the mean of their ranks, and p-values are exact conditional on
//! the ties that are there: sums run over doubled ranks, which are integers.
//! Zeros are treated as Pratt (1959) proposed: ranked with the others, then
//! left out of the sums. Dropping them first, as Wilcoxon did, has the defect
//! that lowering a difference can make a sample look *more* positive.

use crate::StatsError;

/// The test of one sample of differences against zero.
#[derive(Debug, Clone)]
pub struct SignedRank {
    differences: Vec<f64>,
    /// `cdf[t]` is P(doubled T+ <= t) under the null.
    cdf: Vec<f64>,
    doubled_t_plus: usize,
}

/// An interval of the shift, from the order statistics of the Walsh averages.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankInterval {
    pub low: f64,
    pub high: f64,
    /// The confidence really achieved: at least what was asked, because the
    /// statistic is discrete.
    pub confidence: f64,
}

impl SignedRank {
    /// # Errors
    /// An empty sample, or one with a value that is not finite.
    pub fn of(differences: &[f64]) -> Result<Self, StatsError> {
        if differences.is_empty() {
            return Err(StatsError::NoSamples);
        }
        if let Some(index) = differences.iter().position(|x| !x.is_finite()) {
            return Err(StatsError::NotFinite {
                index,
                value: differences[index],
            });
        }
        let ranks = doubled_midranks(differences);
        let nonzero: Vec<usize> = ranked(differences, &ranks, |x| x != 0.0);
        let doubled_t_plus = ranked(differences, &ranks, |x| x > 0.0).iter().sum();
        Ok(Self {
            differences: differences.to_vec(),
            cdf: null_cdf(&nonzero),
            doubled_t_plus,
        })
    }

    /// The same sample, tested against `shift` instead of zero.
    ///
    /// # Errors
    /// As [`SignedRank::of`], should a difference overflow.
    pub fn against(&self, shift: f64) -> Result<Self, StatsError> {
        let moved: Vec<f64> = self.differences.iter().map(|x| x - shift).collect();
        Self::of(&moved)
    }

    /// P(T+ at least as great as seen): small when the median is above zero.
    pub fn p_greater(&self) -> f64 {
        match self.doubled_t_plus {
            0 => 1.0,
            t => 1.0 - self.cdf[t - 1],
        }
    }

    /// P(T+ at most as great as seen): small when the median is below zero.
    pub fn p_less(&self) -> f64 {
        self.cdf[self.doubled_t_plus]
    }

    /// Twice the smaller tail, at most 1.
    pub fn p_two_sided(&self) -> f64 {
        (2.0 * self.p_less().min(self.p_greater())).min(1.0)
    }

    /// Hodges-Lehmann: the median of all pairwise means.
    pub fn estimate(&self) -> f64 {
        crate::summary::median(&walsh_averages(&self.differences)).unwrap_or(0.0)
    }

    /// The shifts that the two-sided test at `alpha` does not reject, or
    /// `None` when that is every number: below 6 differences at 0.05 no
    /// sample can be rejected at all.
    pub fn interval(&self, alpha: f64) -> Option<RankInterval> {
        let n = self.differences.len();
        let (critical, tail) = critical(n, alpha / 2.0)?;
        let mut averages = walsh_averages(&self.differences);
        averages.sort_by(f64::total_cmp);
        Some(RankInterval {
            low: averages[critical],
            high: averages[averages.len() - 1 - critical],
            confidence: 1.0 - 2.0 * tail,
        })
    }
}

/// The greatest rank sum `c` with P(T <= c) <= `level` for `n` untied
/// differences, and that probability. `None` when even a sum of 0 is likelier.
pub(crate) fn critical(n: usize, level: f64) -> Option<(usize, f64)> {
    let cdf = untied_cdf(n);
    let within = cdf.iter().take_while(|p| **p <= level).count();
    (within > 0).then(|| (within - 1, cdf[within - 1]))
}

/// P(T <= c) for every rank sum c of `n` untied differences.
pub(crate) fn untied_cdf(n: usize) -> Vec<f64> {
    let ranks: Vec<usize> = (1..=n).collect();
    null_cdf(&ranks)
}

/// All means of pairs, each value with itself included, in no order.
pub(crate) fn walsh_averages(sample: &[f64]) -> Vec<f64> {
    let mut averages = Vec::with_capacity(sample.len() * (sample.len() + 1) / 2);
    for (i, a) in sample.iter().enumerate() {
        averages.extend(sample[i..].iter().map(|b| a / 2.0 + b / 2.0));
    }
    averages
}

/// Twice the mid-rank of each absolute value.
fn doubled_midranks(sample: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..sample.len()).collect();
    order.sort_by(|&a, &b| sample[a].abs().total_cmp(&sample[b].abs()));
    let mut ranks = vec![0; sample.len()];
    let mut first = 0;
    while first < order.len() {
        let value = sample[order[first]].abs();
        let tied = order[first..]
            .iter()
            .take_while(|&&i| sample[i].abs() == value)
            .count();
        for &i in &order[first..first + tied] {
            // Ranks first+1 ..= first+tied: twice their mean is their first plus their last.
            ranks[i] = 2 * first + tied + 1;
        }
        first += tied;
    }
    ranks
}

fn ranked(sample: &[f64], ranks: &[usize], keep: impl Fn(f64) -> bool) -> Vec<usize> {
    let chosen = sample.iter().zip(ranks).filter(|(x, _)| keep(**x));
    chosen.map(|(_, rank)| *rank).collect()
}

/// P(T+ <= t) for every t, each rank being in the sum with probability a half.
/// The halves stay exact in an f64 up to about 50 ranks.
fn null_cdf(ranks: &[usize]) -> Vec<f64> {
    let total: usize = ranks.iter().sum();
    let mut mass = vec![0.0; total + 1];
    mass[0] = 1.0;
    let mut reached = 0;
    for &rank in ranks {
        reached += rank;
        for t in (0..=reached).rev() {
            let with = if t >= rank { mass[t - rank] } else { 0.0 };
            mass[t] = (mass[t] + with) / 2.0;
        }
    }
    let mut sum = 0.0;
    for m in &mut mass {
        sum += *m;
        *m = sum;
    }
    mass
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every assignment of signs to the absolute values, counted one by one.
    fn oracle(sample: &[f64]) -> (f64, f64) {
        let midrank = |x: f64| {
            let below = sample.iter().filter(|y| y.abs() < x.abs()).count() as f64;
            let tied = sample.iter().filter(|y| y.abs() == x.abs()).count() as f64;
            below + (tied + 1.0) / 2.0
        };
        let ranks: Vec<f64> = (sample.iter().filter(|x| **x != 0.0))
            .map(|x| midrank(*x))
            .collect();
        let positive = sample.iter().filter(|x| **x > 0.0);
        let seen: f64 = positive.map(|x| midrank(*x)).sum();
        let (mut at_most, mut at_least) = (0, 0);
        for signs in 0..1_u32 << ranks.len() {
            let sum: f64 = (0..ranks.len())
                .filter(|i| signs >> i & 1 == 1)
                .map(|i| ranks[i])
                .sum();
            at_most += u32::from(sum <= seen);
            at_least += u32::from(sum >= seen);
        }
        let all = f64::from(1_u32 << ranks.len());
        (f64::from(at_most) / all, f64::from(at_least) / all)
    }

    #[test]
    fn agrees_with_brute_force_ties_and_zeros_included() {
        let mut rng = crate::generator(7);
        use rand::RngExt;
        for n in 1..=12 {
            for _ in 0..12 {
                let sample: Vec<f64> = (0..n)
                    .map(|_| f64::from(rng.random_range(-6..=6_i32)) / 2.0)
                    .collect();
                let test = SignedRank::of(&sample).unwrap();
                let (less, greater) = oracle(&sample);
                assert!((test.p_less() - less).abs() < 1e-12, "{sample:?}");
                assert!((test.p_greater() - greater).abs() < 1e-12, "{sample:?}");
            }
        }
    }

    #[test]
    fn five_can_never_decide_and_six_only_when_all_agree() {
        let five = SignedRank::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(five.p_two_sided(), 0.0625);
        assert_eq!(five.interval(0.05), None);

        let six = SignedRank::of(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!(six.p_two_sided(), 0.03125);
        let interval = six.interval(0.05).unwrap();
        assert_eq!((interval.low, interval.high), (1.0, 6.0));
        assert_eq!(interval.confidence, 0.96875);

        let but_one = SignedRank::of(&[-1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!(but_one.p_two_sided(), 0.0625);
    }

    /// Table values of the two-sided 0.05 test (Hollander and Wolfe, table A.4).
    #[test]
    fn critical_values_are_those_of_the_tables() {
        let expected = [
            (6, 0),
            (7, 2),
            (8, 3),
            (9, 5),
            (10, 8),
            (12, 13),
            (16, 29),
            (24, 81),
        ];
        for (n, sum) in expected {
            assert_eq!(critical(n, 0.025).unwrap().0, sum, "n={n}");
        }
    }

    #[test]
    fn nothing_but_zeros_says_nothing() {
        let test = SignedRank::of(&[0.0; 8]).unwrap();
        assert_eq!((test.p_two_sided(), test.estimate()), (1.0, 0.0));
    }

    #[test]
    fn refuses_what_is_no_number() {
        assert_eq!(SignedRank::of(&[]).unwrap_err(), StatsError::NoSamples);
        let error = SignedRank::of(&[1.0, f64::INFINITY]).unwrap_err();
        assert!(matches!(error, StatsError::NotFinite { index: 1, .. }));
    }
}
