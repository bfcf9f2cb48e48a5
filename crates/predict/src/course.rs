//! The pieces of what was recorded of a request.

use std::collections::BTreeMap;

use capacity::sim::Station;
use flight::events::{Burst, Doing};

use crate::steps::Piece;

/// The GVL is taken from a thread that has run for a quantum of 100 ms, less a tick of 10 ms; with what the clock may be off.
const LEAST_QUANTUM_NS: u64 = 85_000_000;
/// A thread that is preempted is ready again as soon as it has given the GVL up.
const AT_ONCE_NS: u64 = 50_000;

/// A request under way. It is in possession of one lock at most: of locks inside others the outer one counts, so that no two
/// requests can wait for each other for ever.
struct Course<'a> {
    stations: &'a BTreeMap<u8, Station>,
    pieces: Vec<Piece>,
    has: Option<(u8, Station)>,
}

/// The pieces of what was recorded. Waiting for the GVL is left out, and so is preemption: two held pieces around it are one.
///
/// Whether a lock is held is known where the GVL was given up. What happens under the GVL hinders no other thread, so
/// a lock counts as taken when the wait for it ended, or as late as possible; and as given back when the thread ran again.
pub(crate) fn course(bursts: &[Burst], stations: &BTreeMap<u8, Station>) -> Vec<Piece> {
    let mut course = Course {
        stations,
        pieces: Vec::with_capacity(bursts.len()),
        has: None,
    };
    let mut ran_ns = 0;
    for (at, burst) in bursts.iter().enumerate() {
        let then_waits = || {
            bursts
                .get(at + 1)
                .is_some_and(|next| next.doing == Doing::Waiting)
        };
        match burst.doing {
            Doing::Running => {
                ran_ns = burst.ns;
                course.runs(burst.ns);
            }
            Doing::Waiting => {}
            Doing::Io if burst.ns <= AT_ONCE_NS && ran_ns >= LEAST_QUANTUM_NS && then_waits() => {}
            Doing::Io => {
                course.look(burst.held);
                course.pieces.push(Piece::Away(burst.ns));
            }
            Doing::Lock => course.waits(burst),
        }
    }
    course.gives();
    course.pieces
}

impl Course<'_> {
    fn runs(&mut self, ran_ns: u64) {
        match self.pieces.last_mut() {
            Some(Piece::Held(ns)) => *ns += ran_ns,
            _ => self.pieces.push(Piece::Held(ran_ns)),
        }
    }

    /// The GVL is given up in possession of these rows' locks.
    fn look(&mut self, held: u64) {
        let holds = |row: u8| held.checked_shr(row.into()).unwrap_or(0) & 1 == 1;
        if self.has.is_some_and(|(row, _)| !holds(row)) {
            self.gives();
        }
        let mut rows = self.stations.iter();
        let taken = rows.find(|(row, _)| holds(**row));
        if let (None, Some((&row, &station))) = (self.has, taken) {
            self.takes(row, station, false);
        }
    }

    /// A thread that another one overtakes waits once more for the same lock. One that did I/O since it took the lock has given
    /// it back.
    fn waits(&mut self, burst: &Burst) {
        if self.has.is_some_and(|(row, _)| row == burst.row) && !self.did_io() {
            return;
        }
        self.look(burst.held);
        match (self.has, self.stations.get(&burst.row)) {
            (None, Some(&station)) => self.takes(burst.row, station, true),
            _ => self.pieces.push(Piece::Lock(burst.ns)),
        }
    }

    fn takes(&mut self, row: u8, station: Station, waited: bool) {
        self.has = Some((row, station));
        self.pieces.push(Piece::Take { station, waited });
    }

    /// Since it took a lock last.
    fn did_io(&self) -> bool {
        let pieces = self.pieces.iter().rev();
        let mut since = pieces.take_while(|piece| !matches!(piece, Piece::Take { .. }));
        since.any(|piece| matches!(piece, Piece::Away(_)))
    }

    /// Before it ran last.
    fn gives(&mut self) {
        let Some((_, station)) = self.has.take() else {
            return;
        };
        let end = self.pieces.len();
        let at = match self.pieces.last() {
            Some(Piece::Held(_)) => end - 1,
            _ => end,
        };
        self.pieces.insert(at, Piece::Give(station));
    }
}

/// How long requests that waited for a lock ran between taking it and giving the GVL up: medians by station.
pub(crate) fn leads<'a>(courses: impl Iterator<Item = &'a Vec<Piece>>) -> BTreeMap<Station, u64> {
    let mut seen: BTreeMap<Station, Vec<u64>> = BTreeMap::new();
    for pieces in courses {
        for three in pieces.windows(3) {
            if let [
                Piece::Take {
                    station,
                    waited: true,
                },
                Piece::Held(ns),
                Piece::Away(_),
            ] = *three
            {
                seen.entry(station).or_default().push(ns);
            }
        }
    }
    let median = |mut of: Vec<u64>| {
        of.sort_unstable();
        of.get(of.len() / 2).copied().unwrap_or(0)
    };
    seen.into_iter()
        .map(|(of, all)| (of, median(all)))
        .collect()
}

