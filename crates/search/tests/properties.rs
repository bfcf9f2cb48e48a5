//! What holds for every search, whatever is searched and whatever comes of the trials.

use proptest::prelude::*;
use search::{
    Ask, Block, Factor, Forbidden, Foreseen, How, Observation, Outcome, Point, Proposals, Rules,
    Search, SearchError, Space, Standing,
};
use stats::Noise;

/// More blocks than any search of these spaces has.
const MANY: usize = 400;

/// Blocks may follow from what earlier searches saw; an estimate never does.
#[test]
fn errors_of_effects_rest_on_this_search_alone() {
    let errors = |noise: Option<f64>| {
        let knobs = (0..4).map(|_| factor("knob", 2, 0, How::Screened));
        let space = Space {
            factors: knobs.collect(),
            forbidden: Vec::new(),
        };
        let rules = Rules {
            noise: noise.map(|sd| Noise {
                sd,
                freedom: Some(10),
                answers: None,
            }),
            ..Rules::default()
        };
        let mut search = Search::new(space, Proposals::default(), rules, 3).unwrap();
        for nth in 0..MANY {
            match search.ask() {
                Ask::Done(outcome) => {
                    let errors = outcome.effects.iter().filter_map(|effect| effect.score);
                    return errors.map(|score| score.standard_error).collect::<Vec<_>>();
                }
                Ask::Block(block) => {
                    let seen = |place: usize| Observation {
                        log_throughput: 0.01 * ((7 * nth + 5 * place) % 11) as f64,
                        log_latency: None,
                        log_memory: None,
                        processes: 1,
                        threads: 5,
                        standing: Standing::Meets,
                    };
                    let told: Vec<_> = (0..block.points.len()).map(|at| Some(seen(at))).collect();
                    search.tell(&told).unwrap();
                }
            }
        }
        panic!("{MANY} blocks are no end");
    };
    let alone = errors(None);
    assert_eq!(alone.len(), 4);
    assert_eq!(errors(Some(1e-4)), alone);
}

fn factor(name: &str, levels: usize, baseline: usize, how: How) -> Factor {
    Factor {
        name: name.to_owned(),
        levels: (0..levels).map(|level| level.to_string()).collect(),
        baseline,
        how,
    }
}

#[derive(Debug, Clone)]
struct Case {
    space: Space,
    proposals: Proposals,
    rules: Rules,
    seed: u64,
    /// Of what comes of the trials.
    luck: u64,
    failures: u64,
}

fn cases() -> impl Strategy<Value = Case> {
    let sizes = (1_usize..4, 1_usize..4, 0_usize..10, 1_usize..4);
    let what = (
        sizes,
        prop::collection::vec((0_usize..14, 0_usize..14), 0..4),
        prop::option::of(30_u32..160),
        any::<bool>(),
        any::<u64>(),
        any::<u64>(),
        0_u64..60,
    );
    what.prop_map(
        |(
            (workers, threads, knobs, allocators),
            forbidden,
            trials,
            limited,
            seed,
            luck,
            failures,
        )| {
            let mut factors = vec![
                factor("workers", workers, 0, How::Modelled),
                factor("threads", threads, threads - 1, How::Modelled),
            ];
            factors.extend((0..knobs).map(|_| factor("knob", 2, 0, How::Screened)));
            factors.push(factor("allocator", allocators, 0, How::Raced));
            factors.push(factor("option", 2, 0, How::Raced));
            // Never what runs today: each has a level that does not.
            let other = |at: usize| {
                let factor: &Factor = &factors[at];
                (factor.levels.len() > 1).then(|| (at, usize::from(factor.baseline == 0)))
            };
            let forbidden = forbidden
                .into_iter()
                .filter_map(|(a, b)| Some([other(a % factors.len())?, other(b % factors.len())?]))
                .map(|pair| Forbidden(pair.to_vec()));
            // The option means nothing to today's allocator.
            let (allocator, option) = (factors.len() - 2, factors.len() - 1);
            let strange = Forbidden(vec![(allocator, 0), (option, 1)]);
            let forbidden = forbidden.chain([strange]).collect();
            let space = Space { factors, forbidden };
            let baseline = space.baseline();
            let modelled = (0..workers).flat_map(|w| (0..threads).map(move |t| (w, t)));
            let points: Vec<Point> = modelled
                .map(|(w, t)| baseline.with(0, w).with(1, t))
                .filter(|point| space.allows(point))
                .collect();
            let foreseen = points.iter().enumerate().map(|(nth, point)| Foreseen {
                point: point.clone(),
                log_score: nth as f64 * 0.1,
                log_memory: Some(nth as f64 * 0.05),
            });
            let proposals = Proposals {
                foreseen: foreseen.collect(),
                candidates: points
                    .into_iter()
                    .filter(|point| *point != baseline)
                    .take(4)
                    .collect(),
            };
            let rules = Rules {
                trials,
                log_memory_limit: limited.then_some(0.3),
                ..Rules::default()
            };
            Case {
                space,
                proposals,
                rules,
                seed,
                luck,
                failures,
            }
        },
    )
}

