//! The search on the demands whose answers are known.

use capacity::{
    Candidate, CapacityError, Config, Demand, Grid, MemoryLimit, Observation, Scored, Why, fit,
    score, useful_threads,
};
use proptest::prelude::*;

const MIB: f64 = 1_048_576.0;

fn one_process() -> Grid {
    Grid {
        workers: Some(vec![0]),
        threads: None,
    }
}

fn config(workers: u16, threads: u16) -> Config {
    Config { workers, threads }
}

/// The formulas' candidates.
fn candidates(
    demand: &Demand,
    cores: f64,
    memory: Option<MemoryLimit<'_>>,
    baseline: Config,
    grid: &Grid,
    most: usize,
) -> Result<Vec<Candidate>, CapacityError> {
    let useful = useful_threads(demand.held_s(), demand.io_s()).unwrap();
    let scored = score(demand, cores, memory, grid)?;
    Ok(capacity::candidates(scored, useful, baseline, most))
}

fn threads(demand: &Demand, baseline: u16, most: usize) -> Vec<u16> {
    let found = candidates(demand, 2.0, None, config(0, baseline), &one_process(), most).unwrap();
    found.iter().map(|c| c.config.threads).collect()
}

#[test]
fn five_held_and_fifteen_of_io_try_four_threads_and_around() {
    let demand = Demand::new(0.005, 0.015, 0.0).unwrap();
    let tried = threads(&demand, 1, 4);
    assert!(tried.contains(&4), "{tried:?}");
    assert!(tried.iter().any(|t| (5..=7).contains(t)), "{tried:?}");
    assert!(tried.iter().any(|t| *t < 4), "{tried:?}");
}

/// An unknown lock: the split says T* = 4, the truth is fewer.
#[test]
fn points_below_useful_threads_are_always_among_them() {
    for (held, io) in [(0.005, 0.015), (0.002, 0.03), (0.01, 0.01), (0.004, 0.05)] {
        let demand = Demand::new(held, io, 0.0).unwrap();
        let useful = useful_threads(held, io).unwrap();
        for baseline in [3, 5] {
            let mut tried = threads(&demand, baseline, 3);
            tried.push(baseline);
            assert!(
                tried.iter().any(|t| f64::from(*t) < useful),
                "{held}/{io}: {tried:?}"
            );
        }
    }
}

#[test]
fn pure_gvl_work_wants_a_process_a_core_and_one_thread() {
    let demand = Demand::new(0.01, 0.0, 0.0).unwrap();
    let found = candidates(&demand, 2.0, None, config(0, 5), &Grid::default(), 3).unwrap();
    assert_eq!(
        (found[0].config, found[0].why),
        (config(2, 1), Why::Predicted)
    );
}

/// Three arms on two cores: the prediction, T* and something below it.
#[test]
fn three_arms_are_spent_on_what_differs() {
    let demand = Demand::new(0.005, 0.015, 0.0).unwrap();
    let found = candidates(&demand, 2.0, None, config(0, 5), &Grid::default(), 3).unwrap();
    let arms: Vec<(Config, Why)> = found.iter().map(|c| (c.config, c.why)).collect();
    let expected = [
        (config(2, 7), Why::Predicted),
        (config(2, 4), Why::UsefulThreads),
        (config(2, 2), Why::FewerThreads),
    ];
    assert_eq!(arms, expected);
}

