//! Which configurations are predicted and tried, and how long that takes.

use super::Question;
use run::Settings;

/// Threads of the held-out configurations by default.
const THREADS: [u16; 4] = [1, 2, 3, 5];
/// What starting, settling, warming up and ending a server takes before one has been seen, seconds.
const ASSUMED_START_S: f64 = 15.0;
/// A window's requests still under way at its end, and what is read between windows, seconds.
const BETWEEN_S: f64 = 1.0;

/// What is predicted and tried, where it was said.
#[derive(Debug, Clone, Default)]
pub struct Grid {
    pub workers: Option<Vec<u16>>,
    pub threads: Option<Vec<u16>>,
}

/// Every number of workers with every number of threads, without the configuration that was traced: by default
/// one process and as many as there are cores, each of 1, 2, 3 and 5 threads. One process is single mode, or a cluster of
/// one where that was traced.
///
/// # Errors
/// What cannot be predicted, or nothing, in words.
pub fn held_out(traced: Settings, cores: f64, grid: Grid) -> Result<Vec<Settings>, String> {
    let one = u16::from(traced.workers == 1);
    let several = (cores.round() as u16).clamp(2, 8);
    let workers = grid.workers.unwrap_or_else(|| vec![one, several]);
    let threads = grid.threads.unwrap_or_else(|| THREADS.to_vec());
    let mut found: Vec<Settings> = Vec::new();
    for &workers in &workers {
        for &threads in &threads {
            let settings = Settings {
                workers,
                threads,
                preload: traced.preload && workers > 0,
            };
            if (workers, threads) != (traced.workers, traced.threads) && !found.contains(&settings)
            {
                found.push(settings);
            }
        }
    }
    if found.is_empty() {
        return Err(format!(
            "only {traced} is to be tried, which is traced; name others with --threads or --workers"
        ));
    }
    match found.iter().find_map(|settings| unlike(traced, *settings)) {
        Some(why) => Err(why),
        None => Ok(found),
    }
}

/// The processes and threads of a configuration, as the simulator counts them.
pub fn point(settings: Settings) -> predict::Point {
    predict::Point {
        processes: settings.workers.max(1),
        threads: settings.threads,
    }
}

/// What cannot be predicted from a trace of `traced`, in words.
fn unlike(traced: Settings, settings: Settings) -> Option<String> {
    match (traced.workers, settings.workers) {
        (1, 0) | (0 | 2.., 1) => Some(format!(
            "{settings} from a trace of {traced}: a cluster of one worker accepts otherwise than single mode, and the two \
             cannot be told apart by the number of processes; leave it out, or trace it"
        )),
        _ => None,
    }
}

/// Lengths of the parts, seconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lengths {
    /// From starting a server to its first window, and its end.
    pub start_s: f64,
    pub window_s: f64,
    /// Windows of one server: the closed loop and one for each load.
    pub windows: usize,
}

impl Lengths {
    pub fn assumed(question: &Question) -> Lengths {
        Lengths {
            start_s: ASSUMED_START_S,
            window_s: question.window.as_secs_f64(),
            windows: question.loads.len() + 1,
        }
    }

    /// The trace, after the loops that say what moving between cores costs, or a window that says a rate.
    pub fn trace_s(&self, question: &Question) -> f64 {
        let loops = super::cold::WINDOWS * (self.window_s + 2.0 * BETWEEN_S);
        self.start_s + loops + question.trace.as_secs_f64() + BETWEEN_S
    }

    /// One server of a held-out configuration.
    pub fn server_s(&self) -> f64 {
        self.start_s + self.windows as f64 * (self.window_s + BETWEEN_S)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn settings(workers: u16, threads: u16) -> Settings {
        Settings {
            workers,
            threads,
            preload: false,
        }
    }

    fn usual(traced: Settings, cores: f64) -> Vec<Settings> {
        held_out(traced, cores, Grid::default()).unwrap()
    }

    #[test]
    fn the_traced_configuration_is_not_held_out() {
        let found = usual(settings(0, 3), 2.0);
        assert_eq!(found.len(), 7);
        assert!(!found.contains(&settings(0, 3)) && found.contains(&settings(2, 3)));
        let of_one = usual(settings(1, 2), 1.0);
        assert!(of_one.contains(&settings(1, 1)) && of_one.contains(&settings(2, 2)));
        let preloaded = Settings {
            preload: true,
            ..settings(2, 5)
        };
        let found = usual(preloaded, 2.0);
        assert!(found.iter().all(|s| s.preload == (s.workers > 0)));
        let asked = |workers: &[u16], threads: &[u16]| {
            let grid = Grid {
                workers: Some(workers.to_vec()),
                threads: Some(threads.to_vec()),
            };
            held_out(settings(0, 3), 2.0, grid)
        };
        assert_eq!(asked(&[0], &[4, 4, 3]), Ok(vec![settings(0, 4)]));
        assert!(asked(&[0], &[3]).is_err());
        assert!(
            asked(&[1, 2], &[3])
                .unwrap_err()
                .contains("a cluster of one worker")
        );
    }

    #[test]
    fn a_cluster_of_one_and_single_mode_are_two_things() {
        assert!(unlike(settings(0, 3), settings(1, 3)).is_some());
        assert!(unlike(settings(1, 3), settings(0, 3)).is_some());
        assert!(unlike(settings(2, 3), settings(0, 3)).is_none());
        assert!(unlike(settings(0, 3), settings(2, 3)).is_none());
    }

    #[test]
    fn the_time_is_the_sum_of_its_parts() {
        let question = Question {
            loads: vec![0.5, 0.7, 0.85],
            blocks: 2,
            window: Duration::from_secs(20),
            trace: Duration::from_secs(60),
            trace_load: 0.6,
        };
        let lengths = Lengths::assumed(&question);
        assert_eq!(lengths.trace_s(&question), 15.0 + 3.0 * 22.0 + 60.0 + 1.0);
        assert_eq!(lengths.server_s(), 15.0 + 4.0 * 21.0);
    }
}
