//! The loop: one thread, one epoll set, one timer. It decides when each
//! request starts and on which connection, and hands what happened to the
//! tally. Memory is bounded by the connections, not by the requests: requests
//! that are due but must wait stay in the schedule's iterator, except those of
//! sessions and recorded connections, of which each waits, as an instant, with
//! its user or connection.

mod deadlines;
mod ending;
mod exchange;
mod idling;
mod lanes;
mod lingering;
mod resting;
mod schedule;
#[cfg(test)]
mod tests;
mod turn;
mod users;

use std::collections::VecDeque;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::arrivals::Offsets;
use crate::clock::{monotonic_ns, thread_cpu_ns, thread_waited_ns, wall_offset_ns};
use crate::connection::Connection;
use crate::failure::Failure;
use crate::limits;
use crate::observer::{Observer, Progress};
use crate::outcome::Outcome;
use crate::plan::{LoadError, Mode, Plan};
use crate::sequence::Sequence;
use crate::tally::{Tally, nanos};
use crate::template::Template;
use crate::think::{Think, Thinking};
use deadlines::Deadlines;
use idling::Idling;
use lingering::Lingering;
use resting::Resting;

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
/// Connections that wait for the server to close them, at most.
const LINGERING: usize = 128;
const TIMER: u64 = u64::MAX;
const NEVER: u64 = u64::MAX;
const AT_ONCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// Runs the plan on the calling thread until its end.
///
/// # Errors
/// [`LoadError`]: the plan cannot be run here. Whatever the server does is
/// counted in the outcome instead.
pub fn run(plan: &Plan, observer: &mut dyn Observer) -> Result<Outcome, LoadError> {
    plan.check()?;
    let room = limits::make_room(plan.mode.connections(), LINGERING)?;
    let mut engine = Engine::new(plan, room.welcome)?;
    engine.drive(observer)?;
    Ok(engine.finish(observer))
}

struct Engine<'a> {
    plan: &'a Plan,
    epoll: OwnedFd,
    timer: crate::timer::Timer,
    naps: crate::timer::Naps,
    connections: Vec<Connection>,
    /// Slots without a connection.
    free: Vec<usize>,
    /// Tokens of connections with more to read than one turn took.
    unread: Vec<u64>,
    /// Slots with an idle connection and its generation: first in, first out,
    /// so that all take turns and a server whose processes each hold some of
    /// them is loaded evenly. Entries may be stale.
    idle: VecDeque<(usize, u32)>,
    /// Closed loop: slots that wait for their next request.
    resting: Resting,
    thinking: Thinking,
    templates: Vec<Template<'a>>,
    sequence: Sequence,
    /// Users, rows and recorded connections, for workloads that have such.
    cast: Option<Box<users::Cast<'a>>>,
    /// The schedule (open loop), and its next instant.
    offsets: Option<Offsets>,
    next_due_ns: u64,
    tally: Tally,
    buffer: Vec<u8>,
    timeout_ns: u64,
    in_flight: usize,
    deadlines: Deadlines,
    lingering: Lingering,
    /// The last attempt to start a request found no connection.
    starved: bool,
    /// When a connection last became available after that.
    available_ns: u64,
    /// Wall clock minus monotonic clock.
    wall_offset_ns: i128,
    started_ns: u64,
    wall_started_ns: u64,
    cpu_started_ns: u64,
    cpu_in_window_ns: u64,
    waited_before_ns: Option<u64>,
    waited_in_window_ns: u64,
    idling: Idling,
    window_end_ns: u64,
    draining: bool,
    /// Closed loop: when the last of a number of requests was begun. The window
    /// ends with the last answer.
    counted_out_ns: u64,
    /// When a request was last over.
    last_over_ns: u64,
    cancelled: bool,
    first_arrivals_ns: Vec<u64>,
    /// Counts what is due while the loop cannot keep up.
    ahead: Option<schedule::Ahead>,
}

