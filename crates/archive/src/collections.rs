//! Collections of Ruby's garbage collector, one a row.

use crate::column::{Column, Table, Value, int, integer, micros};
use crate::process::{OfProcess, OfService, Process};
use flight::{Cause, Collection, CollectionKind, MajorBy};
use std::sync::Arc;

/// A collection that is over.
#[derive(Debug, Clone)]
pub struct Collected {
    pub process: Arc<Process>,
    pub collection: Collection,
}

impl OfProcess for Collected {
    fn process(&self) -> &Process {
        &self.process
    }
}

impl Collected {
    pub fn began_us(&self) -> i64 {
        self.process.at_us(self.collection.start_mono_ns)
    }
}

fn kind(kind: CollectionKind) -> &'static str {
    match kind {
        CollectionKind::Minor => "minor",
        CollectionKind::Major => "major",
    }
}

fn major_by(why: MajorBy) -> &'static str {
    match why {
        MajorBy::NoFree => "nofree",
        MajorBy::OldGen => "oldgen",
        MajorBy::Shady => "shady",
        MajorBy::OldMalloc => "oldmalloc",
        MajorBy::Force => "force",
    }
}

fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::NewObject => "newobj",
        Cause::Malloc => "malloc",
        Cause::Method => "method",
        Cause::CApi => "capi",
        Cause::Stress => "stress",
    }
}

pub const GC: Table<Collected> = Table {
    name: "gc",
    about: "A collection of Ruby's garbage collector, with the sums of its pauses.",
    at_us: Collected::began_us,
    shared: [Collected::SERVICE, Collected::PROCESS],
    columns: &[
        Column {
            name: "began",
            about: "when its first pause began",
            value: Value::Instant(|c| Some(c.began_us())),
        },
        Column {
            name: "kind",
            about: "`minor` or `major`",
            value: Value::Text(|c| c.collection.kind.map(kind)),
        },
        Column {
            name: "major_by",
            about: "why it is a major one: `nofree`, `oldgen`, `shady`, `oldmalloc` or `force`",
            value: Value::Text(|c| c.collection.major_by.map(major_by)),
        },
        Column {
            name: "cause",
            about: "what set it off: `newobj`, `malloc`, `method`, `capi` or `stress`",
            value: Value::Text(|c| c.collection.cause.map(cause)),
        },
        Column {
            name: "in_request",
            about: "the thread of its first pause served a request or a job",
            value: Value::Flag(|c| Some(c.collection.in_request)),
        },
        int("number", "`GC.count`", |c| Some(c.collection.number.into())),
        int("pauses", "its pauses", |c| Some(c.collection.pauses.into())),
        int(
            "pause_us",
            "µs of its pauses, in which no Ruby thread of the process ran",
            |c| Some(micros(c.collection.pause_ns)),
        ),
        int(
            "sweeping_us",
            "the part of `pause_us` that only swept",
            |c| Some(micros(c.collection.sweeping_ns)),
        ),
        int("longest_us", "µs of its longest pause", |c| {
            Some(micros(c.collection.longest_ns))
        }),
        int("cpu_us", "µs of thread CPU in its pauses", |c| {
            Some(micros(c.collection.cpu_ns))
        }),
        int(
            "span_us",
            "µs from its first pause to the end of its last",
            |c| {
                let collection = &c.collection;
                let span = collection
                    .end_mono_ns
                    .saturating_sub(collection.start_mono_ns);
                Some(micros(span))
            },
        ),
        int("live_before", "live slots as it began", |c| {
            c.collection.live_before.map(integer)
        }),
        int("live_after", "live slots after its last pause", |c| {
            c.collection.live_after.map(integer)
        }),
        int("old_before", "old objects as it began", |c| {
            c.collection.old_before.map(integer)
        }),
        int("old_after", "old objects after its last pause", |c| {
            c.collection.old_after.map(integer)
        }),
        int("freed", "objects that it freed", |c| {
            c.collection.freed.map(integer)
        }),
        int("pages_before", "pages of the heap as it began", |c| {
            c.collection.pages_before.map(i64::from)
        }),
        int(
            "pages_after",
            "pages of the heap after its last pause",
            |c| c.collection.pages_after.map(i64::from),
        ),
        int(
            "malloc_bytes",
            "bytes that `malloc` gave since the previous collection",
            |c| c.collection.malloc_increase.map(integer),
        ),
        int(
            "oldmalloc_bytes",
            "the same since the previous major one",
            |c| c.collection.oldmalloc_increase.map(integer),
        ),
    ],
};
