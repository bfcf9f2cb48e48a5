//! How many servers a total rate needs.

use crate::figures::{grouped, rate};
use crate::sheet::Sheet;
use crate::tables::{NONE, table};
use run::{Document, Fleet, FleetBasis, ServersNeeded};

/// The section; nothing where no total was named.
pub fn write(sheet: &mut Sheet, document: &Document) {
    let Some(fleet) = &document.fleet else {
        return;
    };
    let total = rate(fleet.total_rate_per_s);
    sheet.heading(&format!("Servers for {total} requests a second"));
    let style = sheet.style();
    let head = [
        "configuration",
        "one serves",
        "servers",
        "95 % sure",
        "cost",
    ];
    let columns = if fleet.server_cost.is_some() { 5 } else { 4 };
    let mut table = table(style, &head[..columns], 1);
    for needed in &fleet.servers {
        let mut row = vec![
            needed.called.clone(),
            rate(needed.each_per_s),
            grouped(u64::from(needed.servers)),
            needed
                .surely
                .map_or_else(|| NONE.to_owned(), |n| grouped(u64::from(n))),
        ];
        let cost = needed.cost.filter(|_| fleet.server_cost.is_some());
        row.extend(cost.map(money));
        table.add_row(row);
    }
    sheet.table(table);
    sheet.prose(&format!("{}{}", less(fleet), taken_from(fleet.basis)));
}

/// In whole units where they are many; an hour of a server may cost a part of one.
fn money(cost: f64) -> String {
    match cost < 1_000.0 {
        true => format!("{cost:.2}"),
        false => grouped(cost.round() as u64),
    }
}

/// What the change is worth.
fn less(fleet: &Fleet) -> String {
    let [today, then] = fleet.servers.as_slice() else {
        return String::new();
    };
    let difference = u64::from(today.servers.abs_diff(then.servers));
    let cost = |of: &ServersNeeded| of.cost.unwrap_or(0.0);
    let cost = match fleet.server_cost {
        Some(_) => format!(", {} of cost", money((cost(today) - cost(then)).abs())),
        None => String::new(),
    };
    match today.servers.cmp(&then.servers) {
        std::cmp::Ordering::Equal => "As many servers as today. ".to_owned(),
        std::cmp::Ordering::Greater => format!("{} fewer{cost}. ", grouped(difference)),
        std::cmp::Ordering::Less => format!("{} more{cost}. ", grouped(difference)),
    }
}

fn taken_from(basis: FleetBasis) -> &'static str {
    match basis {
        FleetBasis::Objective => {
            "The total over the highest rate that met the objective on this machine, rounded up; 95 % sure: over the \
             lower end of the 95 % range of that rate. Nothing is set aside for a server that is down."
        }
        FleetBasis::Capacity => {
            "The total over 80 % of what one answers at full load on this machine, rounded up: the highest rate that meets an \
             objective is not known of each (--slo, and a --budget that reaches). Nothing is set aside for a server that is down."
        }
    }
}