/// A model that errs by some threads errs around its best: from five candidates on, what lies up to twice its threads is tried.
#[test]
fn five_candidates_reach_from_fewer_threads_to_twice_the_best() {
    for (held, io) in [(0.005, 0.015), (0.002, 0.03), (0.01, 0.01), (0.004, 0.02)] {
        let demand = Demand::new(held, io, 0.0).unwrap();
        for grid in [one_process(), Grid::default()] {
            for most in 5..8 {
                let baseline = config(1, 1);
                let found = candidates(&demand, 2.0, None, baseline, &grid, most).unwrap();
                let best = found[0].config;
                let mut threads: Vec<u16> = found
                    .iter()
                    .filter(|c| c.config.workers == best.workers)
                    .map(|c| c.config.threads)
                    .collect();
                threads.sort_unstable();
                assert!(threads[0] < best.threads, "{held}/{io}: {threads:?}");
                let reached = threads.last().unwrap();
                assert!(
                    *reached >= (2 * best.threads).min(32),
                    "{held}/{io}: {threads:?}"
                );
                let gaps = threads.windows(2).filter(|p| p[0] >= best.threads);
                for gap in gaps {
                    assert!(
                        gap[1] <= gap[0] * 2 || gap[0] == 1,
                        "{held}/{io}: {threads:?}"
                    );
                }
            }
        }
    }
}

/// 8 processes would keep two cores busy if waits were evenly spread; around the predicted ones are others, as far apart as a
/// trial can distinguish.
#[test]
fn where_a_process_serves_one_request_processes_alone_are_varied() {
    let demand = Demand::new(0.005, 0.015, 0.0).unwrap();
    let grid = Grid::of_processes(None, 2.0, 4.0).unwrap();
    assert_eq!(grid.workers.as_ref().unwrap().len(), 16);
    let found = candidates(&demand, 2.0, None, config(6, 1), &grid, 5).unwrap();
    let workers: Vec<u16> = found.iter().map(|c| c.config.workers).collect();
    let (best, others) = workers.split_first().unwrap();
    assert_eq!(found[0].why, Why::Predicted);
    assert!((8..=16).contains(best), "{workers:?}");
    assert!(others.iter().any(|w| *w <= 8), "{workers:?}");
    assert!(found.iter().all(|c| c.config.threads == 1), "{workers:?}");
    let near = |a: u16, b: u16| a != b && f64::from(a.max(b)) < 1.25 * f64::from(a.min(b));
    let near = workers.iter().any(|a| workers.iter().any(|b| near(*a, *b)));
    assert!(!near, "{workers:?}");
    let next = Grid::of_processes(Some(vec![9, 10]), 2.0, 4.0).unwrap();
    let found = candidates(&demand, 2.0, None, config(10, 1), &next, 5).unwrap();
    assert_eq!(found[0].config, config(9, 1), "where nothing else is there");
    let given = Grid::of_processes(Some(vec![1, 2]), 2.0, 4.0).unwrap();
    assert_eq!(given.configs(2.0).unwrap(), [config(1, 1), config(2, 1)]);
}

#[test]
fn near_pure_io_wants_many_threads() {
    let demand = Demand::new(0.0002, 0.05, 0.0).unwrap();
    assert!(threads(&demand, 5, 3)[0] >= 24);
}

#[test]
fn the_baseline_itself_is_no_candidate_nor_is_its_like() {
    let demand = Demand::new(0.005, 0.015, 0.0).unwrap();
    for baseline in 1..=32 {
        let tried = threads(&demand, baseline, 5);
        assert!(!tried.contains(&baseline));
        assert_eq!(tried.len(), 5, "{baseline}: {tried:?}");
    }
}

#[test]
fn memory_keeps_processes_out() {
    let model = fit(&[Observation {
        config: config(2, 5),
        pss_bytes: 400.0 * MIB,
    }])
    .unwrap();
    let limit = MemoryLimit {
        model: &model,
        limit_bytes: 450.0 * MIB,
    };
    let demand = Demand::new(0.01, 0.002, 0.0).unwrap();
    let found = candidates(&demand, 8.0, Some(limit), config(2, 5), &Grid::default(), 8).unwrap();
    assert!(!found.is_empty());
    for candidate in found {
        assert!(candidate.config.processes() <= 2, "{candidate:?}");
        assert!(candidate.memory_bytes.unwrap() <= 450.0 * MIB);
    }
}

