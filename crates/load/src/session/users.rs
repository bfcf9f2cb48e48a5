//! The virtual users of a run, each with its step. It knows neither clock
//! nor connection; the engine passes in whose turn came and how that ended.
//!
//! A user's turns are laid out in advance: sessions one after another, each of
//! all steps, but for the first, which is cut short so that users do not go
//! through the steps in waves. When a request fails, the rest of that session's
//! turns go to a new one, likewise cut short: thus what one failure changes
//! ends with the session, and two runs with the same seed meet again there.

use std::collections::VecDeque;
use std::ops::Range;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use super::Session;
use super::jar::Jar;
use super::pattern::Values;

/// Keeps the draws apart from those of the request sequence.
const SEED_OFFSET: u64 = 0x5e55_1015;

/// One virtual user.
#[derive(Debug)]
pub(crate) struct User {
    pub(crate) session: usize,
    pub(crate) jar: Jar,
    pub(crate) captured: Vec<String>,
    /// Turns of the present layout that are over, and how many it has.
    position: usize,
    length: usize,
    /// The position at which the present session began.
    began: usize,
    /// Which row of the data file the present layout takes.
    row: u64,
    busy: bool,
    /// Instants at which further requests were due while one was under way.
    waiting: VecDeque<u64>,
}

#[derive(Debug)]
pub(crate) struct Users<'a> {
    sessions: &'a [Session],
    users: Vec<User>,
    /// Of each session.
    ranges: Vec<Range<usize>>,
    next: Vec<usize>,
    pub(crate) counts: SessionCounts,
}

/// How many sessions there were.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SessionCounts {
    pub(crate) begun: u64,
    /// With fewer than all steps.
    pub(crate) cut_short: u64,
    /// Ended by a failed request.
    pub(crate) abandoned: u64,
}

impl<'a> Users<'a> {
    /// `counts`: how many users each session has.
    pub(crate) fn new(sessions: &'a [Session], counts: &[usize], seed: u64) -> Self {
        let mut random = Pcg64::seed_from_u64(seed ^ SEED_OFFSET);
        let mut users = Vec::new();
        let mut ranges = Vec::new();
        for (index, (session, count)) in sessions.iter().zip(counts).enumerate() {
            let steps = session.steps.len();
            // Every length as often as any other, rather than drawn one by one.
            let mut lengths: Vec<usize> = (0..*count).map(|k| 1 + k * steps / count).collect();
            lengths.shuffle(&mut random);
            let first = users.len();
            users.extend((0_u64..).zip(lengths).map(|(number, length)| User {
                session: index,
                jar: Jar::default(),
                captured: vec![String::new(); session.captures],
                position: 0,
                length,
                began: 0,
                row: number,
                busy: false,
                waiting: VecDeque::new(),
            }));
            ranges.push(first..users.len());
        }
        Self {
            sessions,
            users,
            next: vec![0; ranges.len()],
            ranges,
            counts: SessionCounts::default(),
        }
    }

    /// Whose turn it is: first in, first out.
    pub(crate) fn take_turn(&mut self, session: usize) -> usize {
        let range = &self.ranges[session];
        let user = range.start + self.next[session];
        self.next[session] = (self.next[session] + 1) % range.len();
        user
    }

    /// The user of a session who sits at this connection.
    pub(crate) fn at(&self, session: usize, slot: usize) -> usize {
        let range = &self.ranges[session];
        range.start + slot % range.len()
    }

    pub(crate) fn user(&self, user: usize) -> &User {
        &self.users[user]
    }

    pub(crate) fn user_mut(&mut self, user: usize) -> &mut User {
        &mut self.users[user]
    }

