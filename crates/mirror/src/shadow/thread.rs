//! The shadows' own thread: takes the messages of the client's half, sends
//! every copy on its way, and brings the outcomes together.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use capture::{Drop as Dropped, Outcome};
use tokio::sync::Notify;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Duration, sleep, timeout_at};
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::core_wait::CoreWait;
use super::endpoint::Endpoints;
use super::gate::{Gate, Told, Wanted};
use super::held::Held;
use super::lane::{Carried, Lane};
use super::learned::{cookies_set, learn};
use super::pairing::{Telling, UnderWay};
use super::sessions::Learned;
use crate::dialer::Dialer;
use crate::settings::Shadow;
use crate::taken::{PrimaryAnswer, Taken};

/// While there is traffic it looks for more of it so often, and no thread wakes it: a client that wakes a thread pays for it with
/// a system call, which a copy need not cost it.
const LOOKS: Duration = Duration::from_millis(1);

/// Everything on the thread.
struct Hub {
    gate: Arc<Gate>,
    lanes: Vec<Rc<Lane>>,
    under_way: RefCell<HashMap<u64, UnderWay>>,
    telling: RefCell<Telling>,
    endpoints: RefCell<Endpoints>,
    /// A pair became whole.
    less: Notify,
}

/// Where cores are short, clients are served first, and at once. Niceness is not enough: since 6.6 the kernel lets a thread
/// that runs end its slice of some milliseconds before another one of its class comes, however nice it is; one that runs
/// only when no other thread wants to (`SCHED_IDLE`) gives way at any time. That needs no privilege.
fn out_of_the_way() {
    use thread_priority::{
        NormalThreadSchedulePolicy, ThreadPriority, ThreadSchedulePolicy,
        set_thread_priority_and_policy, thread_native_id,
    };
    let idle = ThreadSchedulePolicy::Normal(NormalThreadSchedulePolicy::Idle);
    // A system that forbids it has shadows that compete with clients: worse, and no reason not to serve.
    let _ = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Min, idle);
}

/// Serves until asked to stop; everything that was taken has an outcome then.
pub(super) fn run(
    runtime: &tokio::runtime::Runtime,
    gate: Arc<Gate>,
    shadows: Vec<(Shadow, Dialer)>,
    telling: Telling,
    mut told: UnboundedReceiver<Told>,
) {
    out_of_the_way();
    let core_wait = Rc::new(CoreWait::of_this_thread());
    let lane = |(index, (shadow, dialer))| {
        Rc::new(Lane::new(
            shadow,
            index,
            dialer,
            gate.clone(),
            core_wait.clone(),
        ))
    };
    let lanes = shadows.into_iter().enumerate().map(lane);
    let hub = Rc::new(Hub {
        lanes: lanes.collect(),
        gate: gate.clone(),
        under_way: RefCell::default(),
        telling: RefCell::new(telling),
        endpoints: RefCell::default(),
        less: Notify::new(),
    });
    let local = tokio::task::LocalSet::new();
    local.block_on(runtime, hub.serve(&mut told));
    // A message sent from here on finds no receiver, and its sender counts it.
    told.close();
    while let Ok(late) = told.try_recv() {
        match late {
            Told::Taken(request, wanted, held) => drop(hub.admit(request, wanted, held)),
            Told::Answered(id, answer, held) => hub.answered(id, answer, held),
            _ => {}
        }
    }
    drop(local);
    hub.end();
}

/// A copy to be sent: its index among the request's, its lane, and the flag that is set as it leaves the queue.
type Errand = (usize, Rc<Lane>, Rc<std::cell::Cell<bool>>);

/// Puts the copies of a request into an order that only the seed and the request's id decide. The copy that is sent first gets a
/// core first where servers share cores: in the order of the settings the first shadow would always be the faster one.
fn draw_order<S>(errands: &mut [(usize, S, Rc<std::cell::Cell<bool>>)], id: u64, seed: u64) {
    let keyed = |index: usize| {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&id.to_le_bytes());
        bytes[8..].copy_from_slice(&(index as u64).to_le_bytes());
        xxh3_64_with_seed(&bytes, seed)
    };
    errands.sort_by_cached_key(|(index, ..)| keyed(*index));
}

