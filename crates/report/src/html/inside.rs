//! The document inside the page. It is whole, except that readings of memory are left out where they would make the page too large.

use crate::readable::Readable;
use std::borrow::Cow;

/// Readings of all processes together: about 600 kB of the 2 MiB that a page may have.
const MOST_READINGS: usize = 3_000;

/// The document, and which share of its readings it has: every n-th.
pub struct Inside<'d> {
    pub document: Cow<'d, Readable>,
    pub every: usize,
}

impl Inside<'_> {
    /// Where the document is, and what it lacks.
    pub fn said(&self) -> String {
        let place = "The JSON document is in this file, in the element with the id \"document\"";
        match self.every {
            1 => format!("{place}."),
            nth => format!(
                "{place}, with one of {nth} readings; the document that --json printed has all."
            ),
        }
    }
}

pub fn inside(document: &Readable) -> Inside<'_> {
    let whole = Inside {
        document: Cow::Borrowed(document),
        every: 1,
    };
    let Readable::Memory(read) = document else {
        return whole;
    };
    let of_processes = read.processes.iter().map(|p| p.samples.len());
    let readings = read.samples.len() + of_processes.sum::<usize>();
    let every = readings.div_ceil(MOST_READINGS);
    if every <= 1 {
        return whole;
    }
    let mut fewer = read.clone();
    thin(&mut fewer.samples, every);
    for process in &mut fewer.processes {
        thin(&mut process.samples, every);
    }
    Inside {
        document: Cow::Owned(Readable::Memory(fewer)),
        every,
    }
}

fn thin<T>(readings: &mut Vec<T>, every: usize) {
    let mut nth = 0;
    readings.retain(|_| {
        nth += 1;
        nth % every == 1
    });
}
