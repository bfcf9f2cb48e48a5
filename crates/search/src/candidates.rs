//! The arms of the second race: what the first one measured, joined with what the screen found.
//!
//! Effects are added up as logarithms. That is a guess wherever two changes bear on each other, so the sum proposes and the
//! race decides; arms that differ in one doubtful point each are in it for that.

use crate::known::Known;
use crate::{Effect, Foreseen, Found, How, Point, Space};
use small_sort::SmallSort;

/// What the arms are made of.
#[derive(Debug, Clone, Copy)]
pub struct Material<'a> {
    pub space: &'a Space,
    /// Where the screen was done.
    pub centre: &'a Point,
    /// The centre among them.
    pub known: &'a [Known],
    pub foreseen: &'a [Foreseen],
    pub effects: &'a [Effect],
    pub log_memory_limit: Option<f64>,
}

/// Of a memory limit that a sum of estimates should leave free, as a logarithm.
const ROOM: f64 = 0.05;

/// A sum of a known point and changes.
#[derive(Debug, Clone, PartialEq)]
struct Sum {
    point: Point,
    score: f64,
    log_memory: Option<f64>,
    changes: usize,
}

/// At most so many arms, the centre first, then in the order of what they promise to show.
pub fn candidates(material: Material<'_>, most: usize) -> Vec<Point> {
    let Material {
        space,
        centre,
        known,
        effects,
        log_memory_limit,
        ..
    } = material;
    let mut arms = vec![centre.clone()];
    let mut add = |point: Point| {
        if arms.len() < most && !arms.contains(&point) && space.allows(&point) {
            arms.push(point);
        }
    };
    let within = |room: f64| {
        move |sum: &&Sum| match (log_memory_limit, sum.log_memory) {
            (Some(limit), Some(memory)) => memory <= limit - room,
            _ => true,
        }
    };
    let sums = sums(material, material.known, |_| true);
    let best = sums.iter().find(within(0.0));
    let lead = best.map_or_else(|| centre.clone(), |best| best.point.clone());
    if let Some(best) = best {
        add(best.point.clone());
    }
    // What a change that saves memory makes room for, if the model thinks it better.
    if log_memory_limit.is_some() {
        let beyond = self::sums(material, &beyond(material), |_| true);
        let room = beyond.iter().find(within(ROOM));
        let better = room.filter(|room| best.is_none_or(|best| room.score > best.score));
        if let Some(room) = better {
            add(room.point.clone());
        }
    }
    // Factors of many levels, on the best sum, of which some may mean nothing with them and give way.
    let raced = space.searched(How::Raced).flat_map(|factor| {
        let (lead, levels) = (&lead, 0..space.factors[factor].levels.len());
        levels.filter_map(move |level| Some((factor, space.making_room(lead, factor, level)?)))
    });
    let brings = |(factor, point): &(usize, Point)| {
        let mut beside = point.differing(&lead).filter(|other| other != factor);
        beside.any(|other| point.0[other] != space.factors[other].baseline)
    };
    let (bringing, alone): (Vec<_>, Vec<_>) = raced.partition(brings);
    for (_, point) in alone {
        add(point);
    }
    // Nothing that is only likely to help.
    let certain = sums_of_certain(material);
    if let Some(certain) = certain.iter().find(within(0.0)) {
        add(certain.point.clone());
    }
    // What sums may be wrong by should not cost the limit.
    if let Some(safe) = sums.iter().find(within(ROOM)) {
        add(safe.point.clone());
    }
    // What does not go together, the other way round.
    for effect in effects {
        if let Found::ConflictsWith(other) = effect.found {
            let swapped = lead
                .with(other, space.factors[other].baseline)
                .with(effect.factor, space.alternative(effect.factor));
            add(swapped);
        }
    }
    // Another of the points that the model proposed, with its own best sum.
    let elsewhere = |sum: &&Sum| {
        let mut modelled = space.searched(How::Modelled);
        modelled.any(|factor| sum.point.0[factor] != lead.0[factor])
    };
    let second = known.len() > 1;
    if let Some(other) = sums
        .iter()
        .filter(|_| second)
        .filter(within(0.0))
        .find(elsewhere)
    {
        add(other.point.clone());
    }
    // One at a time, what no screen was made for.
    for effect in effects.iter().filter(|e| e.found == Found::NotTried) {
        add(lead.with(effect.factor, space.alternative(effect.factor)));
    }
    // Options of an allocator that is not the best so far, with it: round the best each is tried again.
    for (_, point) in bringing {
        add(point);
    }
    arms
}

