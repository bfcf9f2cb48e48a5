//! What each endpoint counted in a minute, over the processes of an instance: exact, whatever the sample of requests is.

use crate::column::{Column, Table, Value, integer};
use crate::process::{OfService, Service};
use flight::{COUNTERS, Totals};
use std::sync::Arc;

/// An endpoint over some time.
#[derive(Debug, Clone)]
pub struct Counted {
    pub service: Arc<Service>,
    pub endpoint: Arc<str>,
    /// Unix time in microseconds at which it began.
    pub from_us: i64,
    pub seconds: f64,
    /// In the order of [`Totals::named`]; `None` where no process measures it.
    pub counts: [Option<u64>; COUNTERS],
}

impl OfService for Counted {
    fn service(&self) -> &Service {
        &self.service
    }
}

impl Counted {
    /// Adds what a process counted meanwhile.
    pub fn add(&mut self, totals: &Totals, measured: &[bool; COUNTERS]) {
        let counted = totals.named().into_iter().zip(measured);
        for (sum, ((_, count), measured)) in self.counts.iter_mut().zip(counted) {
            if *measured {
                *sum = Some(sum.unwrap_or(0).saturating_add(count));
            }
        }
    }

    /// `N` is the counter's place in [`Totals::named`].
    fn count<const N: usize>(&self) -> Option<i64> {
        self.counts[N].map(integer)
    }
}

const fn count<const N: usize>(name: &'static str, about: &'static str) -> Column<Counted> {
    Column {
        name,
        about,
        value: Value::Integer(Counted::count::<N>),
    }
}

pub const COUNTED: Table<Counted> = Table {
    name: "counters",
    about: "What an endpoint counted in a minute, over all processes of an instance: exact, whatever the sample of requests is.",
    at_us: |row| row.from_us,
    shared: [Counted::SERVICE, &[]],
    columns: &[
        Column {
            name: "began",
            about: "when the minute began",
            value: Value::Instant(|row| Some(row.from_us)),
        },
        Column {
            name: "seconds",
            about: "how long it was",
            value: Value::Number(|row| Some(row.seconds)),
        },
        Column {
            name: "endpoint",
            about: "the name of the endpoint, or `job` and the class",
            value: Value::Text(|row| Some(&row.endpoint)),
        },
        count::<0>("requests", "requests and jobs that ended"),
        count::<1>(
            "server_errors",
            "of these with status 500 to 599, or raised",
        ),
        count::<2>(
            "queue_ns",
            "ns in queues, of those whose queue time is known",
        ),
        count::<3>("queue_known", "how many these are"),
        count::<4>("wall_ns", "ns in the application"),
        count::<5>("held_ns", "ns in which their threads held the GVL"),
        count::<6>("gvl_wait_ns", "ns in which they waited for the GVL"),
        count::<7>("lock_wait_ns", "ns in which they waited for a lock"),
        count::<8>("io_ns", "ns without the GVL otherwise"),
        count::<9>("cpu_ns", "ns of CPU of their threads"),
        count::<10>("gc_ns", "ns for which garbage collection stopped them"),
        count::<11>("allocations", "objects that they allocated"),
        count::<15>("sql_ns", "ns in SQL queries, as the application sees them"),
        count::<25>("sql_count", "SQL queries"),
        count::<17>("http_ns", "ns in calls of HTTP clients"),
        count::<26>("http_count", "calls of HTTP clients"),
        count::<19>("cache_ns", "ns in calls of caches"),
        count::<27>("cache_count", "calls of caches"),
        count::<21>("redis_ns", "ns in calls of Redis"),
        count::<28>("redis_count", "calls of Redis"),
        count::<23>("pool_ns", "ns of waiting for a database connection"),
        count::<29>("pool_count", "checkouts that had to wait"),
        count::<35>(
            "busy_sum",
            "requests in flight when one began, itself included, summed over requests",
        ),
        count::<38>("status_2xx", "requests with status 200 to 299"),
        count::<39>("status_3xx", "with status 300 to 399"),
        count::<40>("status_4xx", "with status 400 to 499"),
        count::<41>("status_5xx", "with status 500 to 599, or raised"),
        count::<42>("wall_up_to_75ms", "requests of at most 75 ms"),
        count::<43>("wall_up_to_250ms", "requests of at most 250 ms"),
    ],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_column_has_the_counter_of_its_name() {
        let named = Totals::default().named();
        let row = Counted {
            service: Arc::new(Service::default()),
            endpoint: "a".into(),
            from_us: 0,
            seconds: 60.0,
            counts: std::array::from_fn(|at| Some(at as u64)),
        };
        let mut seen = 0;
        for column in COUNTED.all() {
            if let Value::Integer(of) = column.value {
                let at = usize::try_from(of(&row).unwrap()).unwrap();
                assert_eq!(named[at].0, column.name);
                seen += 1;
            }
        }
        assert_eq!(seen, 29);
    }
}
