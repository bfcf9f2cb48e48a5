//! What the serving thread does around the application: reading, parsing and writing, and where it gives the GVL up
//! meanwhile, which costs it a place in the line each time.

use std::collections::HashMap;

use flight::events::{Doing, Event, EventKind, Events};

use crate::steps::Piece;

/// The typical course before and after the application.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServerOverhead {
    before: Vec<Piece>,
    after: Vec<Piece>,
}

/// A thread is not made in less, nor is it a matter of milliseconds.
pub(crate) const LEAST_ADDRESS_NS: u64 = 15_000;
const MOST_ADDRESS_NS: u64 = 3_000_000;
/// Fewer say too little.
const LEAST: usize = 50;

impl ServerOverhead {
    /// A course that was measured: which waits there are counts; how long it holds the GVL is scaled to what each request's thread did.
    /// A wait of no length before the application is for the peer's address, for which Ruby makes a thread each time: see
    /// [`ServerOverhead::with_address`].
    pub fn of(before: Vec<Piece>, after: Vec<Piece>) -> Self {
        Self { before, after }
    }

    /// Before and after the application.
    pub fn parts(&self) -> (&[Piece], &[Piece]) {
        (&self.before, &self.after)
    }

    /// The same with the wait for the peer's address, where there is one.
    #[must_use]
    pub fn with_address(mut self, address_ns: u64) -> Self {
        let mut pieces = self.before.iter_mut();
        if let Some(piece) = pieces.rfind(|piece| **piece == Piece::Away(0)) {
            *piece = Piece::Away(address_ns);
        }
        self
    }

    /// How long that takes, which is much longer where cores are busy, where nothing but means is known: parsing, by the clock, is holding
    /// the GVL, that wait, and a turn at the GVL, which is one of those that the serving thread takes outside the application.
    pub fn address_ns(&self, parse_ns: u64, server_held_ns: u64, server_gvl_wait_ns: u64) -> u64 {
        let pieces = || self.before.iter().chain(&self.after);
        let is_away = |piece: &&Piece| matches!(piece, Piece::Away(_));
        let turns = 1 + pieces().filter(is_away).count() as u64;
        // The first wait is for the request itself.
        let first = self.before.iter().position(|piece| is_away(&piece));
        let parses = first.map_or(0, |first| first + 1);
        let own: u64 = pieces().map(held).sum();
        let parsing: u64 = self.before[parses..].iter().map(held).sum();
        let held_ns = server_held_ns * parsing / own.max(1);
        let found = parse_ns.saturating_sub(held_ns + server_gvl_wait_ns / turns);
        found.clamp(LEAST_ADDRESS_NS, MOST_ADDRESS_NS)
    }

    /// Without a word about where it gives the GVL up: so much before, so much after.
    pub fn plain(before_ns: u64, after_ns: u64) -> Self {
        Self {
            before: vec![Piece::Held(before_ns)],
            after: vec![Piece::Held(after_ns)],
        }
    }

    /// From traces of everything; `None` where they hold too few requests, or connections that are kept, which have no
    /// waiting for work between one request and the next.
    pub fn learnt<'a>(traces: impl Iterator<Item = &'a Events>) -> Option<Self> {
        let mut before = Shapes::default();
        let mut after = Shapes::default();
        for events in traces {
            between_requests(events, &mut before, &mut after);
        }
        let mut after = after.typical()?;
        // Puma writes with the GVL (`write_nonblock`), and gives it up to close the connection: what it waits to get it
        // back is no part of the response.
        let written = after.iter().position(|piece| held(piece) > 0);
        after.insert(written.map_or(0, |at| at + 1), Piece::Answer);
        Some(Self {
            before: before.typical()?,
            after,
        })
    }

    /// Both for a request whose thread held the GVL for so long in all, outside the application.
    pub fn scaled(&self, held_ns: u64) -> (Vec<Piece>, Vec<Piece>) {
        let own: u64 = self.before.iter().chain(&self.after).map(held).sum();
        let scale = |pieces: &[Piece]| -> Vec<Piece> {
            let piece = |piece: &Piece| match *piece {
                Piece::Held(ns) if own > 0 => Piece::Held(ns * held_ns / own),
                other => other,
            };
            pieces.iter().map(piece).collect()
        };
        // Where it did nothing there was no server around it.
        match held_ns {
            0 => (Vec::new(), Vec::new()),
            _ => (scale(&self.before), scale(&self.after)),
        }
    }
}

fn held(piece: &Piece) -> u64 {
    match *piece {
        Piece::Held(ns) => ns,
        _ => 0,
    }
}

/// Courses by the order of their kinds.
#[derive(Debug, Default)]
struct Shapes {
    found: HashMap<Vec<u8>, Vec<Vec<Piece>>>,
}

impl Shapes {
    fn add(&mut self, pieces: Vec<Piece>) {
        let kind = |piece: &Piece| match piece {
            Piece::Held(_) => 0,
            Piece::Away(_) => 1,
            Piece::Lock(_) => 2,
            Piece::Answer => 3,
            // The server's own pieces have no locks of the application.
            Piece::Take { .. } | Piece::Give(_) => 4,
        };
        let shape: Vec<u8> = pieces.iter().map(kind).collect();
        self.found.entry(shape).or_default().push(pieces);
    }