fn sums_of_certain(material: Material<'_>) -> Vec<Sum> {
    sums(material, material.known, |effect| {
        effect.found == Found::Helps
    })
}

/// What was foreseen of points that have not run, as if it had been measured: by the centre, of which both are known.
fn beyond(material: Material<'_>) -> Vec<Known> {
    let foreseen = |point: &Point| material.foreseen.iter().find(|f| f.point == *point);
    let measured = |point: &Point| material.known.iter().find(|k| k.point == *point);
    let (Some(there), Some(here)) = (foreseen(material.centre), measured(material.centre)) else {
        return Vec::new();
    };
    let new = material
        .foreseen
        .iter()
        .filter(|f| measured(&f.point).is_none());
    new.map(|new| Known {
        point: new.point.clone(),
        ahead: here.ahead + new.log_score - there.log_score,
        log_memory: here
            .log_memory
            .and_then(|memory| Some(memory + new.log_memory? - there.log_memory?)),
    })
    .collect()
}

/// Every known point with every set of useful changes, best first, fewer changes first among equals.
fn sums(material: Material<'_>, starts: &[Known], may: impl Fn(&Effect) -> bool) -> Vec<Sum> {
    let useful: Vec<(&Effect, f64, f64)> = material
        .effects
        .iter()
        .filter(|effect| may(effect))
        .filter_map(|effect| {
            let (score, memory) = (worth(effect), memory(effect));
            // A change that saves memory may make room for another one.
            let useful = score > 0.0 || (material.log_memory_limit.is_some() && memory < 0.0);
            (useful && tried(effect)).then_some((effect, score, memory))
        })
        .collect();
    let mut sums = Vec::new();
    for known in starts {
        let start = Sum {
            point: known.point.clone(),
            score: known.ahead,
            log_memory: known.log_memory,
            changes: 0,
        };
        let mut grown = vec![start];
        for (effect, score, memory) in &useful {
            let level = material.space.alternative(effect.factor);
            let with: Vec<Sum> = grown
                .iter()
                .map(|sum| Sum {
                    point: sum.point.with(effect.factor, level),
                    score: sum.score + score,
                    log_memory: sum.log_memory.map(|m| m + memory),
                    changes: sum.changes + 1,
                })
                .collect();
            grown.extend(with);
            // Beyond a dozen useful changes only the most promising sums are followed.
            if grown.len() > MOST_SUMS {
                grown.small_sort_by(better);
                grown.truncate(MOST_SUMS);
            }
        }
        sums.extend(grown);
    }
    sums.retain(|sum| material.space.allows(&sum.point));
    sums.small_sort_by(better);
    sums
}

const MOST_SUMS: usize = 4_096;

fn better(one: &Sum, other: &Sum) -> std::cmp::Ordering {
    let by_score = other.score.total_cmp(&one.score);
    by_score.then(one.changes.cmp(&other.changes))
}

fn tried(effect: &Effect) -> bool {
    matches!(
        effect.found,
        Found::Helps | Found::MayHelp | Found::Nothing | Found::Harms
    )
}

/// What is believed of an effect: its estimate less what noise alone would make of it, nothing within one standard error
/// (the positive part of James and Stein 1961, for each by itself). A race costs less than a good change that was missed,
/// so one standard error is enough.
fn worth(effect: &Effect) -> f64 {
    effect
        .score
        .map_or(0.0, |found| shrunk(found.estimate, found.standard_error))
}

fn memory(effect: &Effect) -> f64 {
    let found = effect.log_memory;
    found.map_or(0.0, |found| shrunk(found.estimate, found.standard_error))
}

