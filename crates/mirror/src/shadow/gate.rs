//! The gate on the client's path: which shadows get a request, decided by a few
//! loads of atomics. A request that passes has a place and its bytes reserved,
//! so that the queue behind the gate needs no bound of its own and no caller
//! ever waits.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use capture::{Drop as Dropped, Field};
use tokio::sync::mpsc::UnboundedSender;

use super::held::Held;
use super::sample::Share;
use crate::counts::{Counts, ShadowCounts};
use crate::settings::{Filter, Limits, Settings, Shadow};
use crate::taken::{Admission, Admitted, Head, PrimaryAnswer, Taken};

/// Most shadows at once: one bit of a word each.
pub(crate) const MOST_SHADOWS: usize = 64;

/// What a field or a request takes in addition to its own bytes.
const OVERHEAD_BYTES: usize = 64;

/// A message from the client's half to the shadows' thread.
pub(crate) enum Told {
    Taken(Arc<Taken>, Wanted, Held),
    /// The `Set-Cookie` fields of an answer that begins.
    Answering(u64, Vec<Field>),
    Answered(u64, PrimaryAnswer, Held),
    /// A place was given back without a request while the gate was closed.
    GivenBack,
    /// Finish by then.
    Stop(tokio::time::Instant),
}

/// One generation of settings.
pub(crate) struct Gate {
    pub(crate) places: Vec<Places>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) limits: Limits,
    closed: AtomicBool,
    /// How many want cookies or tokens from answers; each remembers a request's fields until then.
    learning: usize,
    told: UnboundedSender<Told>,
}

/// What one shadow has room for.
pub(crate) struct Places {
    share: Share,
    filter: Filter,
    pub(crate) counts: Arc<ShadowCounts>,
    pub(crate) copies: usize,
    most: usize,
    taken: AtomicUsize,
    unreachable: AtomicBool,
}

impl Places {
    fn new(shadow: &Shadow, counts: Arc<ShadowCounts>) -> Self {
        Self {
            share: Share::new(&shadow.sample),
            filter: shadow.filter.clone(),
            counts,
            copies: usize::from(shadow.copies),
            // However small the queue, a request with all its copies fits when nothing else is there.
            most: (shadow.queue + shadow.connections).max(usize::from(shadow.copies)),
            taken: AtomicUsize::new(0),
            unreachable: AtomicBool::new(false),
        }
    }

    fn interested(&self, head: &Head<'_>) -> bool {
        self.share.takes(head) && self.filter.passes(head)
    }

    /// For all copies or for none.
    fn enter(&self) -> Result<(), Dropped> {
        if self.unreachable.load(Ordering::Relaxed) {
            return Err(Dropped::Unreachable);
        }
        let more = |taken: usize| Some(taken + self.copies).filter(|then| *then <= self.most);
        match self
            .taken
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
        {
            Ok(_) => Ok(()),
            Err(_) => Err(Dropped::QueueFull),
        }
    }

    fn leave(&self, places: usize) {
        self.taken.fetch_sub(places, Ordering::Relaxed);
    }

    /// Of a request that was taken: one copy has come to its end.
    pub(crate) fn ended(&self) {
        self.counts.pending.take(1);
        self.leave(1);
    }

    pub(crate) fn set_unreachable(&self, unreachable: bool) {
        self.unreachable.store(unreachable, Ordering::Relaxed);
    }

    fn drop_sampled(&self, cause: Dropped) {
        self.counts.drop_sampled(cause, self.copies as u64);
    }
}

/// Shadows by index, one bit each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Set(u64);

impl Set {
    fn add(&mut self, index: usize) {
        self.0 |= 1 << index;
    }

    pub(crate) fn has(self, index: usize) -> bool {
        self.0 >> index & 1 == 1
    }
}

/// The shadows that get a copy of a request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Wanted {
    pub(crate) to: Set,
    /// Shadows that wanted it and had no room, in the order of [`Dropped::ALL`].
    pub(crate) dropped: [Set; Dropped::ALL.len()],
}

/// What an [`Admission`] holds.
struct Reserved {
    gate: Arc<Gate>,
    wanted: Wanted,
    /// Taken out when the request has been taken.
    held: Mutex<Option<Held>>,
}

impl std::fmt::Debug for Reserved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reserved")
            .field("wanted", &self.wanted)
            .finish_non_exhaustive()
    }
}