/// Anything at all, the same for the same block and place.
fn came(case: &Case, block: usize, place: usize) -> Option<Observation> {
    let mut z = case.luck ^ ((block as u64) << 20) ^ place as u64;
    let mut draw = || {
        z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (x ^ (x >> 31)) % 1_000
    };
    if draw() < case.failures * 10 {
        return None;
    }
    let standing = match draw() {
        0..100 => Standing::Breaks,
        100..150 => Standing::SeemsToBreak,
        150..250 => Standing::SeemsToMeet,
        _ => Standing::Meets,
    };
    Some(Observation {
        log_throughput: draw() as f64 / 2_000.0,
        log_latency: None,
        log_memory: Some(draw() as f64 / 3_000.0),
        processes: 1 + (draw() % 4) as u32,
        threads: 1 + (draw() % 8) as u32,
        standing,
    })
}

/// Every block that was asked for, and what it came to; `None` where there are too few trials for a search.
fn searched(case: &Case) -> Option<(Vec<Block>, Outcome)> {
    let made = Search::new(
        case.space.clone(),
        case.proposals.clone(),
        case.rules.clone(),
        case.seed,
    );
    let mut search = match made {
        Err(SearchError::TooFewTrials { .. }) => return None,
        made => made.unwrap(),
    };
    let mut blocks = Vec::new();
    loop {
        assert_eq!(search.ask(), search.ask());
        match search.ask() {
            Ask::Done(outcome) => {
                assert_eq!(search.tell(&[]), Err(SearchError::Done));
                return Some((blocks, *outcome));
            }
            Ask::Block(block) => {
                assert!(blocks.len() < MANY, "no end: {block:?}");
                let places = 0..block.points.len();
                let told: Vec<_> = places.map(|p| came(case, blocks.len(), p)).collect();
                blocks.push(block);
                search.tell(&told).unwrap();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Resuming rests on it: the observations alone decide what is asked.
    #[test]
    fn the_same_observations_give_the_same_blocks(case in cases()) {
        prop_assert_eq!(searched(&case), searched(&case));
    }

    #[test]
    fn nothing_forbidden_is_asked_and_nothing_twice_in_a_block(case in cases()) {
        if let Some((blocks, outcome)) = searched(&case) {
            for block in &blocks {
                prop_assert!(!block.points.is_empty() && block.number <= block.of, "{:?}", block);
                for (nth, point) in block.points.iter().enumerate() {
                    prop_assert!(case.space.allows(point), "{:?}", block);
                    prop_assert!(!block.points[..nth].contains(point), "{:?}", block);
                }
            }
            prop_assert!(case.space.allows(&outcome.winner));
        }
    }

    #[test]
    fn it_ends_within_its_trials_and_counts_them(case in cases()) {
        if let Some((blocks, outcome)) = searched(&case) {
            let asked: usize = blocks.iter().map(|block| block.points.len()).sum();
            prop_assert_eq!(asked as u32, outcome.trials);
            let summed: u32 = outcome.trials_of.iter().map(|(_, trials)| trials).sum();
            prop_assert_eq!(summed, outcome.trials);
            prop_assert!(case.rules.trials.is_none_or(|most| outcome.trials <= most), "{:?}", outcome.trials_of);
        }
    }

    #[test]
    fn an_outcome_reads_back_as_it_was_written(case in cases()) {
        if let Some((_, outcome)) = searched(&case) {
            let text = serde_json::to_string(&outcome).unwrap();
            prop_assert_eq!(serde_json::from_str::<Outcome>(&text).unwrap(), outcome);
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused_with_what_and_why() {
    let space = |factors| Space {
        factors,
        forbidden: Vec::new(),
    };
    let refused = |space: Space, proposals: Proposals, rules: Rules| {
        Search::new(space, proposals, rules, 1)
            .unwrap_err()
            .to_string()
    };
    let two = || space(vec![factor("yjit", 2, 0, How::Screened)]);
    let three = space(vec![factor("yjit", 3, 0, How::Screened)]);
    let said = refused(three, Proposals::default(), Rules::default());
    assert_eq!(
        said,
        "factor yjit: a screen takes two levels; race a factor that has more"
    );
    let stray = Proposals {
        candidates: vec![Point(vec![1])],
        ..Proposals::default()
    };
    assert!(refused(two(), stray, Rules::default()).contains("what is not modelled"));
    let few = Rules {
        trials: Some(12),
        ..Rules::default()
    };
    assert!(refused(two(), Proposals::default(), few).starts_with("12 trials cannot hold"));
    let short = Rules {
        blocks: 5,
        ..Rules::default()
    };
    assert!(refused(two(), Proposals::default(), short).contains("6 or more"));
}
