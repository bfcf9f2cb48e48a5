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

/// How much earlier than needed to wake, so as to be awake in time: learned
/// from how late the timer has woken, up to a limit.
#[derive(Debug)]
pub(crate) struct Naps {
    limit_ns: u64,
    early_ns: u64,
}

impl Naps {
    /// The steps by which the estimate rises when it was too low and falls when
    /// it was not: it settles where one wake-up in a hundred is later.
    const UP_NS: u64 = 990;
    const DOWN_NS: u64 = 10;

    pub(crate) fn new(limit_ns: u64) -> Self {
        Self {
            limit_ns,
            early_ns: 0,
        }
    }

    pub(crate) fn early_ns(&self) -> u64 {
        self.early_ns
    }

    /// The timer was armed for one instant and woke the thread at another.
    pub(crate) fn woke(&mut self, armed_ns: u64, now_ns: u64) {
        self.early_ns = if now_ns.saturating_sub(armed_ns) > self.early_ns {
            (self.early_ns + Self::UP_NS).min(self.limit_ns)
        } else {
            self.early_ns.saturating_sub(Self::DOWN_NS)
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After so many wake-ups, one in 200 of which takes 200 µs, the others 1
    /// to 40 µs.
    fn early_after(wakes: u64, limit_ns: u64) -> u64 {
        let mut naps = Naps::new(limit_ns);
        for n in 0..wakes {
            let late_ns = if n % 200 == 0 {
                200_000
            } else {
                1_000 + n * 7_919 % 39_000
            };
            naps.woke(1_000_000, 1_000_000 + late_ns);
        }
        naps.early_ns()
    }

    #[test]
    fn a_nap_ends_early_by_what_nearly_all_wake_ups_take() {
        let early = early_after(100_000, 150_000);
        assert!((36_000..45_000).contains(&early), "{early}");
    }

    #[test]
    fn a_nap_ends_no_earlier_than_allowed_and_by_default_in_time() {
        assert_eq!(early_after(1_000, 20_000).max(20_000), 20_000);
        assert_eq!(early_after(1_000, 0), 0);
    }
}
