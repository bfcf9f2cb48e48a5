//! `calc usl`.

use super::given::Given;
use super::measured::measured;
use crate::args::UslArgs;
use capacity::{Interval, Measured, UslFit, fit_usl};
use run::calc::{Document, Estimate, Usl, UslPoint};
use small_sort::SmallSort;

/// Of the intervals.
const CONFIDENCE: f64 = 0.95;
/// Fewer different N than this fit almost anything.
const FEW: usize = 6;
/// More scatter than this, and the law is not what was measured.
const MUCH_SCATTER: f64 = 0.10;

/// The law fitted to what was measured.
pub fn usl(args: &UslArgs, given: &mut Given) -> Option<Document> {
    let points = measured(args, given)?;
    let remedy = "measure at four different N or more, better six to ten, from 1 to beyond where throughput stops growing";
    let fit = given.formula("the measurements", remedy, fit_usl(&points))?;
    let t = stats::student_two_sided(1.0 - CONFIDENCE, fit.freedom as u32);
    let document = document(&fit, &points, t);
    Some(Document {
        sentence: sentence(&document),
        assumptions: [
            "One law over the whole range: the same application, data and machine, and a load that always keeps N busy (a closed \
             loop without pauses). A hard limit (a pool, the load generator, the number of cores) is not contention, and \
             gives the curve another shape.",
            "The scatter is a share of the throughput, independent from one measurement to the next. Intervals are profiles of \
             the least-squares fit, exact for normal scatter where neither s nor k is held at 0.",
        ]
        .map(str::to_owned)
        .to_vec(),
        warnings: warnings(&document, &points),
        usl: Some(document),
        ..super::blank()
    })
}

fn document(fit: &UslFit, points: &[Measured], t: f64) -> Usl {
    let intervals = fit.intervals(t);
    let law = &fit.usl;
    let estimate = |value: f64, interval: Interval| Estimate {
        value,
        low: interval.low,
        high: interval.high,
    };
    let point = |p: &Measured| {
        let fitted = law.throughput(p.n);
        UslPoint {
            n: p.n,
            measured: p.throughput,
            fitted,
            off: p.throughput / fitted - 1.0,
            efficiency: p.throughput / (law.per_one * p.n),
        }
    };
    let mut points: Vec<UslPoint> = points.iter().map(point).collect();
    points.small_sort_by(|a, b| a.n.total_cmp(&b.n));
    let peak = law.peak();
    Usl {
        per_one: estimate(law.per_one, intervals.per_one),
        contention: estimate(law.contention, intervals.contention),
        coherency: estimate(law.coherency, intervals.coherency),
        peak: peak.map(|n| estimate(n, intervals.peak)),
        peak_throughput: peak.map(|n| estimate(law.throughput(n), fit.throughput_interval(n, t))),
        peak_not_below: intervals.peak.low,
        scatter: fit.scatter,
        freedom: fit.freedom as u32,
        confidence: CONFIDENCE,
        held_at_0: fit.held_at_0,
        points,
    }
}

fn sentence(usl: &Usl) -> String {
    let range = |e: &Estimate, digits: usize| match e.high {
        Some(high) => format!("{:.digits$} to {high:.digits$}", e.low),
        None => format!("{:.digits$} or more", e.low),
    };
    match (&usl.peak, &usl.peak_throughput) {
        (Some(peak), Some(most)) if peak.high.is_some() && peak.value >= greatest(usl) => format!(
            "The law puts the peak of throughput at N = {:.0} ({}) with {:.1} a second ({}); the measurements end at N = {}.",
            peak.value,
            range(peak, 0),
            most.value,
            range(most, 1),
            greatest(usl)
        ),
        (Some(peak), Some(most)) if peak.high.is_some() => format!(
            "Throughput peaks at N = {:.0} ({}) of what was varied (threads, processes, clients), with {:.1} a second ({}); with a greater N it falls.",
            peak.value,
            range(peak, 0),
            most.value,
            range(most, 1)
        ),
        (Some(peak), _) => format!(
            "The fit puts a peak at N = {:.0}, but these measurements do not show that there is one: every N from {:.0} up fits \
             them as well.",
            peak.value, peak.low
        ),
        _ => format!(
            "These measurements show no peak: throughput does not fall before N = {:.0}, if it ever does.",
            usl.peak_not_below
        ),
    }
}

