//! A mirror's log as a test wants it.

// Each test file uses its own part of this.

use capture::{Answer, Difference, Drop, Failure, Outcome, Pair, ShadowOutcome};
use duplex::{Asked, Comparison, Shadow};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use run::duplex::{Comparison as Found, Document, Purpose};

/// `a` is the candidate, `b` another one, `twin` the A/A twin.
pub fn shadows(names: &[&str]) -> Vec<Shadow> {
    let shadow = |name: &&str| Shadow {
        name: (*name).to_owned(),
        twin: *name == "twin",
    };
    names.iter().map(shadow).collect()
}

pub fn compared(names: &[&str], pairs: &[Pair]) -> Document {
    let mut comparison = Comparison::new(shadows(names), duplex::MARGIN).unwrap();
    pairs.iter().for_each(|pair| comparison.push(pair));
    comparison.document(&asked())
}

pub fn asked() -> Asked {
    Asked {
        version: "0.1.0".to_owned(),
        made_at: "2026-11-22T08:00:00Z".to_owned(),
        length_was_chosen: true,
        sources: vec!["monday.log.pbc".to_owned()],
        not_read: Vec::new(),
    }
}

pub fn of<'a>(document: &'a Document, candidate: &str, purpose: Purpose) -> &'a Found {
    let mut all = document.comparisons.iter();
    all.find(|one| one.candidate == candidate && one.purpose == purpose)
        .unwrap()
}

/// So many requests, 50 ms apart, of three endpoints; how long each server takes is `factor` times what the primary does,
/// with noise of its own.
pub fn traffic(requests: u64, factors: &[f64], seed: u64) -> Vec<Pair> {
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut noise = move || (0.2 * (rng.random::<f64>() + rng.random::<f64>() - 1.0)).exp();
    let pair = |id: u64| {
        let base_ms = [8.0, 20.0, 45.0][(id % 3) as usize];
        let mut pair = pair(
            id,
            id * 50_000_000,
            ["GET /", "GET /orders/:id", "GET /reports"][(id % 3) as usize],
        );
        pair.primary = Some(answer(base_ms * noise(), 200));
        for (index, factor) in factors.iter().enumerate() {
            let took_ms = base_ms * factor * noise();
            pair.shadows
                .push(outcome(index, Outcome::Answered(answer(took_ms, 200))));
        }
        pair
    };
    (1..=requests).map(pair).collect()
}

pub fn pair(id: u64, at_ns: u64, endpoint: &str) -> Pair {
    Pair {
        id,
        at_ns,
        method: "GET".to_owned(),
        endpoint: endpoint.to_owned(),
        target: format!("/orders/{id}"),
        primary: Some(answer(10.0, 200)),
        shadows: Vec::new(),
    }
}

pub fn answer(took_ms: f64, status: u16) -> Answer {
    let took_ns = (took_ms * 1e6) as u64;
    Answer {
        status,
        first_byte_ns: took_ns / 2,
        took_ns,
        body_bytes: 100,
        digest: 1,
        content_type: "text/html".to_owned(),
        complete: true,
    }
}

pub fn outcome(shadow: usize, outcome: Outcome) -> ShadowOutcome {
    ShadowOutcome {
        shadow: shadow as u16,
        copy: 0,
        delay_ns: 300_000,
        waited_ns: Some(0),
        outcome,
        differences: Vec::new(),
    }
}

pub fn differing(kind: &str) -> Difference {
    Difference {
        kind: kind.to_owned(),
        primary: "one".to_owned(),
        shadow: "other".to_owned(),
    }
}

/// Every `nth` request of a shadow ends so instead.
pub fn spoil(pairs: &mut [Pair], shadow: usize, nth: usize, with: impl Fn() -> Outcome) {
    for pair in pairs.iter_mut().step_by(nth) {
        let it = pair
            .shadows
            .iter_mut()
            .find(|one| usize::from(one.shadow) == shadow);
        it.unwrap().outcome = with();
    }
}

pub fn late() -> Outcome {
    Outcome::Failed(Failure::Deadline)
}

pub fn dropped() -> Outcome {
    Outcome::Dropped(Drop::QueueFull)
}

pub fn error() -> Outcome {
    Outcome::Answered(answer(0.5, 500))
}
