//! What a comparison sees of one server's answer to one request.

use capture::{Answer, Drop, Failure, Outcome, Pair};

/// How long an answer took; the mean over copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    pub took_ns: u64,
    /// Of that, at most so much is the wait of the mirror's thread for a core; `None` where that is not known.
    pub waited_ns: Option<u64>,
}

/// Of one server, its amplified copies taken together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    /// It answered whole.
    Answered { time: Time, status: u16 },
    /// It was asked and did not answer whole: infinitely slow.
    Failed,
    /// It was not asked, because it or its queue was too slow: its time is unknown.
    Dropped,
    /// It was not asked, for a reason that has nothing to do with it.
    Absent,
}

impl Seen {
    /// The primary. One that failed cannot be distinguished from a client that left.
    pub fn of_primary(pair: &Pair) -> Seen {
        let whole = pair.primary.as_ref().filter(|answer| answer.complete);
        whole.map_or(Seen::Absent, Seen::answered)
    }

    /// One shadow. The worst of its copies is what it did; where all that were sent were answered, their mean.
    pub fn of_shadow(pair: &Pair, shadow: usize) -> Seen {
        let (mut sum_ns, mut answers, mut status) = (0_u64, 0_u64, 0_u16);
        let mut waited_ns = Some(0_u64);
        let (mut failed, mut dropped) = (false, false);
        let copies = pair.shadows.iter();
        for copy in copies.filter(|copy| usize::from(copy.shadow) == shadow) {
            match &copy.outcome {
                Outcome::Answered(answer) if answer.complete => {
                    sum_ns = sum_ns.saturating_add(answer.took_ns);
                    waited_ns = (waited_ns.zip(copy.waited_ns))
                        .map(|(sum_ns, waited_ns)| sum_ns.saturating_add(waited_ns));
                    answers += 1;
                    status = status.max(answer.status);
                }
                Outcome::Answered(_) => failed = true,
                Outcome::Failed(Failure::Ended) => {}
                Outcome::Failed(_) => failed = true,
                Outcome::Dropped(cause) => dropped |= tells(*cause),
            }
        }
        match (failed, answers) {
            (true, _) => Seen::Failed,
            (false, 0) if dropped => Seen::Dropped,
            (false, 0) => Seen::Absent,
            (false, _) => Seen::Answered {
                time: Time {
                    took_ns: sum_ns / answers,
                    waited_ns: waited_ns.map(|sum_ns| sum_ns / answers),
                },
                status,
            },
        }
    }

    fn answered(answer: &Answer) -> Seen {
        Seen::Answered {
            time: Time {
                took_ns: answer.took_ns,
                waited_ns: None,
            },
            status: answer.status,
        }
    }
}

/// Whether a drop says something of how fast the shadow is.
pub fn tells(cause: Drop) -> bool {
    match cause {
        Drop::QueueFull | Drop::BytesFull | Drop::Late | Drop::Unreachable => true,
        Drop::BodyTooLarge | Drop::Ended => false,
    }
}
