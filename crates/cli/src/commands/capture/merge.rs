//! `capture merge`: files of several machines, or several files of one, in the order of their clocks.

use super::{name, open, tell_damage, tell_unredacted, write, written_by};
use crate::Failure;
use crate::args::{MergeArgs, To};
use ::capture::file::{About, Head, Kind};
use ::capture::{Exchange, Source};
use std::collections::BTreeSet;
use std::io;

/// One file, and its next record.
struct Input {
    source: Source,
    began_ns: u64,
    next: Option<io::Result<Exchange>>,
    /// Files of one capture have numbered their connections together.
    capture: u64,
}

/// `powerband capture merge`.
pub fn merge(args: &MergeArgs) -> Result<u8, Failure> {
    write::possible(&args.out, To::Pbc)?;
    // All files are open at once.
    let _ = mirror::OpenFiles::raise();
    let mut inputs: Vec<Input> = Vec::new();
    for file in &args.files {
        let mut source = open(file, &args.out.kafka)?;
        let Some(began_ns) = source.began_ns() else {
            return Err(Failure::usage(format!(
                "{}: a {} does not say on which day its requests came, so that it cannot be joined with others; leave it out",
                name(file),
                source.format()
            )));
        };
        let of_same = inputs.iter().find(|input| {
            let capture = &input.source.about().capture;
            !capture.is_empty() && *capture == source.about().capture
        });
        let capture = of_same.map_or(inputs.len() as u64, |input| input.capture);
        let next = source.next();
        inputs.push(Input {
            source,
            began_ns,
            next,
            capture,
        });
    }
    let began_ns = inputs.iter().map(|input| input.began_ns).min().unwrap_or(0);
    let head = Head::new(Kind::Traffic, began_ns, about(&inputs));
    let mut merged = Merged {
        captures: inputs.len() as u64,
        inputs,
        began_ns,
    };
    write::written(&args.out, To::Pbc, &head, &mut merged)?;
    tell_unredacted(&args.out, &head);
    for (file, input) in args.files.iter().zip(&merged.inputs) {
        tell_damage(file, &input.source, args.out.quiet);
    }
    Ok(0)
}

fn about(inputs: &[Input]) -> About {
    let all = |of: fn(&About) -> &String| {
        let different: BTreeSet<&str> = inputs
            .iter()
            .map(|i| of(i.source.about()).as_str())
            .collect();
        let named: Vec<&str> = different.into_iter().filter(|n| !n.is_empty()).collect();
        named.join(", ")
    };
    let unredacted: BTreeSet<&String> = inputs
        .iter()
        .flat_map(|i| &i.source.about().unredacted)
        .collect();
    About {
        unredacted: unredacted.into_iter().cloned().collect(),
        written_by: written_by(),
        host: all(|about| &about.host),
        primary: all(|about| &about.primary),
        ..About::default()
    }
}

/// The records of all, the earliest next one first.
struct Merged {
    inputs: Vec<Input>,
    captures: u64,
    began_ns: u64,
}

impl Iterator for Merged {
    type Item = io::Result<Exchange>;

    fn next(&mut self) -> Option<Self::Item> {
        let at = |input: &Input| match &input.next {
            Some(Ok(exchange)) => input.began_ns.saturating_add(exchange.at_ns),
            // An error is reported at once, an end never chosen.
            Some(Err(_)) => 0,
            None => u64::MAX,
        };
        let earliest = self
            .inputs
            .iter_mut()
            .filter(|i| i.next.is_some())
            .min_by_key(|i| at(i))?;
        let record = std::mem::replace(&mut earliest.next, earliest.source.next())?;
        Some(record.map(|mut exchange| {
            exchange.at_ns = at_of(earliest.began_ns, exchange.at_ns, self.began_ns);
            exchange.id = apart(exchange.id, self.captures, earliest.capture);
            if exchange.connection > 0 {
                exchange.connection = apart(exchange.connection, self.captures, earliest.capture);
            }
            exchange
        }))
    }
}

fn at_of(began_ns: u64, at_ns: u64, first_ns: u64) -> u64 {
    (began_ns - first_ns).saturating_add(at_ns)
}

/// Numbers of different captures stay different, whatever they are; those of one stay in their order.
fn apart(number: u64, captures: u64, capture: u64) -> u64 {
    number.wrapping_mul(captures).wrapping_add(capture)
}
