//! The verdict in a sentence.

use crate::figures::{bytes, counted, duration, small_bytes};
use run::memory::{Course, Document, Pace};

/// A shorter time of reading does not show what an hour brings: the warm-up of a server takes minutes.
const LEAST_FOR_AN_HOUR_S: f64 = 300.0;

/// Whether the memory grows, and what is to be done where that is not known.
pub fn answer(document: &Document) -> String {
    let mut said = verdict(document);
    let extrapolated = matches!(document.growth.course, Course::Growing | Course::Shrinking)
        && document.length_s < LEAST_FOR_AN_HOUR_S;
    if extrapolated {
        said.push_str(&format!(
            " This is extrapolated from {}: read for ten minutes or more (--for 10m) to know what an hour brings.",
            duration(document.length_s)
        ));
    }
    if super::served(&document.samples) == Some(0) {
        said.push_str(
            " No request was served in this time, so that nothing is known of growth under load.",
        );
    }
    said
}

fn verdict(document: &Document) -> String {
    let growth = &document.growth;
    let there = document
        .processes
        .iter()
        .filter(|process| !process.ended)
        .count();
    let whose = match there {
        0 | 1 => "The memory of the process".to_owned(),
        several => format!("The memory of {} together", counted(several, "process")),
    };
    let level = level(document);
    let hourly = |pace: Option<Pace>| {
        pace.map_or_else(String::new, |p| format!("{} an hour", self::pace(&p)))
    };
    match growth.course {
        Course::Flat if document.length_s < LEAST_FOR_AN_HOUR_S => format!(
            "{whose} is flat over the {} that were read{level}: it changes by less than 2 % in this time. Read for longer (--for 10m) to \
             know what an hour brings.",
            duration(document.length_s)
        ),
        Course::Flat => format!(
            "{whose} is flat over the {} that were read{level}: it changes by less than 2 % in this time, at a pace of {}.{}",
            duration(document.length_s),
            hourly(growth.per_hour),
            match growth.per_hour {
                Some(pace) if pace.low_bytes > 0.0 =>
                    " Read for longer with --for to know whether it goes on to rise.",
                _ => "",
            }
        ),
        Course::Growing => format!("{whose} grows{level}: by {}.", hourly(growth.per_hour)),
        Course::WarmingUp => format!(
            "{whose} rises{level}, in the later half of the time by {}, more slowly than before. Read for longer to tell a warm-up from \
             growth.",
            hourly(growth.late_per_hour)
        ),
        Course::Plateau => format!(
            "{whose} rose and has levelled off{level}: in the later half of the time it changes by {}.",
            hourly(growth.late_per_hour)
        ),
        Course::Shrinking => format!("{whose} falls{level}: by {}.", hourly(growth.per_hour)),
        Course::Undecided if growth.per_hour.is_some_and(|pace| pace.low_bytes > 0.0) => format!(
            "{whose} grew while it was read{level}: by {}. Whether it goes on to grow is not decided. Read for longer with --for.",
            hourly(growth.per_hour)
        ),
        Course::Undecided => format!(
            "Whether the memory grows is not decided{level}: the readings allow changes {}. Read for longer with --for.",
            growth.per_hour.map_or_else(String::new, |pace| format!(
                "from {} to {} an hour",
                small_bytes(pace.low_bytes),
                small_bytes(pace.high_bytes)
            ))
        ),
        Course::TooShort => format!(
            "Whether the memory grows cannot be said yet: a verdict needs {} readings of {}; there are {}. Read for longer with --for.",
            growth.readings_needed,
            growth.measure.word(),
            growth.readings
        ),
    }
}

/// The typical level of memory that stays; the first and the last of memory that changes.
fn level(document: &Document) -> String {
    let growth = &document.growth;
    let measure = growth.measure.word();
    let changes = matches!(
        growth.course,
        Course::Growing | Course::Shrinking | Course::WarmingUp
    );
    let samples = document.samples.iter();
    let mut read = samples.filter_map(|sample| sample.bytes(growth.measure));
    let ends = read
        .next()
        .map(|first| (first, read.next_back().unwrap_or(first)));
    match (growth.level_bytes, ends) {
        (Some(_), Some((first, last))) if changes => {
            format!(" ({measure}, from {} to {})", bytes(first), bytes(last))
        }
        (Some(level), _) => format!(" ({measure}, {})", bytes(level as u64)),
        (None, _) => String::new(),
    }
}

/// `1.20 MiB (95 %: 0.80 MiB to 1.60 MiB)`.
pub(crate) fn pace(pace: &Pace) -> String {
    format!(
        "{} ({:.0} %: {} to {})",
        small_bytes(pace.bytes),
        pace.confidence * 100.0,
        small_bytes(pace.low_bytes),
        small_bytes(pace.high_bytes)
    )
}

/// The verdict in a word or two.
pub fn word(course: Course) -> &'static str {
    match course {
        Course::Flat => "flat",
        Course::WarmingUp => "warming up",
        Course::Plateau => "plateau",
        Course::Growing => "growing",
        Course::Shrinking => "shrinking",
        Course::Undecided => "not decided",
        Course::TooShort => "too short",
    }
}
