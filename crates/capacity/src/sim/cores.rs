//! The cores, shared by all running tasks: at full speed while there are as
//! many cores, else all equally slower (processor sharing), and not at all
//! while the cgroup's quota is used up.
//!
//! One virtual clock runs at the common speed, so that a change of
//! speed touches the clock and no task's remaining time: each event costs the
//! logarithm of the number that compute. The clock moves only when that number
//! changes, from there to now in one piece: an end computed then comes true to
//! the nanosecond.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Quota;
use super::calendar::WHO_BITS;

/// The virtual clock counts 1024ths of a nanosecond.
const GRAIN_BITS: u32 = 10;
/// Speeds count in units of 2^-32.
pub(super) const SPEED_BITS: u32 = 32;
const FULL_SPEED: u64 = 1 << SPEED_BITS;
/// What the clock may be short of an end: speeds such as a third are rounded
/// down, and must not cost a whole nanosecond.
const SLACK: u64 = 8;
/// What the clock can count: 104 days.
pub(super) const MOST_CPU_NS: u64 = 1 << 53;
const SPEED_TO_GRAIN_BITS: u32 = SPEED_BITS - GRAIN_BITS;

#[derive(Debug, Clone, Copy, Default)]
struct Burst {
    /// Where the virtual clock stands when it ends.
    end: u64,
    /// 0: does not compute.
    ticket: u64,
}

#[derive(Debug)]
struct Throttle {
    quota: u64,
    period_ns: u64,
    used: u64,
    period_end_ns: u64,
    out: bool,
}

#[derive(Debug)]
pub(super) struct Cores {
    /// In units of a full speed.
    capacity: u64,
    speed: u64,
    clock: u64,
    /// When the clock stood there.
    clock_at_ns: u64,
    computing: u32,
    bursts: Vec<Burst>,
    /// By end; entries of bursts that were stopped stay until they come up.
    ends: BinaryHeap<Reverse<u128>>,
    started: u64,
    next_ns: u64,
    throttle: Option<Throttle>,
    done_ns: u64,
}

impl Cores {
    pub(super) fn new(cores: f64, quota: Option<Quota>, who: usize) -> Self {
        Self {
            capacity: (cores * FULL_SPEED as f64)
                .min((1_u64 << 60) as f64)
                .max(1.0) as u64,
            speed: FULL_SPEED,
            clock: 0,
            clock_at_ns: 0,
            computing: 0,
            bursts: vec![Burst::default(); who],
            ends: BinaryHeap::new(),
            started: 0,
            next_ns: u64::MAX,
            throttle: quota.map(|quota| Throttle {
                quota: quota.quota_ns.min(MOST_CPU_NS) << GRAIN_BITS,
                period_ns: quota.period_ns,
                used: 0,
                period_end_ns: quota.period_ns,
                out: false,
            }),
            done_ns: 0,
        }
    }

    /// When something is to be looked at next: a burst ends, or the quota does.
    pub(super) fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// CPU time of all bursts that have ended, were stopped or are under way,
    /// the last ones counted in full.
    pub(super) fn done_ns(&self) -> u64 {
        self.done_ns
    }

    /// The part of a core that stays idle when one more computes, in units of a
    /// full speed: how likely another core is idle where the generator's share
    /// was taken off.
    pub(super) fn idle_beside(&self) -> u64 {
        let taken = u64::from(self.computing + 1) << SPEED_BITS;
        self.capacity.saturating_sub(taken).min(FULL_SPEED)
    }

    /// `who` begins to compute for `work_ns`.
    pub(super) fn start(&mut self, now_ns: u64, who: u32, work_ns: u64) {
        self.move_clock(now_ns);
        self.started += 1;
        let ticket = self.started << WHO_BITS | u64::from(who);
        let end = self.clock + (work_ns << GRAIN_BITS);
        self.bursts[who as usize] = Burst { end, ticket };
        self.ends
            .push(Reverse(u128::from(end) << 64 | u128::from(ticket)));
        self.computing += 1;
        self.done_ns += work_ns;
        self.foretell(now_ns);
    }

    /// `who` stops before its end: the work that is left, in whole nanoseconds.
    pub(super) fn stop(&mut self, now_ns: u64, who: u32) -> u64 {
        self.move_clock(now_ns);
        let burst = std::mem::take(&mut self.bursts[who as usize]);
        let left = burst.end.saturating_sub(self.clock);
        // To the nearest: always up would add to the work of who stops often.
        let left_ns = ((left + (1 << (GRAIN_BITS - 1))) >> GRAIN_BITS).max(1);
        self.computing -= 1;
        self.done_ns -= left_ns;
        self.foretell(now_ns);
        left_ns
    }

    /// One whose burst has ended by now; where there is none, the quota's turn
    /// was taken.
    pub(super) fn take_ended(&mut self, now_ns: u64) -> Option<u32> {
        self.move_clock(now_ns);
        let ended = self.first().filter(|&(end, _)| end <= self.clock + SLACK);
        let who = ended.map(|(_, ticket)| {
            self.ends.pop();
            (ticket & ((1 << WHO_BITS) - 1)) as u32
        });
        if let Some(who) = who {
            self.bursts[who as usize] = Burst::default();
            self.computing -= 1;
        }
        self.foretell(now_ns);
        who
    }

    /// The end that comes first, and its ticket.
    fn first(&mut self) -> Option<(u64, u64)> {
        loop {
            let Reverse(entry) = *self.ends.peek()?;
            let ticket = entry as u64;
            let who = (ticket & ((1 << WHO_BITS) - 1)) as usize;
            if self.bursts[who].ticket == ticket {
                return Some(((entry >> 64) as u64, ticket));
            }
            self.ends.pop();
        }
    }

