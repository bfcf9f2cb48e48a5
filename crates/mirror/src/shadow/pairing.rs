//! A request under way and what has become of it so far: its answer by the
//! primary and one outcome for every copy; whole, they are a pair.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use capture::{Drop as Dropped, Failure, Outcome, Pair, ShadowOutcome};

use super::difference::{Rules, Side, differences};
use super::endpoint::Endpoints;
use super::exchange::nanoseconds;
use super::held::Held;
use super::lane::Carried;
use crate::taken::{PrimaryAnswer, Taken};

/// Receives what the shadows found; called on their thread.
pub struct Telling {
    /// Pairs' instants count from here.
    pub began: Instant,
    /// Decides, with the id of a request, in which order its copies are sent.
    pub seed: u64,
    /// What is a secret in targets and in pages.
    pub rules: capture::Rules,
    /// A pair that is whole. Shadows are meant by their places in the settings.
    pub pair: Box<dyn FnMut(Pair) + Send>,
}

impl Telling {
    /// A target without its secrets.
    fn redacted(&self, target: &str) -> String {
        let mut target = target.to_owned();
        self.rules.target(&mut target);
        target
    }
}

impl std::fmt::Debug for Telling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Telling").finish_non_exhaustive()
    }
}

/// One request, its answers so far, and the bytes that all of that holds.
pub(super) struct UnderWay {
    pub(super) request: Arc<Taken>,
    _held: Held,
    primary: Option<(PrimaryAnswer, Held)>,
    copies: Vec<Copy>,
    /// Copies without an outcome.
    left: usize,
}

struct Copy {
    shadow: usize,
    copy: u16,
    started: Rc<Cell<bool>>,
    carried: Option<Carried>,
}

impl UnderWay {
    pub(super) fn new(request: Arc<Taken>, held: Held) -> Self {
        Self {
            request,
            _held: held,
            primary: None,
            copies: Vec::new(),
            left: 0,
        }
    }

    /// One more copy that is to be sent: its index, and the flag that is set as it leaves the queue.
    pub(super) fn add(&mut self, shadow: usize, copy: u16) -> (usize, Rc<Cell<bool>>) {
        let started = Rc::new(Cell::new(false));
        self.copies.push(Copy {
            shadow,
            copy,
            started: started.clone(),
            carried: None,
        });
        self.left += 1;
        (self.copies.len() - 1, started)
    }

    /// One more that was not let in.
    pub(super) fn add_dropped(&mut self, shadow: usize, copy: u16, cause: Dropped) {
        self.copies.push(Copy {
            shadow,
            copy,
            started: Rc::default(),
            carried: Some(Carried::dropped(cause)),
        });
    }

    /// Of the copies at its shadow.
    pub(super) fn is_first(&self, index: usize) -> bool {
        self.copies[index].copy == 0
    }

    pub(super) fn resolve(&mut self, index: usize, carried: Carried) {
        self.copies[index].carried = Some(carried);
        self.left -= 1;
    }

    pub(super) fn answer(&mut self, answer: PrimaryAnswer, held: Held) {
        self.primary = Some((answer, held));
    }

    pub(super) fn is_whole(&self) -> bool {
        self.left == 0 && self.primary.is_some()
    }

    /// What ends with the mirror: the indices of copies without an outcome, their shadows, and what becomes of them.
    pub(super) fn unfinished(&self) -> Vec<(usize, usize, Carried)> {
        let open = self
            .copies
            .iter()
            .enumerate()
            .filter(|(_, copy)| copy.carried.is_none());
        open.map(|(index, copy)| {
            let mut carried = Carried::dropped(Dropped::Ended);
            if copy.started.get() {
                carried.outcome = Outcome::Failed(Failure::Ended);
            }
            (index, copy.shadow, carried)
        })
        .collect()
    }

    /// Compares and names. `tokens`: by shadow, the fields whose values are each one's own.
    pub(super) fn pair(
        self,
        telling: &Telling,
        endpoints: &mut Endpoints,
        tokens: impl Fn(usize) -> Vec<String>,
    ) -> Pair {
        let request = &self.request;
        let primary = self.primary.as_ref().map(|(answer, _)| answer);
        let mut copies = self.copies;
        copies.sort_by_key(|copy| (copy.shadow, copy.copy));
        let outcome = |copy: Copy| {
            let carried = copy
                .carried
                .unwrap_or_else(|| Carried::dropped(Dropped::Ended));
            let theirs = carried.whole.as_ref().map(|whole| Side {
                answer: &whole.answer,
                headers: Some(&whole.headers),
                body: &whole.body,
            });
            let found = match (primary.and_then(side), theirs) {
                (Some(primary), Some(theirs)) => {
                    let rules = Rules {
                        tokens: &tokens(copy.shadow),
                        is_secret: &|name| telling.rules.covers_field(name),
                        reveals: &|text| telling.rules.cover_part_of(text),
                        redact: &|target| telling.redacted(target),
                    };
                    differences(&primary, &theirs, &rules)
                }
                _ => Vec::new(),
            };
            ShadowOutcome {
                shadow: copy.shadow as u16,
                copy: copy.copy,
                delay_ns: carried.delay_ns,
                waited_ns: carried.whole.as_ref().and_then(|whole| whole.waited_ns),
                outcome: carried.outcome,
                differences: found,
            }
        };
        Pair {
            id: request.id,
            at_ns: nanoseconds(request.at.saturating_duration_since(telling.began)),
            method: request.method.clone(),
            endpoint: endpoints.name(&request.method, &request.target),
            target: telling.redacted(&request.target),
            primary: primary.and_then(|primary| primary.answer.clone()),
            shadows: copies.into_iter().map(outcome).collect(),
        }
    }
}

/// What can be compared: a whole answer.
fn side(primary: &PrimaryAnswer) -> Option<Side<'_>> {
    let answer = primary.answer.as_ref().filter(|answer| answer.complete)?;
    Some(Side {
        answer,
        headers: primary.headers.as_deref(),
        body: &primary.body,
    })
}
