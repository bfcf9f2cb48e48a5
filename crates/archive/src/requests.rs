//! Requests and jobs, one a row.

use crate::column::{Column, Table, Value, int, integer, micros};
use crate::process::{OfProcess, OfService, Process};
use flight::{Call, CallKind, Method, Record};
use std::sync::Arc;

/// A request, or a job.
#[derive(Debug, Clone)]
pub struct Request {
    pub process: Arc<Process>,
    pub endpoint: Arc<str>,
    pub record: Record,
    /// How many requests it stands for.
    pub weight: u32,
}

impl OfProcess for Request {
    fn process(&self) -> &Process {
        &self.process
    }
}

impl Request {
    pub fn arrived_us(&self) -> i64 {
        integer(self.record.arrival_wall_ns / 1_000)
    }

    fn method(&self) -> Option<&'static str> {
        (!self.record.job).then_some(match self.record.method {
            Method::Other => "other",
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
            Method::Options => "OPTIONS",
        })
    }

    fn call(&self, kind: CallKind, of: fn(&Call) -> i64) -> Option<i64> {
        self.process.measured.calls[kind].then(|| of(&self.record.calls[kind]))
    }

    fn seen_us(&self, kind: CallKind) -> Option<i64> {
        self.call(kind, |call| call.seen_us.into())
    }

    fn gvl_us(&self, kind: CallKind) -> Option<i64> {
        self.call(kind, |call| call.gvl_us.into())
    }

    fn count(&self, kind: CallKind) -> Option<i64> {
        self.call(kind, |call| call.count.into())
    }
}

pub const REQUESTS: Table<Request> = Table {
    name: "requests",
    about: "A request or a job that ended, of those that are in the sample.",
    at_us: Request::arrived_us,
    shared: [Request::SERVICE, Request::PROCESS],
    columns: &[
        Column {
            name: "arrived",
            about: "when it reached the application",
            value: Value::Instant(|r| Some(r.arrived_us())),
        },
        Column {
            name: "endpoint",
            about: "the name of its endpoint, or `job` and the class",
            value: Value::Text(|r| Some(&r.endpoint)),
        },
        Column {
            name: "method",
            about: "the HTTP method; `NULL` of a job",
            value: Value::Text(|r| r.method()),
        },
        int(
            "status",
            "the HTTP status; `NULL` of a job, and where the application raised",
            |r| (r.record.status > 0).then_some(r.record.status.into()),
        ),
        Column {
            name: "raised",
            about: "the application raised",
            value: Value::Flag(|r| Some(r.record.raised)),
        },
        Column {
            name: "job",
            about: "it is a job, not a request",
            value: Value::Flag(|r| Some(r.record.job)),
        },
        int(
            "weight",
            "how many requests it stands for: N with `--sample N`",
            |r| Some(r.weight.into()),
        ),
        int(
            "queue_us",
            "µs in queues before it arrived; `NULL` where they are not known",
            |r| r.record.queue_ns.map(micros),
        ),
        int(
            "wall_us",
            "µs in the application: held, GVL wait, lock wait and I/O, each rounded",
            |r| Some(micros(r.record.wall_ns)),
        ),
        int("held_us", "µs in which its thread held the GVL", |r| {
            r.process.measured.split.then(|| micros(r.record.held_ns))
        }),
        int("gvl_wait_us", "µs in which it waited for the GVL", |r| {
            r.process
                .measured
                .split
                .then(|| micros(r.record.gvl_wait_ns))
        }),
        int("lock_wait_us", "µs in which it waited for a lock", |r| {
            r.process
                .measured
                .lock_wait
                .then(|| micros(r.record.lock_wait_ns))
        }),
        int("io_us", "µs without the GVL otherwise", |r| {
            r.process.measured.split.then(|| micros(r.record.io_ns))
        }),
        int(
            "cpu_us",
            "µs of CPU of its thread since that ended its previous request",
            |r| r.process.measured.cpu.then(|| micros(r.record.cpu_ns)),
        ),
        int(
            "gc_us",
            "µs for which garbage collection stopped it; a part of the times above",
            |r| r.process.measured.gc.then(|| micros(r.record.gc_ns)),
        ),
        int(
            "gc_major_us",
            "the part of `gc_us` of major collections",
            |r| {
                r.process
                    .measured
                    .gc_major
                    .then_some(r.record.gc_major_us.into())
            },
        ),
        int("allocations", "objects that it allocated", |r| {
            r.process
                .measured
                .allocations
                .then(|| integer(r.record.allocations))
        }),
        int("yields", "how often its thread gave the GVL up", |r| {
            r.process.measured.split.then_some(r.record.yields.into())
        }),
        int(
            "busy_threads",
            "requests in flight in its process when it began, itself included",
            |r| Some(r.record.busy_threads.into()),
        ),
        int(
            "sql_us",
            "µs in SQL queries, as the application sees them",
            |r| r.seen_us(CallKind::Sql),
        ),
        int(
            "sql_gvl_us",
            "the part of `sql_us` that was GVL wait",
            |r| r.gvl_us(CallKind::Sql),
        ),
        int("sql_count", "SQL queries", |r| r.count(CallKind::Sql)),
        int("http_us", "µs in calls of HTTP clients", |r| {
            r.seen_us(CallKind::Http)
        }),
        int(
            "http_gvl_us",
            "the part of `http_us` that was GVL wait",
            |r| r.gvl_us(CallKind::Http),
        ),
        int("http_count", "calls of HTTP clients", |r| {
            r.count(CallKind::Http)
        }),
        int("cache_us", "µs in calls of caches", |r| {
            r.seen_us(CallKind::Cache)
        }),
        int(
            "cache_gvl_us",
            "the part of `cache_us` that was GVL wait",
            |r| r.gvl_us(CallKind::Cache),
        ),
        int("cache_count", "calls of caches", |r| {
            r.count(CallKind::Cache)
        }),
        int("redis_us", "µs in calls of Redis", |r| {
            r.seen_us(CallKind::Redis)
        }),
        int(
            "redis_gvl_us",
            "the part of `redis_us` that was GVL wait",
            |r| r.gvl_us(CallKind::Redis),
        ),
        int("redis_count", "calls of Redis", |r| {
            r.count(CallKind::Redis)
        }),
        int("pool_us", "µs of waiting for a database connection", |r| {
            r.seen_us(CallKind::Pool)
        }),
        int(
            "pool_gvl_us",
            "the part of `pool_us` that was GVL wait",
            |r| r.gvl_us(CallKind::Pool),
        ),
        int("pool_count", "checkouts that had to wait", |r| {
            r.count(CallKind::Pool)
        }),
        int(
            "parse_us",
            "µs of the server's work before the application",
            |r| r.record.parse_us.map(i64::from),
        ),
        int(
            "write_us",
            "µs from the application's return until the response was written",
            |r| r.record.write_us.map(i64::from),
        ),
        int(
            "server_held_us",
            "µs in which its thread held the GVL since its previous request",
            |r| {
                r.process
                    .measured
                    .server
                    .then_some(r.record.server_held_us.into())
            },
        ),
        int("thread", "the kernel's id of its thread", |r| {
            Some(r.record.thread_id.into())
        }),
    ],
};
