//! What a table consists of: columns, each with its name, its meaning and where its value is in a row.

/// A table. A file of it is in `TABLE/service=NAME/day=DATE/`.
#[derive(Debug)]
pub struct Table<R: 'static> {
    pub name: &'static str,
    /// What a row is.
    pub about: &'static str,
    /// Those that it shares with other tables, which come last.
    pub shared: [&'static [Column<R>]; 2],
    pub columns: &'static [Column<R>],
    /// Unix time in microseconds: the row's day follows from it.
    pub at_us: fn(&R) -> i64,
}

impl<R> Table<R> {
    /// Its columns, in the order of the file.
    pub fn all(&self) -> impl Iterator<Item = &'static Column<R>> {
        let shared = self.shared.into_iter().flatten();
        self.columns.iter().chain(shared)
    }
}

/// A column. Every column may be `NULL`, which means "not known" or "not measured".
#[derive(Debug)]
pub struct Column<R> {
    pub name: &'static str,
    /// Unit and meaning.
    pub about: &'static str,
    pub value: Value<R>,
}

/// Where the value of a row is, and the type that it has in the file.
#[derive(Debug)]
pub enum Value<R> {
    /// `BIGINT`.
    Integer(fn(&R) -> Option<i64>),
    /// `TIMESTAMP` in UTC: Unix time in microseconds.
    Instant(fn(&R) -> Option<i64>),
    /// `DOUBLE`.
    Number(fn(&R) -> Option<f64>),
    /// `VARCHAR`.
    Text(for<'a> fn(&'a R) -> Option<&'a str>),
    /// `BOOLEAN`.
    Flag(fn(&R) -> Option<bool>),
}

pub const fn text<R>(
    name: &'static str,
    about: &'static str,
    of: for<'a> fn(&'a R) -> Option<&'a str>,
) -> Column<R> {
    Column {
        name,
        about,
        value: Value::Text(of),
    }
}

pub const fn number<R>(
    name: &'static str,
    about: &'static str,
    of: fn(&R) -> Option<f64>,
) -> Column<R> {
    Column {
        name,
        about,
        value: Value::Number(of),
    }
}

pub const fn int<R>(
    name: &'static str,
    about: &'static str,
    of: fn(&R) -> Option<i64>,
) -> Column<R> {
    Column {
        name,
        about,
        value: Value::Integer(of),
    }
}

/// The type of a column, without its row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Integer,
    Instant,
    Number,
    Text,
    Flag,
}

impl<R> Column<R> {
    pub fn kind(&self) -> Kind {
        match self.value {
            Value::Integer(_) => Kind::Integer,
            Value::Instant(_) => Kind::Instant,
            Value::Number(_) => Kind::Number,
            Value::Text(_) => Kind::Text,
            Value::Flag(_) => Kind::Flag,
        }
    }
}

impl Kind {
    /// The type as DuckDB names it.
    pub fn sql(self) -> &'static str {
        match self {
            Kind::Integer => "BIGINT",
            Kind::Instant => "TIMESTAMP WITH TIME ZONE",
            Kind::Number => "DOUBLE",
            Kind::Text => "VARCHAR",
            Kind::Flag => "BOOLEAN",
        }
    }
}

/// A count or a size as the file's signed integers hold it.
pub fn integer(value: impl Into<u64>) -> i64 {
    i64::try_from(value.into()).unwrap_or(i64::MAX)
}

/// Nanoseconds, rounded to the nearest microsecond.
pub fn micros(ns: u64) -> i64 {
    integer(ns / 1_000 + u64::from(ns % 1_000 >= 500))
}
