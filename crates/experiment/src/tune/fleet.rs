//! How many servers a total rate needs, with what runs today and with what is recommended. Pure.

use crate::rates::ADD_CAPACITY_AT;
use crate::request::{Arm, Total};
use run::{ArmRates, ArmSummary, Document, Fleet, FleetBasis, RateEnding, ServersNeeded};

/// Nothing where it is not known what one carries, or known that one met the objective at no rate.
pub fn needed(document: &Document, baseline: &Arm, total: Total) -> Option<Fleet> {
    let recommended = document.verdict.as_ref().and_then(|v| v.arm.as_deref());
    let recommended = recommended.filter(|name| *name != baseline.name);
    let names = [Some(baseline.name.as_str()), recommended];
    let row = |name: &str| document.arms.iter().find(|arm| arm.name == name);
    let rows: Vec<&ArmSummary> = names.into_iter().flatten().filter_map(row).collect();
    let nothing_met = |rates: &ArmRates| rates.search.ending == RateEnding::NotEven;
    if document.rates.iter().any(nothing_met) {
        // However many servers there were, each would be asked for more than it carries in time.
        return None;
    }
    let each = |of: &dyn Fn(&ArmSummary) -> Option<Carried>| -> Option<Vec<Carried>> {
        rows.iter().map(|arm| of(arm)).collect()
    };
    let (basis, carried) = match each(&|arm| of_objective(document, arm)) {
        Some(carried) => (FleetBasis::Objective, carried),
        None => (FleetBasis::Capacity, each(&of_capacity)?),
    };
    let counted = |(arm, carried): (&&ArmSummary, Carried)| {
        let enough = |each_per_s: f64| servers(total.rate_per_s, each_per_s);
        let servers = enough(carried.each_per_s)?;
        Some(ServersNeeded {
            arm: arm.name.clone(),
            called: run::called(arm.settings, &arm.environment),
            settings: arm.settings,
            each_per_s: carried.each_per_s,
            servers,
            surely: carried.surely_per_s.and_then(enough),
            cost: total.server_cost.map(|cost| cost * f64::from(servers)),
        })
    };
    let servers: Option<Vec<ServersNeeded>> = rows.iter().zip(carried).map(counted).collect();
    Some(Fleet {
        total_rate_per_s: total.rate_per_s,
        server_cost: total.server_cost,
        basis,
        servers: servers.filter(|servers| !servers.is_empty())?,
    })
}

/// What one server carries, per second.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Carried {
    each_per_s: f64,
    surely_per_s: Option<f64>,
}

fn of_objective(document: &Document, arm: &ArmSummary) -> Option<Carried> {
    let found = document.rates.iter().find(|rates| rates.arm == arm.name)?;
    // A bound of one next to the rate of another would say nothing of the two.
    if !found.search.decided || found.search.ending != RateEnding::Found {
        return None;
    }
    Some(Carried {
        each_per_s: found.search.met_per_s?,
        surely_per_s: found.search.low_per_s,
    })
}

fn of_capacity(arm: &ArmSummary) -> Option<Carried> {
    Some(Carried {
        each_per_s: ADD_CAPACITY_AT * arm.capacity_per_s?,
        surely_per_s: None,
    })
}

fn servers(total_per_s: f64, each_per_s: f64) -> Option<u32> {
    let servers = (total_per_s / each_per_s).ceil();
    (servers >= 1.0 && servers <= f64::from(u32::MAX)).then_some(servers as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::rates;

    /// A tune that recommends four threads, 168 a second, instead of one, 42.
    fn document() -> Document {
        let mut document = crate::sample::document("tune");
        document.rates.clear();
        if let Some(verdict) = &mut document.verdict {
            verdict.arm = Some("w0t4".to_owned());
        }
        document
    }

    fn counted(document: &Document) -> Fleet {
        let baseline = Arm::of(document.arms[0].settings);
        let total = Total {
            rate_per_s: 1_000.0,
            server_cost: Some(90.0),
        };
        needed(document, &baseline, total).unwrap()
    }

    #[test]
    fn without_a_rate_that_meets_an_objective_four_fifths_of_the_capacity_count() {
        let fleet = counted(&document());
        assert_eq!(fleet.basis, FleetBasis::Capacity);
        // 1,000 / (0.8 x 42) = 29.8, 1,000 / (0.8 x 168) = 7.4.
        let servers: Vec<_> = fleet.servers.iter().map(|s| s.servers).collect();
        assert_eq!(servers, [30, 8]);
        assert_eq!(fleet.servers[1].cost, Some(720.0));
        assert_eq!(fleet.servers[1].surely, None);
    }

    /// One searched rate next to a capacity would compare what cannot be compared.
    #[test]
    fn both_are_counted_alike() {
        let mut document = document();
        document.rates = vec![rates(1, RateEnding::Found, 35.0, Some((28.0, 37.0)))];
        assert_eq!(counted(&document).basis, FleetBasis::Capacity);
        let four = rates(4, RateEnding::Found, 150.0, Some((120.0, 160.0)));
        document.rates.push(four);
        let fleet = counted(&document);
        assert_eq!(fleet.basis, FleetBasis::Objective);
        let servers: Vec<_> = fleet
            .servers
            .iter()
            .map(|s| (s.servers, s.surely))
            .collect();
        assert_eq!(servers, [(29, Some(36)), (7, Some(9))]);
        document.rates[1].search.ending = RateEnding::OutOfTime;
        assert_eq!(counted(&document).basis, FleetBasis::Capacity);
    }

    #[test]
    fn what_is_kept_is_counted_once() {
        let mut document = document();
        if let Some(verdict) = &mut document.verdict {
            verdict.arm = None;
        }
        assert_eq!(counted(&document).servers.len(), 1);
    }

    /// Exact where the quotient is whole: 2,000 at 50 each are 40 and not 41.
    #[test]
    fn servers_are_rounded_up_and_never_from_nothing() {
        assert_eq!(servers(2_000.0, 50.0), Some(40));
        assert_eq!(servers(2_000.1, 50.0), Some(41));
        assert_eq!(servers(1.0, 1_000.0), Some(1));
        assert_eq!(servers(1_000.0, 0.0), None);
        for (total, each) in [(7.0, 3.0), (1e6, 0.7), (123.0, 61.5), (99.9, 33.3)] {
            let servers = f64::from(servers(total, each).unwrap());
            assert!(servers * each >= total * (1.0 - 1e-12));
            assert!((servers - 1.0) * each < total);
        }
    }
}
