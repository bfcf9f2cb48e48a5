//! Rows that wait for their files.

use crate::collections::{Collected, GC};
use crate::column::Table;
use crate::counters::{COUNTED, Counted};
use crate::encode::encoded;
use crate::memory::{Held, MEMORY};
use crate::part::{Part, day_of};
use crate::requests::{REQUESTS, Request};
use parquet::errors::ParquetError;

/// Rows after which a batch wants to be written: 10 MB of memory.
pub const FULL: usize = 1 << 15;

/// Rows of the four tables that an exporter writes.
#[derive(Debug, Default)]
pub struct Batch {
    pub requests: Vec<Request>,
    pub collections: Vec<Collected>,
    pub counted: Vec<Counted>,
    pub held: Vec<Held>,
    pub lost: Lost,
}

/// Rows that newer ones had overwritten before they were read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    pub requests: u64,
    pub collections: u64,
}

impl Batch {
    pub fn is_full(&self) -> bool {
        let others = [self.collections.len(), self.counted.len(), self.held.len()];
        self.requests.len() + others.iter().sum::<usize>() >= FULL
    }

    pub fn is_empty(&self) -> bool {
        self.requests.is_empty()
            && self.collections.is_empty()
            && self.counted.is_empty()
            && self.held.is_empty()
    }

    /// The files, one for each table and day.
    ///
    /// # Errors
    /// When the library refuses the rows.
    pub fn parts(&mut self) -> Result<Vec<Part>, ParquetError> {
        let mut parts = Vec::new();
        add(&REQUESTS, &mut self.requests, &mut parts)?;
        add(&GC, &mut self.collections, &mut parts)?;
        add(&COUNTED, &mut self.counted, &mut parts)?;
        add(&MEMORY, &mut self.held, &mut parts)?;
        Ok(parts)
    }
}

/// A file for each day of the rows, in order of time.
fn add<R>(table: &Table<R>, rows: &mut [R], parts: &mut Vec<Part>) -> Result<(), ParquetError> {
    // Stable sorting takes half as much memory again.
    rows.sort_unstable_by_key(table.at_us);
    let days = rows.chunk_by(|a, b| day_of((table.at_us)(a)) == day_of((table.at_us)(b)));
    for rows in days {
        parts.push(Part {
            table: table.name,
            day: day_of((table.at_us)(&rows[0])),
            bytes: encoded(table, rows)?,
        });
    }
    Ok(())
}
