//! The golden samples and saved counters, inspected.

mod files;
mod interval;
mod since;
