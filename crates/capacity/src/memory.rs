//! What a configuration will weigh: M0 + W (m + T t).
//!
//! M0 is what the processes share or the master owns, m what each process has
//! for itself, t what each thread adds (stack, arena, its part of the garbage
//! between collections). Single mode counts as one process, which errs on the
//! heavy side. Coefficients are the nonnegative ones of least squares. How to
//! measure PSS, and growth with requests, belongs to others.

use serde::{Deserialize, Serialize};

use crate::error::above_0;
use crate::{CapacityError, Config};

/// The summed PSS of the tree of a running server, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Observation {
    pub config: Config,
    pub pss_bytes: f64,
}

/// Which coefficients the observations could separate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// All three.
    Full,
    /// Processes varied, threads did not enough: a thread is assumed to weigh
    /// 2 % of m.
    AssumedThread,
    /// Threads varied, processes did not: M0 is taken as 0, so that adding
    /// processes is never promised to be cheaper than it may be.
    NothingShared,
    /// One configuration: both assumptions.
    OnePoint,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MemoryModel {
    /// M0, in bytes.
    pub shared_bytes: f64,
    /// m, in bytes.
    pub per_worker_bytes: f64,
    /// t, in bytes.
    pub per_thread_bytes: f64,
    pub basis: Basis,
}

/// t as part of m, where threads did not vary: an assumption, of a few MB for
/// stack and buffers compared with some hundred for a worker.
const THREAD_SHARE: f64 = 0.02;

/// Fits the model; several observations of one configuration are welcome.
///
/// # Errors
/// No observation, or one that is not above 0.
pub fn fit(observations: &[Observation]) -> Result<MemoryModel, CapacityError> {
    for o in observations {
        above_0("a memory observation, in bytes,", o.pss_bytes)?;
    }
    let heaviest = observations.iter().map(|o| o.pss_bytes).reduce(f64::max);
    let Some(scale) = heaviest else {
        return Err(CapacityError::NoObservations);
    };
    let pss: Vec<f64> = observations.iter().map(|o| o.pss_bytes / scale).collect();
    let columns = |c: Config| {
        let (w, t) = (f64::from(c.processes()), f64::from(c.threads));
        [1.0, w, w * t, w * (1.0 + THREAD_SHARE * t)]
    };
    let rows: Vec<[f64; 4]> = observations.iter().map(|o| columns(o.config)).collect();
    let try_with = |chosen: &[usize]| nonnegative(&rows, chosen, &pss);
    let workers_vary = observations
        .iter()
        .any(|o| o.config.processes() != observations[0].config.processes());
    let tied = |shared: f64, worker: f64, basis| (shared, worker, THREAD_SHARE * worker, basis);
    let (shared, worker, thread, basis) = if let Some(x) = try_with(&[0, 1, 2]) {
        (x[0], x[1], x[2], Basis::Full)
    } else if workers_vary && let Some(x) = try_with(&[0, 3]) {
        tied(x[0], x[1], Basis::AssumedThread)
    } else if let Some(x) = try_with(&[1, 2]) {
        (0.0, x[0], x[1], Basis::NothingShared)
    } else {
        let x = try_with(&[3]).ok_or(CapacityError::NoObservations)?;
        tied(0.0, x[0], Basis::OnePoint)
    };
    Ok(MemoryModel {
        shared_bytes: shared * scale,
        per_worker_bytes: worker * scale,
        per_thread_bytes: thread * scale,
        basis,
    })
}

impl MemoryModel {
    /// Predicted PSS of `config`, in bytes.
    pub fn predict(&self, config: Config) -> f64 {
        let per_process = self.per_worker_bytes + f64::from(config.threads) * self.per_thread_bytes;
        self.shared_bytes + f64::from(config.processes()) * per_process
    }
}

/// Least squares over the `chosen` columns with no coefficient below 0; `None`
/// when the rows cannot separate the columns. With three columns at most,
/// every subset that may be left above 0 is simply tried.
fn nonnegative(rows: &[[f64; 4]], chosen: &[usize], pss: &[f64]) -> Option<Vec<f64>> {
    least_squares(rows, chosen, pss)?;
    let mut best: Option<(f64, Vec<f64>)> = None;
    for subset in 1_u32..1 << chosen.len() {
        let active: Vec<usize> = (0..chosen.len()).filter(|i| subset >> i & 1 == 1).collect();
        let columns: Vec<usize> = active.iter().map(|i| chosen[*i]).collect();
        let Some(solution) = least_squares(rows, &columns, pss) else {
            continue;
        };
        if solution.iter().any(|x| *x < 0.0) {
            continue;
        }
        let residual: f64 = rows
            .iter()
            .zip(pss)
            .map(|(row, y)| {
                let fitted = columns.iter().zip(&solution).map(|(c, x)| row[*c] * x);
                (y - fitted.sum::<f64>()).powi(2)
            })
            .sum();
        if best.as_ref().is_none_or(|(least, _)| residual < *least) {
            let mut whole = vec![0.0; chosen.len()];
            for (i, x) in active.iter().zip(solution) {
                whole[*i] = x;
            }
            best = Some((residual, whole));
        }
    }
    best.map(|(_, whole)| whole)
}