fn shrunk(estimate: f64, standard_error: f64) -> f64 {
    if estimate == 0.0 {
        return 0.0;
    }
    estimate * (1.0 - (standard_error / estimate).powi(2)).max(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Estimate, Factor, Forbidden};

    /// Workers of three levels, two settings, and an allocator of three.
    fn space() -> Space {
        let factor = Factor::of_levels;
        Space {
            factors: vec![
                factor("workers", 3, How::Modelled),
                factor("preload", 2, How::Screened),
                factor("warm-up", 2, How::Screened),
                factor("allocator", 3, How::Raced),
            ],
            forbidden: Vec::new(),
        }
    }

    fn effect(factor: usize, score: f64, memory: f64, found: Found) -> Effect {
        let told = |estimate| {
            Some(Estimate {
                estimate,
                standard_error: 0.01,
                freedom: 9,
            })
        };
        Effect {
            factor,
            score: told(score),
            log_throughput: told(score),
            log_memory: told(memory),
            log_latency: None,
            found,
        }
    }

    fn arms(effects: &[Effect], limit: Option<f64>, most: usize) -> Vec<Vec<usize>> {
        arms_in(&space(), effects, limit, most)
    }

    fn arms_in(
        space: &Space,
        effects: &[Effect],
        limit: Option<f64>,
        most: usize,
    ) -> Vec<Vec<usize>> {
        let known = |workers: usize, ahead: f64| Known {
            point: Point(vec![workers, 0, 0, 0]),
            ahead,
            log_memory: Some(workers as f64),
        };
        let material = Material {
            space,
            centre: &Point(vec![1, 0, 0, 0]),
            known: &[known(1, 0.0), known(0, -0.2)],
            foreseen: &[1, 2].map(|workers| Foreseen {
                point: Point(vec![workers, 0, 0, 0]),
                log_score: workers as f64,
                log_memory: Some(workers as f64 * 1.1),
            }),
            effects,
            log_memory_limit: limit,
        };
        let arms = candidates(material, most);
        arms.into_iter().map(|point| point.0).collect()
    }

    #[test]
    fn the_centre_the_best_sum_and_each_allocator_on_it() {
        let effects = [
            effect(1, 0.05, 0.0, Found::Helps),
            effect(2, 0.03, 0.0, Found::MayHelp),
        ];
        let expected = [
            vec![1, 0, 0, 0],
            vec![1, 1, 1, 0],
            vec![1, 1, 1, 1],
            vec![1, 1, 1, 2],
            // Only what certainly helps, and the other point with its own best sum.
            vec![1, 1, 0, 0],
            vec![0, 1, 1, 0],
        ];
        assert_eq!(arms(&effects, None, 8), expected);
        assert_eq!(arms(&effects, None, 3), expected[..3]);
    }

    /// The warm-up is an option of the last allocator here, preloading goes with none but today's.
    #[test]
    fn an_allocator_is_tried_without_what_it_forbids_and_an_option_last_with_its_own() {
        let mut space = space();
        space.factors[2].how = How::Raced;
        let apart = |one, other| Forbidden(vec![one, other]);
        space.forbidden = vec![
            apart((1, 1), (3, 1)),
            apart((1, 1), (3, 2)),
            apart((2, 1), (3, 0)),
            apart((2, 1), (3, 1)),
        ];
        let helps = [effect(1, 0.05, 0.0, Found::Helps)];
        let expected = [
            vec![1, 0, 0, 0],
            vec![1, 1, 0, 0],
            vec![1, 0, 0, 1],
            vec![1, 0, 0, 2],
            vec![0, 1, 0, 0],
            vec![1, 0, 1, 2],
        ];
        assert_eq!(arms_in(&space, &helps, None, 8), expected);
    }

    #[test]
    fn what_does_nothing_harms_or_fails_stays_out() {
        let effects = [
            effect(1, 0.005, 0.0, Found::Nothing),
            effect(2, 0.05, 0.0, Found::BreaksALimit),
        ];
        let arms = arms(&effects, None, 8);
        assert!(
            arms.iter().all(|arm| arm[1] == 0 && arm[2] == 0),
            "{arms:?}"
        );
    }

    /// Three workers are foreseen to need 2.1, the limit is 2; a setting that costs a little throughput saves 0.3.
    #[test]
    fn a_change_that_saves_memory_makes_room() {
        let saves = [effect(1, -0.02, -0.3, Found::Harms)];
        assert!(arms(&saves, Some(2.0), 8).contains(&vec![2, 1, 0, 0]));
        let saves_nothing = [effect(1, -0.02, 0.0, Found::Harms)];
        let arms = arms(&saves_nothing, Some(2.0), 8);
        assert!(arms.iter().all(|arm| arm[0] < 2), "{arms:?}");
    }

    #[test]
    fn what_conflicts_is_tried_the_other_way_round() {
        let effects = [
            effect(1, 0.05, 0.0, Found::Helps),
            effect(2, 0.05, 0.0, Found::ConflictsWith(1)),
        ];
        let arms = arms(&effects, None, 8);
        assert!(arms.contains(&vec![1, 0, 1, 0]), "{arms:?}");
        assert!(
            !arms.iter().any(|arm| arm[1] == 1 && arm[2] == 1),
            "{arms:?}"
        );
    }
}