impl Hub {
    async fn serve(self: &Rc<Self>, told: &mut UnboundedReceiver<Told>) {
        let stop = loop {
            // Nothing has come for a while: the next one wakes it.
            match told.recv().await {
                Some(Told::Stop(by)) => break by,
                Some(told) => self.hear(told),
                None => return,
            }
            if let Some(by) = self.follow(told).await {
                break by;
            }
        };
        let _ = timeout_at(stop, self.finish(told)).await;
    }

    /// As long as there is something new each time it looks; returns by when to stop, once asked to.
    async fn follow(
        self: &Rc<Self>,
        told: &mut UnboundedReceiver<Told>,
    ) -> Option<tokio::time::Instant> {
        loop {
            sleep(LOOKS).await;
            let mut any = false;
            while let Ok(told) = told.try_recv() {
                any = true;
                match told {
                    Told::Stop(by) => return Some(by),
                    told => self.hear(told),
                }
            }
            if !any {
                return None;
            }
        }
    }

    /// Until nothing is under way and nothing can come any more.
    async fn finish(self: &Rc<Self>, told: &mut UnboundedReceiver<Told>) {
        loop {
            while let Ok(told) = told.try_recv() {
                self.hear(told);
            }
            if self.under_way.borrow().is_empty() && self.gate.is_empty() {
                return;
            }
            let mut less = std::pin::pin!(self.less.notified());
            let mut next = std::pin::pin!(told.recv());
            let told = std::future::poll_fn(|context| {
                use std::future::Future;
                if let std::task::Poll::Ready(told) = next.as_mut().poll(context) {
                    return std::task::Poll::Ready(told);
                }
                less.as_mut().poll(context).map(|()| None)
            })
            .await;
            told.into_iter().for_each(|told| self.hear(told));
        }
    }

    fn hear(self: &Rc<Self>, told: Told) {
        match told {
            Told::Taken(request, wanted, held) => {
                let id = request.id;
                let mut errands = self.admit(request.clone(), wanted, held);
                draw_order(&mut errands, id, self.telling.borrow().seed);
                for (index, lane, started) in errands {
                    let (hub, request) = (self.clone(), request.clone());
                    tokio::task::spawn_local(async move {
                        let carried = lane.carry(&request, &started).await;
                        hub.resolve(id, index, &lane, carried);
                    });
                }
            }
            Told::Answering(id, headers) => {
                let cookies = cookies_set(&headers);
                self.each_session(|sessions| sessions.primary_begins(id, &cookies));
            }
            Told::Answered(id, answer, held) => self.answered(id, answer, held),
            Told::GivenBack | Told::Stop(_) => {}
        }
    }

    fn each_session(&self, mut act: impl FnMut(&mut super::sessions::Sessions)) {
        for sessions in self.lanes.iter().filter_map(|lane| lane.sessions.as_ref()) {
            act(&mut sessions.borrow_mut());
        }
    }

    /// Written down, with its copies; nothing is sent yet.
    fn admit(&self, request: Arc<Taken>, wanted: Wanted, held: Held) -> Vec<Errand> {
        let id = request.id;
        let mut under_way = UnderWay::new(request.clone(), held);
        let mut errands = Vec::new();
        for lane in &self.lanes {
            let sent = wanted.to.has(lane.index);
            let dropped = Dropped::ALL
                .into_iter()
                .find(|cause| wanted.dropped[*cause as usize].has(lane.index));
            if let Some(sessions) = lane.sessions.as_ref().filter(|_| sent || dropped.is_some()) {
                let cookies = super::learned::cookies_sent(request.headers.iter());
                sessions
                    .borrow_mut()
                    .begin(id, request.connection, &cookies);
                if !sent {
                    sessions.borrow_mut().shadow_ends(id, Learned::default());
                }
            }
            for copy in 0..lane.shadow.copies {
                if sent {
                    let (index, started) = under_way.add(lane.index, copy);
                    errands.push((index, lane.clone(), started));
                } else if let Some(cause) = dropped {
                    under_way.add_dropped(lane.index, copy, cause);
                }
            }
        }
        self.under_way.borrow_mut().insert(id, under_way);
        errands
    }