/// The greatest N that was measured.
fn greatest(usl: &Usl) -> f64 {
    usl.points.last().map_or(1.0, |point| point.n)
}

fn warnings(usl: &Usl, points: &[Measured]) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut different: Vec<f64> = points.iter().map(|p| p.n).collect();
    different.sort_by(f64::total_cmp);
    different.dedup();
    if usl.contention.low <= 0.0 && usl.coherency.low <= 0.0 {
        warnings.push(
            "The fit says nothing about what limits growth: the intervals of contention and of coherency both reach 0. Measure \
             more often, and at higher N."
                .to_owned(),
        );
    }
    if usl.scatter > MUCH_SCATTER {
        warnings.push(format!(
            "The measurements lie {:.0} % off the fit: either the law does not describe this system, or the noise is larger \
             than the effect. Do not use the parameters.",
            usl.scatter * 100.0
        ));
    }
    if usl.held_at_0 {
        warnings.push(
            "A coefficient came out below 0 and was held there: throughput grows faster than N somewhere (a cache that becomes \
             warm, an N = 1 that was measured cold), or it is noise."
                .to_owned(),
        );
    }
    let end = greatest(usl);
    if usl.peak.is_some_and(|peak| peak.value >= end) {
        warnings.push(format!(
            "The measurements end at N = {end}, and none lies beyond the peak: it is extrapolated."
        ));
    }
    if different.len() < FEW {
        warnings.push(format!(
            "{} different N fit almost any curve: six to ten make the intervals useful.",
            different.len()
        ));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(text: &str) -> Document {
        let args = UslArgs {
            file: None,
            measured: vec![text.to_owned()],
        };
        let mut given = Given::default();
        usl(&args, &mut given).unwrap_or_else(|| panic!("{:?}", given.problems))
    }

    /// s = 1/20, k = 1/1250, g = 100, to three digits: the peak is at 34.5.
    #[test]
    fn a_known_law_and_its_peak() {
        let document = fitted("1=100,2=190.2,4=344.6,8=573.6,16=821.4,32=956.0,48=930.2");
        let found = document.usl.unwrap();
        let peak = found.peak.unwrap();
        assert!((peak.value - 34.5).abs() < 0.5, "{found:?}");
        assert!(peak.low < 34.5 && peak.high.unwrap() > 34.5);
        assert!((found.contention.value - 0.05).abs() < 0.001);
        assert!(
            ["34", "35"].iter().any(|n| document
                .sentence
                .starts_with(&format!("Throughput peaks at N = {n}"))),
            "{}",
            document.sentence
        );
        assert!(document.warnings.is_empty(), "{:?}", document.warnings);
    }

    /// The example of the docs: the law's peak is at 32.1, and N = 32 is the last that was measured.
    #[test]
    fn a_peak_that_was_not_passed_is_called_extrapolated() {
        let document = fitted("1=100,2=190,4=340,8=560,16=800,32=900");
        let said = &document.sentence;
        assert!(
            said.starts_with("The law puts the peak of throughput at N = "),
            "{said}"
        );
        assert!(said.ends_with("the measurements end at N = 32."), "{said}");
        let warned = document.warnings.join(" ");
        assert!(
            warned.contains("The measurements end at N = 32, and none lies beyond the peak"),
            "{warned}"
        );
    }

    #[test]
    fn what_the_data_do_not_show_is_not_said() {
        let document = fitted("1=100,2=205,4=390,8=790");
        assert!(
            document.sentence.contains("show no peak") || document.sentence.contains("do not show")
        );
        let said = document.warnings.join("\n");
        assert!(
            said.contains("says nothing") && said.contains("4 different N"),
            "{said}"
        );
        let scattered = fitted("1=100,2=90,4=400,8=300,16=1500,32=700");
        assert!(
            scattered
                .warnings
                .join("\n")
                .contains("Do not use the parameters")
        );
    }

    #[test]
    fn three_points_are_refused() {
        let args = UslArgs {
            file: None,
            measured: vec!["1=100,2=190,4=340,4=341".to_owned()],
        };
        let mut given = Given::default();
        assert!(usl(&args, &mut given).is_none());
        let said = given.problems[0].to_string();
        assert!(
            said.contains("3 different") && said.contains("four different N"),
            "{said}"
        );
    }
}
