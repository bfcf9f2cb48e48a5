//! The exact course of each request whose events are there: held, waited for the GVL, for a lock, for I/O, in this order
//! and so long, as a simulator replays it.

use super::{CallKind, Doing, Event, EventKind, Events};
use std::collections::HashMap;

/// A time in which a request did one thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Burst {
    pub doing: Doing,
    pub ns: u64,
    /// The lock that it waited for, as [`crate::Lock::row`]; 0 not known.
    pub row: u8,
    /// The rows of locks that the request held as it gave the GVL up, a bit each; 0 while it has it or waits for it.
    pub held: u64,
}

impl Burst {
    /// One of which no lock is known.
    #[must_use]
    pub fn new(doing: Doing, ns: u64) -> Self {
        let (row, held) = (0, 0);
        Self {
            doing,
            ns,
            row,
            held,
        }
    }
}

/// A call inside a request, from the request's begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InnerCall {
    pub kind: CallKind,
    pub from_ns: u64,
    pub to_ns: u64,
}

/// The course of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestBursts {
    /// [`super::EventThread::number`].
    pub thread: u32,
    /// That of its [`crate::Record`], which no other of its process shares, and whose figures its bursts add up to.
    pub start_mono_ns: u64,
    pub endpoint: u16,
    pub status: u16,
    /// As in the record: what it is known by and whether it is a job.
    pub flags: u8,
    /// Requests in flight in its process when it began, itself included.
    pub busy_threads: u16,
    /// In order, without gaps; neighbours differ.
    pub bursts: Vec<Burst>,
    /// In the order in which they ended.
    pub calls: Vec<InnerCall>,
    /// Pauses of the collector that this request ran itself, from its begin: parts of bursts that run.
    pub collections: Vec<(u64, u64)>,
}

impl RequestBursts {
    /// How long the request did one thing.
    #[must_use]
    pub fn sum_ns(&self, doing: Doing) -> u64 {
        let of = self.bursts.iter().filter(|burst| burst.doing == doing);
        of.map(|burst| burst.ns).sum()
    }

    /// From its begin to its end.
    #[must_use]
    pub fn wall_ns(&self) -> u64 {
        self.bursts.iter().map(|burst| burst.ns).sum()
    }
}

/// What [`bursts`] found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bursts {
    /// In the order in which they ended.
    pub requests: Vec<RequestBursts>,
    /// Requests that began before the events did, had not ended, or lost an event in between.
    pub incomplete: u64,
}

/// Cuts events into requests.
#[must_use]
pub fn bursts(events: &Events) -> Bursts {
    let mut found = Bursts::default();
    let mut open: HashMap<u32, Course> = HashMap::new();
    for event in events.events.iter().filter(|event| event.thread != 0) {
        match event.kind {
            EventKind::RequestBegin { busy_threads } => {
                let before = open.insert(event.thread, Course::begin(event, busy_threads));
                found.incomplete += u64::from(before.is_some());
            }
            EventKind::RequestEnd { .. } => {
                let torn = &events.skipped.torn;
                let whole = open
                    .remove(&event.thread)
                    .filter(|c| c.is_whole(event, torn));
                match whole {
                    Some(course) => found.requests.push(course.end(event)),
                    None => found.incomplete += 1,
                }
            }
            _ => {
                if let Some(course) = open.get_mut(&event.thread) {
                    course.add(event);
                }
            }
        }
    }
    found.incomplete += open.len() as u64;
    found
}

/// A request under way.
struct Course {
    first: u64,
    request: RequestBursts,
    doing: Doing,
    /// As in its burst.
    locks: (u8, u64),
    since_ns: u64,
    /// When those of a kind began that have not ended, the innermost last.
    calls: HashMap<CallKind, Vec<u64>>,
    collecting: Option<u64>,
}

impl Course {
    fn begin(event: &Event, busy_threads: u16) -> Self {
        Self {
            first: event.index,
            request: RequestBursts {
                thread: event.thread,
                start_mono_ns: event.mono_ns,
                endpoint: 0,
                status: 0,
                flags: 0,
                busy_threads,
                bursts: Vec::new(),
                calls: Vec::new(),
                collections: Vec::new(),
            },
            doing: Doing::Running,
            locks: (0, 0),
            since_ns: event.mono_ns,
            calls: HashMap::new(),
            collecting: None,
        }
    }

