//! Whether memory grows, from its samples.

use run::memory::{Course, Growth, Measure, Pace, Sample};
use stats::{BLOCKS, Slope, course, joined, theil_sen};

const ALPHA: f64 = 0.05;
const HOUR_S: f64 = 3_600.0;

/// Of all processes together: by PSS where it was read often enough, else by RSS.
pub fn growth_of_all(samples: &[Sample]) -> Growth {
    growth(samples, exact_or_rss(samples, Measure::Pss))
}

/// Of one process: by USS where it was read often enough, else by RSS. Its PSS also changes where another process ends, or writes to a
/// page that it shares with this one.
pub fn growth_of_one(samples: &[Sample]) -> Growth {
    growth(samples, exact_or_rss(samples, Measure::Uss))
}

fn exact_or_rss(samples: &[Sample], exact: Measure) -> Measure {
    let read = samples.iter().filter(|s| s.bytes(exact).is_some());
    match read.count() >= BLOCKS {
        true => exact,
        false => Measure::Rss,
    }
}

/// By one measure.
pub fn growth(samples: &[Sample], measure: Measure) -> Growth {
    let readings: Vec<(f64, f64)> = samples
        .iter()
        .filter_map(|sample| Some((sample.at_s / HOUR_S, sample.bytes(measure)? as f64)))
        .collect();
    let mut growth = Growth {
        course: Course::TooShort,
        measure,
        readings: readings.len() as u64,
        readings_needed: BLOCKS as u64,
        level_bytes: None,
        level_range_bytes: None,
        per_hour: None,
        late_per_hour: None,
        per_thousand_requests: None,
    };
    let Some(judged) = course(&readings, ALPHA) else {
        return growth;
    };
    growth.course = named(judged.course);
    growth.level_bytes = Some(judged.level);
    growth.level_range_bytes = Some(judged.level_range);
    growth.per_hour = Some(pace(judged.whole, 1.0));
    growth.late_per_hour = Some(pace(judged.late, 1.0));
    let served: Vec<(f64, f64)> = samples
        .iter()
        .filter_map(|sample| Some((sample.requests? as f64, sample.bytes(measure)? as f64)))
        .collect();
    let by_requests = joined(&served).and_then(|blocks| theil_sen(&blocks, ALPHA));
    growth.per_thousand_requests = by_requests.map(|slope| pace(slope, 1_000.0));
    growth
}

fn named(course: stats::Course) -> Course {
    match course {
        stats::Course::Flat => Course::Flat,
        stats::Course::WarmingUp => Course::WarmingUp,
        stats::Course::Plateau => Course::Plateau,
        stats::Course::Growing => Course::Growing,
        stats::Course::Shrinking => Course::Shrinking,
        stats::Course::Undecided => Course::Undecided,
    }
}

fn pace(slope: Slope, units: f64) -> Pace {
    Pace {
        bytes: units * slope.estimate,
        low_bytes: units * slope.interval.low,
        high_bytes: units * slope.interval.high,
        confidence: slope.interval.confidence,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn sample(at_s: f64, rss: u64, pss: Option<u64>, requests: Option<u64>) -> Sample {
        Sample {
            at_s,
            rss_bytes: rss,
            anonymous_bytes: None,
            file_bytes: None,
            shared_bytes: None,
            swap_bytes: None,
            pss_bytes: pss,
            uss_bytes: pss,
            requests,
        }
    }

    #[test]
    fn pss_counts_where_it_was_read_often_enough() {
        let leak = |i: u64| 1_000_000 + i * 10_000;
        let with_pss = |every: u64| -> Vec<Sample> {
            (0..60)
                .map(|i| {
                    let pss = (i % every == 0).then_some(leak(i));
                    sample(i as f64, 5_000_000, pss, Some(i * 50))
                })
                .collect()
        };
        let by_pss = growth_of_all(&with_pss(2));
        assert_eq!(
            (by_pss.course, by_pss.measure),
            (Course::Growing, Measure::Pss)
        );
        assert_eq!((by_pss.readings, by_pss.readings_needed), (30, 20));
        let hourly = by_pss.per_hour.unwrap();
        assert!((hourly.bytes / 36e6 - 1.0).abs() < 1e-9, "{hourly:?}");
        assert!(hourly.low_bytes > 0.0 && hourly.confidence == 0.95);
        let by_requests = by_pss.per_thousand_requests.unwrap();
        assert!(
            (by_requests.bytes / 200_000.0 - 1.0).abs() < 1e-9,
            "{by_requests:?}"
        );
        let (low, high) = by_pss.level_range_bytes.unwrap();
        assert!(low < by_pss.level_bytes.unwrap() && by_pss.level_bytes.unwrap() < high);

        let by_rss = growth_of_all(&with_pss(5));
        assert_eq!(
            (by_rss.course, by_rss.measure),
            (Course::Flat, Measure::Rss)
        );
        let idle = growth_of_all(
            &(0..60)
                .map(|i| sample(i as f64, 1_000, None, Some(7)))
                .collect::<Vec<_>>(),
        );
        assert_eq!(idle.per_thousand_requests, None);
    }

    /// An idle process shares its pages with fewer siblings as they write to them: its PSS rises, and its USS does not.
    #[test]
    fn a_process_is_judged_by_the_pages_that_it_shares_with_nobody() {
        let samples: Vec<Sample> = (0..60)
            .map(|i| Sample {
                uss_bytes: Some(500_000),
                ..sample(i as f64, 5_000_000, Some(1_000_000 + i * 10_000), None)
            })
            .collect();
        let judged = growth_of_one(&samples);
        assert_eq!(
            (judged.course, judged.measure),
            (Course::Flat, Measure::Uss)
        );
        assert_eq!(growth_of_all(&samples).course, Course::Growing);
    }

    #[test]
    fn too_few_readings_say_nothing() {
        let short: Vec<Sample> = (0..19)
            .map(|i| sample(f64::from(i), 1_000, None, None))
            .collect();
        let judged = growth_of_one(&short);
        assert_eq!((judged.course, judged.readings), (Course::TooShort, 19));
        assert_eq!((judged.level_bytes, judged.per_hour), (None, None));
        assert_eq!(growth_of_all(&[]).course, Course::TooShort);
    }
}
