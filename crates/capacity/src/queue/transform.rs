//! A distribution from its Laplace-Stieltjes transform: the Euler algorithm of
//! Abate and Whitt (1995), a Fourier series whose alternating tail is summed by
//! binomial averages of its partial sums.

use num_complex::Complex64;

/// Sets the discretisation's error: e^-A, 1e-8.
const A: f64 = 18.4;
/// Partial sums that are averaged.
const AVERAGED: usize = 12;
/// Terms before the first average, and when to give up doubling them. Sharp
/// edges (constant service times) want many.
const FIRST: usize = 32;
const MOST: usize = 8192;
/// Two averages that agree so well are believed.
const AGREED: f64 = 1e-9;

/// P(T > `t`), `t` above 0, of a time T >= 0 with E[e^(-sT)] = `transform`(s).
pub(super) fn beyond(transform: impl Fn(Complex64) -> Complex64, t: f64) -> f64 {
    let tail = |s: Complex64| ((1.0 - transform(s)) / s).re;
    let scale = (A / 2.0).exp() / t;
    let mut sums = Vec::with_capacity(2 * FIRST + AVERAGED);
    let mut sum = tail(Complex64::new(A / (2.0 * t), 0.0)) / 2.0;
    let mut terms = FIRST;
    let mut last = f64::NAN;
    loop {
        while sums.len() < terms + AVERAGED {
            sums.push(sum);
            let k = sums.len();
            let s = Complex64::new(A / 2.0, k as f64 * std::f64::consts::PI) / t;
            let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
            sum += sign * tail(s);
        }
        let average = scale * averaged(&sums[terms..]);
        if (average - last).abs() < AGREED || terms >= MOST {
            return average.clamp(0.0, 1.0);
        }
        (last, terms) = (average, terms * 2);
    }
}

/// Weighted by the binomial coefficients.
fn averaged(sums: &[f64]) -> f64 {
    let order = AVERAGED - 1;
    let mut coefficient = 0.5_f64.powi(order as i32);
    let mut average = 0.0;
    for (k, sum) in sums.iter().take(AVERAGED).enumerate() {
        average += coefficient * sum;
        coefficient *= (order - k) as f64 / (k + 1) as f64;
    }
    average
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponential_and_its_mixture() {
        let exponential = |rate: f64| move |s: Complex64| rate / (rate + s);
        for t in [0.001, 0.1, 1.0, 5.0, 15.0] {
            let ours = beyond(exponential(2.0), t);
            assert!((ours - (-2.0 * t).exp()).abs() < 1e-7, "{t}: {ours}");
            let mixed = beyond(|s| 0.3 + 0.7 * exponential(2.0)(s), t);
            assert!((mixed - 0.7 * (-2.0 * t).exp()).abs() < 1e-7);
        }
    }
}