    /// Whether no slot between its first and its last event was torn: it might have been one of its events.
    fn is_whole(&self, last: &Event, torn: &[u64]) -> bool {
        let from = torn.partition_point(|&index| index < self.first);
        torn.get(from).is_none_or(|&index| index > last.index)
    }

    fn add(&mut self, event: &Event) {
        let at_ns = event.mono_ns.saturating_sub(self.request.start_mono_ns);
        match event.kind {
            EventKind::CallBegin(kind) => self.calls.entry(kind).or_default().push(at_ns),
            EventKind::CallEnd(kind) => {
                if let Some(from_ns) = self.calls.get_mut(&kind).and_then(Vec::pop) {
                    // In a damaged file time may run backwards.
                    let to_ns = at_ns.max(from_ns);
                    self.request.calls.push(InnerCall {
                        kind,
                        from_ns,
                        to_ns,
                    });
                }
            }
            EventKind::GcEnter(_) => self.collecting = Some(at_ns),
            EventKind::GcExit => {
                let entered = self.collecting.take();
                self.request
                    .collections
                    .extend(entered.map(|from| (from, at_ns.max(from))));
            }
            _ => {}
        }
        let doing = Doing::after(Some(self.doing), event.kind).unwrap_or(self.doing);
        if doing != self.doing {
            self.cut(event.mono_ns);
            self.doing = doing;
            self.locks = match event.kind {
                EventKind::Suspended { row, held, .. } => (row, held),
                _ => (0, 0),
            };
        }
    }

    fn cut(&mut self, now_ns: u64) {
        let ns = now_ns.saturating_sub(self.since_ns);
        let doing = self.doing;
        self.since_ns = now_ns.max(self.since_ns);
        match self.request.bursts.last_mut() {
            _ if ns == 0 => {}
            Some(last) if last.doing == doing => last.ns += ns,
            _ => {
                let (row, held) = self.locks;
                self.request.bursts.push(Burst {
                    doing,
                    ns,
                    row,
                    held,
                });
            }
        }
    }

