//! What the server's own threads do for each request: Puma's acceptor and its reactor. No request's record has it.

use std::collections::HashMap;

use flight::Record;
use flight::events::{Doing, Event, EventKind, Events};

/// CPU per request of the threads in front of the pool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Front {
    pub accept_ns: u64,
    pub reactor_ns: u64,
    /// Whether clients sent further requests over their connections.
    pub kept: bool,
}

/// Fewer requests say too little.
const LEAST: u64 = 50;
/// On an idle machine, a longer time means a busy core and not the way.
const MOST_NS: u64 = 2_000_000;

/// From traces of everything, by the names that Puma gives its threads: `puma srv`, `puma srv tp 001`, `puma reactor`.
pub(crate) fn from_traces<'a>(traces: impl Iterator<Item = &'a Events>) -> Option<Front> {
    let mut sums = Sums::default();
    traces.for_each(|events| sums.add(events));
    if sums.requests < LEAST || !sums.named {
        return None;
    }
    let each = |ns: u64| ns / sums.requests;
    Some(Front {
        accept_ns: each(sums.acceptor_ns),
        // With connections that are not kept it has next to nothing to do.
        reactor_ns: each(sums.reactor_ns),
        kept: sums.accepted * 2 < sums.requests,
    })
}

#[derive(Debug, Default)]
struct Sums {
    named: bool,
    requests: u64,
    acceptor_ns: u64,
    accepted: u64,
    reactor_ns: u64,
}

impl Sums {
    fn add(&mut self, events: &Events) {
        let named = |name: &str| {
            let found = events.threads.iter().find(|thread| thread.name == name);
            found.map(|thread| thread.number)
        };
        let (acceptor, reactor) = (named("puma srv"), named("puma reactor"));
        if acceptor.is_none() {
            return;
        }
        self.named = true;
        let mut last: HashMap<u32, (Option<Doing>, u64)> = HashMap::new();
        for event in &events.events {
            self.requests += u64::from(matches!(event.kind, EventKind::RequestEnd { .. }));
            let own = Some(event.thread);
            if own != acceptor && own != reactor {
                continue;
            }
            let ran_ns = ran(&mut last, event);
            if own == acceptor {
                self.acceptor_ns += ran_ns;
                self.accepted += u64::from(event.kind == EventKind::Resumed);
            } else {
                self.reactor_ns += ran_ns;
            }
        }
    }
}

/// How long the event's thread had run when it came.
fn ran(last: &mut HashMap<u32, (Option<Doing>, u64)>, event: &Event) -> u64 {
    let (before, since) = last.get(&event.thread).copied().unwrap_or((None, 0));
    let after = Doing::after(before, event.kind);
    if after == before {
        return 0;
    }
    last.insert(event.thread, (after, event.mono_ns));
    match before {
        Some(Doing::Running) => event.mono_ns.saturating_sub(since),
        _ => 0,
    }
}

/// What a request waits before a thread begins with it although nothing else is served: the median, where enough came alone.
/// The network, the acceptor and waking up are in it; how much of it is work it does not say. `None` where the proxy's clock
/// is too coarse.
pub(crate) fn way_in_ns<'a>(records: impl Iterator<Item = &'a Record>) -> Option<u64> {
    const COARSE_NS: u64 = 1_000_000;
    let mut coarse = true;
    // When each came, what it waited, and when it was answered.
    let mut stays: Vec<(u64, Option<u64>, u64)> = records
        .map(|record| {
            let queue_ns = record.queue_ns.unwrap_or(0);
            coarse &= record.arrival_wall_ns.wrapping_sub(queue_ns) % COARSE_NS == 0;
            let parse_ns = record.parse_us.map(|us| u64::from(us) * 1_000);
            let waited_ns = record.queue_ns.zip(parse_ns);
            let write_ns = u64::from(record.write_us.unwrap_or(0)) * 1_000;
            (
                record.start_mono_ns.saturating_sub(queue_ns),
                waited_ns.map(|(queue_ns, parse_ns)| queue_ns.saturating_sub(parse_ns)),
                record.end_mono_ns() + write_ns,
            )
        })
        .collect();
    stays.sort_unstable();
    let mut busy_until = 0;
    let mut waits: Vec<u64> = Vec::new();
    for (came_ns, waited_ns, answered_ns) in stays {
        if came_ns >= busy_until {
            waits.extend(waited_ns);
        }
        busy_until = busy_until.max(answered_ns);
    }
    if coarse || (waits.len() as u64) < LEAST {
        return None;
    }
    let middle = waits.len() / 2;
    let (_, median, _) = waits.select_nth_unstable(middle);
    Some((*median).min(MOST_NS))
}
