//! In what answers differ, and whether the A/A twin differs in the same as often.

use std::collections::HashMap;

use capture::{Answer, Outcome, Pair, ShadowOutcome};
use run::duplex::{self, Difference, Example, Standing};
use small_sort::SmallSort;

use crate::contest::{OTHER, Shadow};
use crate::excess::Excess;

/// Kinds that are distinguished for each shadow; further ones are `(other)` at their endpoint.
const MOST_KINDS: usize = 1_000;

/// Differences listed for each shadow.
const MOST_LISTED: usize = 100;

/// Longest text of an example, bytes.
const LONGEST: usize = 200;

/// Of all shadows.
#[derive(Debug)]
pub struct Answers {
    twin: Option<usize>,
    shadows: Vec<OfShadow>,
}

#[derive(Debug, Default)]
struct OfShadow {
    compared: u64,
    differ: u64,
    paired: u64,
    only_shadow: u64,
    only_twin: u64,
    kinds: usize,
    /// By the number of the endpoint.
    endpoints: Vec<OfEndpoint>,
}

#[derive(Debug, Default)]
struct OfEndpoint {
    compared: u64,
    paired: u64,
    kinds: HashMap<Box<str>, Kind>,
}

#[derive(Debug, Default)]
struct Kind {
    differ: u64,
    only_shadow: u64,
    only_twin: u64,
    example: Option<Example>,
    /// For the order: 2 a server error of the shadow's, 1 another status, 0 anything else.
    weight: u8,
}

/// One way in which an answer differs, with both sides.
struct Found<'a> {
    kind: String,
    weight: u8,
    primary: std::borrow::Cow<'a, str>,
    shadow: std::borrow::Cow<'a, str>,
}

impl Answers {
    pub fn new(shadows: usize, twin: Option<usize>) -> Answers {
        Answers {
            twin,
            shadows: (0..shadows).map(|_| OfShadow::default()).collect(),
        }
    }

    /// One request. Of amplified ones the first copy, so that each server has one chance to differ.
    pub fn add(&mut self, pair: &Pair, endpoint: usize) {
        let Some(primary) = pair.primary.as_ref().filter(|answer| answer.complete) else {
            return;
        };
        let of = |shadow: usize| {
            let mut copies = pair.shadows.iter();
            let first = copies.find(|copy| usize::from(copy.shadow) == shadow && copy.copy == 0)?;
            match &first.outcome {
                Outcome::Answered(answer) if answer.complete => Some(found(first, primary, answer)),
                _ => None,
            }
        };
        let of_twin = self.twin.and_then(of);
        for (index, shadow) in self.shadows.iter_mut().enumerate() {
            if let Some(ours) = of(index) {
                let theirs = of_twin.as_deref().filter(|_| self.twin != Some(index));
                shadow.add(pair, endpoint, &ours, theirs);
            }
        }
    }

    /// As the document has it.
    pub fn document(&self, shadows: &[Shadow], endpoints: &[String]) -> Vec<duplex::Answers> {
        let of = |(index, shadow): (usize, &Shadow)| {
            let twin = self.twin.filter(|twin| *twin != index);
            self.shadows[index].document(
                &shadow.name,
                twin.map(|twin| (shadows[twin].name.as_str(), &self.shadows[twin])),
                endpoints,
            )
        };
        shadows.iter().enumerate().map(of).collect()
    }
}