impl<'a> Engine<'a> {
    fn new(plan: &'a Plan, lingering: usize) -> Result<Self, LoadError> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(system("epoll_create1"))?;
        let timer = crate::timer::Timer::new(&epoll, TIMER).map_err(system("timerfd"))?;
        let (mut offsets, schedule_ends_ns, think) = match &plan.mode {
            Mode::Open { arrivals, .. } => (
                Some(arrivals.offsets_ns()),
                arrivals.ends_after_ns(),
                Think::None,
            ),
            Mode::Closed { think, .. } => (None, None, *think),
        };
        // The window ends with the schedule, if not before it.
        let length_ns = (plan.stop.after.map(nanos).into_iter())
            .chain(schedule_ends_ns)
            .min();
        let templates = (plan.workload.requests().iter().enumerate())
            .map(|(index, request)| Template::new(request, plan.workload.recipe(index), plan))
            .collect();
        let cast = users::cast(plan);
        let sequence = Sequence::new(&plan.workload, plan.seed);
        let mut tally = Tally::new(plan);
        let mut thinking = Thinking::new(think, plan.mode.connections(), plan.seed);
        let mut connections = Vec::new();
        let mut first_ns = Vec::new();
        if let Mode::Closed { connections: n, .. } = plan.mode {
            connections.resize_with(n, Connection::new);
            first_ns.extend((0..n).map(|slot| thinking.first_ns(slot)));
        }
        let first_offset = offsets.as_mut().and_then(Iterator::next);
        let waited_before_ns = thread_waited_ns();
        // After all that takes long with a large workload, or the first requests
        // would be late by it.
        let started_ns = monotonic_ns() + LEAD_NS;
        let wall_offset_ns = wall_offset_ns();
        let window_end_ns = length_ns.map_or(NEVER, |length| started_ns.saturating_add(length));
        tally.begin(started_ns, window_end_ns);
        Ok(Self {
            plan,
            epoll,
            timer,
            naps: crate::timer::Naps::new(nanos(plan.spin)),
            connections,
            free: Vec::new(),
            unread: Vec::new(),
            idle: VecDeque::new(),
            resting: Resting::of(started_ns, &first_ns),
            thinking,
            templates,
            cast,
            sequence,
            next_due_ns: first_offset.map_or(NEVER, |offset| started_ns.saturating_add(offset)),
            offsets,
            tally,
            buffer: vec![0; 64 * 1024],
            timeout_ns: nanos(plan.timeout),
            in_flight: 0,
            deadlines: Deadlines::default(),
            lingering: Lingering::new(lingering),
            starved: false,
            available_ns: 0,
            wall_offset_ns,
            started_ns,
            wall_started_ns: to_wall(started_ns, wall_offset_ns),
            cpu_started_ns: thread_cpu_ns(),
            cpu_in_window_ns: 0,
            waited_before_ns,
            waited_in_window_ns: 0,
            idling: Idling::from(started_ns),
            window_end_ns,
            draining: false,
            counted_out_ns: NEVER,
            last_over_ns: started_ns,
            cancelled: false,
            first_arrivals_ns: Vec::new(),
            ahead: None,
        })
    }

