//! The accumulator: takes pairs and counts. `document.rs` makes the document.

use std::collections::HashMap;

use capture::Pair;
use run::duplex::Purpose;

use crate::answers::Answers;
use crate::contest::{Contest, OTHER, Shadow, Side};
use crate::seen::Seen;
use crate::tally::Tally;
use crate::windows::Clock;

/// Most shadows that are compared; each two of them are.
pub const MOST_SHADOWS: usize = 8;

/// Endpoints that are distinguished; further ones are [`OTHER`].
const MOST_ENDPOINTS: usize = 64;

/// Why nothing can be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DuplexError {
    /// There is no shadow to compare with the primary.
    #[error("the log names no shadow: there is nothing to compare the primary with")]
    NoShadow,
    /// Each two are compared, which grows with the square.
    #[error(
        "the log names {count} shadows: at most {MOST_SHADOWS} are compared; give the mirror fewer"
    )]
    TooManyShadows {
        /// How many.
        count: usize,
    },
}

/// Everything that was seen of a mirror so far, in bounded memory: 128 windows of time, 64 endpoints, 8 shadows, some
/// thousand kinds of differences.
#[derive(Debug)]
pub struct Comparison {
    pub(crate) shadows: Vec<Shadow>,
    pub(crate) margin: f64,
    pub(crate) contests: Vec<Contest>,
    pub(crate) tallies: Vec<Tally>,
    pub(crate) answers: Answers,
    /// By number; 0 is [`OTHER`].
    pub(crate) endpoints: Vec<String>,
    numbers: HashMap<String, usize>,
    clock: Clock,
    pub(crate) requests: u64,
    pub(crate) without_primary: u64,
    pub(crate) first_ns: u64,
    pub(crate) last_ns: u64,
}

impl Comparison {
    /// Nothing seen yet.
    ///
    /// # Errors
    /// No shadow, or more than [`MOST_SHADOWS`].
    pub fn new(shadows: Vec<Shadow>, margin: f64) -> Result<Comparison, DuplexError> {
        match shadows.len() {
            0 => return Err(DuplexError::NoShadow),
            count if count > MOST_SHADOWS => return Err(DuplexError::TooManyShadows { count }),
            _ => {}
        }
        let twin = shadows.iter().position(|shadow| shadow.twin);
        Ok(Comparison {
            margin,
            contests: contests(&shadows, twin),
            tallies: shadows.iter().map(|_| Tally::default()).collect(),
            answers: Answers::new(shadows.len(), twin),
            shadows,
            endpoints: vec![OTHER.to_owned()],
            numbers: HashMap::new(),
            clock: Clock::default(),
            requests: 0,
            without_primary: 0,
            first_ns: u64::MAX,
            last_ns: 0,
        })
    }

    /// One more request, at the instant that it has in its log.
    pub fn push(&mut self, pair: &Pair) {
        self.push_at(pair.at_ns, pair);
    }

    /// One more request, at another instant: of several logs that follow one another, since the first began.
    pub fn push_at(&mut self, at_ns: u64, pair: &Pair) {
        self.requests += 1;
        self.first_ns = self.first_ns.min(at_ns);
        self.last_ns = self.last_ns.max(at_ns);
        let endpoint = self.number(&pair.endpoint);
        let contests = &mut self.contests;
        let window = self.clock.window(at_ns, || {
            contests.iter_mut().for_each(Contest::lengthen);
        });
        let primary = Seen::of_primary(pair);
        self.without_primary += u64::from(primary == Seen::Absent);
        let mut seen = [Seen::Absent; MOST_SHADOWS];
        for (shadow, tally) in self.tallies.iter_mut().enumerate() {
            tally.add(pair, shadow);
            seen[shadow] = Seen::of_shadow(pair, shadow);
        }
        for contest in &mut self.contests {
            let reference = match contest.reference {
                Side::Primary => primary,
                Side::Shadow(shadow) => seen[shadow],
            };
            contest.add(window, endpoint, seen[contest.candidate], reference);
        }
        self.answers.add(pair, endpoint);
    }

    /// Requests seen so far.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.requests
    }

    /// The name of a side in the document.
    pub(crate) fn name(&self, side: Side) -> &str {
        match side {
            Side::Primary => run::duplex::PRIMARY,
            Side::Shadow(shadow) => &self.shadows[shadow].name,
        }
    }

    fn number(&mut self, endpoint: &str) -> usize {
        if let Some(number) = self.numbers.get(endpoint) {
            return *number;
        }
        if self.endpoints.len() > MOST_ENDPOINTS || endpoint == OTHER {
            return 0;
        }
        self.endpoints.push(endpoint.to_owned());
        self.numbers
            .insert(endpoint.to_owned(), self.endpoints.len() - 1);
        self.endpoints.len() - 1
    }
}

/// The pairs that are compared, the one that answers the question first.
fn contests(shadows: &[Shadow], twin: Option<usize>) -> Vec<Contest> {
    let of = |twins: bool| {
        let numbered = shadows.iter().enumerate();
        numbered
            .filter(move |(_, shadow)| shadow.twin == twins)
            .map(|(index, _)| index)
    };
    let reference = twin.map_or(Side::Primary, Side::Shadow);
    let mut found: Vec<Contest> = of(false)
        .map(|one| Contest::new(one, reference, Purpose::Claim))
        .collect();
    let candidates: Vec<usize> = of(false).collect();
    for (nth, first) in candidates.iter().enumerate() {
        for second in &candidates[nth + 1..] {
            found.push(Contest::new(
                *second,
                Side::Shadow(*first),
                Purpose::Between,
            ));
        }
    }
    found.extend(of(true).map(|one| Contest::new(one, Side::Primary, Purpose::Setup)));
    if twin.is_some() {
        found.extend(of(false).map(|one| Contest::new(one, Side::Primary, Purpose::Primary)));
    }
    found
}