    /// Of the shape that there is most of, piece by piece: the median of what was held, which a busy core makes longer
    /// at times, and the mean of waits, which are as they are.
    fn typical(&self) -> Option<Vec<Piece>> {
        let (shape, most) = self
            .found
            .iter()
            .max_by_key(|(shape, found)| (found.len(), std::cmp::Reverse(*shape)))?;
        if most.len() < LEAST {
            return None;
        }
        let all = |at: usize| {
            let one = |pieces: &Vec<Piece>| match pieces[at] {
                Piece::Held(ns) | Piece::Away(ns) | Piece::Lock(ns) => ns,
                Piece::Take { .. } | Piece::Give(_) | Piece::Answer => 0,
            };
            most.iter().map(one).collect::<Vec<u64>>()
        };
        let mean = |at: usize| all(at).iter().sum::<u64>() / most.len() as u64;
        let median = |at: usize| {
            let (mut all, middle) = (all(at), most.len() / 2);
            *all.select_nth_unstable(middle).1
        };
        let piece = |(at, kind): (usize, &u8)| match kind {
            0 => Piece::Held(median(at)),
            1 => Piece::Away(mean(at)),
            _ => Piece::Lock(mean(at)),
        };
        Some(shape.iter().enumerate().map(piece).collect())
    }
}

/// From the end of each request until the thread waits for work, and from when it has some until the next begins.
fn between_requests(events: &Events, before: &mut Shapes, after: &mut Shapes) {
    let serves = |thread: u32| {
        let named = events.threads.iter().find(|t| t.number == thread);
        named.is_some_and(|thread| thread.name.starts_with("puma srv tp "))
    };
    let mut open: HashMap<u32, Gap> = HashMap::new();
    for event in &events.events {
        match event.kind {
            EventKind::RequestEnd { .. } if serves(event.thread) => {
                open.insert(event.thread, Gap::from(event));
            }
            EventKind::RequestBegin { .. } => {
                if let Some(mut gap) = open.remove(&event.thread) {
                    gap.cut(event.mono_ns);
                    let lock = |piece: &Piece| matches!(piece, Piece::Lock(_));
                    let first = gap.pieces.iter().position(lock);
                    let last = gap.pieces.iter().rposition(lock);
                    if let (Some(first), Some(last)) = (first, last) {
                        after.add(gap.pieces[..first].to_vec());
                        before.add(gap.pieces[last + 1..].to_vec());
                    }
                }
            }
            kind => {
                if let Some(gap) = open.get_mut(&event.thread) {
                    let doing = Doing::after(Some(gap.doing), kind).unwrap_or(gap.doing);
                    if doing != gap.doing {
                        gap.cut(event.mono_ns);
                        gap.doing = doing;
                    }
                }
            }
        }
    }
}

struct Gap {
    doing: Doing,
    since_ns: u64,
    pieces: Vec<Piece>,
}

impl Gap {
    fn from(event: &Event) -> Self {
        Self {
            doing: Doing::Running,
            since_ns: event.mono_ns,
            pieces: Vec::new(),
        }
    }

    fn cut(&mut self, now_ns: u64) {
        let ns = now_ns.saturating_sub(self.since_ns);
        self.since_ns = now_ns;
        match self.doing {
            Doing::Running => self.pieces.push(Piece::Held(ns)),
            Doing::Io => self.pieces.push(Piece::Away(ns)),
            Doing::Lock => self.pieces.push(Piece::Lock(ns)),
            Doing::Waiting => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a trace of Puma 6.6 has it.
    fn puma() -> ServerOverhead {
        let (held, away) = (
            |us: u64| Piece::Held(us * 1_000),
            |us: u64| Piece::Away(us * 1_000),
        );
        ServerOverhead::of(
            vec![held(15), away(4), held(110), away(0), held(25)],
            vec![held(160), Piece::Answer, away(20), held(10)],
        )
    }

    #[test]
    fn what_is_held_is_scaled_and_waits_are_not() {
        let (before, after) = puma().with_address(100_000).scaled(640_000);
        let (held, away) = (Piece::Held, Piece::Away);
        assert_eq!(
            before,
            [
                held(30_000),
                away(4_000),
                held(220_000),
                away(100_000),
                held(50_000)
            ]
        );
        assert_eq!(
            after,
            [held(320_000), Piece::Answer, away(20_000), held(20_000)]
        );
        assert_eq!(puma().scaled(0), (vec![], vec![]));
        let plain = ServerOverhead::plain(30, 10).scaled(80);
        assert_eq!(plain, (vec![held(60)], vec![held(20)]));
    }

    /// Parsing took 800 us by the clock, of which the thread held the GVL for 135 / 320 of 640 and waited for its turn for a
    /// quarter of 400.
    #[test]
    fn what_parsing_waited_for_is_what_is_left_of_it() {
        let us = 1_000;
        assert_eq!(puma().address_ns(800 * us, 640 * us, 400 * us), 430 * us);
        assert_eq!(puma().address_ns(0, 640 * us, 0), LEAST_ADDRESS_NS);
    }

    #[test]
    fn the_commonest_shape_is_typical() {
        let mut shapes = Shapes::default();
        for n in 0..60 {
            shapes.add(vec![Piece::Held(n), Piece::Away(n * n)]);
        }
        for _ in 0..50 {
            shapes.add(vec![Piece::Held(7_000)]);
        }
        assert_eq!(
            shapes.typical(),
            Some(vec![Piece::Held(30), Piece::Away(1_170)])
        );
        assert_eq!(Shapes::default().typical(), None);
    }
}
