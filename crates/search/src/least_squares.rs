//! Effects from whatever rows are there, each only where the rows can separate it from the others.
//!
//! A coefficient is what is left of its column when all other columns are taken out of it, against the values (Frisch and
//! Waugh 1933). Where nothing is left, the rows confuse it with others: it has no estimate, and the others have theirs.

/// A coefficient that the rows determine.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coefficient {
    pub estimate: f64,
    /// Its variance is that of a row divided by this.
    pub information: f64,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    pub coefficients: Vec<Option<Coefficient>>,
    /// Sum of the squares that are left, and their degrees of freedom.
    pub squares: f64,
    pub freedom: u32,
}

/// Squares below this are rounding: columns hold whole numbers, of which there are dozens.
const NOTHING: f64 = 1e-9;

/// Least squares of `values` on the columns of `rows`, without a constant.
pub fn fit(rows: &[Vec<f64>], values: &[f64]) -> Fit {
    let width = rows.first().map_or(0, Vec::len);
    let columns: Vec<Vec<f64>> = (0..width)
        .map(|column| rows.iter().map(|row| row[column]).collect())
        .collect();
    let coefficients = (0..width)
        .map(|this| {
            let others = columns.iter().enumerate().filter(|(at, _)| *at != this);
            let others = basis(others.map(|(_, column)| column));
            let own = beyond(&columns[this], &others);
            let information = dot(&own, &own);
            (information > NOTHING).then(|| Coefficient {
                estimate: dot(&own, values) / information,
                information,
            })
        })
        .collect();
    let all = basis(columns.iter());
    let left = beyond(values, &all);
    Fit {
        coefficients,
        squares: dot(&left, &left),
        freedom: (values.len() - all.len()) as u32,
    }
}

/// Orthonormal vectors that span the columns.
fn basis<'c>(columns: impl Iterator<Item = &'c Vec<f64>>) -> Vec<Vec<f64>> {
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for column in columns {
        let mut own = beyond(column, &basis);
        let length = dot(&own, &own).sqrt();
        if length * length > NOTHING {
            own.iter_mut().for_each(|x| *x /= length);
            basis.push(own);
        }
    }
    basis
}

/// What of a vector lies outside the span. Taken out twice, so that rounding leaves nothing of it inside.
fn beyond(vector: &[f64], basis: &[Vec<f64>]) -> Vec<f64> {
    let mut left = vector.to_vec();
    for _ in 0..2 {
        for direction in basis {
            let along = dot(&left, direction);
            left.iter_mut()
                .zip(direction)
                .for_each(|(x, d)| *x -= along * d);
        }
    }
    left
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_rational::BigRational;
    use proptest::prelude::*;

    fn exact(x: i32) -> BigRational {
        BigRational::from_integer(x.into())
    }

    fn as_f64(x: &BigRational) -> f64 {
        let (above, below) = (x.numer().to_string(), x.denom().to_string());
        above.parse::<f64>().unwrap() / below.parse::<f64>().unwrap()
    }

    /// The normal equations in whole fractions, by Gauss and Jordan; `None` when they have no single solution.
    fn oracle(rows: &[Vec<i32>], values: &[i32]) -> Option<Vec<f64>> {
        let width = rows[0].len();
        let sum = |of: &dyn Fn(&Vec<i32>, i32) -> i32| {
            exact(rows.iter().zip(values).map(|(row, y)| of(row, *y)).sum())
        };
        let mut system: Vec<Vec<BigRational>> = (0..width)
            .map(|i| {
                let mut row: Vec<BigRational> =
                    (0..width).map(|j| sum(&|row, _| row[i] * row[j])).collect();
                row.push(sum(&|row, y| row[i] * y));
                row
            })
            .collect();
        for at in 0..width {
            let pivot = (at..width).find(|&r| system[r][at] != exact(0))?;
            system.swap(at, pivot);
            let scale = system[at][at].clone();
            system[at].iter_mut().for_each(|x| *x = &*x / &scale);
            for other in (0..width).filter(|&r| r != at) {
                let factor = system[other][at].clone();
                let pivot = system[at].clone();
                for (x, from) in system[other].iter_mut().zip(&pivot) {
                    *x = &*x - &factor * from;
                }
            }
        }
        Some(system.iter().map(|row| as_f64(&row[width])).collect())
    }

    #[test]
    fn a_straight_line_by_hand() {
        // y = 1 + 2 x at x = 0, 1, 2, the last one 3 too high: 1/2 and 7/2.
        let rows = [[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]].map(|row| row.to_vec());
        let found = fit(&rows, &[1.0, 3.0, 8.0]);
        let estimates: Vec<f64> = found
            .coefficients
            .iter()
            .map(|c| c.unwrap().estimate)
            .collect();
        assert!((estimates[0] - 0.5).abs() < 1e-12 && (estimates[1] - 3.5).abs() < 1e-12);
        assert!((found.squares - 1.5).abs() < 1e-12 && found.freedom == 1);
        assert!((found.coefficients[1].unwrap().information - 2.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_confused_has_no_estimate_and_the_rest_has() {
        let rows = [[1.0, 1.0, 1.0], [-1.0, -1.0, 1.0], [1.0, 1.0, -1.0]].map(|r| r.to_vec());
        let found = fit(&rows, &[5.0, 1.0, 1.0]);
        assert_eq!(found.coefficients[0], None);
        assert_eq!(found.coefficients[1], None);
        assert!((found.coefficients[2].unwrap().estimate - 2.5).abs() < 1e-12);
        assert_eq!(fit(&[], &[]).freedom, 0);
    }

    proptest! {
        #[test]
        fn the_same_as_in_exact_fractions(
            rows in prop::collection::vec(prop::collection::vec(-1_i32..=1, 4), 4..16),
            seed in prop::collection::vec(-50_i32..50, 16),
        ) {
            let values = &seed[..rows.len()];
            let wide: Vec<Vec<f64>> =
                rows.iter().map(|row| row.iter().map(|x| f64::from(*x)).collect()).collect();
            let as_numbers: Vec<f64> = values.iter().map(|y| f64::from(*y)).collect();
            let found = fit(&wide, &as_numbers);
            match oracle(&rows, values) {
                Some(expected) => for (coefficient, expected) in found.coefficients.iter().zip(expected) {
                    prop_assert!((coefficient.unwrap().estimate - expected).abs() < 1e-8);
                },
                None => prop_assert!(found.coefficients.iter().any(Option::is_none)),
            }
        }
    }
}
