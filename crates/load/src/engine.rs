//! The loop: one thread, one epoll set, one timer. It decides when each
//! request starts and on which connection, and hands what happened to the
//! tally. Memory is bounded by the connections, not by the requests: requests
//! that are due but must wait stay in the schedule's iterator.

mod exchange;
mod schedule;

use std::collections::VecDeque;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::arrivals::Offsets;
use crate::clock::{monotonic_ns, thread_cpu_ns, wall_ns};
use crate::connection::Connection;
use crate::limits;
use crate::observer::{Observer, Progress};
use crate::outcome::Outcome;
use crate::plan::{LoadError, Mode, Plan};
use crate::sequence::Sequence;
use crate::tally::{Failure, Tally, nanos};
use crate::template::Template;

/// Events taken at once, and requests begun between two looks at the events:
/// neither side may keep the other waiting long.
const BATCH: usize = 64;
/// Longest sleep, so that a cancellation is seen.
const CANCEL_POLL_NS: u64 = 100_000_000;
/// A closed loop's slot pauses this long when a fresh connection brought no
/// answer, or a server that is dead, or accepts only to reset, would be asked
/// a hundred thousand times a second.
const FAILURE_PAUSE_NS: u64 = 10_000_000;
/// Time to prepare between the start of the run and the first arrival.
const LEAD_NS: u64 = 1_000_000;
const TIMER: u64 = u64::MAX;
const NEVER: u64 = u64::MAX;

/// Runs the plan on the calling thread until its end.
///
/// # Errors
/// [`LoadError`]: the plan cannot be run here. Whatever the server does is
/// counted in the outcome instead.
pub fn run(plan: &Plan, observer: &mut dyn Observer) -> Result<Outcome, LoadError> {
    plan.check()?;
    limits::make_room(plan.mode.connections())?;
    let mut engine = Engine::new(plan)?;
    engine.drive(observer)?;
    Ok(engine.finish())
}

struct Engine<'a> {
    plan: &'a Plan,
    epoll: OwnedFd,
    timer: crate::timer::Timer,
    connections: Vec<Connection>,
    /// Slots without a connection.
    free: Vec<usize>,
    /// Slots with an idle connection and its generation: first in, first out,
    /// so that all take turns and a server whose processes each hold some of
    /// them is loaded evenly. Entries may be stale.
    idle: VecDeque<(usize, u32)>,
    /// Closed loop: slots that wait for their next request, and until when, in
    /// that order.
    resting: VecDeque<(u64, usize)>,
    templates: Vec<Template>,
    sequence: Sequence,
    /// The schedule (open loop), and its next instant.
    offsets: Option<Offsets>,
    next_due_ns: u64,
    tally: Tally,
    buffer: Vec<u8>,
    timeout_ns: u64,
    in_flight: usize,
    /// No deadline is earlier; may itself have gone by without one.
    deadline_bound_ns: u64,
    /// The last attempt to start a request found no connection.
    starved: bool,
    /// When a connection last became available after that.
    available_ns: u64,
    /// Wall clock minus monotonic clock.
    wall_offset_ns: i128,
    started_ns: u64,
    wall_started_ns: u64,
    cpu_started_ns: u64,
    window_end_ns: u64,
    draining: bool,
    cancelled: bool,
    first_arrivals_ns: Vec<u64>,
}

impl<'a> Engine<'a> {
    fn new(plan: &'a Plan) -> Result<Self, LoadError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(system("epoll_create1"))?;
        let timer = crate::timer::Timer::new(&epoll, TIMER).map_err(system("timerfd"))?;
        let started_ns = monotonic_ns() + LEAD_NS;
        let wall_offset_ns = wall_offset();
        let mut offsets = match &plan.mode {
            Mode::Open { arrivals, .. } => Some(arrivals.offsets_ns()),
            Mode::Closed { .. } => None,
        };
        let mut engine = Self {
            plan,
            epoll,
            timer,
            connections: Vec::new(),
            free: Vec::new(),
            idle: VecDeque::new(),
            resting: VecDeque::new(),
            templates: plan
                .workload
                .requests()
                .iter()
                .map(|request| Template::new(request, plan))
                .collect(),
            sequence: Sequence::new(&plan.workload, plan.seed),
            next_due_ns: offsets
                .as_mut()
                .and_then(Iterator::next)
                .map_or(NEVER, |offset| started_ns.saturating_add(offset)),
            offsets,
            tally: Tally::new(plan, started_ns),
            buffer: vec![0; 64 * 1024],
            timeout_ns: nanos(plan.timeout),
            in_flight: 0,
            deadline_bound_ns: NEVER,
            starved: false,
            available_ns: 0,
            wall_offset_ns,
            started_ns,
            wall_started_ns: to_wall(started_ns, wall_offset_ns),
            cpu_started_ns: thread_cpu_ns(),
            window_end_ns: plan
                .stop
                .after
                .map_or(NEVER, |after| started_ns.saturating_add(nanos(after))),
            draining: false,
            cancelled: false,
            first_arrivals_ns: Vec::new(),
        };
        if let Mode::Closed { connections } = plan.mode {
            for slot in 0..connections {
                engine.connections.push(Connection::new());
                engine.resting.push_back((started_ns, slot));
            }
        }
        Ok(engine)
    }

