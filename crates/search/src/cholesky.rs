//! The root of a covariance: a lower triangle L with L Lᵀ the matrix (Cholesky, published by Benoît 1924).

/// A lower triangle, row by row.
#[derive(Debug, Clone)]
pub struct Cholesky(Vec<Vec<f64>>);

impl Cholesky {
    /// Of a symmetric matrix, of which `entry` is asked for the lower triangle; `None` where it is not positive definite.
    pub fn of(size: usize, entry: impl Fn(usize, usize) -> f64) -> Option<Cholesky> {
        let mut rows: Vec<Vec<f64>> = Vec::with_capacity(size);
        for row in 0..size {
            let mut new: Vec<f64> = Vec::with_capacity(row + 1);
            for column in 0..row {
                let above: &[f64] = &rows[column];
                let left = entry(row, column) - dot(&new, &above[..column]);
                new.push(left / above[column]);
            }
            let left = entry(row, row) - dot(&new, &new);
            if left.is_nan() || left <= 0.0 {
                return None;
            }
            new.push(left.sqrt());
            rows.push(new);
        }
        Some(Cholesky(rows))
    }

    /// The x with L x = b.
    pub fn forward(&self, b: &[f64]) -> Vec<f64> {
        let mut x: Vec<f64> = Vec::with_capacity(b.len());
        for (row, b) in self.0.iter().zip(b) {
            let at = x.len();
            x.push((b - dot(&row[..at], &x)) / row[at]);
        }
        x
    }

    /// The x with Lᵀ x = b.
    pub fn backward(&self, b: &[f64]) -> Vec<f64> {
        let mut x = b.to_vec();
        for at in (0..x.len()).rev() {
            let row = &self.0[at];
            x[at] /= row[at];
            let known = x[at];
            for (x, entry) in x[..at].iter_mut().zip(row) {
                *x -= entry * known;
            }
        }
        x
    }

    /// The logarithm of the matrix's determinant.
    pub fn log_determinant(&self) -> f64 {
        let diagonal = self.0.iter().filter_map(|row| row.last());
        2.0 * diagonal.map(|entry| entry.ln()).sum::<f64>()
    }
}

/// In four sums, which the compiler computes at once.
pub fn dot(one: &[f64], other: &[f64]) -> f64 {
    let length = one.len().min(other.len());
    let (one, other) = (
        one[..length].chunks_exact(4),
        other[..length].chunks_exact(4),
    );
    let rest: f64 = one
        .remainder()
        .iter()
        .zip(other.remainder())
        .map(|(a, b)| a * b)
        .sum();
    let mut sums = [0.0; 4];
    for (a, b) in one.zip(other) {
        for nth in 0..4 {
            sums[nth] += a[nth] * b[nth];
        }
    }
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(matrix: &[&[f64]]) -> Option<Cholesky> {
        Cholesky::of(matrix.len(), |row, column| matrix[row][column])
    }

    #[test]
    fn a_square_by_hand() {
        // L = [2 0; 3 1]: 4 6; 6 10, of determinant 4.
        let root = of(&[&[4.0, 6.0], &[6.0, 10.0]]).unwrap();
        assert_eq!(root.forward(&[2.0, 5.0]), [1.0, 2.0]);
        assert_eq!(root.backward(&[8.0, 2.0]), [1.0, 2.0]);
        assert!((root.log_determinant() - 4.0_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn what_is_no_covariance_has_no_root() {
        assert!(of(&[&[1.0, 2.0], &[2.0, 1.0]]).is_none());
        assert!(of(&[&[f64::NAN]]).is_none());
        assert_eq!(of(&[]).unwrap().forward(&[]), [0.0; 0]);
    }

    proptest! {
        #[test]
        fn what_is_solved_multiplies_back(
            half in prop::collection::vec(prop::collection::vec(-3.0_f64..3.0, 7), 7),
            wanted in prop::collection::vec(-9.0_f64..9.0, 7),
        ) {
            let entry = |i: usize, j: usize| {
                dot(&half[i], &half[j]) + if i == j { 1.0 } else { 0.0 }
            };
            let b: Vec<f64> = (0..7)
                .map(|i| (0..7).map(|j| entry(i, j) * wanted[j]).sum())
                .collect();
            let root = Cholesky::of(7, entry).unwrap();
            let found = root.backward(&root.forward(&b));
            for (found, wanted) in found.iter().zip(&wanted) {
                prop_assert!((found - wanted).abs() < 1e-8, "{found} {wanted}");
            }
        }
    }
}