    fn move_clock(&mut self, now_ns: u64) {
        let passed_ns = now_ns - self.clock_at_ns;
        self.clock_at_ns = now_ns;
        if passed_ns > 0 && self.computing > 0 && self.speed > 0 {
            let moved = if self.speed == FULL_SPEED {
                passed_ns << GRAIN_BITS
            } else {
                ((u128::from(passed_ns) * u128::from(self.speed)) >> SPEED_TO_GRAIN_BITS) as u64
            };
            self.clock += moved;
            if let Some(throttle) = &mut self.throttle {
                throttle.used += moved * u64::from(self.computing);
            }
        }
        if let Some(throttle) = &mut self.throttle {
            throttle.look(now_ns);
        }
    }

    /// The speed from now on, and when something happens at that speed.
    fn foretell(&mut self, now_ns: u64) {
        let throttled = self.throttle.as_ref().is_some_and(|throttle| throttle.out);
        self.speed = match u64::from(self.computing) {
            _ if throttled => 0,
            0 => FULL_SPEED,
            computing => (self.capacity / computing).min(FULL_SPEED),
        };
        let speed = self.speed;
        let clock = self.clock;
        let end = self.first().map_or(u64::MAX, |(end, _)| {
            now_ns.saturating_add(time_for(end.saturating_sub(clock + SLACK), speed))
        });
        let quota = match &self.throttle {
            Some(throttle) if self.computing > 0 => {
                throttle.next_ns(now_ns, speed * u64::from(self.computing))
            }
            _ => u64::MAX,
        };
        self.next_ns = end.min(quota);
    }
}

impl Throttle {
    /// A period that has ended gives a full quota again.
    fn look(&mut self, now_ns: u64) {
        if now_ns >= self.period_end_ns {
            self.period_end_ns = (now_ns / self.period_ns + 1) * self.period_ns;
            self.used = 0;
        }
        self.out = self.used >= self.quota;
    }

    fn next_ns(&self, now_ns: u64, speed: u64) -> u64 {
        if self.out {
            return self.period_end_ns;
        }
        let left = self.quota.saturating_sub(self.used);
        now_ns
            .saturating_add(time_for(left, speed))
            .min(self.period_end_ns)
    }
}

/// How long `left` takes at `speed`, rounded up.
fn time_for(left: u64, speed: u64) -> u64 {
    if speed == FULL_SPEED {
        return left.div_ceil(1 << GRAIN_BITS);
    }
    if speed == 0 {
        return u64::MAX;
    }
    let time = (u128::from(left) << SPEED_TO_GRAIN_BITS).div_ceil(u128::from(speed));
    u64::try_from(time).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs until no task is left: when each ended.
    fn ends(cores: &mut Cores) -> Vec<(u64, u32)> {
        let mut ended = Vec::new();
        while cores.computing > 0 {
            let now = cores.next_ns();
            ended.extend(cores.take_ended(now).map(|who| (now, who)));
        }
        ended
    }

    #[test]
    fn as_many_as_cores_at_full_speed() {
        let mut cores = Cores::new(2.0, None, 3);
        cores.start(0, 0, 100);
        cores.start(10, 1, 20);
        assert_eq!(ends(&mut cores), [(30, 1), (100, 0)]);
        assert_eq!(cores.done_ns(), 120);
    }

    /// Two share from 0 to 20 at half speed: 10 each. A third joins: 30 ns
    /// bring 10 to each, so the first of 20 ends at 50; then halves again.
    #[test]
    fn more_than_cores_share_equally() {
        let mut cores = Cores::new(1.0, None, 3);
        cores.start(0, 0, 20);
        cores.start(0, 1, 60);
        cores.start(20, 2, 30);
        assert_eq!(ends(&mut cores), [(50, 0), (90, 2), (110, 1)]);
        assert_eq!(cores.done_ns(), 110);
    }

    #[test]
    fn half_a_core_takes_twice_as_long() {
        let mut cores = Cores::new(0.5, None, 1);
        cores.start(7, 0, 20);
        assert_eq!(ends(&mut cores), [(47, 0)]);
    }

    #[test]
    fn who_stops_keeps_the_rest_of_its_work() {
        let mut cores = Cores::new(1.0, None, 2);
        cores.start(0, 0, 100);
        cores.start(0, 1, 100);
        assert_eq!(cores.stop(100, 0), 50);
        assert_eq!(ends(&mut cores), [(150, 1)]);
        assert_eq!(cores.done_ns(), 150);
    }

    #[test]
    fn what_stays_idle_when_one_more_computes() {
        let mut cores = Cores::new(2.75, None, 2);
        let parts = |cores: &Cores| cores.idle_beside() as f64 / FULL_SPEED as f64;
        assert_eq!(parts(&cores), 1.0);
        cores.start(0, 0, 10);
        assert_eq!(parts(&cores), 0.75);
        cores.start(0, 1, 10);
        assert_eq!(parts(&cores), 0.0);
    }

    /// A quota of 40 in 100: two at full speed use it up by 20, go on from 100
    /// to 120 and from 200, and each ends its 50 at 210.
    #[test]
    fn a_quota_stops_everybody_until_the_next_period() {
        let quota = Quota {
            quota_ns: 40,
            period_ns: 100,
        };
        let mut cores = Cores::new(2.0, Some(quota), 2);
        cores.start(0, 0, 50);
        cores.start(0, 1, 50);
        assert_eq!(ends(&mut cores), [(210, 0), (210, 1)]);
        // Idle periods are not saved up.
        cores.start(1_000, 0, 41);
        assert_eq!(ends(&mut cores), [(1_101, 0)]);
    }
}
