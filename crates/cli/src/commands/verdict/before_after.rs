//! `verdict --before --after`: two periods of a fleet compared, without an experiment.

use crate::args::VerdictArgs;
use crate::commands::prometheus::{Prometheus, only_job};
use crate::count_bar::CountBar;
use crate::{Failure, output};
use fleet::{BeforeAfterAsked, Family, Hours, Periods, Side, instant};
use run::before_after::Outcome;

pub(super) fn before_after(before: &str, after: &str, args: &VerdictArgs) -> Result<u8, Failure> {
    let periods = Periods::parse(before, after).map_err(Failure::usage)?;
    let prometheus = Prometheus::of(&args.prometheus, &args.access)?;
    let now_s = jiff::Timestamp::now().as_second();
    if now_s < periods.after.to_s {
        return Err(Failure::no_answer(format!(
            "--after = {after:?}: it ends at {}, and now it is {}; ask again then, or give periods that are over",
            instant(periods.after.to_s),
            instant(now_s)
        )));
    }
    let hours = hours(&periods, args, &prometheus)?;
    let asked = BeforeAfterAsked {
        now_s,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        prometheus: prometheus.shown().to_owned(),
        matchers: args.access.matchers.clone(),
    };
    let document = fleet::compared(&periods, &hours, &asked);
    if args.json {
        output::json(&document)?;
    } else {
        output::print(&report::before_after_page(&document, output::style()))?;
    }
    Ok(match document.outcome {
        Outcome::Shorter | Outcome::NoDifference => 0,
        Outcome::Longer => 1,
        Outcome::NotEnough => 3,
    })
}

/// All series.
fn hours(periods: &Periods, args: &VerdictArgs, prometheus: &Prometheus) -> Result<Hours, Failure> {
    let mut hours = Hours::of(periods);
    let queries = fleet::hour_queries(periods, &args.access.matchers);
    let progress = CountBar::new(queries.len(), "queries answered", false);
    for (side, query) in queries {
        if query.family != Family::Requests {
            served(periods, &hours, prometheus)?;
        }
        hours.add(side, &query, prometheus.answer(&query.promql, query.span)?);
        progress.step();
    }
    Ok(hours)
}

/// Whether both periods have requests of one job, whose queries come first.
fn served(periods: &Periods, hours: &Hours, prometheus: &Prometheus) -> Result<(), Failure> {
    only_job(hours.jobs().iter().map(String::as_str))?;
    let mut without = Side::BOTH.into_iter();
    let Some(side) = without.find(|side| hours.is_without(*side, Family::Requests)) else {
        return Ok(());
    };
    let period = periods.of(side);
    Err(Failure::no_answer(format!(
        "{} has no {} from {} to {}: were the servers scraped then, are the series still kept, and does --match fit?",
        prometheus.shown(),
        Family::Requests.name(),
        instant(period.from_s),
        instant(period.to_s)
    )))
}