/// Modified Gram-Schmidt; `None` when a column is a mix of those before it.
fn least_squares(rows: &[[f64; 4]], columns: &[usize], pss: &[f64]) -> Option<Vec<f64>> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let column = |c: &usize| rows.iter().map(|row| row[*c]).collect::<Vec<f64>>();
    let mut basis: Vec<Vec<f64>> = columns.iter().map(column).collect();
    let size = columns.len();
    let mut upper = vec![vec![0.0; size]; size];
    let mut rest = pss.to_vec();
    let mut projected = vec![0.0; size];
    for j in 0..size {
        let before = dot(&basis[j], &basis[j]).sqrt();
        for i in 0..j {
            upper[i][j] = dot(&basis[i], &basis[j]);
            let (done, open) = basis.split_at_mut(j);
            for (x, b) in open[0].iter_mut().zip(&done[i]) {
                *x -= upper[i][j] * b;
            }
        }
        upper[j][j] = dot(&basis[j], &basis[j]).sqrt();
        if upper[j][j] <= 1e-9 * before {
            return None;
        }
        for x in &mut basis[j] {
            *x /= upper[j][j];
        }
        projected[j] = dot(&basis[j], &rest);
        for (y, b) in rest.iter_mut().zip(&basis[j]) {
            *y -= projected[j] * b;
        }
    }
    for j in (0..size).rev() {
        let known: f64 = (j + 1..size).map(|k| upper[j][k] * projected[k]).sum();
        projected[j] = (projected[j] - known) / upper[j][j];
    }
    Some(projected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MIB: f64 = 1_048_576.0;

    fn seen(workers: u16, threads: u16, mib: f64) -> Observation {
        Observation {
            config: Config { workers, threads },
            pss_bytes: mib * MIB,
        }
    }

    #[test]
    fn recovers_what_made_the_observations() {
        let truth = |w: u16, t: u16| seen(w, t, 80.0 + f64::from(w) * (50.0 + 3.0 * f64::from(t)));
        let model = fit(&[truth(1, 3), truth(2, 3), truth(4, 1), truth(2, 8)]).unwrap();
        assert_eq!(model.basis, Basis::Full);
        assert!((model.shared_bytes / MIB - 80.0).abs() < 1e-6);
        assert!((model.per_worker_bytes / MIB - 50.0).abs() < 1e-6);
        assert!((model.per_thread_bytes / MIB - 3.0).abs() < 1e-6);
    }

    #[test]
    fn one_point_shares_nothing() {
        let model = fit(&[seen(2, 5, 300.0), seen(2, 5, 302.0)]).unwrap();
        assert_eq!((model.basis, model.shared_bytes), (Basis::OnePoint, 0.0));
        let twice = model.predict(Config {
            workers: 4,
            threads: 5,
        });
        assert!((twice / MIB - 602.0).abs() < 1e-6);
    }

    #[test]
    fn what_did_not_vary_is_assumed() {
        let processes = fit(&[seen(1, 3, 180.0), seen(2, 3, 260.0)]).unwrap();
        assert_eq!(processes.basis, Basis::AssumedThread);
        assert!((processes.shared_bytes / MIB - 100.0).abs() < 1e-6);
        let threads = fit(&[seen(0, 2, 100.0), seen(0, 10, 116.0)]).unwrap();
        assert_eq!(threads.basis, Basis::NothingShared);
        assert!((threads.per_thread_bytes / MIB - 2.0).abs() < 1e-6);
    }

    #[test]
    fn no_coefficient_falls_below_0() {
        let model = fit(&[
            seen(1, 1, 100.0),
            seen(2, 1, 210.0),
            seen(4, 4, 400.0),
            seen(1, 8, 90.0),
        ])
        .unwrap();
        assert!(
            model.shared_bytes >= 0.0
                && model.per_worker_bytes >= 0.0
                && model.per_thread_bytes >= 0.0
        );
        assert_eq!(fit(&[]), Err(CapacityError::NoObservations));
    }

    proptest! {
        #[test]
        fn more_is_never_lighter(
            points in prop::collection::vec((0_u16..6, 1_u16..10, 50.0_f64..900.0), 1..6),
            workers in 1_u16..8, threads in 1_u16..16,
        ) {
            let observations: Vec<Observation> = points.iter().map(|p| seen(p.0, p.1, p.2)).collect();
            let model = fit(&observations).unwrap();
            let here = model.predict(Config { workers, threads });
            prop_assert!(here > 0.0 && here.is_finite());
            let workers_more = Config { workers: workers + 1, threads };
            let threads_more = Config { workers, threads: threads + 1 };
            prop_assert!(model.predict(workers_more) >= here && model.predict(threads_more) >= here);
        }
    }
}
