//! What became of requests at each shadow, and what its agent saw.

use crate::figures::{bytes, grouped, milliseconds, share};
use crate::sheet::Sheet;
use crate::tables::{NONE, align_left, table};
use run::duplex::{Document, Inside, Shadow};

/// Requests of each shadow by what became of them.
pub fn counts(sheet: &mut Sheet, document: &Document) {
    sheet.heading("What became of the requests");
    let head = [
        "",
        "sampled",
        "compared",
        "no\nanswer",
        "dropped",
        "server\nerrors",
        "copy sent\nlater by",
        "",
    ];
    let mut all = table(sheet.style(), &head, 1);
    align_left(&mut all, head.len() - 1);
    for shadow in &document.shadows {
        let sum = |counts: &std::collections::BTreeMap<String, u64>| grouped(counts.values().sum());
        let twin = if shadow.twin { " (twin)" } else { "" };
        all.add_row(vec![
            format!("{}{twin}", shadow.name),
            grouped(shadow.sampled),
            share(shadow.coverage),
            sum(&shadow.failed),
            sum(&shadow.dropped),
            grouped(shadow.server_errors),
            shadow
                .delay_ms
                .map_or_else(|| NONE.to_owned(), |ms| milliseconds(Some(ms))),
            causes(shadow),
        ]);
    }
    sheet.table(all);
}

fn causes(shadow: &Shadow) -> String {
    let causes = shadow.failed.iter().chain(&shadow.dropped);
    let causes: Vec<String> = causes
        .map(|(cause, count)| format!("{} {}", cause.replace('_', " "), grouped(*count)))
        .collect();
    causes.join(", ")
}

/// A column for each shadow whose flight files were given.
pub fn inside(sheet: &mut Sheet, document: &Document) {
    let seen: Vec<(&str, &Inside)> = (document.shadows.iter())
        .filter_map(|shadow| Some((shadow.name.as_str(), shadow.inside.as_ref()?)))
        .collect();
    if seen.is_empty() {
        return;
    }
    sheet.heading("From inside, by the agent");
    let mut head = vec!["means of a request"];
    head.extend(seen.iter().map(|(name, _)| *name));
    let mut all = table(sheet.style(), &head, 1);
    let mut row = |name: &str, of: &dyn Fn(&Inside) -> Option<String>| {
        let cells: Vec<Option<String>> = seen.iter().map(|(_, inside)| of(inside)).collect();
        if cells.iter().any(Option::is_some) {
            let mut row = vec![name.to_owned()];
            row.extend(
                cells
                    .into_iter()
                    .map(|cell| cell.unwrap_or_else(|| NONE.to_owned())),
            );
            all.add_row(row);
        }
    };
    let ms = |value: Option<f64>| value.map(|ms| format!("{ms:.2} ms"));
    row("server", &|one| {
        Some(format!("{}, ruby {}", one.server, one.ruby))
    });
    row("processes x threads", &|one| {
        let threads = one
            .threads
            .map_or_else(|| NONE.to_owned(), |count| count.to_string());
        Some(format!("{} x {threads}", one.processes))
    });
    row("requests", &|one| Some(grouped(one.requests)));
    row("in the application", &|one| ms(Some(one.wall_ms)));
    row("GVL held", &|one| ms(one.held_ms));
    row("GVL wait", &|one| ms(one.gvl_wait_ms));
    row("I/O", &|one| ms(one.io_ms));
    row("CPU", &|one| ms(one.cpu_ms));
    row("stopped by the garbage collector", &|one| {
        ms(one.gc_stopped_ms)
    });
    row("collector's share of time", &|one| one.gc_share.map(share));
    row("objects allocated", &|one| {
        one.allocations.map(|count| grouped(count.round() as u64))
    });
    row("memory (PSS)", &|one| one.pss_bytes.map(bytes));
    sheet.table(all);
}
