//! Predictions from flight files of servers that never ran.

mod arithmetic;
mod asking;
mod cold;
mod overheads;
mod refusals;
mod support;
