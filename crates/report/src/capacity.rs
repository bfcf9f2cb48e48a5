//! The page of `powerband capacity`: the answer, the curve as a table, what to know before believing it.

use crate::Style;
use crate::answer::others_were_busy;
use crate::figures::{clients_without_a_pause, counted, duration, number_of_ms, rate, share};
use crate::rates::DECIDED;
use crate::sheet::{Sheet, first_line};
use crate::tables::{NONE, table};
use comfy_table::Table;
use run::capacity::Document;
use run::load::least_values;
use run::{RatePoint, RatePurpose, RateSearch, RateTrial};

/// The whole page.
pub fn capacity_page(document: &Document, style: Style) -> String {
    sheet(document, style).into_text()
}

pub(crate) fn sheet(document: &Document, style: Style) -> Sheet {
    let mut sheet = Sheet::new(style);
    sheet.bold(&document.sentence);
    let search = &document.search;
    if let Some(others) = others_were_busy(&search.warnings) {
        sheet.prose(&format!(
            "{others} Without them it may serve more: measure again."
        ));
    }
    if let Some(saturated) = search.saturated_per_s {
        let clients = search.saturated_connections.unwrap_or(document.connections);
        let limits = match is_the_limit(search, clients, document.target.settings.is_some()) {
            true => {
                ": at a higher rate the queue grows without end, although a window may still meet the objective"
            }
            false => "",
        };
        sheet.labelled(
            "Saturated   ",
            &format!(
                "{}/s answered to {}{limits}",
                rate(saturated),
                clients_without_a_pause(clients)
            ),
        );
    }
    let what = match (&document.target.url, document.target.settings) {
        (Some(url), _) => url.clone(),
        (None, Some(settings)) => settings.to_string(),
        (None, None) => "the application".to_owned(),
    };
    let objective = search.objective;
    sheet.labelled("Server      ", &what);
    if let Some(sending) = &document.sending {
        sheet.labelled(
            "Connections ",
            &sending.connections(document.connections.into()),
        );
        if let Some(additions) = sending.additions() {
            sheet.labelled("Sent        ", &additions);
        }
    }
    sheet.labelled(
        "Objective   ",
        &format!(
            "at most {} of the requests over {} ms or failed; requests arrive at random moments (Poisson)",
            share(objective.allowed_violation_rate()),
            objective.limit_ms
        ),
    );
    if !search.curve.is_empty() {
        sheet.heading("What became of the requests at each rate, per second");
        sheet.table(curve(document, style));
    }
    sheet.heading("How it was measured");
    sheet.prose(&format!(
        "{}{} in {}. After each, Powerband waited for all answers, and until the server was as quick as at the start. {DECIDED} A late \
         request was answered after the limit, possibly after the end of its window. Rates are requests a second. {}",
        counted(search.trials.len(), "window"),
        short_ones(&search.trials),
        duration(document.elapsed_s),
        about_cpu(document)
    ));
    // A document without an answer has its reason in the sentence.
    let warnings = search.warnings.iter();
    let warnings: Vec<String> = warnings
        .filter(|warning| !document.sentence.contains(warning.as_str()))
        .map(|warning| first_line(warning).to_owned())
        .collect();
    sheet.listed("Before you believe it", &warnings);
    sheet
}

fn has_cpu(document: &Document) -> bool {
    let mut curve = document.search.curve.iter();
    curve.any(|point| point.utilisation.is_some())
}

fn about_cpu(document: &Document) -> &'static str {
    match (has_cpu(document), &document.target.url) {
        (true, _) => "CPU is the share of the server's cores that it used.",
        (false, Some(_)) => {
            "The server's CPU time is not measured, because Powerband did not start the server."
        }
        (false, None) => {
            "The server's CPU time is not measured, because its processes could not be read."
        }
    }
}

/// Whether the closed loop's throughput is what the server answers at most. It is not where a higher rate met the
/// objective, nor where so few clients may have been the limit: they are two for each thread of a server that was started
/// here, and enough elsewhere when the mean answer took twice the limit.
fn is_the_limit(search: &RateSearch, clients: u32, threads_known: bool) -> bool {
    let (Some(met), Some(saturated)) = (search.met_per_s, search.saturated_per_s) else {
        return false;
    };
    let mean_ms = 1e3 * f64::from(clients) / saturated;
    met < saturated && (threads_known || mean_ms >= 2.0 * search.objective.limit_ms)
}