    /// What fills this user's requests.
    pub(crate) fn values(&self, user: usize) -> Values<'_> {
        let user = &self.users[user];
        let data = self.sessions[user.session].data.as_ref();
        Values {
            row: data.map_or(&[], |data| data.row(user.row)),
            captured: &user.captured,
        }
    }

    /// What messages call the row of this user; `None` without a data file.
    pub(crate) fn row_named(&self, user: usize) -> Option<String> {
        let user = &self.users[user];
        let data = self.sessions[user.session].data.as_ref()?;
        Some(data.named(user.row))
    }

    /// A request of this user fell due: true when it must wait for the answer
    /// to the one before. Otherwise the next one will have to wait for it.
    pub(crate) fn waits(&mut self, user: usize, due_ns: u64) -> bool {
        let user = &mut self.users[user];
        let waits = std::mem::replace(&mut user.busy, true);
        if waits {
            user.waiting.push_back(due_ns);
        }
        waits
    }

    /// Begins the user's next step; returns the request, as an index into the
    /// workload's.
    pub(crate) fn begin(&mut self, user: usize) -> usize {
        let user = &mut self.users[user];
        user.busy = true;
        if user.position == user.began {
            user.jar.clear();
            user.captured.iter_mut().for_each(String::clear);
            let steps = self.sessions[user.session].steps.len();
            self.counts.begun += 1;
            self.counts.cut_short += u64::from(user.length - user.began < steps);
        }
        self.sessions[user.session].steps.start + user.position - user.began
    }

    /// The step is over. Returns when the next one was due, if it waits; the
    /// user then stays reserved for it.
    pub(crate) fn end(&mut self, user: usize, good: bool) -> Option<u64> {
        let range = &self.ranges[self.users[user].session];
        let user = &mut self.users[user];
        user.position += 1;
        if !good {
            self.counts.abandoned += 1;
            user.began = user.position;
        }
        if user.position == user.length {
            user.position = 0;
            user.began = 0;
            user.length = self.sessions[user.session].steps.len();
            user.row += range.len() as u64;
        }
        let due = user.waiting.pop_front();
        user.busy = due.is_some();
        due
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn session(steps: usize) -> Session {
        Session {
            name: "s".into(),
            weight: 1.0,
            users: None,
            steps: 3..3 + steps,
            data: None,
            captures: 1,
        }
    }

    /// The steps of one user's turns, with the row, failing as given.
    fn turns(users: &mut Users<'_>, user: usize, failing: &[bool]) -> Vec<(usize, u64)> {
        failing
            .iter()
            .map(|fails| {
                let step = users.begin(user) - 3;
                let row = users.user(user).row;
                assert_eq!(users.end(user, !fails), None);
                (step, row)
            })
            .collect()
    }

    #[test]
    fn users_take_turns_and_begin_everywhere() {
        let sessions = [session(4)];
        let mut users = Users::new(&sessions, &[8], 1);
        let order: Vec<usize> = (0..16).map(|_| users.take_turn(0)).collect();
        assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7]);
        let mut firsts = [0; 5];
        for user in 0..8 {
            let steps = turns(&mut users, user, &[false; 9]);
            let again = 1 + steps[1..].iter().position(|(step, _)| *step == 0).unwrap();
            firsts[again] += 1;
            assert_eq!(steps[again].1, steps[0].1 + 8);
            let next: Vec<usize> = steps[again..]
                .iter()
                .take(4)
                .map(|(step, _)| *step)
                .collect();
            assert_eq!(next, [0, 1, 2, 3]);
        }
        assert_eq!(firsts, [0, 2, 2, 2, 2]);
    }

    #[test]
    fn a_request_waits_for_the_answer_before_it() {
        let sessions = [session(2)];
        let mut users = Users::new(&sessions, &[1], 1);
        assert!(!users.waits(0, 10));
        users.begin(0);
        assert!(users.waits(0, 20) && users.waits(0, 30));
        assert_eq!(users.end(0, true), Some(20));
        assert!(users.waits(0, 40));
        users.begin(0);
        assert_eq!(users.end(0, true), Some(30));
        users.begin(0);
        assert_eq!(users.end(0, true), Some(40));
        users.begin(0);
        assert_eq!(users.end(0, true), None);
        assert!(!users.waits(0, 50));
    }

    /// Of 8 users with 4 steps, two begin with a session of each length.
    #[test]
    fn sessions_with_fewer_than_all_steps_are_counted() {
        let sessions = [session(4)];
        let mut users = Users::new(&sessions, &[8], 1);
        for user in 0..8 {
            users.begin(user);
        }
        assert_eq!((users.counts.begun, users.counts.cut_short), (8, 6));
        let whole = (0..8).find(|&user| users.users[user].length == 4).unwrap();
        users.end(whole, false);
        users.begin(whole);
        let counts = users.counts;
        assert_eq!(
            (counts.begun, counts.cut_short, counts.abandoned),
            (9, 7, 1)
        );
    }

    proptest! {
        /// A failure changes its own session alone, and is followed by a
        /// first step.
        #[test]
        fn failures_stay_within_their_session(
            steps in 1usize..6,
            seed: u64,
            failing in prop::collection::vec(prop::bool::weighted(0.2), 1..60),
        ) {
            let sessions = [session(steps)];
            let mut users = Users::new(&sessions, &[3], seed);
            let mut undisturbed = Users::new(&sessions, &[3], seed);
            let got = turns(&mut users, 1, &failing);
            let plan = turns(&mut undisturbed, 1, &vec![false; failing.len()]);
            let mut clean = true;
            for index in 0..got.len() {
                clean |= plan[index].0 == 0;
                prop_assert_eq!(got[index].1, plan[index].1);
                if clean {
                    prop_assert_eq!(got[index], plan[index]);
                }
                if index > 0 && failing[index - 1] {
                    prop_assert_eq!(got[index].0, 0);
                }
                clean &= !failing[index];
            }
            prop_assert_eq!(users.counts.abandoned, failing.iter().filter(|fails| **fails).count() as u64);
        }
    }
}