impl Reserved {
    fn settle(&self) -> Option<Held> {
        self.held
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

impl Admitted for Reserved {
    /// Goes to the generation of settings that admitted the request, whichever is in force now.
    fn taken(&self, request: &Arc<Taken>) {
        if let Some(held) = self.settle() {
            self.gate.take(request, self.wanted, held);
        }
    }

    fn answering(&self, request: &Taken, headers: &[Field]) {
        if self.gate.learning == 0 {
            return;
        }
        let cookies = headers
            .iter()
            .filter(|field| field.name.eq_ignore_ascii_case("set-cookie"));
        let cookies: Vec<Field> = cookies.cloned().collect();
        if !cookies.is_empty() {
            self.gate.tell(Told::Answering(request.id, cookies));
        }
    }

    fn answered(&self, request: &Taken, mut answer: PrimaryAnswer) {
        let (counts, limit) = (&self.gate.counts, self.gate.limits.bytes);
        let fields = answer.headers.as_deref().unwrap_or_default();
        let heads = cost_of(
            fields
                .iter()
                .map(|field| field.name.len() + field.value.len()),
        );
        let held = Held::new(counts, limit, heads + answer.body.len()).unwrap_or_else(|| {
            // Without them the answer is still compared by status, type and digest.
            answer.body = Bytes::new();
            answer.headers = None;
            Held::nothing(counts.clone(), limit)
        });
        self.gate.tell(Told::Answered(request.id, answer, held));
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        if self.settle().is_some() {
            self.gate.give_back(self.wanted.to);
        }
    }
}

fn cost_of(lengths: impl Iterator<Item = usize>) -> usize {
    lengths.map(|length| length + OVERHEAD_BYTES).sum::<usize>() + OVERHEAD_BYTES
}

impl Gate {
    /// The shadows' counts are made, or found again by name.
    pub(crate) fn new(
        settings: &Settings,
        counts: Arc<Counts>,
        told: UnboundedSender<Told>,
    ) -> Self {
        let place = |shadow: &Shadow| Places::new(shadow, counts.of_shadow(&shadow.name));
        Self {
            places: settings.shadows.iter().map(place).collect(),
            counts: counts.clone(),
            limits: settings.limits.clone(),
            closed: AtomicBool::new(false),
            learning: settings
                .shadows
                .iter()
                .filter(|shadow| shadow.learns())
                .count(),
            told,
        }
    }

    /// On the client's path, for every request: allocates nothing unless a shadow has room.
    pub(crate) fn admit(self: &Arc<Self>, head: &Head<'_>) -> Option<Admission> {
        if self.closed.load(Ordering::Relaxed) {
            return None;
        }
        let mut wanted = Wanted::default();
        let too_large = head
            .body_bytes
            .is_some_and(|bytes| bytes > self.limits.body_bytes as u64);
        for (index, places) in self.places.iter().enumerate() {
            if !places.interested(head) {
                continue;
            }
            let entered = if too_large {
                Err(Dropped::BodyTooLarge)
            } else {
                places.enter()
            };
            match entered {
                Ok(()) => wanted.to.add(index),
                Err(cause) => {
                    places.drop_sampled(cause);
                    wanted.dropped[cause as usize].add(index);
                }
            }
        }
        let to = wanted.to;
        if to == Set::default() {
            return None;
        }
        let Some(held) = Held::new(&self.counts, self.limits.bytes, self.most_bytes(head)) else {
            self.give_back(to);
            self.drop_sampled(to, Dropped::BytesFull);
            return None;
        };
        Some(Admission(Some(Box::new(Reserved {
            gate: self.clone(),
            wanted,
            held: Mutex::new(Some(held)),
        }))))
    }

    /// A chunked body may become as large as bodies may be.
    fn most_bytes(&self, head: &Head<'_>) -> usize {
        let body = head.body_bytes.map_or(self.limits.body_bytes, |bytes| {
            usize::try_from(bytes).unwrap_or(usize::MAX)
        });
        let fields = head
            .headers
            .iter()
            .map(|(name, value)| name.len() + value.len());
        self.cost_of_heads(fields, head.target).saturating_add(body)
    }

    fn cost_of_heads(&self, lengths: impl Iterator<Item = usize>, target: &str) -> usize {
        cost_of(lengths) * (1 + self.learning) + target.len()
    }

    fn chosen(&self, shadows: Set) -> impl Iterator<Item = &Places> {
        let indexed = self.places.iter().enumerate();
        indexed
            .filter(move |(index, _)| shadows.has(*index))
            .map(|(_, places)| places)
    }

    fn drop_sampled(&self, shadows: Set, cause: Dropped) {
        self.chosen(shadows)
            .for_each(|places| places.drop_sampled(cause));
    }

    fn give_back(&self, shadows: Set) {
        self.chosen(shadows)
            .for_each(|places| places.leave(places.copies));
        if self.closed.load(Ordering::SeqCst) {
            self.tell(Told::GivenBack);
        }
    }

    fn take(&self, request: &Arc<Taken>, wanted: Wanted, mut held: Held) {
        let to = wanted.to;
        if request.body_bytes > request.body.len() as u64 {
            self.drop_sampled(to, Dropped::BodyTooLarge);
            return self.give_back(to);
        }
        let fields = request
            .headers
            .iter()
            .map(|(name, value)| name.len() + value.len());
        held.shrink_to(self.cost_of_heads(fields, &request.target) + request.body.len());
        for places in self.chosen(to) {
            places.counts.sampled.add(places.copies as u64);
            places.counts.pending.add(places.copies as u64);
        }
        let told = Told::Taken(request.clone(), wanted, held);
        if self.told.send(told).is_err() {
            for places in self.chosen(to) {
                places
                    .counts
                    .as_ref()
                    .drop(Dropped::Ended, places.copies as u64);
                (0..places.copies).for_each(|_| places.ended());
            }
        }
    }

    /// A thread that no longer listens needs no message.
    fn tell(&self, told: Told) {
        let _ = self.told.send(told);
    }

    /// From now on no request is admitted; those admitted are to end by then.
    pub(crate) fn close(&self, by: tokio::time::Instant) {
        self.closed.store(true, Ordering::SeqCst);
        self.tell(Told::Stop(by));
    }

    /// Whether every place has come back.
    pub(crate) fn is_empty(&self) -> bool {
        self.places
            .iter()
            .all(|places| places.taken.load(Ordering::SeqCst) == 0)
    }
}

#[cfg(test)]
mod tests;
