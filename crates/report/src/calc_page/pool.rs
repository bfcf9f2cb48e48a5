//! `calc pool`.

use super::percent;
use crate::figures::grouped;
use crate::sheet::Sheet;
use crate::tables::{table, trimmed};
use run::calc::{Pool, PoolFleet};

pub fn page(sheet: &mut Sheet, pool: &Pool) {
    sheet.heading("Connections, at most");
    let head = [
        "",
        "processes",
        "threads",
        "async",
        "main",
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
                "1".to_owned(),
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
    sum("between deploys".to_owned(), pool.running);
    sum(
        format!("a deploy adds ({} twice)", percent(pool.deploy_overlap)),
        pool.deploy,
    );
    sum("while a deploy overlaps".to_owned(), pool.most);
    sheet.block(&trimmed(&table));
    if let Some(limit) = pool.limit {
        sheet.labelled(
            "Server  ",
            &format!(
                "{} max_connections, {} of them kept for administrators: {} to give, {} free between deploys, {} while one overlaps",
                limit.max_connections, limit.reserved, limit.usable, limit.free_running, limit.free_deploying
            ),
        );
    }
    if let Some(busy) = pool.busy {
        sheet.labelled(
            "Little  ",
            &format!(
                "{:.0} transactions a second of {:.1} ms keep {:.1} connections busy on average; {} suffice 99.9 % of the time",
                busy.rate_per_s, busy.time_ms, busy.mean, busy.enough
            ),
        );
    }
    for file in &pool.files {
        sheet.heading(&file.name);
        file.lines.iter().for_each(|line| sheet.line(line));
    }
}
