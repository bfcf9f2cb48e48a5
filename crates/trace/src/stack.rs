//! One thread's slices: requests, the calls inside them, what the thread did meanwhile, and the collector's pauses. They
//! nest in this order; where one of the outer ones begins or ends, the inner ones are cut, because a viewer drops slices
//! that overlap without nesting.

use flight::events::{CallKind, Doing, EventKind, GcPhase};

/// What a slice shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    Request {
        /// `None`: its end was never seen, and with it not what it was.
        endpoint: Option<u16>,
        /// 0 when it raised, is a job, or had not ended.
        status: u16,
        busy_threads: u16,
        job: bool,
        /// Whether the recording has both its ends.
        whole: bool,
        /// Nanoseconds, in the order of [`Doing`].
        sums_ns: [u64; 4],
    },
    Call(CallKind),
    Doing(Doing),
    Collection(GcPhase),
}

impl What {
    /// Outer ones first.
    pub(crate) fn depth(self) -> u8 {
        match self {
            What::Request { .. } => 0,
            What::Call(_) => 1,
            What::Doing(_) => 2,
            What::Collection(_) => 3,
        }
    }
}

/// A part of a thread's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slice {
    pub begin_ns: u64,
    pub end_ns: u64,
    pub what: What,
}

const JOB: u8 = 4;

#[derive(Debug, Clone, Copy)]
enum Open {
    Request {
        begin_ns: u64,
        busy_threads: u16,
        whole: bool,
        sums_ns: [u64; 4],
    },
    Call {
        begin_ns: u64,
        kind: CallKind,
    },
}

/// A thread while its events come in.
#[derive(Debug)]
pub(crate) struct Stack {
    slices: Vec<Slice>,
    /// A request below its calls.
    open: Vec<Open>,
    doing: Option<Doing>,
    since_ns: u64,
    now_ns: u64,
    collecting: Option<(u64, GcPhase)>,
    begin_ns: u64,
    /// No end of a request, or of a call, came yet: one that comes may be of what began before the recording.
    no_request: bool,
    no_call: bool,
    /// Between sampled requests nothing is known.
    forgets: bool,
}

impl Stack {
    pub fn new(begin_ns: u64, forgets: bool) -> Self {
        Self {
            slices: Vec::new(),
            open: Vec::new(),
            doing: None,
            since_ns: begin_ns,
            now_ns: begin_ns,
            collecting: None,
            begin_ns,
            no_request: true,
            no_call: true,
            forgets,
        }
    }

    /// The next event; times of one thread never go back, and where a damaged file says so they stand still.
    pub fn add(&mut self, mono_ns: u64, kind: EventKind) {
        let now_ns = mono_ns.max(self.now_ns);
        self.now_ns = now_ns;
        match kind {
            EventKind::RequestBegin { busy_threads } => {
                self.close(now_ns, 0);
                self.open.push(Open::Request {
                    begin_ns: now_ns,
                    busy_threads,
                    whole: true,
                    sums_ns: [0; 4],
                });
            }
            EventKind::RequestEnd {
                flags,
                status,
                endpoint,
            } => self.end_request(now_ns, flags, status, endpoint),
            EventKind::CallBegin(kind) => {
                self.cut(now_ns);
                self.no_call = false;
                let begin_ns = now_ns;
                self.open.push(Open::Call { begin_ns, kind });
            }
            EventKind::CallEnd(kind) => self.end_call(now_ns, kind),
            EventKind::GcEnter(phase) => self.collecting = Some((now_ns, phase)),
            EventKind::GcExit => self.leave_collector(now_ns, false),
            EventKind::Exited => self.close(now_ns, 0),
            _ => {}
        }
        let doing = Doing::after(self.doing, kind);
        if doing != self.doing {
            self.cut(now_ns);
            self.doing = doing;
            self.since_ns = now_ns;
        }
        if self.forgets && matches!(kind, EventKind::RequestEnd { .. }) {
            self.doing = None;
        }
    }

    /// What the thread does now.
    pub fn doing(&self) -> Option<Doing> {
        self.doing
    }

    /// All slices; those still open end here.
    pub fn finish(mut self, end_ns: u64) -> Vec<Slice> {
        self.close(end_ns.max(self.now_ns), 0);
        self.slices
    }

    fn end_request(&mut self, now_ns: u64, flags: u8, status: u16, endpoint: u16) {
        let known = matches!(self.open.first(), Some(Open::Request { .. }));
        let before = self.no_request;
        self.close(now_ns, usize::from(known));
        let (begin_ns, busy_threads, whole, sums_ns) = match self.open.pop() {
            Some(Open::Request {
                begin_ns,
                busy_threads,
                whole,
                sums_ns,
            }) => (begin_ns, busy_threads, whole, sums_ns),
            _ if before => (self.begin_ns, 0, false, [0; 4]),
            _ => return,
        };
        let job = flags & JOB != 0;
        self.slice(
            begin_ns,
            now_ns,
            What::Request {
                endpoint: Some(endpoint),
                status,
                busy_threads,
                job,
                whole,
                sums_ns,
            },
        );
    }