    fn drive(&mut self, observer: &mut dyn Observer) -> Result<(), LoadError> {
        let slice_ns = nanos(self.plan.slice);
        let mut next_slice_ns = self.started_ns + slice_ns;
        let mut drain_end_ns = NEVER;
        // A fixed instant rather than "100 ms from now": the timer is armed
        // anew only when the next instant of interest changes.
        let mut next_poll_ns = 0;
        let mut events: Vec<epoll::Event> = Vec::with_capacity(BATCH);
        loop {
            let now = monotonic_ns();
            if now >= next_slice_ns {
                if self.end_slice(now, observer) && !self.draining {
                    self.window_end_ns = self.window_end_ns.min(now);
                }
                while next_slice_ns <= now {
                    next_slice_ns += slice_ns;
                }
            }
            if now >= next_poll_ns {
                next_poll_ns = now + CANCEL_POLL_NS;
            }
            if observer.cancelled() {
                self.cancelled = true;
                self.end_window(now);
                return Ok(());
            }
            if !self.draining && now >= self.window_end_ns {
                self.end_window(self.window_end_ns);
            }
            if self.draining && drain_end_ns == NEVER {
                drain_end_ns = self.window_end_ns.saturating_add(nanos(self.plan.drain));
            }
            if now >= self.deadline_bound_ns {
                self.expire(now, Failure::Timeout)?;
            }
            let more = self.start_due(now)?;
            if self.draining {
                if self.in_flight == 0 && !self.has_due() {
                    return Ok(());
                }
                if now >= drain_end_ns {
                    return self.give_up();
                }
            }
            let wake = self
                .wake_at()
                .min(next_slice_ns)
                .min(next_poll_ns)
                .min(if self.draining {
                    drain_end_ns
                } else {
                    self.window_end_ns
                });
            self.wait(&mut events, wake, more)?;
            for event in &events {
                let token = event.data.u64();
                if token != TIMER {
                    self.ready(token, event.flags)?;
                }
            }
        }
    }

    fn wait(
        &mut self,
        events: &mut Vec<epoll::Event>,
        wake: u64,
        more: bool,
    ) -> Result<(), LoadError> {
        events.clear();
        let spin_until = monotonic_ns().saturating_add(nanos(self.plan.spin));
        let poll = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let timeout = if more || wake <= spin_until {
            Some(&poll)
        } else {
            self.timer.arm(wake).map_err(system("timerfd_settime"))?;
            None
        };
        match epoll::wait(&self.epoll, spare_capacity(events), timeout) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(source) => Err(LoadError::System {
                call: "epoll_wait",
                source,
            }),
        }
    }

    /// Returns whether the observer wants the window to end.
    fn end_slice(&mut self, now: u64, observer: &mut dyn Observer) -> bool {
        self.wall_offset_ns = wall_offset();
        let slice = self.tally.end_slice(self.started_ns, now);
        observer
            .tick(&Progress {
                elapsed: Duration::from_nanos(now - self.started_ns),
                slice: &slice,
                counts: &self.tally.counts,
                errors: &self.tally.errors,
                response: &self.tally.response,
                in_flight: self.in_flight,
                behind: Duration::from_nanos(if self.has_due() {
                    now.saturating_sub(self.next_due_ns)
                } else {
                    0
                }),
                draining: self.draining,
            })
            .is_break()
    }

    /// Not later than planned, however late it is noticed.
    fn end_window(&mut self, at_ns: u64) {
        self.window_end_ns = at_ns.min(self.window_end_ns);
        self.draining = true;
        self.tally.window_ended(self.window_end_ns);
    }

    /// Fails every request whose deadline has passed and learns the next one.
    fn expire(&mut self, now: u64, failure: Failure) -> Result<(), LoadError> {
        self.deadline_bound_ns = NEVER;
        for slot in 0..self.connections.len() {
            let Some(deadline) = self.connections[slot].job.map(|job| job.deadline_ns) else {
                continue;
            };
            if deadline <= now {
                self.fail(slot, failure)?;
            } else {
                self.deadline_bound_ns = self.deadline_bound_ns.min(deadline);
            }
        }
        Ok(())
    }

    /// The drain is over: what has no answer yet gets none.
    fn give_up(&mut self) -> Result<(), LoadError> {
        while self.has_due() {
            let request = self.take_due();
            self.tally.failed(request, Failure::Drained);
        }
        self.expire(NEVER, Failure::Drained)
    }

    fn finish(mut self) -> Outcome {
        let finished_ns = monotonic_ns();
        for connection in &mut self.connections {
            if let Some(job) = connection.job.take() {
                self.tally.cut(job.request);
            }
        }
        if !self.tally.slice_is_empty() {
            self.tally.end_slice(self.started_ns, finished_ns);
        }
        let tally = self.tally;
        Outcome {
            counts: tally.counts,
            errors: tally.errors,
            statuses: tally.statuses,
            first_error: tally.first_error,
            violations: tally.violations,
            response: tally.response,
            service: tally.service,
            lateness: tally.lateness,
            connection_wait: tally.connection_wait,
            connect: tally.connect,
            endpoints: tally.endpoints,
            slices: tally.slices.into(),
            slices_dropped: tally.slices_dropped,
            started_ns: self.started_ns,
            ended_ns: self.window_end_ns.max(self.started_ns),
            finished_ns: finished_ns.max(self.started_ns),
            wall_started_ns: self.wall_started_ns,
            generator_cpu: Duration::from_nanos(
                thread_cpu_ns().saturating_sub(self.cpu_started_ns),
            ),
            first_arrivals_ns: self.first_arrivals_ns,
            cancelled: self.cancelled,
            asked_rate: match &self.plan.mode {
                Mode::Open { arrivals, .. } => Some(arrivals.rate()),
                Mode::Closed { .. } => None,
            },
        }
    }
}

fn system(call: &'static str) -> impl Fn(Errno) -> LoadError {
    move |source| LoadError::System { call, source }
}

fn wall_offset() -> i128 {
    i128::from(wall_ns()) - i128::from(monotonic_ns())
}

fn to_wall(monotonic_ns: u64, offset_ns: i128) -> u64 {
    u64::try_from(i128::from(monotonic_ns) + offset_ns).unwrap_or(0)
}
