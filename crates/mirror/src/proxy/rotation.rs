//! Which primary a connection is offered to, where there are several: they take turns, and one that cannot be reached is left
//! out for a while.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// From a failed attempt until the next one: doubled by each further failure, up to the most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MOST_PAUSE: Duration = Duration::from_secs(30);

/// Whether connections to a primary succeed.
#[derive(Debug, Default)]
pub(super) struct Health(Mutex<Option<Ailing>>);

#[derive(Debug, Clone, Copy)]
struct Ailing {
    next_attempt: Instant,
    pause: Duration,
    /// A connection tries it, and has not failed yet.
    probed: bool,
}

/// What a primary is to the next connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    In,
    /// It was left out for long enough: this connection, and no other one, tries it.
    Probe,
    Out,
}

impl Health {
    fn place(&self, now: Instant) -> Place {
        let mut ailing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match ailing.as_mut() {
            None => Place::In,
            Some(ailing) if ailing.next_attempt <= now => {
                ailing.next_attempt = now + ailing.pause;
                ailing.probed = true;
                Place::Probe
            }
            Some(_) => Place::Out,
        }
    }

    /// A connection to it has failed. Of many that fail at once, the first one alone counts.
    pub(super) fn failed(&self, now: Instant) {
        let mut ailing = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let pause = match *ailing {
            None => FIRST_PAUSE,
            Some(Ailing { pause, probed, .. }) if probed => (pause * 2).min(MOST_PAUSE),
            Some(_) => return,
        };
        *ailing = Some(Ailing {
            next_attempt: now + pause,
            pause,
            probed: false,
        });
    }

    pub(super) fn connected(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// The primaries in the order in which a connection tries them: one that is due for a new attempt, those in the rotation from the
/// connection's turn on, and those left out last, for there may be no other.
pub(super) fn order<'a>(
    healths: impl Iterator<Item = &'a Health>,
    connection: u64,
    now: Instant,
) -> Vec<usize> {
    let (mut probes, mut in_turn, mut out) = (Vec::new(), Vec::new(), Vec::new());
    for (index, health) in healths.enumerate() {
        match health.place(now) {
            Place::Probe if probes.is_empty() => probes.push(index),
            Place::In => in_turn.push(index),
            Place::Probe | Place::Out => out.push(index),
        }
    }
    for group in [&mut in_turn, &mut out] {
        if !group.is_empty() {
            let turn = connection.wrapping_sub(1) % group.len() as u64;
            group.rotate_left(usize::try_from(turn).unwrap_or_default());
        }
    }
    [probes, in_turn, out].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(healths: &[Health], now: Instant) -> Vec<Vec<usize>> {
        (1..=3)
            .map(|connection| order(healths.iter(), connection, now))
            .collect()
    }

    #[test]
    fn primaries_take_turns_and_stand_in_for_each_other() {
        let healths: [Health; 3] = Default::default();
        let now = Instant::now();
        assert_eq!(turns(&healths, now), [[0, 1, 2], [1, 2, 0], [2, 0, 1]]);
        healths[1].failed(now);
        // The others share what it would have got.
        assert_eq!(turns(&healths, now), [[0, 2, 1], [2, 0, 1], [0, 2, 1]]);
        healths[1].connected();
        assert_eq!(turns(&healths, now), [[0, 1, 2], [1, 2, 0], [2, 0, 1]]);
    }

    #[test]
    fn one_connection_tries_a_primary_again_after_each_pause() {
        let healths: [Health; 2] = Default::default();
        let mut now = Instant::now();
        for pause in [1, 2, 4, 8, 16, 30, 30] {
            // Two connections fail at once.
            healths[0].failed(now);
            healths[0].failed(now);
            now += Duration::from_secs(pause) - Duration::from_millis(1);
            assert_eq!(order(healths.iter(), 1, now), [1, 0]);
            now += Duration::from_millis(1);
            assert_eq!(order(healths.iter(), 2, now), [0, 1]);
            assert_eq!(order(healths.iter(), 3, now), [1, 0]);
        }
    }

    #[test]
    fn where_all_are_out_all_are_tried() {
        let healths: [Health; 3] = Default::default();
        let now = Instant::now();
        healths.iter().for_each(|health| health.failed(now));
        healths[0].failed(now);
        assert_eq!(turns(&healths, now), [[0, 1, 2], [1, 2, 0], [2, 0, 1]]);
        let later = now + MOST_PAUSE;
        let mut tried = order(healths.iter(), 1, later);
        tried.sort_unstable();
        assert_eq!(tried, [0, 1, 2]);
    }
}
