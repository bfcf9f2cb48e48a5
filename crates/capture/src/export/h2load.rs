//! h2load's timing script: an instant and a path. Holds GETs without headers.

use std::io::Write;

use crate::Exchange;

pub(super) fn write(exchange: &Exchange, out: &mut Vec<u8>) -> Result<(), &'static str> {
    if exchange.method != "GET" {
        return Err("h2load's timing scripts hold nothing but GET");
    }
    let at_us = exchange.at_ns / 1_000;
    // Writing to memory does not fail.
    let _ = writeln!(
        out,
        "{}.{:03}\t{}",
        at_us / 1_000,
        at_us % 1_000,
        exchange.target
    );
    Ok(())
}
