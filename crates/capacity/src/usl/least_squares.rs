//! Linear least squares with two or three coefficients, by Gram-Schmidt, and the
//! same with no coefficient below 0.

/// The coefficients, any sign; `None` where the columns depend on each other.
pub(super) fn unbounded(columns: &[Vec<f64>], target: &[f64]) -> Option<Vec<f64>> {
    solve(&columns.iter().collect::<Vec<_>>(), target)
}

/// The coefficients with none below 0, and the sum of squares that they leave.
///
/// The problem is convex, so that the best fit is that of some of the columns
/// with the others at 0, and there are few enough to try all.
pub(super) fn at_least_0(columns: &[Vec<f64>], target: &[f64]) -> (Vec<f64>, f64) {
    let nothing = (vec![0.0; columns.len()], squares(target));
    (1..1_usize << columns.len()).fold(nothing, |best, mask| {
        let used: Vec<usize> = (0..columns.len()).filter(|k| mask >> k & 1 == 1).collect();
        let some: Vec<&Vec<f64>> = used.iter().map(|k| &columns[*k]).collect();
        let Some(found) = solve(&some, target).filter(|f| f.iter().all(|c| *c >= 0.0)) else {
            return best;
        };
        let left = remainder(&some, &found, target);
        if left >= best.1 {
            return best;
        }
        let mut all = vec![0.0; columns.len()];
        used.iter().zip(found).for_each(|(k, c)| all[*k] = c);
        (all, left)
    })
}

fn remainder(columns: &[&Vec<f64>], found: &[f64], target: &[f64]) -> f64 {
    let fitted = |row: usize| -> f64 { columns.iter().zip(found).map(|(c, f)| c[row] * f).sum() };
    (0..target.len())
        .map(|row| (target[row] - fitted(row)).powi(2))
        .sum()
}

fn solve(columns: &[&Vec<f64>], target: &[f64]) -> Option<Vec<f64>> {
    let count = columns.len();
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(count);
    let mut upper = vec![vec![0.0; count]; count];
    for (k, column) in columns.iter().enumerate() {
        let mut rest = (*column).clone();
        for (j, direction) in basis.iter().enumerate() {
            upper[j][k] = dot(direction, &rest);
            rest.iter_mut()
                .zip(direction)
                .for_each(|(r, d)| *r -= upper[j][k] * d);
        }
        upper[k][k] = squares(&rest).sqrt();
        if upper[k][k] <= 1e-10 * squares(column).sqrt() {
            return None;
        }
        rest.iter_mut().for_each(|r| *r /= upper[k][k]);
        basis.push(rest);
    }
    let mut rest = target.to_vec();
    let mut right = Vec::with_capacity(count);
    for direction in &basis {
        let along = dot(direction, &rest);
        rest.iter_mut()
            .zip(direction)
            .for_each(|(r, d)| *r -= along * d);
        right.push(along);
    }
    let mut found = vec![0.0; count];
    for k in (0..count).rev() {
        let known: f64 = (k + 1..count).map(|j| upper[k][j] * found[j]).sum();
        found[k] = (right[k] - known) / upper[k][k];
    }
    Some(found)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn squares(values: &[f64]) -> f64 {
    dot(values, values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_line_by_hand() {
        // y = 1, 3, 4 at x = 0, 1, 2: slope 3/2, intercept 7/6.
        let columns = [vec![1.0; 3], vec![0.0, 1.0, 2.0]];
        let found = unbounded(&columns, &[1.0, 3.0, 4.0]).unwrap();
        assert!((found[0] - 7.0 / 6.0).abs() < 1e-12 && (found[1] - 1.5).abs() < 1e-12);
        assert_eq!(unbounded(&[vec![1.0; 3], vec![2.0; 3]], &[1.0; 3]), None);
    }

    #[test]
    fn what_would_be_negative_is_held_at_0() {
        let columns = [vec![1.0; 3], vec![0.0, 1.0, 2.0]];
        let (found, left) = at_least_0(&columns, &[3.0, 2.0, 1.0]);
        assert!((found[0] - 2.0).abs() < 1e-12 && found[1] == 0.0);
        assert!((left - 2.0).abs() < 1e-12);
    }

    proptest! {
        /// No point of a grid around the answer leaves less.
        #[test]
        fn nothing_near_is_better(
            xs in prop::collection::vec(0.1_f64..9.0, 5..9),
            noise in prop::collection::vec(-2.0_f64..2.0, 9),
        ) {
            let columns = [vec![1.0; xs.len()], xs.clone(), xs.iter().map(|x| x * x).collect()];
            let target: Vec<f64> = xs.iter().zip(&noise).map(|(x, e)| 1.0 + x + e).collect();
            let (found, left) = at_least_0(&columns, &target);
            prop_assert!(found.iter().all(|c| *c >= 0.0));
            let used: Vec<&Vec<f64>> = columns.iter().collect();
            for step in 0..27 {
                let moved: Vec<f64> = (0..3)
                    .map(|k| (found[k] + 0.01 * (f64::from(step / 3_i32.pow(k as u32) % 3) - 1.0)).max(0.0))
                    .collect();
                prop_assert!(remainder(&used, &moved, &target) >= left - 1e-9);
            }
        }
    }
}
