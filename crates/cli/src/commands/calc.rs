//! `calc`: the formulas of `capacity` on figures that are typed in, as a page or a document, and what they mean in words.

mod amdahl;
mod counts;
pub(super) mod given;
mod measured;
mod pool;
mod pool_words;
mod queue;
mod queue_words;
mod threads;
mod usl;

use crate::args::{CalcArgs, Calculation};
use crate::{Failure, asked, output};
use given::Given;
use run::calc::Document;

/// `powerband calc`.
pub fn calc(args: CalcArgs) -> Result<u8, Failure> {
    let mut given = Given::default();
    let found = match &args.what {
        Calculation::Amdahl(args) => amdahl::amdahl(args, &mut given),
        Calculation::Threads(args) => threads::threads(args, &mut given),
        Calculation::Queue(args) => queue::queue(args, &mut given),
        Calculation::Usl(args) => usl::usl(args, &mut given),
        Calculation::Pool(args) => pool::pool(args, &mut given),
    };
    let document = found
        .filter(|_| given.problems.is_empty())
        .ok_or_else(|| asked::failure(&given.problems))?;
    if args.json {
        output::json(&document)?;
    } else {
        output::print(&report::calc_page(&document, output::style()))?;
    }
    Ok(document.exit_code)
}

/// A document with nothing calculated yet.
fn blank() -> Document {
    Document {
        schema: run::calc::SCHEMA.to_owned(),
        powerband_version: env!("CARGO_PKG_VERSION").to_owned(),
        sentence: String::new(),
        assumptions: Vec::new(),
        warnings: Vec::new(),
        exit_code: 0,
        amdahl: None,
        threads: None,
        queue: None,
        usl: None,
        pool: None,
    }
}
