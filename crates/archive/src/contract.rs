//! The page on the tables: `contract/parquet-v1.md`.

use crate::column::{Kind, Table};
use crate::{COMPARISONS, COUNTED, GC, MEMORY, REQUESTS, TRIALS, VERDICTS};
use std::fmt::Write as _;

const HEAD: &str = "# The Parquet files, version 1

What `powerband export --parquet` and `powerband runs --parquet` write; [docs/sql.md](../docs/sql.md) has queries. Generated from the
tables in `crates/archive` by `make contract`.

A file is `FOLDER/TABLE/service=NAME/day=DATE/FILE.parquet`. `DATE` is the day in UTC of the first column, of runs the day on which the run
began. `FILE` is the instance and the time at which the file was written, of runs the name of the run. Folders have mode 0700, files 0600.
A file has one row group, in order of time, compressed with gzip (`GZIP`). Integers are `INT64`, those with many
values in the encoding `DELTA_BINARY_PACKED`; `TIMESTAMP WITH TIME ZONE` is an instant in microseconds, `isAdjustedToUTC`.

Every column may be `NULL`, which means \"not known\" or \"not measured\", never zero. A later version may add columns; it removes none and
changes no meaning.

`FOLDER/.exporters` has a file for each service and instance that says how far its exporter has read, and one that it locks. It is no part
of this contract.
";

/// A table without its rows.
#[derive(Debug)]
pub struct Described {
    pub name: &'static str,
    pub about: &'static str,
    pub columns: Vec<DescribedColumn>,
}

#[derive(Debug)]
pub struct DescribedColumn {
    pub name: &'static str,
    pub about: &'static str,
    pub kind: Kind,
}

/// All tables, in the order of the page.
pub fn tables() -> [Described; 7] {
    [
        described(&REQUESTS),
        described(&GC),
        described(&COUNTED),
        described(&MEMORY),
        described(&TRIALS),
        described(&COMPARISONS),
        described(&VERDICTS),
    ]
}

fn described<R>(table: &Table<R>) -> Described {
    let columns = table.all().map(|column| DescribedColumn {
        name: column.name,
        about: column.about,
        kind: column.kind(),
    });
    Described {
        name: table.name,
        about: table.about,
        columns: columns.collect(),
    }
}

/// The page.
#[must_use]
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    for table in tables() {
        let (name, about) = (table.name, table.about);
        let _ = write!(
            page,
            "\n## {name}\n\n{about}\n\n| column | type | meaning |\n|---|---|---|\n"
        );
        for column in table.columns {
            let (name, kind) = (column.name, column.kind.sql());
            let _ = writeln!(page, "| `{name}` | {kind} | {} |", column.about);
        }
    }
    page
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_committed_page_is_that_of_the_tables() {
        let committed = include_str!("../../../contract/parquet-v1.md");
        assert!(
            committed == super::page(),
            "contract/parquet-v1.md is out of date; run make contract"
        );
    }
}
