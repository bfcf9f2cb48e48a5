//! Predictions from flight files of servers that never ran.

mod arithmetic;
mod asking;
mod checking;
mod cold;
mod locks;
mod overheads;
mod refusals;
mod support;
