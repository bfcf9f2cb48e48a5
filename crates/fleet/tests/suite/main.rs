//! Tests of the whole crate.

mod golden;