    fn end(mut self, event: &Event) -> RequestBursts {
        self.cut(event.mono_ns);
        if let EventKind::RequestEnd {
            flags,
            status,
            endpoint,
        } = event.kind
        {
            self.request.flags = flags;
            self.request.status = status;
            self.request.endpoint = endpoint;
        }
        self.request
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::{EventsLayout, EventsState, Mode};
    use super::super::{EventsHeader, EventsSkipped, GcPhase};
    use super::*;
    use proptest::prelude::*;

    const END: EventKind = EventKind::RequestEnd {
        flags: 8,
        status: 200,
        endpoint: 3,
    };
    const BEGIN: EventKind = EventKind::RequestBegin { busy_threads: 2 };

    fn recorded(events: &[(u64, u32, EventKind)], torn: &[u64]) -> Events {
        let numbered = events.iter().zip(0..);
        Events {
            header: EventsHeader {
                mode: Mode::Sampling { one_in: 10 },
                state: EventsState::Recording,
                request: 0,
                pid: 1,
                worker_index: None,
                start_ticks: 1,
                origin: None,
                created_wall_ns: 0,
                created_mono_ns: 0,
                deadline_mono_ns: 0,
                began_mono_ns: 0,
                ended_mono_ns: 0,
                claimed: events.len() as u64,
                layout: EventsLayout::for_trace(1 << 20, 0),
            },
            threads: Vec::new(),
            events: numbered
                .filter(|(_, index)| !torn.contains(index))
                .map(|(&(mono_ns, thread, kind), index)| Event {
                    index,
                    mono_ns,
                    thread,
                    kind,
                })
                .collect(),
            skipped: EventsSkipped {
                torn: torn.to_vec(),
                missing: 0,
            },
        }
    }

    /// As a damaged file may have it: nothing lasts less than no time, and a kind's calls close their own.
    #[test]
    fn time_that_runs_backwards_gives_no_negative_times() {
        let found = bursts(&recorded(
            &[
                (100, 1, BEGIN),
                (150, 1, EventKind::CallBegin(CallKind::Sql)),
                (150, 1, EventKind::CallBegin(CallKind::Http)),
                (160, 1, EventKind::GcEnter(GcPhase::Begins)),
                (120, 1, EventKind::GcExit),
                (120, 1, EventKind::CallEnd(CallKind::Sql)),
                (170, 1, EventKind::CallEnd(CallKind::Http)),
                (200, 1, END),
            ],
            &[],
        ));
        let request = &found.requests[0];
        let calls: Vec<_> = request.calls.iter().map(|c| (c.from_ns, c.to_ns)).collect();
        assert_eq!(calls, [(50, 50), (50, 70)]);
        assert_eq!(request.collections, [(60, 60)]);
    }

    #[test]
    fn two_requests_side_by_side() {
        let io = EventKind::Suspended {
            lock: false,
            row: 0,
            held: 4,
        };
        let lock = EventKind::Suspended {
            lock: true,
            row: 2,
            held: 0,
        };
        let found = bursts(&recorded(
            &[
                (100, 1, BEGIN),
                (110, 1, EventKind::CallBegin(CallKind::Sql)),
                (130, 1, io),
                (135, 2, BEGIN),
                (150, 1, EventKind::Ready),
                (160, 2, lock),
                (165, 1, EventKind::Resumed),
                (170, 1, EventKind::CallEnd(CallKind::Sql)),
                (172, 1, EventKind::GcEnter(GcPhase::Begins)),
                (180, 1, EventKind::GcExit),
                (200, 1, END),
                (260, 2, EventKind::Resumed),
                (261, 2, END),
            ],
            &[],
        ));
        assert_eq!(found.incomplete, 0);
        let of = Burst::new;
        let first = &found.requests[0];
        assert_eq!(
            first.bursts,
            [
                of(Doing::Running, 30),
                Burst {
                    held: 4,
                    ..of(Doing::Io, 20)
                },
                of(Doing::Waiting, 15),
                of(Doing::Running, 35)
            ]
        );
        let (kind, from_ns, to_ns) = (CallKind::Sql, 10, 70);
        assert_eq!(
            first.calls,
            [InnerCall {
                kind,
                from_ns,
                to_ns
            }]
        );
        assert_eq!(first.collections, [(72, 80)]);
        assert_eq!(
            (first.start_mono_ns, first.endpoint, first.status),
            (100, 3, 200)
        );
        let second = &found.requests[1];
        assert_eq!(
            second.bursts,
            [
                of(Doing::Running, 25),
                Burst {
                    row: 2,
                    ..of(Doing::Lock, 100)
                },
                of(Doing::Running, 1)
            ]
        );
        assert_eq!(second.wall_ns(), 126);
    }

    #[test]
    fn a_request_that_may_have_lost_an_event_does_not_count() {
        let events = [
            (1, 1, BEGIN),
            (2, 2, EventKind::Ready),
            (3, 1, END),
            (4, 1, BEGIN),
            (5, 1, END),
            (6, 1, END),
            (7, 1, BEGIN),
        ];
        let found = bursts(&recorded(&events, &[1]));
        assert_eq!(found.requests.len(), 1);
        assert_eq!(found.requests[0].start_mono_ns, 4);
        // The first for its torn slot, one without a begin, one without an end.
        assert_eq!(found.incomplete, 3);
    }

    proptest! {
        #[test]
        fn bursts_fill_the_request_whatever_happens_in_it(
            steps in proptest::collection::vec((0_u64..1000, 0_u8..6), 0..200),
        ) {
            let mut now = 5;
            let mut events = vec![(now, 1, BEGIN)];
            for (ns, what) in steps {
                now += ns;
                events.push((now, 1, match what {
                    0 => EventKind::gives_up(true),
                    1 => EventKind::gives_up(false),
                    2 => EventKind::Ready,
                    3 => EventKind::GcEnter(GcPhase::Unknown),
                    4 => EventKind::CallBegin(CallKind::Redis),
                    _ => EventKind::Resumed,
                }));
            }
            events.push((now, 1, END));
            let found = bursts(&recorded(&events, &[]));
            let request = &found.requests[0];
            prop_assert_eq!(request.wall_ns(), now - 5);
            prop_assert!(request.bursts.windows(2).all(|w| w[0].doing != w[1].doing));
            prop_assert!(request.bursts.iter().all(|b| b.ns > 0));
        }
    }
}
