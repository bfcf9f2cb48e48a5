//! The loop: one thread, one epoll set, one timer. It decides when each
//! request starts and on which connection, and hands what happened to the
//! tally. Memory is bounded by the connections, not by the requests: requests
//! that are due but must wait stay in the schedule's iterator.

use std::collections::VecDeque;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::time::Timespec;

use crate::arrivals::Offsets;
use crate::clock::{monotonic_ns, thread_cpu_ns, wall_ns};
use crate::connection::{Connection, Event, Job, Phase};
use crate::limits;
use crate::observer::{Observer, Progress};
use crate::outcome::{FIRST_ARRIVALS, Outcome};
use crate::plan::{LoadError, Mode, Plan};
use crate::sequence::Sequence;
use crate::tally::{Failure, Tally, Timing, nanos};
use crate::template::Template;

/// Events taken at once, and requests begun between two looks at the events:
/// neither side may keep the other waiting long.
const BATCH: usize = 64;
/// Longest sleep, so that a cancellation is seen.
const CANCEL_POLL_NS: u64 = 100_000_000;
/// A closed loop's connection pauses this long after it could not connect, or
/// a dead server would be asked a hundred thousand times a second.
const REFUSED_PAUSE_NS: u64 = 10_000_000;
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
    /// Closed loop: slots that may connect again, and when.
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
        let mut events: Vec<epoll::Event> = Vec::with_capacity(BATCH);
        loop {
            let now = monotonic_ns();
            if now >= next_slice_ns {
                if self.end_slice(now, observer) && !self.draining {
                    self.window_end_ns = self.window_end_ns.min(now);
                }
                next_slice_ns = now.max(next_slice_ns + slice_ns);
            }
            if observer.cancelled() {
                self.cancelled = true;
                self.end_window(now.min(self.window_end_ns));
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
            let wake = self.wake_at(now).min(next_slice_ns).min(if self.draining {
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

    /// The next instant at which something is to be done unasked.
    fn wake_at(&self, now: u64) -> u64 {
        let start = match self.offsets {
            // While starved, only a connection or the request's own timeout helps.
            Some(_) if self.starved => self.next_due_ns.saturating_add(self.timeout_ns),
            Some(_) if self.has_due() => self.next_due_ns,
            _ if self.draining => NEVER,
            _ => self.resting.front().map_or(NEVER, |(at, _)| *at),
        };
        start.min(self.deadline_bound_ns).min(now + CANCEL_POLL_NS)
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

    fn end_window(&mut self, at_ns: u64) {
        self.window_end_ns = at_ns;
        self.draining = true;
        self.tally.window_ended(at_ns);
    }

    /// Is there a request of the schedule that belongs to the window?
    fn has_due(&self) -> bool {
        self.offsets.is_some()
            && self.next_due_ns < self.window_end_ns
            && self
                .plan
                .stop
                .requests
                .is_none_or(|limit| self.tally.counts.scheduled < limit)
    }

    /// Starts what is due; returns whether more is due than one pass takes.
    fn start_due(&mut self, now: u64) -> Result<bool, LoadError> {
        if self.offsets.is_none() {
            return self.start_closed(now);
        }
        for _ in 0..BATCH {
            if !self.has_due() {
                if !self.draining && self.plan.stop.requests == Some(self.tally.counts.scheduled) {
                    self.end_window(now);
                }
                return Ok(false);
            }
            let due = self.next_due_ns;
            if due > now {
                return Ok(false);
            }
            if due.saturating_add(self.timeout_ns) <= now {
                let request = self.take_due();
                self.tally.waited(now - due);
                self.tally.failed(request, Failure::Timeout);
                continue;
            }
            let Some(slot) = self.take_connection() else {
                self.starved = true;
                return Ok(false);
            };
            let ready = if due < self.available_ns {
                self.tally.waited(self.available_ns - due);
                self.available_ns
            } else {
                due
            };
            self.starved = false;
            let request = self.take_due();
            self.tally.late(monotonic_ns().saturating_sub(ready));
            self.start(slot, request, due)?;
        }
        Ok(true)
    }

    /// Takes the next request off the schedule.
    fn take_due(&mut self) -> usize {
        if self.first_arrivals_ns.len() < FIRST_ARRIVALS {
            self.first_arrivals_ns
                .push(self.next_due_ns - self.started_ns);
        }
        self.next_due_ns = self
            .offsets
            .as_mut()
            .and_then(Iterator::next)
            .map_or(NEVER, |offset| self.started_ns.saturating_add(offset));
        let request = self.sequence.next_index();
        self.tally.scheduled(request);
        request
    }

    /// An idle connection, else a slot to open one in.
    fn take_connection(&mut self) -> Option<usize> {
        while let Some((slot, generation)) = self.idle.pop_front() {
            let connection = &self.connections[slot];
            if connection.phase == Phase::Idle && connection.generation == generation {
                return Some(slot);
            }
        }
        if let Some(slot) = self.free.pop() {
            return Some(slot);
        }
        (self.connections.len() < self.plan.mode.connections()).then(|| {
            self.connections.push(Connection::new());
            self.connections.len() - 1
        })
    }

    fn start_closed(&mut self, now: u64) -> Result<bool, LoadError> {
        while let Some(&(at, slot)) = self.resting.front() {
            if self.draining || at > now {
                break;
            }
            self.resting.pop_front();
            self.start_next(slot, at)?;
        }
        Ok(false)
    }

    /// Closed loop: the slot's next request, if the window still asks for one.
    /// `ready_ns`: since when it could be started.
    fn start_next(&mut self, slot: usize, ready_ns: u64) -> Result<(), LoadError> {
        let limit = self.plan.stop.requests;
        if self.draining || limit.is_some_and(|limit| self.tally.counts.scheduled >= limit) {
            return Ok(());
        }
        let now = monotonic_ns();
        if now >= self.window_end_ns {
            return Ok(());
        }
        let request = self.sequence.next_index();
        self.tally.scheduled(request);
        self.tally.late(now.saturating_sub(ready_ns));
        self.start(slot, request, now)?;
        if limit == Some(self.tally.counts.scheduled) && !self.draining {
            self.end_window(monotonic_ns());
        }
        Ok(())
    }

    fn start(&mut self, slot: usize, request: usize, scheduled_ns: u64) -> Result<(), LoadError> {
        let deadline_ns = scheduled_ns.saturating_add(self.timeout_ns);
        self.deadline_bound_ns = self.deadline_bound_ns.min(deadline_ns);
        self.in_flight += 1;
        let connection = &mut self.connections[slot];
        connection.job = Some(Job {
            request,
            scheduled_ns,
            sent_ns: 0,
            deadline_ns,
            retried: false,
        });
        if connection.phase == Phase::Idle {
            connection.reused = true;
            self.send(slot)
        } else {
            self.open(slot)
        }
    }

    fn open(&mut self, slot: usize) -> Result<(), LoadError> {
        let opened = self.connections[slot].open(self.plan.target, monotonic_ns());
        match opened {
            Ok(connected) => {
                let connection = &self.connections[slot];
                let token = token(slot, connection.generation);
                if let Some(fd) = &connection.fd {
                    // Edge-triggered for all that can happen: registered once
                    // and never changed.
                    epoll::add(
                        &self.epoll,
                        fd,
                        epoll::EventData::new_u64(token),
                        epoll::EventFlags::IN
                            | epoll::EventFlags::OUT
                            | epoll::EventFlags::RDHUP
                            | epoll::EventFlags::ET,
                    )
                    .map_err(system("epoll_ctl"))?;
                }
                self.tally.counts.connections += 1;
                if connected {
                    self.connected(slot)
                } else {
                    Ok(())
                }
            }
            Err(Errno::MFILE | Errno::NFILE) => Err(LoadError::NoFiles {
                open: self
                    .connections
                    .iter()
                    .filter(|connection| connection.fd.is_some())
                    .count(),
            }),
            Err(Errno::ADDRNOTAVAIL) => Err(LoadError::NoPorts {
                target: self.plan.target,
                requests: self.tally.counts.scheduled,
            }),
            Err(errno) => self.fail(slot, connect_failure(errno)),
        }
    }

    fn connected(&mut self, slot: usize) -> Result<(), LoadError> {
        let took = monotonic_ns().saturating_sub(self.connections[slot].opened_ns);
        self.tally.connected(took);
        self.send(slot)
    }

    fn send(&mut self, slot: usize) -> Result<(), LoadError> {
        let connection = &mut self.connections[slot];
        let Some(job) = &mut connection.job else {
            return Ok(());
        };
        if job.sent_ns == 0 {
            self.tally.counts.sent += 1;
        }
        // On a second sending service time starts anew; response time does not.
        job.sent_ns = monotonic_ns();
        let template = &mut self.templates[job.request];
        let to_head = template.to_head;
        let bytes = template.stamped(to_wall(job.scheduled_ns, self.wall_offset_ns));
        let event = connection.send(bytes, to_head);
        self.happened(slot, event)
    }

    fn ready(&mut self, token: u64, flags: epoll::EventFlags) -> Result<(), LoadError> {
        let slot = (token & u64::from(u32::MAX)) as usize;
        let Some(connection) = self.connections.get_mut(slot) else {
            return Ok(());
        };
        if u64::from(connection.generation) != token >> 32 {
            return Ok(());
        }
        let hung_up = flags
            .intersects(epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        let readable = hung_up || flags.contains(epoll::EventFlags::IN);
        match connection.phase {
            Phase::Closed => Ok(()),
            Phase::Connecting => match connection.finish_connect() {
                Ok(()) => self.connected(slot),
                Err(errno) => self.fail(slot, connect_failure(errno)),
            },
            Phase::Busy => {
                let mut event = Event::Pending;
                // Reading first: an answer may come before the request's end.
                if readable {
                    event = connection.receive(&mut self.buffer, hung_up);
                    if hung_up && let Event::Answered { answer, .. } = &mut event {
                        answer.reusable = false;
                    }
                }
                if matches!(event, Event::Pending) && flags.contains(epoll::EventFlags::OUT) {
                    event = connection.continue_sending();
                }
                self.happened(slot, event)
            }
            Phase::Idle => {
                if readable && let Some(surplus) = connection.idle_readable(&mut self.buffer) {
                    connection.close();
                    if surplus {
                        self.tally.counts.surplus += 1;
                    } else {
                        self.tally.counts.idle_closed += 1;
                    }
                    self.free.push(slot);
                }
                Ok(())
            }
        }
    }

    fn happened(&mut self, slot: usize, event: Event) -> Result<(), LoadError> {
        match event {
            Event::Pending => Ok(()),
            Event::Answered { answer, surplus } => {
                let done_ns = monotonic_ns();
                let connection = &mut self.connections[slot];
                if let Some(job) = connection.job.take() {
                    let timing = Timing {
                        scheduled_ns: job.scheduled_ns,
                        sent_ns: job.sent_ns,
                        done_ns,
                    };
                    self.tally.answered(job.request, timing, answer.status);
                    self.in_flight -= 1;
                }
                self.tally.counts.surplus += u64::from(surplus);
                if answer.reusable && self.plan.keep_alive {
                    connection.phase = Phase::Idle;
                } else {
                    connection.close();
                }
                self.release(slot, done_ns)
            }
            Event::LostBeforeAnswer(failure) => {
                let connection = &mut self.connections[slot];
                let reused = connection.reused;
                if let Some(job) = &mut connection.job
                    && reused
                    && !job.retried
                    && self.templates[job.request].idempotent
                {
                    // The server closed it as the request set out: allowed at
                    // any time (RFC 9112 §9.3.1), and no fault of its.
                    job.retried = true;
                    self.tally.counts.reconnects += 1;
                    connection.close();
                    return self.open(slot);
                }
                self.fail(slot, failure)
            }
            Event::Failed(failure) => self.fail(slot, failure),
        }
    }

    fn fail(&mut self, slot: usize, failure: Failure) -> Result<(), LoadError> {
        let connection = &mut self.connections[slot];
        connection.close();
        let now = monotonic_ns();
        if let Some(job) = connection.job.take() {
            self.tally.failed(job.request, failure);
            self.in_flight -= 1;
        }
        if self.offsets.is_none() && matches!(failure, Failure::Refused | Failure::Connect(_)) {
            self.resting.push_back((now + REFUSED_PAUSE_NS, slot));
            return Ok(());
        }
        self.release(slot, now)
    }

    /// The slot's request is done with; what does the slot do next?
    fn release(&mut self, slot: usize, now: u64) -> Result<(), LoadError> {
        if self.offsets.is_none() {
            // By way of the queue rather than at once: a server that accepts
            // and closes cannot make the loop recurse.
            self.resting.push_back((now, slot));
            return Ok(());
        }
        let connection = &self.connections[slot];
        if connection.phase == Phase::Idle {
            self.idle.push_back((slot, connection.generation));
        } else {
            self.free.push(slot);
        }
        if self.starved {
            self.starved = false;
            self.available_ns = now;
            self.start_due(now)?;
        }
        Ok(())
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

fn token(slot: usize, generation: u32) -> u64 {
    (u64::from(generation) << 32) | slot as u64
}

fn connect_failure(errno: Errno) -> Failure {
    match errno {
        Errno::CONNREFUSED => Failure::Refused,
        errno => Failure::Connect(errno),
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