    fn end_call(&mut self, now_ns: u64, kind: CallKind) {
        let is_it =
            |open: &Open| matches!(open, Open::Call { kind: opened, .. } if *opened == kind);
        match self.open.iter().rposition(is_it) {
            Some(at) => self.close(now_ns, at),
            None => {
                self.cut(now_ns);
                if self.no_call {
                    self.slice(self.begin_ns, now_ns, What::Call(kind));
                }
            }
        }
        self.no_call = false;
    }

    /// Ends what is open above the lowest `keep`.
    fn close(&mut self, now_ns: u64, keep: usize) {
        self.cut(now_ns);
        self.no_call = false;
        self.no_request &= keep > 0;
        while self.open.len() > keep {
            match self.open.pop() {
                Some(Open::Call { begin_ns, kind }) => {
                    self.slice(begin_ns, now_ns, What::Call(kind))
                }
                Some(Open::Request {
                    begin_ns,
                    busy_threads,
                    sums_ns,
                    ..
                }) => self.slice(
                    begin_ns,
                    now_ns,
                    What::Request {
                        endpoint: None,
                        status: 0,
                        busy_threads,
                        job: false,
                        whole: false,
                        sums_ns,
                    },
                ),
                None => {}
            }
        }
    }

    /// Ends the innermost slices here; they go on in new ones.
    fn cut(&mut self, now_ns: u64) {
        self.leave_collector(now_ns, true);
        if let Some(doing) = self.doing {
            self.slice(self.since_ns, now_ns, What::Doing(doing));
            if let Some(Open::Request { sums_ns, .. }) = self.open.first_mut() {
                sums_ns[doing as usize] += now_ns - self.since_ns;
            }
        }
        self.since_ns = now_ns;
    }

    fn leave_collector(&mut self, now_ns: u64, goes_on: bool) {
        if let Some((from_ns, phase)) = self.collecting.take() {
            self.slice(from_ns, now_ns, What::Collection(phase));
            self.collecting = goes_on.then_some((now_ns, phase));
        }
    }

    fn slice(&mut self, begin_ns: u64, end_ns: u64, what: What) {
        if end_ns > begin_ns {
            self.slices.push(Slice {
                begin_ns,
                end_ns,
                what,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGIN: EventKind = EventKind::RequestBegin { busy_threads: 1 };
    const END: EventKind = EventKind::RequestEnd {
        flags: 0,
        status: 200,
        endpoint: 2,
    };
    const IO: EventKind = EventKind::Suspended {
        lock: false,
        row: 0,
        held: 0,
    };

    fn slices(events: &[(u64, EventKind)]) -> Vec<(u64, u64, u8)> {
        let mut stack = Stack::new(0, false);
        for &(at, kind) in events {
            stack.add(at, kind);
        }
        let mut slices = stack.finish(100);
        slices.sort_by_key(|s| (s.begin_ns, s.what.depth()));
        let told = |s: &Slice| (s.begin_ns, s.end_ns, s.what.depth());
        slices.iter().map(told).collect()
    }

    #[test]
    fn a_call_cuts_what_its_thread_does() {
        let sql = CallKind::Sql;
        let found = slices(&[
            (10, BEGIN),
            (20, EventKind::CallBegin(sql)),
            (30, IO),
            (40, EventKind::Ready),
            (50, EventKind::Resumed),
            (60, EventKind::CallEnd(sql)),
            (70, END),
        ]);
        let expected = [
            (10, 70, 0),
            (10, 20, 2),
            (20, 60, 1),
            (20, 30, 2),
            (30, 40, 2),
            (40, 50, 2),
            (50, 60, 2),
            (60, 70, 2),
            (70, 100, 2),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_began_before_the_recording_begins_with_it() {
        let found = slices(&[(30, EventKind::CallEnd(CallKind::Http)), (50, END)]);
        assert_eq!(found[..2], [(0, 50, 0), (0, 30, 1)]);
    }

    #[test]
    fn what_never_ends_ends_with_the_recording() {
        let found = slices(&[(30, BEGIN), (40, EventKind::CallBegin(CallKind::Http))]);
        assert_eq!(
            found,
            [(30, 100, 0), (30, 40, 2), (40, 100, 1), (40, 100, 2)]
        );
    }

    #[test]
    fn sums_are_those_inside_the_request() {
        let mut stack = Stack::new(0, false);
        for (at, kind) in [
            (5, EventKind::Resumed),
            (10, BEGIN),
            (30, IO),
            (60, EventKind::Resumed),
            (61, END),
        ] {
            stack.add(at, kind);
        }
        let of = stack
            .finish(80)
            .into_iter()
            .find_map(|slice| match slice.what {
                What::Request { sums_ns, .. } => Some(sums_ns),
                _ => None,
            });
        assert_eq!(of, Some([21, 0, 0, 30]));
    }
}
