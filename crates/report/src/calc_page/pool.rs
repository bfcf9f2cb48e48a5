//! `calc pool`.

use crate::figures::{grouped, percent};
use crate::sheet::Sheet;
use crate::tables::table;
use run::calc::{Pool, PoolFleet};

pub fn page(sheet: &mut Sheet, pool: &Pool) {
    sheet.heading("Connections, at most");
    let head = [
        "",
        "processes",
        "threads",
        "async threads",
        "+ 1",
        "pool",
        "connections",
    ];
    let mut table = table(sheet.style(), &head, 1);
    let mut fleet = |name: &str, fleet: &PoolFleet| {
        if fleet.processes > 0 {
            table.add_row(vec![
                name.to_owned(),
                fleet.processes.to_string(),
                fleet.threads.to_string(),
                pool.async_threads.to_string(),
                u8::from(pool.async_threads > 0).to_string(),
                fleet.pool.to_string(),
                grouped(fleet.connections),
            ]);
        }
    };
    fleet("web", &pool.web);
    fleet("jobs", &pool.jobs);
    let mut sum = |name: String, connections: u64| {
        let mut row = vec![name];
        row.extend(vec![String::new(); head.len() - 2]);
        row.push(grouped(connections));
        table.add_row(row);
    };
    sum(
        "consoles, migrations, monitoring".to_owned(),
        pool.others.into(),
    );
    sum("total between deploys".to_owned(), pool.running);
    sum(
        format!(
            "extra during a deploy ({} overlap)",
            percent(pool.deploy_overlap)
        ),
        pool.deploy,
    );
    sum("total during a deploy".to_owned(), pool.most);
    sheet.table(table);
    if let Some(limit) = pool.limit {
        sheet.labelled(
            "Server limit  ",
            &format!(
                "max_connections {}, {} of them reserved for administrators: {} usable, {} between deploys, {} during a deploy",
                limit.max_connections, limit.reserved, limit.usable, free(limit.free_running), free(limit.free_deploying)
            ),
        );
    }
    if let Some(busy) = pool.busy {
        sheet.labelled(
            "In use  ",
            &format!(
                "{:.0} transactions a second of {:.1} ms keep {:.1} connections busy on average; {} are enough 99.9 % of the time (Little's law)",
                busy.rate_per_s, busy.time_ms, busy.mean, busy.enough
            ),
        );
    }
    for file in &pool.files {
        sheet.heading(&file.name);
        file.lines.iter().for_each(|line| sheet.line(line));
    }
}

/// `24 free`, `46 too few`.
fn free(connections: i64) -> String {
    match connections {
        0.. => format!("{connections} free"),
        short => format!("{} too few", short.unsigned_abs()),
    }
}
