//! What a request calls and waits for: databases, HTTP services, caches, Redis, the connection pool.

use std::ops::{Index, IndexMut};

/// The kinds of calls that the agent distinguishes, in the order in which the file has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CallKind {
    Sql,
    Http,
    Cache,
    Redis,
    /// Checkouts that had to wait for a database connection.
    Pool,
}

impl CallKind {
    pub const ALL: [Self; 5] = [Self::Sql, Self::Http, Self::Cache, Self::Redis, Self::Pool];

    /// The record's field that holds the time as seen; [`crate::Header::measures`] says whether such
    /// calls were looked at.
    #[must_use]
    pub fn field(self) -> &'static str {
        match self {
            Self::Sql => "sql_us",
            Self::Http => "http_us",
            Self::Cache => "cache_us",
            Self::Redis => "redis_us",
            Self::Pool => "pool_us",
        }
    }
}

/// Calls of one kind during one request, in microseconds. Their own time is `seen - gvl`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Call {
    /// As the application sees it.
    pub seen_us: u32,
    /// GVL wait inside.
    pub gvl_us: u32,
    pub count: u16,
}

/// Calls of one kind, summed over requests, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CallTotals {
    /// As the application sees it.
    pub seen_ns: u64,
    /// GVL wait inside.
    pub gvl_ns: u64,
    pub count: u64,
}

impl CallTotals {
    /// What the calls really took: never below zero, although a reader may see one sum a request ahead
    /// of the other.
    #[must_use]
    pub fn really_ns(&self) -> u64 {
        self.seen_ns.saturating_sub(self.gvl_ns)
    }

    pub(crate) fn zip(&self, other: &Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            seen_ns: combine(self.seen_ns, other.seen_ns),
            gvl_ns: combine(self.gvl_ns, other.gvl_ns),
            count: combine(self.count, other.count),
        }
    }
}

/// One value for each [`CallKind`], which indexes it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PerCall<T>([T; CallKind::ALL.len()]);

impl<T> PerCall<T> {
    /// Asks `value` once for each kind, in order.
    pub fn from_fn(value: impl Fn(CallKind) -> T) -> Self {
        Self(CallKind::ALL.map(value))
    }

    pub(crate) fn each_mut(&mut self) -> [&mut T; CallKind::ALL.len()] {
        self.0.each_mut()
    }
}

impl<T> Index<CallKind> for PerCall<T> {
    type Output = T;

    fn index(&self, kind: CallKind) -> &T {
        &self.0[kind as usize]
    }
}

impl<T> IndexMut<CallKind> for PerCall<T> {
    fn index_mut(&mut self, kind: CallKind) -> &mut T {
        &mut self.0[kind as usize]
    }
}
