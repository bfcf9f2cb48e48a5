//! Two servers side by side: what is counted of them as requests come.

use run::duplex::Purpose;

use crate::seen::Seen;
use crate::series::Series;

/// The name under which the requests of all further endpoints are counted.
pub const OTHER: &str = "(other)";

/// A shadow, as the head of the log names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shadow {
    /// Its name.
    pub name: String,
    /// A second copy of the primary's own configuration.
    pub twin: bool,
}

/// A server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Primary,
    Shadow(usize),
}

/// One against another.
#[derive(Debug)]
pub struct Contest {
    pub candidate: usize,
    pub reference: Side,
    pub purpose: Purpose,
    pub other_status: u64,
    pub candidate_lost: u64,
    pub reference_lost: u64,
    pub all: Series,
    /// By the number of the endpoint.
    pub endpoints: Vec<Series>,
}

impl Contest {
    pub fn new(candidate: usize, reference: Side, purpose: Purpose) -> Contest {
        Contest {
            candidate,
            reference,
            purpose,
            other_status: 0,
            candidate_lost: 0,
            reference_lost: 0,
            all: Series::default(),
            endpoints: Vec::new(),
        }
    }

    /// One request at both.
    pub fn add(&mut self, window: usize, endpoint: usize, candidate: Seen, reference: Seen) {
        let (candidate, reference) = match (candidate, reference) {
            (Seen::Absent, _) | (_, Seen::Absent) => return,
            (Seen::Answered { status: ours, .. }, Seen::Answered { status: theirs, .. })
                if ours != theirs && (ours < 500) == (theirs < 500) =>
            {
                self.other_status += 1;
                return;
            }
            // An error is quickly said: a server that fails where the other does not counts as without an
            // answer.
            (Seen::Answered { status, .. }, Seen::Answered { status: 0..500, .. })
                if status >= 500 =>
            {
                (Seen::Failed, reference)
            }
            (Seen::Answered { status: 0..500, .. }, Seen::Answered { status, .. })
                if status >= 500 =>
            {
                (candidate, Seen::Failed)
            }
            both => both,
        };
        let lost = |seen| matches!(seen, Seen::Failed | Seen::Dropped);
        self.candidate_lost += u64::from(lost(candidate));
        self.reference_lost += u64::from(lost(reference));
        if candidate == Seen::Dropped || reference == Seen::Dropped {
            return;
        }
        let time = |seen| match seen {
            Seen::Answered { time, .. } => Some(time),
            _ => None,
        };
        let (candidate, reference) = (time(candidate), time(reference));
        if self.endpoints.len() <= endpoint {
            self.endpoints.resize_with(endpoint + 1, Series::default);
        }
        for series in [&mut self.all, &mut self.endpoints[endpoint]] {
            series.add(window, candidate, reference.map(|time| time.took_ns));
            if self.reference == Side::Primary {
                series.add_wait(window, candidate);
            }
        }
    }

    /// Windows are twice as long from now on.
    pub fn lengthen(&mut self) {
        self.all.lengthen();
        self.endpoints.iter_mut().for_each(Series::lengthen);
    }

    /// Requests that were given to both, or were to be.
    pub fn asked(&self) -> u64 {
        // Who lost one may have lost it together with the other; the greater of the two is at least as many.
        let requests = self.all.sums.total().requests;
        requests + self.other_status + self.candidate_lost.max(self.reference_lost)
    }
}
