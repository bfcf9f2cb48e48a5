//! `calc usl`.

use crate::sheet::Sheet;
use crate::tables::{align_left, table};
use run::calc::{Estimate, Usl};

pub fn page(sheet: &mut Sheet, usl: &Usl) {
    sheet.heading(&format!(
        "X(N) = g N / (1 + s (N - 1) + k N (N - 1)), with {:.0} % intervals",
        usl.confidence * 100.0
    ));
    let head = ["", "estimate", "from", "to", ""];
    let mut parameters = table(sheet.style(), &head, 1);
    align_left(&mut parameters, head.len() - 1);
    let mut row = |name: &str, estimate: &Estimate, digits: usize, meaning: &str| {
        parameters.add_row(vec![
            name.to_owned(),
            format!("{:.digits$}", estimate.value),
            format!("{:.digits$}", estimate.low),
            estimate
                .high
                .map_or_else(|| "∞".to_owned(), |high| format!("{high:.digits$}")),
            meaning.to_owned(),
        ]);
    };
    row("g", &usl.per_one, 1, "throughput at N = 1");
    row(
        "s",
        &usl.contention,
        4,
        "contention: the share that queues up",
    );
    row("k", &usl.coherency, 6, "coherency: what every pair costs");
    if let Some(peak) = &usl.peak {
        row("N at the peak", peak, 1, "sqrt((1 - s) / k)");
    }
    if let Some(most) = &usl.peak_throughput {
        row("X at the peak", most, 1, "throughput at that N");
    }
    sheet.table(parameters);
    sheet.heading("Measured against fitted");
    let mut points = table(
        sheet.style(),
        &["N", "measured", "fitted", "off", "efficiency"],
        0,
    );
    for point in &usl.points {
        points.add_row(vec![
            point.n.to_string(),
            format!("{:.1}", point.measured),
            format!("{:.1}", point.fitted),
            format!("{:+.1} %", point.off * 100.0),
            format!("{:.0} %", point.efficiency * 100.0),
        ]);
    }
    sheet.table(points);
    sheet.prose(&format!(
        "Scatter about the fit {:.1} %, {} {} of freedom.",
        usl.scatter * 100.0,
        usl.freedom,
        if usl.freedom == 1 {
            "degree"
        } else {
            "degrees"
        }
    ));
}
