//! One request on one slot: connecting, sending, and what comes of it.

use rustix::event::epoll;
use rustix::io::Errno;

use super::{Engine, FAILURE_PAUSE_NS, system, to_wall};
use crate::clock::monotonic_ns;
use crate::connection::{Event, Job, Phase};
use crate::failure::Failure;
use crate::plan::LoadError;
use crate::tally::Timing;
use crate::transport;

impl Engine<'_> {
    /// `ready_ns`: since when the request could have been started.
    pub(super) fn start(
        &mut self,
        slot: usize,
        request: usize,
        who: u32,
        scheduled_ns: u64,
        ready_ns: u64,
        now_ns: u64,
    ) -> Result<(), LoadError> {
        let late_ns = now_ns.saturating_sub(ready_ns);
        self.tally.late(late_ns);
        let deadline_ns = scheduled_ns.saturating_add(self.timeout_ns);
        self.deadlines.watch(slot, deadline_ns);
        self.in_flight += 1;
        let connection = &mut self.connections[slot];
        connection.job = Some(Job {
            request,
            who,
            scheduled_ns,
            // A closed loop's request is due when it is begun: no part of its
            // response time is the generator's delay.
            late_ns: late_ns.min(now_ns.saturating_sub(scheduled_ns)),
            sent_ns: 0,
            deadline_ns,
            retried: false,
        });
        if connection.phase == Phase::Idle {
            connection.reused = true;
            self.send(slot, now_ns)
        } else {
            self.open(slot)
        }
    }

    pub(super) fn open(&mut self, slot: usize) -> Result<(), LoadError> {
        let opened = self.connections[slot].open(&self.plan.target, monotonic_ns());
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
                limit: crate::limits::soft_limit().unwrap_or(u64::MAX),
            }),
            Err(Errno::ADDRNOTAVAIL) => Err(LoadError::no_local_address(
                self.plan.target.to_string(),
                self.tally.counts.connections,
                self.tally.counts.scheduled,
            )),
            Err(errno) => self.fail(slot, connect_failure(errno)),
        }
    }

    /// The connection stands: what remains is the TLS handshake, if any.
    fn connected(&mut self, slot: usize) -> Result<(), LoadError> {
        if !self.plan.target.is_tls() {
            return self.established(slot);
        }
        match self.connections[slot].begin_handshake(&self.plan.target) {
            Ok(()) => Ok(()),
            Err(failure) => self.fail(slot, failure),
        }
    }

    /// A request can be sent.
    fn established(&mut self, slot: usize) -> Result<(), LoadError> {
        let now_ns = monotonic_ns();
        let opened_ns = self.connections[slot].opened_ns;
        self.tally.connected(now_ns.saturating_sub(opened_ns));
        self.send(slot, now_ns)
    }

    pub(super) fn send(&mut self, slot: usize, now_ns: u64) -> Result<(), LoadError> {
        let connection = &mut self.connections[slot];
        let Some(job) = &mut connection.job else {
            return Ok(());
        };
        if job.sent_ns == 0 {
            self.tally.counts.sent += 1;
        }
        // On a second sending service time starts anew; response time does not.
        job.sent_ns = now_ns;
        let template = &mut self.templates[job.request];
        if template.varies {
            let job = *job;
            let event = self.send_filled(slot, job);
            return self.happened(slot, event);
        }
        let to_head = template.to_head;
        let bytes = template.stamped(to_wall(job.scheduled_ns, self.wall_offset_ns));
        let event = connection.send(bytes, to_head);
        self.happened(slot, event)
    }

    pub(super) fn ready(&mut self, token: u64, flags: epoll::EventFlags) -> Result<(), LoadError> {
        let slot = slot(token);
        let Some(connection) = self.connections.get_mut(slot) else {
            return Ok(());
        };
        if u64::from(connection.generation) != token >> 32 || connection.phase == Phase::Closed {
            self.lingers_on(token, flags);
            return Ok(());
        }
        connection.hung_up |= flags
            .intersects(epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR);
        let hung_up = connection.hung_up;
        let readable = hung_up || flags.contains(epoll::EventFlags::IN);
        match connection.phase {
            Phase::Closed => Ok(()),
            Phase::Connecting => match connection.finish_connect() {
                Ok(()) => {
                    self.connected(slot)?;
                    // A server may have spoken, or hung up, before this event
                    // was taken; there is no second one.
                    if readable {
                        self.ready(token, flags)?;
                    }
                    Ok(())
                }
                Err(errno) => self.fail(slot, connect_failure(errno)),
            },
            Phase::Handshaking => match connection.continue_handshake(&mut self.buffer) {
                Ok(true) => {
                    self.established(slot)?;
                    // What came with the handshake's end brings no event.
                    self.ready(token, flags | epoll::EventFlags::IN)
                }
                Ok(false) => Ok(()),
                Err(failure) => self.fail(slot, failure),
            },
            Phase::Busy => {
                let mut event = Event::Pending;
                // Reading first: an answer may come before the request's end.
                if readable {
                    let listed = connection.unread;
                    event = connection.receive(&mut self.buffer, hung_up);
                    if hung_up && let Event::Answered { answer, .. } = &mut event {
                        answer.reusable = false;
                    }
                    if connection.unread && !listed {
                        self.unread.push(token);
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
                    // A closed loop's slots all wait their turn in `resting`.
                    if self.offsets.is_some() {
                        if let Some(lanes) = self.cast.as_mut().and_then(|c| c.lanes.as_mut()) {
                            lanes.release(slot);
                        }
                        self.free.push(slot);
                    }
                }
                Ok(())
            }
        }
    }

    /// Reads on where one turn's readings were not enough.
    pub(super) fn read_on(&mut self) -> Result<(), LoadError> {
        for token in std::mem::take(&mut self.unread) {
            self.start_ahead()?;
            if let Some(connection) = self.connections.get_mut(slot(token))
                && u64::from(connection.generation) == token >> 32
            {
                connection.unread = false;
                self.ready(token, epoll::EventFlags::IN)?;
            }
        }
        Ok(())
    }

    pub(super) fn happened(&mut self, slot: usize, event: Event) -> Result<(), LoadError> {
        match event {
            Event::Pending => Ok(()),
            Event::Answered { answer, surplus } => {
                let connection = &mut self.connections[slot];
                let done_ns = connection.read_ns;
                if let Some(job) = connection.job.take() {
                    let timing = Timing {
                        scheduled_ns: job.scheduled_ns,
                        late_ns: job.late_ns,
                        sent_ns: job.sent_ns,
                        first_byte_ns: connection.first_byte_ns,
                        done_ns,
                    };
                    self.in_flight -= 1;
                    if self.templates[job.request].recipe.is_none() {
                        let location = self.connections[slot].location();
                        let path = self.templates[job.request].written_path();
                        self.tally
                            .answered(job.request, timing, answer.status, path, location);
                    } else {
                        self.judge(slot, job, timing, answer.status);
                        self.connections[slot].forget();
                    }
                }
                self.tally.counts.surplus += u64::from(surplus);
                let connection = &mut self.connections[slot];
                if answer.reusable && self.plan.keep_alive {
                    connection.phase = Phase::Idle;
                } else if !answer.reusable
                    && !surplus
                    && !connection.hung_up
                    && connection.is_sent()
                {
                    // It said that it will close.
                    let token = token(slot, connection.generation);
                    if let Some(socket) = connection.part() {
                        self.lingering.add(token, socket, done_ns);
                    }
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

    pub(super) fn fail(&mut self, slot: usize, failure: Failure) -> Result<(), LoadError> {
        let connection = &mut self.connections[slot];
        connection.close();
        let unconnected = matches!(
            failure,
            Failure::Refused | Failure::Connect(_) | Failure::Backlog
        );
        let fresh = unconnected || !connection.reused;
        let now = monotonic_ns();
        self.last_over_ns = now;
        if let Some(job) = connection.job.take() {
            let after_ns = now.saturating_sub(job.scheduled_ns);
            self.label_failure(job.request, job.who);
            self.tally
                .failed_after_sending(job.request, job.sent_ns, after_ns, failure);
            self.in_flight -= 1;
            self.step_ended(job.request, job.who, false);
        }
        if self.offsets.is_none() && fresh {
            let thinks_ns = self.thinking.next_ns(slot);
            self.resting
                .add(now.saturating_add(thinks_ns.max(FAILURE_PAUSE_NS)), slot);
            return Ok(());
        }
        self.release(slot, now)
    }

    /// The slot's request is done with; what does the slot do next?
    pub(super) fn release(&mut self, slot: usize, now: u64) -> Result<(), LoadError> {
        self.last_over_ns = self.last_over_ns.max(now);
        if self.offsets.is_none() {
            // By way of the queue rather than at once: a server that accepts
            // and closes cannot make the loop recurse.
            let thinks_ns = self.thinking.next_ns(slot);
            self.resting.add(now.saturating_add(thinks_ns), slot);
            return Ok(());
        }
        let connection = &self.connections[slot];
        let (idle, generation) = (connection.phase == Phase::Idle, connection.generation);
        if self.release_of_lane(slot) {
            // Its connection is kept for its next request, or closed after the last.
        } else if idle {
            self.idle.push_back((slot, generation));
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

    /// An event for a connection that no slot holds any more.
    fn lingers_on(&mut self, token: u64, flags: epoll::EventFlags) {
        if !flags
            .intersects(epoll::EventFlags::RDHUP | epoll::EventFlags::HUP | epoll::EventFlags::ERR)
        {
            return;
        }
        if let Some(socket) = self.lingering.take(token)
            && self.plan.target.is_tls()
        {
            // What stays unread, the end of the session here, makes of a close a reset.
            let _ = transport::read(&socket, &mut self.buffer);
        }
    }
}

fn token(slot: usize, generation: u32) -> u64 {
    (u64::from(generation) << 32) | slot as u64
}

fn slot(token: u64) -> usize {
    (token & u64::from(u32::MAX)) as usize
}

fn connect_failure(errno: Errno) -> Failure {
    match errno {
        Errno::CONNREFUSED => Failure::Refused,
        // A Unix socket has no way to wait for its turn; nginx too fails here.
        Errno::AGAIN => Failure::Backlog,
        errno => Failure::Connect(errno),
    }
}
