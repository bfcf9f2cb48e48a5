//! One request on one slot: connecting, sending, and what comes of it.

use rustix::event::epoll;
use rustix::io::Errno;

use super::{Engine, FAILURE_PAUSE_NS, system, to_wall};
use crate::clock::monotonic_ns;
use crate::connection::{Event, Job, Phase};
use crate::plan::LoadError;
use crate::tally::{Failure, Timing};

impl Engine<'_> {
    pub(super) fn start(
        &mut self,
        slot: usize,
        request: usize,
        scheduled_ns: u64,
    ) -> Result<(), LoadError> {
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

    pub(super) fn open(&mut self, slot: usize) -> Result<(), LoadError> {
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

    pub(super) fn connected(&mut self, slot: usize) -> Result<(), LoadError> {
        let took = monotonic_ns().saturating_sub(self.connections[slot].opened_ns);
        self.tally.connected(took);
        self.send(slot)
    }

    pub(super) fn send(&mut self, slot: usize) -> Result<(), LoadError> {
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

    pub(super) fn ready(&mut self, token: u64, flags: epoll::EventFlags) -> Result<(), LoadError> {
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
                    // A closed loop's slots all wait their turn in `resting`.
                    if self.offsets.is_some() {
                        self.free.push(slot);
                    }
                }
                Ok(())
            }
        }
    }

    pub(super) fn happened(&mut self, slot: usize, event: Event) -> Result<(), LoadError> {
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

    pub(super) fn fail(&mut self, slot: usize, failure: Failure) -> Result<(), LoadError> {
        let connection = &mut self.connections[slot];
        connection.close();
        let unconnected = matches!(failure, Failure::Refused | Failure::Connect(_));
        let fresh = unconnected || !connection.reused;
        let now = monotonic_ns();
        if let Some(job) = connection.job.take() {
            self.tally.failed(job.request, failure);
            self.in_flight -= 1;
        }
        if self.offsets.is_none() && fresh {
            self.rest(slot, now + FAILURE_PAUSE_NS);
            return Ok(());
        }
        self.release(slot, now)
    }

    /// The slot's request is done with; what does the slot do next?
    pub(super) fn release(&mut self, slot: usize, now: u64) -> Result<(), LoadError> {
        if self.offsets.is_none() {
            // By way of the queue rather than at once: a server that accepts
            // and closes cannot make the loop recurse.
            self.rest(slot, now);
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

    /// Closed loop: a slot that pauses lets those pass that need not.
    fn rest(&mut self, slot: usize, until_ns: u64) {
        let place = self.resting.partition_point(|(at, _)| *at <= until_ns);
        self.resting.insert(place, (until_ns, slot));
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