impl OfShadow {
    fn add(
        &mut self,
        pair: &Pair,
        endpoint: usize,
        ours: &[Found<'_>],
        theirs: Option<&[Found<'_>]>,
    ) {
        if self.endpoints.len() <= endpoint {
            self.endpoints
                .resize_with(endpoint + 1, OfEndpoint::default);
        }
        self.compared += 1;
        self.differ += u64::from(!ours.is_empty());
        self.endpoints[endpoint].compared += 1;
        if let Some(theirs) = theirs {
            self.paired += 1;
            self.endpoints[endpoint].paired += 1;
            self.only_shadow += u64::from(!ours.is_empty() && theirs.is_empty());
            self.only_twin += u64::from(ours.is_empty() && !theirs.is_empty());
        }
        let among = |all: &[Found<'_>], one: &Found<'_>| all.iter().any(|f| f.kind == one.kind);
        for one in ours {
            let kind = self.kind(endpoint, &one.kind);
            kind.differ += 1;
            kind.weight = kind.weight.max(one.weight);
            kind.example.get_or_insert_with(|| one.example(pair));
            kind.only_shadow += u64::from(theirs.is_some_and(|theirs| !among(theirs, one)));
        }
        for one in theirs
            .unwrap_or_default()
            .iter()
            .filter(|one| !among(ours, one))
        {
            self.kind(endpoint, &one.kind).only_twin += 1;
        }
    }

    fn kind(&mut self, endpoint: usize, name: &str) -> &mut Kind {
        let kinds = &mut self.endpoints[endpoint].kinds;
        let name = match kinds.contains_key(name) {
            true => name,
            false if self.kinds >= MOST_KINDS => OTHER,
            false => name,
        };
        if !kinds.contains_key(name) {
            self.kinds += 1;
            kinds.insert(name.into(), Kind::default());
        }
        // Found without a copy of its name, which nearly all are.
        kinds.get_mut(name).expect("it was put there if it lacked")
    }

    fn document(
        &self,
        name: &str,
        twin: Option<(&str, &OfShadow)>,
        endpoints: &[String],
    ) -> duplex::Answers {
        let mut listed = Vec::new();
        let mut noise = 0;
        for (number, endpoint) in self.endpoints.iter().enumerate() {
            for (kind, tally) in endpoint.kinds.iter().filter(|(_, tally)| tally.differ > 0) {
                // An interval holds its estimate: a shadow that differs no more often than the twin does is never
                // above it.
                if twin.is_some() && tally.weight == 0 && tally.only_shadow <= tally.only_twin {
                    noise += 1;
                    continue;
                }
                let twin = twin.map(|(_, twin)| twin.share(number, kind));
                let difference = self.difference(endpoint, kind, tally, twin, &endpoints[number]);
                if difference.standing == Standing::Noise && tally.weight == 0 {
                    noise += 1;
                } else {
                    listed.push((tally.weight, difference));
                }
            }
        }
        listed.small_sort_by(|(weight, one), (other_weight, other)| {
            let real = |d: &Difference| d.standing != Standing::Noise;
            (other_weight.cmp(weight))
                .then(real(other).cmp(&real(one)))
                .then(other.differ.cmp(&one.differ))
                .then((&one.endpoint, &one.kind).cmp(&(&other.endpoint, &other.kind)))
        });
        duplex::Answers {
            shadow: name.to_owned(),
            twin: twin.map(|(name, _)| name.to_owned()),
            compared: self.compared,
            differ: self.differ,
            paired: self.paired,
            only_shadow: self.only_shadow,
            only_twin: self.only_twin,
            not_listed: listed.len().saturating_sub(MOST_LISTED) as u64,
            differences: listed
                .into_iter()
                .take(MOST_LISTED)
                .map(|(_, d)| d)
                .collect(),
            noise,
        }
    }

    fn difference(
        &self,
        endpoint: &OfEndpoint,
        kind: &str,
        tally: &Kind,
        twin_share: Option<f64>,
        name: &str,
    ) -> Difference {
        let excess = twin_share.and_then(|_| {
            let counts = (tally.only_shadow, tally.only_twin);
            Excess::of(counts, endpoint.paired, self.kinds as u64)
        });
        let standing = match (twin_share, excess) {
            (None, _) => Standing::Unknown,
            (Some(_), Some(excess)) if excess.low > 0.0 => Standing::Real,
            _ => Standing::Noise,
        };
        Difference {
            endpoint: name.to_owned(),
            kind: kind.to_owned(),
            standing,
            compared: endpoint.compared,
            differ: tally.differ,
            share: tally.differ as f64 / endpoint.compared.max(1) as f64,
            twin_share,
            excess: excess.map(|excess| excess.estimate),
            excess_low: excess.map(|excess| excess.low),
            excess_high: excess.map(|excess| excess.high),
            example: tally.example.clone().unwrap_or_else(|| Example {
                request: String::new(),
                primary: String::new(),
                shadow: String::new(),
            }),
        }
    }

    /// How often it differs so, of its own requests of that endpoint.
    fn share(&self, endpoint: usize, kind: &str) -> f64 {
        let Some(endpoint) = self.endpoints.get(endpoint) else {
            return 0.0;
        };
        let differ = endpoint.kinds.get(kind).map_or(0, |kind| kind.differ);
        differ as f64 / endpoint.compared.max(1) as f64
    }
}

/// An answer with another status is another answer altogether: then only the status is counted.
fn found<'a>(outcome: &'a ShadowOutcome, primary: &Answer, answer: &Answer) -> Vec<Found<'a>> {
    if answer.status != primary.status {
        return vec![Found {
            kind: format!("status {} to {}", primary.status, answer.status),
            weight: if answer.status >= 500 { 2 } else { 1 },
            primary: primary.status.to_string().into(),
            shadow: answer.status.to_string().into(),
        }];
    }
    let mut all: Vec<Found<'a>> = Vec::with_capacity(outcome.differences.len());
    for difference in &outcome.differences {
        if all.iter().all(|one| one.kind != difference.kind) {
            all.push(Found {
                kind: difference.kind.clone(),
                weight: 0,
                primary: difference.primary.as_str().into(),
                shadow: difference.shadow.as_str().into(),
            });
        }
    }
    all
}

impl Found<'_> {
    fn example(&self, pair: &Pair) -> Example {
        Example {
            request: cut(&format!("{} {}", pair.method, pair.target)),
            primary: cut(&self.primary),
            shadow: cut(&self.shadow),
        }
    }
}

/// At most [`LONGEST`] bytes of it, whole characters.
fn cut(text: &str) -> String {
    if text.len() <= LONGEST {
        return text.to_owned();
    }
    let mut end = LONGEST;
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &text[..end])
}