/// Lets those that did not wait take the lock as long before they give the GVL up.
pub(crate) fn lead(pieces: &mut Vec<Piece>, leads: &BTreeMap<Station, u64>) {
    let mut at = 0;
    // Each insertion makes the course longer.
    while at + 1 < pieces.len() {
        at += 1;
        let (
            Piece::Held(ns),
            Piece::Take {
                station,
                waited: false,
            },
        ) = (pieces[at - 1], pieces[at])
        else {
            continue;
        };
        let lead_ns = leads.get(&station).map_or(0, |&lead_ns| lead_ns.min(ns));
        if lead_ns > 0 {
            pieces[at - 1] = Piece::Held(ns - lead_ns);
            pieces.insert(at + 1, Piece::Held(lead_ns));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: u8 = 3;
    const LOCK: Station = Station(0);

    fn stations() -> BTreeMap<u8, Station> {
        BTreeMap::from([(ROW, LOCK), (5, Station(1))])
    }

    fn io(ns: u64, rows: &[u8]) -> Burst {
        let held = rows.iter().map(|row| 1 << row).sum();
        Burst {
            held,
            ..Burst::new(Doing::Io, ns)
        }
    }

    fn wait(ns: u64, row: u8) -> Burst {
        Burst {
            row,
            ..Burst::new(Doing::Lock, ns)
        }
    }

    fn run(ns: u64) -> Burst {
        Burst::new(Doing::Running, ns)
    }

    fn take(waited: bool) -> Piece {
        let station = LOCK;
        Piece::Take { station, waited }
    }

    #[test]
    fn a_lock_is_taken_when_the_wait_ends_or_late_and_given_back_as_the_thread_runs() {
        let (held, away, give) = (Piece::Held, Piece::Away, Piece::Give(LOCK));
        let at_once = [run(2), io(8, &[ROW]), run(3), io(9, &[])];
        assert_eq!(
            course(&at_once, &stations()),
            [held(2), take(false), away(8), give, held(3), away(9)]
        );
        // It was overtaken once; does I/O twice under the lock; and ends with its request.
        let waited = [
            run(2),
            wait(70, ROW),
            Burst::new(Doing::Waiting, 5),
            run(1),
            wait(30, ROW),
            run(4),
            io(8, &[ROW]),
            run(1),
            io(7, &[ROW]),
            run(6),
        ];
        assert_eq!(
            course(&waited, &stations()),
            [
                held(2),
                take(true),
                held(5),
                away(8),
                held(1),
                away(7),
                give,
                held(6)
            ]
        );
    }

    #[test]
    fn a_lock_that_is_waited_for_again_after_io_was_given_back() {
        let (held, away, give) = (Piece::Held, Piece::Away, Piece::Give(LOCK));
        let twice = [
            run(2),
            io(5, &[ROW]),
            run(20),
            wait(30, ROW),
            run(1),
            io(5, &[ROW]),
            run(1),
        ];
        assert_eq!(
            course(&twice, &stations()),
            [
                held(2),
                take(false),
                away(5),
                give,
                held(20),
                take(true),
                held(1),
                away(5),
                give,
                held(1)
            ]
        );
    }

    #[test]
    fn each_take_without_a_wait_has_its_lead() {
        let leads = BTreeMap::from([(LOCK, 20)]);
        let once = [
            Piece::Held(50),
            take(false),
            Piece::Away(9),
            Piece::Give(LOCK),
        ];
        let mut pieces = once.repeat(4);
        lead(&mut pieces, &leads);
        let led = pieces.iter().filter(|piece| **piece == Piece::Held(20));
        assert_eq!(led.count(), 4);
    }

    #[test]
    fn what_is_no_station_stays_a_stall_and_of_nested_locks_the_outer_one_counts() {
        let unknown = [run(1), wait(5, 0), run(1), wait(6, 9), run(1)];
        let (held, stall) = (Piece::Held, Piece::Lock);
        assert_eq!(
            course(&unknown, &stations()),
            [held(1), stall(5), held(1), stall(6), held(1)]
        );
        let nested = [
            run(1),
            io(8, &[ROW]),
            run(1),
            Burst {
                held: 1 << ROW,
                ..wait(9, 5)
            },
            run(1),
            io(7, &[ROW, 5]),
            run(1),
        ];
        assert_eq!(
            course(&nested, &stations()),
            [
                held(1),
                take(false),
                Piece::Away(8),
                held(1),
                stall(9),
                held(1),
                Piece::Away(7),
                Piece::Give(LOCK),
                held(1)
            ]
        );
    }

    #[test]
    fn those_that_did_not_wait_run_as_long_with_the_lock_as_those_that_did() {
        let (held, away, give) = (Piece::Held, Piece::Away, Piece::Give(LOCK));
        let waited = |ns| vec![take(true), held(ns), away(9), give];
        let known = [waited(40), waited(10), waited(20)];
        let leads = leads(known.iter());
        assert_eq!(leads, BTreeMap::from([(LOCK, 20)]));
        let mut pieces = vec![
            held(50),
            take(false),
            away(9),
            give,
            held(5),
            take(false),
            away(1),
        ];
        lead(&mut pieces, &leads);
        assert_eq!(
            pieces,
            [
                held(30),
                take(false),
                held(20),
                away(9),
                give,
                held(0),
                take(false),
                held(5),
                away(1)
            ]
        );
    }
}