fn curve(document: &Document, style: Style) -> Table {
    let has_cpu = has_cpu(document);
    let mut head = vec![
        "rate",
        "arrived",
        "in time",
        "late",
        "failed",
        "late or failed",
        "p50 ms",
        "p99 ms",
    ];
    if has_cpu {
        head.push("CPU");
    }
    head.extend(["measured s", ""]);
    let mut table = table(style, &head, 0);
    crate::tables::align_left(&mut table, head.len() - 1);
    for point in &document.search.curve {
        let mut row = vec![
            rate(point.asked_per_s),
            rate(point.offered_per_s),
            rate(point.in_time_per_s),
            rate(point.late_per_s),
            rate(point.failed_per_s),
            share(point.violation_rate),
            percentile(point, 50.0, point.p50_ms),
            percentile(point, 99.0, point.p99_ms),
        ];
        if has_cpu {
            let used = point.utilisation.map(|u| format!("{:.0} %", u * 100.0));
            row.push(used.unwrap_or_else(|| NONE.to_owned()));
        }
        row.push(format!("{:.0}", point.seconds));
        row.push(remark(&document.search, point));
        table.add_row(row);
    }
    table
}

fn percentile(point: &RatePoint, percentile: f64, ms: Option<f64>) -> String {
    match point.requests < least_values(percentile) {
        true => NONE.to_owned(),
        false => number_of_ms(ms),
    }
}

fn remark(search: &RateSearch, point: &RatePoint) -> String {
    let is = |bound: Option<f64>| bound == Some(point.asked_per_s);
    let mut said: Vec<String> = Vec::new();
    if is(search.met_per_s) {
        said.push(match search.decided {
            true => "highest that met it".to_owned(),
            false => "highest that met it, at first impression".to_owned(),
        });
    }
    if is(search.low_per_s) {
        // Windows at higher rates speak for a lower one, also where its own had a stall.
        said.push(
            match point.violation_rate <= search.objective.allowed_violation_rate() {
                true => "met it (95 % sure)".to_owned(),
                false => "met it (95 % sure, by the windows at higher rates too)".to_owned(),
            },
        );
    }
    if is(search.high_per_s) {
        said.push("did not (95 % sure)".to_owned());
    } else if is(search.broke_per_s) {
        said.push("did not".to_owned());
    }
    let met = point.violation_rate <= search.objective.allowed_violation_rate();
    let beyond = search.met_per_s.is_some_and(|met| point.asked_per_s > met);
    // Above the lowest rate that did not meet it no row surprises.
    let below = search.met_per_s.is_some_and(|met| point.asked_per_s <= met)
        || beyond
            && search
                .broke_per_s
                .is_some_and(|broke| point.asked_per_s < broke);
    if below && !met {
        said.push(outvoted(point));
    }
    if said.is_empty() && beyond && met {
        let saturated = search.saturated_per_s;
        // In time, and yet not the highest rate that met it.
        said.push(match saturated.is_some_and(|s| point.asked_per_s >= s) {
            true => "in time, but not below the saturated throughput".to_owned(),
            false => "in time, but in too few or too short windows to count".to_owned(),
        });
    }
    if !point.recovered {
        said.push("did not recover".to_owned());
    }
    said.join(", ")
}

/// Why a row counts for nothing, or counts as met, although too many of its requests were late or failed.
fn outvoted(point: &RatePoint) -> String {
    let (met, windows) = (point.windows_met, point.windows);
    match windows {
        0 => "window too short to count".to_owned(),
        1 => "1 window, not repeated".to_owned(),
        _ if 2 * met > windows => format!("{met} of {windows} windows met it"),
        _ => format!("{met} of {windows} windows met it: undecided"),
    }
}