    fn drive(&mut self, observer: &mut dyn Observer) -> Result<(), LoadError> {
        let slice_ns = nanos(self.plan.slice);
        let mut next_slice_ns = self.started_ns + slice_ns;
        // A fixed instant rather than "100 ms from now": the timer is armed
        // anew only when the next instant of interest changes.
        let mut next_poll_ns = 0;
        let mut events: Vec<epoll::Event> = Vec::with_capacity(BATCH);
        loop {
            let now = monotonic_ns();
            self.idling.until(now);
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
                self.lingering.expire(now);
            }
            if observer.cancelled() || (self.tally.to_https && observer.cancelled_at_https()) {
                self.cancel(now);
                return Ok(());
            }
            if !self.draining && now >= self.window_end_ns {
                self.end_window(self.window_end_ns);
            }
            if now >= self.deadlines.next_ns() {
                self.read_before_deadlines(&mut events)?;
                self.expire(now, &Failure::Timeout)?;
            }
            let before = self.tally.counts.scheduled;
            let more = self.start_due(now)? || !self.unread.is_empty();
            if self.in_flight == 0 && self.counted_out_ns != NEVER && !self.draining {
                self.end_window(self.last_over_ns);
            }
            let drain_end_ns = self.drain_end_ns();
            if self.draining && self.in_flight == 0 && !self.has_due() && self.held() == 0 {
                return Ok(());
            }
            if now >= drain_end_ns {
                self.end_window(now);
                return self.give_up(now);
            }
            let mut chore = next_slice_ns.min(next_poll_ns).min(drain_end_ns);
            if !self.draining {
                chore = chore.min(self.window_end_ns);
            }
            let slept = self.wait(&mut events, chore, more)?;
            if !slept && !more && events.is_empty() && before == self.tally.counts.scheduled {
                // What was due meanwhile was not waited for.
                self.idling.since(now, self.wake_at());
            }
            self.take_events(&events)?;
        }
    }

    fn take_events(&mut self, events: &[epoll::Event]) -> Result<(), LoadError> {
        for event in events {
            let token = event.data.u64();
            if token != TIMER {
                self.start_ahead()?;
                self.ready(token, event.flags)?;
            }
        }
        self.read_on()
    }

    /// An answer that is in its socket came in time, if the generator is late.
    fn read_before_deadlines(&mut self, events: &mut Vec<epoll::Event>) -> Result<(), LoadError> {
        // What has come by now, and no endless stream of what comes meanwhile.
        for _ in 0..=self.in_flight / BATCH {
            events.clear();
            self.poll(events, Some(&AT_ONCE))?;
            self.take_events(events)?;
            if events.len() < BATCH {
                break;
            }
        }
        Ok(())
    }

    /// Returns whether it slept.
    fn wait(
        &mut self,
        events: &mut Vec<epoll::Event>,
        chore: u64,
        more: bool,
    ) -> Result<bool, LoadError> {
        events.clear();
        let start = self.wake_at();
        let wake = chore.min(start.saturating_sub(self.naps.early_ns()));
        let now = monotonic_ns();
        if more || wake <= now {
            self.poll(events, Some(&AT_ONCE))?;
            return Ok(false);
        }
        self.timer.arm(wake).map_err(system("timerfd_settime"))?;
        self.poll(events, None)?;
        let woke = monotonic_ns();
        self.idling.slept(now, woke.min(wake));
        if events.iter().any(|event| event.data.u64() == TIMER) {
            self.naps.woke(wake, woke);
        }
        Ok(true)
    }

    fn poll(
        &self,
        events: &mut Vec<epoll::Event>,
        timeout: Option<&Timespec>,
    ) -> Result<(), LoadError> {
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
        self.wall_offset_ns = wall_offset_ns();
        let due = self.due_by(now);
        let slice = self.tally.end_slice(self.started_ns, now, due);
        let asked_to_end = observer
            .tick(&Progress {
                elapsed: Duration::from_nanos(now.saturating_sub(self.started_ns)),
                slice: &slice,
                interval: &self.tally.course.interval,
                counts: &self.tally.counts,
                errors: &self.tally.errors,
                response: &self.tally.response,
                in_flight: self.in_flight,
                behind: Duration::from_nanos(now.saturating_sub(self.oldest_due_ns())),
                draining: self.draining,
            })
            .is_break();
        self.tally.course.begin(now);
        asked_to_end
    }
}

fn system(call: &'static str) -> impl Fn(Errno) -> LoadError {
    move |source| LoadError::System { call, source }
}

fn to_wall(monotonic_ns: u64, offset_ns: i128) -> u64 {
    u64::try_from(i128::from(monotonic_ns) + offset_ns).unwrap_or(0)
}
