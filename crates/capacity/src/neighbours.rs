//! The configurations next to one that was measured, for a search that no prediction leads.

use crate::Config;
use crate::candidates::far_apart;

/// The points next to `of` that a trial can distinguish from it: other threads with the same processes, then other processes
/// with the same threads, the nearest in each direction. `fewer_threads_first` is for a server that carries less than was
/// predicted.
#[must_use]
pub fn neighbours(points: &[Config], of: Config, fewer_threads_first: bool) -> Vec<Config> {
    let threads = points
        .iter()
        .filter(|p| p.workers == of.workers)
        .map(|p| (p.threads, *p));
    let [fewer, more] = nearest(threads, of.threads);
    let processes = points
        .iter()
        .filter(|p| p.threads == of.threads)
        .map(|p| (p.processes(), *p));
    let [fewer_processes, more_processes] = nearest(processes, of.processes());
    let threads = match fewer_threads_first {
        true => [fewer, more],
        false => [more, fewer],
    };
    let all = threads.into_iter().chain([more_processes, fewer_processes]);
    all.flatten().collect()
}

/// The nearest below and above `from` that are far enough from it.
fn nearest(values: impl Iterator<Item = (u16, Config)>, from: u16) -> [Option<Config>; 2] {
    let far: Vec<(u16, Config)> = values.filter(|(v, _)| far_apart(*v, from)).collect();
    let below = far
        .iter()
        .filter(|(v, _)| *v < from)
        .max_by_key(|(v, _)| *v);
    let above = far
        .iter()
        .filter(|(v, _)| *v > from)
        .min_by_key(|(v, _)| *v);
    [below, above].map(|found| found.map(|(_, config)| *config))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Grid;

    fn config(workers: u16, threads: u16) -> Config {
        Config { workers, threads }
    }

    #[test]
    fn both_directions_of_both_knobs_at_the_nearest_distance_that_shows() {
        let grid = Grid::default().configs(4.0).unwrap();
        for (of, expected) in [
            (config(0, 4), vec![config(0, 3), config(0, 5), config(2, 4)]),
            (
                config(2, 13),
                vec![config(2, 10), config(2, 17), config(3, 13), config(0, 13)],
            ),
            (config(0, 1), vec![config(0, 2), config(2, 1)]),
            (config(8, 32), vec![config(8, 25), config(6, 32)]),
        ] {
            assert_eq!(neighbours(&grid, of, true), expected, "{of}");
        }
        let more_first = neighbours(&grid, config(0, 4), false);
        assert_eq!(more_first[..2], [config(0, 5), config(0, 3)]);
    }

    #[test]
    fn only_what_may_be_tried_is_a_neighbour() {
        let grid = Grid {
            threads: Some(vec![2, 6, 20]),
            workers: Some(vec![2]),
        };
        let points = grid.configs(4.0).unwrap();
        let found = neighbours(&points, config(2, 6), true);
        assert_eq!(found, [config(2, 2), config(2, 20)]);
        assert!(neighbours(&points, config(0, 5), true).is_empty());
    }
}