/// ` (4 short ones, to find the range)`; empty without one.
fn short_ones(trials: &[RateTrial]) -> String {
    let short = trials
        .iter()
        .filter(|trial| trial.purpose == RatePurpose::Bracket);
    match short.count() {
        0 => String::new(),
        1 => " (1 short one, to find the range)".to_owned(),
        short => format!(" ({short} short ones, to find the range)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use run::{LatencyObjective, RateEnding};

    fn point(asked_per_s: f64, violation_rate: f64) -> RatePoint {
        RatePoint {
            asked_per_s,
            offered_per_s: asked_per_s,
            in_time_per_s: asked_per_s * (1.0 - violation_rate),
            late_per_s: asked_per_s * violation_rate,
            failed_per_s: 0.0,
            violation_rate,
            p50_ms: Some(30.0),
            p99_ms: Some(80.0),
            utilisation: None,
            seconds: 1.0,
            windows: 1,
            windows_met: u32::from(violation_rate <= 0.01),
            requests: 100,
            recovered: true,
        }
    }

    #[test]
    fn short_windows_are_counted_apart() {
        let sample = include_str!("../../../contract/samples/capacity/mixed.json");
        let document: Document = serde_json::from_str(sample).unwrap();
        let trials = &document.search.trials;
        let is_short = |trial: &&RateTrial| trial.purpose == RatePurpose::Bracket;
        let (short, full): (Vec<_>, Vec<_>) = trials.iter().partition(is_short);
        let of = |trials: &[&RateTrial]| {
            short_ones(&trials.iter().copied().cloned().collect::<Vec<_>>())
        };
        assert_eq!(of(&full), "");
        assert_eq!(of(&short[..1]), " (1 short one, to find the range)");
        assert_eq!(of(&short), " (4 short ones, to find the range)");
    }

    #[test]
    fn a_column_without_figures_is_left_out_with_the_reason() {
        let sample = include_str!("../../../contract/samples/capacity/mixed.json");
        let mut document: Document = serde_json::from_str(sample).unwrap();
        let style = Style {
            width: 160,
            colour: false,
        };
        let points = &mut document.search.curve;
        points[0].utilisation = Some(0.5);
        let with = capacity_page(&document, style);
        assert!(with.contains("CPU  measured s"), "{with}");
        assert!(with.contains("CPU is the share of"), "{with}");
        let saturated = "128/s answered to 6 clients, each of which sends its next request";
        assert!(with.contains(saturated), "{with}");
        let points = document.search.curve.iter_mut();
        points.for_each(|point| point.utilisation = None);
        document.target.url = Some("http://127.0.0.1:3000/".to_owned());
        let without = capacity_page(&document, style);
        assert!(!without.contains("CPU  measured s"), "{without}");
        assert!(!without.contains("CPU is the share of"), "{without}");
        assert!(without.contains("Powerband did not start"), "{without}");
    }

    #[test]
    fn a_percentile_of_too_few_requests_is_a_dash() {
        let shown = |requests| {
            let mut point = point(10.0, 0.0);
            point.requests = requests;
            [(50.0, point.p50_ms), (99.0, point.p99_ms)].map(|(p, ms)| percentile(&point, p, ms))
        };
        assert_eq!(shown(99)[1], NONE);
        assert!(shown(99)[0] != NONE && shown(100)[1] != NONE);
    }

    fn search() -> RateSearch {
        RateSearch {
            objective: LatencyObjective {
                percentile: 99.0,
                limit_ms: 250.0,
            },
            ending: RateEnding::OutOfTime,
            met_per_s: Some(117.0),
            decided: false,
            broke_per_s: Some(183.0),
            low_per_s: None,
            high_per_s: Some(183.0),
            confidence: 0.95,
            saturated_per_s: Some(170.0),
            saturated_connections: None,
            doubted_per_s: None,
            plan_for_per_s: None,
            at_least: None,
            curve: Vec::new(),
            trials: Vec::new(),
            took_s: 30.0,
            out_of_reach: None,
            redirects: Vec::new(),
            warnings: Vec::new(),
        }
    }

    #[test]
    fn a_closed_loop_is_the_limit_only_where_nothing_else_may_be() {
        let below = search();
        assert!(is_the_limit(&below, 6, true));
        assert!(!is_the_limit(&below, 64, false), "64 at 170/s: 0.4 s");
        assert!(is_the_limit(&below, 128, false));
        let beyond = RateSearch {
            met_per_s: Some(175.0),
            ..search()
        };
        assert!(!is_the_limit(&beyond, 6, true));
        let none = RateSearch {
            met_per_s: None,
            ..search()
        };
        assert!(!is_the_limit(&none, 6, true));
    }

    /// A rate beyond the highest with nothing late would contradict the answer without a word.
    #[test]
    fn no_row_contradicts_the_answer_in_silence() {
        let search = search();
        let told = |asked, late| remark(&search, &point(asked, late));
        assert_eq!(told(93.0, 0.0), "");
        assert_eq!(told(117.0, 0.0), "highest that met it, at first impression");
        assert!(told(155.0, 0.0).contains("too few or too short windows"));
        assert!(told(175.0, 0.0).contains("not below the saturated throughput"));
        assert_eq!(told(150.0, 0.2), "1 window, not repeated");
        assert_eq!(told(183.0, 0.4), "did not (95 % sure)");
        assert_eq!(told(233.0, 0.6), "");
        assert_eq!(told(93.0, 0.02), "1 window, not repeated");
        let of = |asked, windows, windows_met| {
            let point = RatePoint {
                windows,
                windows_met,
                ..point(asked, 0.02)
            };
            remark(&search, &point)
        };
        assert_eq!(of(93.0, 3, 2), "2 of 3 windows met it");
        assert_eq!(of(93.0, 2, 1), "1 of 2 windows met it: undecided");
        assert_eq!(of(93.0, 0, 0), "window too short to count");
        assert!(of(117.0, 4, 3).ends_with(", 3 of 4 windows met it"));
    }
}