    fn answered(&self, id: u64, answer: PrimaryAnswer, held: Held) {
        for lane in &self.lanes {
            if let Some(sessions) = &lane.sessions {
                let learned = learn(
                    answer.headers.as_deref().unwrap_or_default(),
                    &answer.body,
                    &lane.shadow.tokens,
                );
                sessions.borrow_mut().primary_ends(id, learned);
            }
        }
        if let Some(under_way) = self.under_way.borrow_mut().get_mut(&id) {
            under_way.answer(answer, held);
        }
        self.tell_if_whole(id);
    }

    fn resolve(&self, id: u64, index: usize, lane: &Lane, carried: Carried) {
        self.count(lane.index, carried.outcome.clone());
        let mut under_way = self.under_way.borrow_mut();
        if let Some(under_way) = under_way.get_mut(&id) {
            // Copies are of one client: the first one's session is the shadow's.
            if let Some(sessions) = lane.sessions.as_ref().filter(|_| under_way.is_first(index)) {
                let whole = carried.whole.as_ref();
                let learned =
                    whole.map(|whole| learn(&whole.headers, &whole.body, &lane.shadow.tokens));
                sessions
                    .borrow_mut()
                    .shadow_ends(id, learned.unwrap_or_default());
            }
            under_way.resolve(index, carried);
        }
        drop(under_way);
        self.tell_if_whole(id);
    }

    fn count(&self, shadow: usize, outcome: Outcome) {
        let places = &self.gate.places[shadow];
        match outcome {
            Outcome::Answered(_) => places.counts.answered.add(1),
            Outcome::Failed(failure) => places.counts.fail(failure),
            Outcome::Dropped(cause) => places.counts.as_ref().drop(cause, 1),
        }
        places.ended();
    }

    fn tell_if_whole(&self, id: u64) {
        let whole = self
            .under_way
            .borrow()
            .get(&id)
            .is_some_and(UnderWay::is_whole);
        if whole && let Some(under_way) = self.under_way.borrow_mut().remove(&id) {
            self.tell(under_way);
            self.less.notify_one();
        }
    }

    fn tell(&self, under_way: UnderWay) {
        let mut telling = self.telling.borrow_mut();
        let tokens = |shadow: usize| self.lanes[shadow].shadow.tokens.clone();
        let pair = under_way.pair(&telling, &mut self.endpoints.borrow_mut(), tokens);
        (telling.pair)(pair);
    }

    /// Whatever has no outcome now ended with the mirror.
    fn end(&self) {
        let left: Vec<u64> = self.under_way.borrow().keys().copied().collect();
        for id in left {
            let Some(mut under_way) = self.under_way.borrow_mut().remove(&id) else {
                continue;
            };
            for (index, shadow, carried) in under_way.unfinished() {
                self.count(shadow, carried.outcome.clone());
                under_way.resolve(index, carried);
            }
            self.tell(under_way);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(copies: usize, id: u64, seed: u64) -> Vec<usize> {
        let mut errands: Vec<_> = (0..copies)
            .map(|index| (index, (), Rc::default()))
            .collect();
        draw_order(&mut errands, id, seed);
        errands.into_iter().map(|(index, ..)| index).collect()
    }

    #[test]
    fn every_order_of_copies_is_as_likely_as_any_other() {
        let mut counts: HashMap<Vec<usize>, u32> = HashMap::new();
        for id in 1..=60_000 {
            *counts.entry(order(3, id, 7)).or_default() += 1;
        }
        assert_eq!(counts.len(), 6);
        // The standard deviation is 91.
        assert!(
            counts.values().all(|n| n.abs_diff(10_000) < 500),
            "{counts:?}"
        );
    }

    #[test]
    fn an_order_follows_from_the_seed_and_the_id() {
        let orders = |seed| (1..=100).map(|id| order(2, id, seed)).collect::<Vec<_>>();
        assert_eq!(orders(1), orders(1));
        assert_ne!(orders(1), orders(2));
    }
}
