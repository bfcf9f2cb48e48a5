//! Sleeping to an absolute instant: a timerfd on `CLOCK_MONOTONIC` inside the
//! epoll set. Unlike `epoll_wait`'s timeout it is not rounded to milliseconds
//! and not widened by the thread's timer slack.

use rustix::event::epoll;
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

#[derive(Debug)]
pub(crate) struct Timer {
    fd: OwnedFd,
    armed_ns: u64,
}

impl Timer {
    /// Registered edge-triggered under `token`: arming anew resets the
    /// expiration count, so the descriptor need never be read.
    pub(crate) fn new(epoll_fd: impl AsFd, token: u64) -> Result<Self, Errno> {
        let fd = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC,
        )?;
        epoll::add(
            epoll_fd,
            &fd,
            epoll::EventData::new_u64(token),
            epoll::EventFlags::IN | epoll::EventFlags::ET,
        )?;
        Ok(Self { fd, armed_ns: 0 })
    }

    /// Fires once at this instant, which must lie in the future.
    pub(crate) fn arm(&mut self, at_ns: u64) -> Result<(), Errno> {
        if self.armed_ns == at_ns {
            return Ok(());
        }
        let zero = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        timerfd_settime(
            &self.fd,
            TimerfdTimerFlags::ABSTIME,
            &Itimerspec {
                it_interval: zero,
                it_value: Timespec {
                    tv_sec: i64::try_from(at_ns / 1_000_000_000).unwrap_or(i64::MAX),
                    tv_nsec: i64::try_from(at_ns % 1_000_000_000).unwrap_or(0),
                },
            },
        )?;
        self.armed_ns = at_ns;
        Ok(())
    }
}