#[test]
fn nothing_fits_is_an_empty_answer() {
    let demand = Demand::new(0.01, 0.0, 0.0).unwrap();
    let grid = Grid {
        threads: Some(vec![5]),
        workers: Some(vec![0]),
    };
    assert!(
        candidates(&demand, 2.0, None, config(0, 5), &grid, 4)
            .unwrap()
            .is_empty()
    );
    let zero = Grid {
        threads: Some(vec![0]),
        workers: None,
    };
    assert!(candidates(&demand, 2.0, None, config(0, 5), &zero, 4).is_err());
}

/// Whatever model the scores are of: here one that no formula would give.
#[test]
fn the_best_score_is_tried_first_and_the_smallest_of_equals() {
    let point = |workers, threads, throughput| Scored {
        config: config(workers, threads),
        throughput,
        memory_bytes: None,
    };
    let scored = vec![
        point(0, 3, 50.0),
        point(2, 3, 100.0),
        point(2, 5, 98.0),
        point(2, 8, 60.0),
        point(3, 3, 99.0),
        // Under a fifth of the best.
        point(4, 1, 19.0),
    ];
    let found = capacity::candidates(scored, 1.2, config(0, 3), 8);
    assert_eq!(
        (found[0].config, found[0].why),
        (config(2, 3), Why::Predicted)
    );
    assert_eq!(found[0].throughput, 100.0);
    assert!(found.iter().all(|c| c.config.workers != 4), "{found:?}");
    assert!(capacity::candidates(Vec::new(), 1.0, config(0, 3), 8).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn candidates_keep_to_the_grid(
        held in 0.0001_f64..0.05, io in 0.0_f64..0.2, native in 0.0_f64..0.02,
        cores in 0.5_f64..6.0, workers in 0_u16..6, baseline_threads in 1_u16..20, most in 0_usize..9,
        pinned in prop::option::of(prop::collection::vec(1_u16..40, 1..5)),
    ) {
        let demand = Demand::new(held, io, native).unwrap();
        let baseline = config(workers, baseline_threads);
        let grid = Grid { threads: pinned.clone(), workers: None };
        let found = candidates(&demand, cores, None, baseline, &grid, most).unwrap();
        prop_assert!(found.len() <= most);
        let mut configs: Vec<Config> = found.iter().map(|c| c.config).collect();
        prop_assert!(!configs.contains(&baseline));
        if let Some(pinned) = pinned {
            prop_assert!(configs.iter().all(|c| pinned.contains(&c.threads)));
        }
        configs.sort_unstable();
        configs.dedup();
        prop_assert_eq!(configs.len(), found.len());
    }
}

/// Three workers promise a little more than two on two cores: two are tried first all the same.
#[test]
fn as_many_processes_as_cores_are_tried_before_more() {
    let scored: Vec<Scored> = [(0, 100.0), (2, 190.0), (3, 210.0), (4, 205.0)]
        .into_iter()
        .flat_map(|(workers, most)| {
            (1..=5).map(move |threads| Scored {
                config: config(workers, threads),
                throughput: most * f64::from(threads.min(3)) / 3.0,
                memory_bytes: None,
            })
        })
        .collect();
    let chosen = |baseline, most| {
        let found = capacity::candidates(scored.clone(), 3.0, baseline, most);
        let found = capacity::cores_before_more(found, &scored, 2.0, baseline, most);
        found.iter().map(|c| (c.config, c.why)).collect::<Vec<_>>()
    };
    let found = chosen(config(0, 3), 2);
    let expected = [
        (config(2, 3), Why::AsManyAsCores),
        (config(3, 3), Why::Predicted),
    ];
    assert_eq!(found, expected);
    let many = chosen(config(0, 3), 8);
    let position = |workers| many.iter().position(|(c, _)| c.workers == workers);
    assert!(
        position(2).is_some() && position(2) < position(3),
        "{many:?}"
    );
    // The baseline is measured in any case, and one that is there is not added again.
    let beside = chosen(config(2, 3), 2);
    assert!(beside.iter().all(|(_, why)| *why != Why::AsManyAsCores));
    assert_eq!(chosen(config(0, 3), 1), [(config(3, 3), Why::Predicted)]);
}
