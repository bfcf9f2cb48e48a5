//! `calc amdahl`.

use crate::figures::percent;
use crate::sheet::Sheet;
use crate::tables::{align_left, table};
use run::calc::Amdahl;

pub fn page(sheet: &mut Sheet, amdahl: &Amdahl) {
    sheet.heading("Speed-up by Amdahl's law");
    let head = [
        "threads",
        "times as fast",
        "one more adds",
        "efficiency",
        "",
    ];
    let mut table = table(sheet.style(), &head, 0);
    align_left(&mut table, head.len() - 1);
    for row in &amdahl.rows {
        let mark = if row.threads == amdahl.enough {
            "enough"
        } else {
            ""
        };
        table.add_row(vec![
            row.threads.to_string(),
            format!("{:.3}", row.speedup),
            percent(row.one_more_adds),
            percent(row.efficiency),
            mark.to_owned(),
        ]);
    }
    if let Some(limit) = amdahl.limit {
        table.add_row(vec!["∞".to_owned(), format!("{limit:.3}")]);
    }
    sheet.table(table);
}
