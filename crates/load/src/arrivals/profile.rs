//! A rate over time, in parts within each of which it changes evenly. Its
//! integral is the number of arrivals expected; the inverse of the integral
//! turns arrivals at a rate of one into arrivals at this rate (time rescaling).

use std::sync::Arc;
use std::time::Duration;

const NS_PER_S: f64 = 1e9;

/// A stretch of a [`Profile`]: the rate goes evenly from one value to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Part {
    /// Requests a second at its start.
    pub from: f64,
    /// Requests a second at its end.
    pub to: f64,
    /// How long it takes.
    pub length: Duration,
}

impl Part {
    /// One rate throughout.
    #[must_use]
    pub fn steady(rate: f64, length: Duration) -> Self {
        Self::ramp(rate, rate, length)
    }

    /// From one rate to another.
    #[must_use]
    pub fn ramp(from: f64, to: f64, length: Duration) -> Self {
        Self { from, to, length }
    }
}

/// A rate over time. It has no end of its own unless its last rate is zero:
/// when a run stops is the run's affair.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    pieces: Arc<[Piece]>,
    length_ns: u64,
    /// Arrivals expected within `length_ns`.
    units: f64,
    after: After,
}

/// What follows the last part.
#[derive(Debug, Clone, Copy, PartialEq)]
enum After {
    Hold { rate: f64 },
    Repeat,
}

/// A part, and where it begins.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Piece {
    from: f64,
    to: f64,
    start_ns: u64,
    length_ns: u64,
    /// Arrivals expected before it, and within it.
    start_units: f64,
    units: f64,
}

impl Profile {
    /// The same rate always.
    #[must_use]
    pub fn constant(rate: f64) -> Self {
        Self::new(&[], After::Hold { rate })
    }

    /// One part after another; then the last rate holds.
    #[must_use]
    pub fn holding(parts: &[Part]) -> Self {
        let rate = parts.last().map_or(0.0, |part| part.to);
        Self::new(parts, After::Hold { rate })
    }

    /// The parts over and over again: bursts, waves.
    #[must_use]
    pub fn repeating(parts: &[Part]) -> Self {
        Self::new(parts, After::Repeat)
    }

    fn new(parts: &[Part], after: After) -> Self {
        let mut pieces = Vec::with_capacity(parts.len());
        let mut start_ns = 0_u64;
        let mut units = Sum::default();
        for part in parts {
            let piece = Piece {
                from: part.from,
                to: part.to,
                start_ns,
                length_ns: u64::try_from(part.length.as_nanos()).unwrap_or(u64::MAX),
                start_units: units.value(),
                units: part.length.as_secs_f64() * f64::midpoint(part.from, part.to),
            };
            start_ns = start_ns.saturating_add(piece.length_ns);
            units.add(piece.units);
            pieces.push(piece);
        }
        Self {
            pieces: pieces.into(),
            length_ns: start_ns,
            units: units.value(),
            after,
        }
    }

    /// How long the parts take; none for a constant rate and for what repeats.
    #[must_use]
    pub fn length(&self) -> Option<Duration> {
        (self.after != After::Repeat && !self.pieces.is_empty())
            .then(|| Duration::from_nanos(self.length_ns))
    }

    /// When nothing is due any more: the last rate is zero and holds.
    #[must_use]
    pub fn ends_after(&self) -> Option<Duration> {
        (self.after == After::Hold { rate: 0.0 }).then(|| Duration::from_nanos(self.length_ns))
    }

    /// Every rate that it mentions.
    fn rates(&self) -> impl Iterator<Item = f64> + '_ {
        let held = match self.after {
            After::Hold { rate } => Some(rate),
            After::Repeat => None,
        };
        let of_pieces = self.pieces.iter().flat_map(|piece| [piece.from, piece.to]);
        of_pieces.chain(held)
    }

    /// The first rate that cannot be: negative, not a number, infinite.
    pub(crate) fn impossible_rate(&self) -> Option<f64> {
        self.rates().find(|rate| !rate.is_finite() || *rate < 0.0)
    }

    /// The rate at its highest, requests a second.
    #[must_use]
    pub fn highest_rate(&self) -> f64 {
        self.rates().fold(0.0, f64::max)
    }

    /// The mean over its parts (of what repeats: over one round); of a constant
    /// rate the rate itself.
    #[must_use]
    pub fn mean_rate(&self) -> f64 {
        match self.after {
            After::Hold { rate } if self.is_flat() => rate,
            _ => self.mean_rate_between(0, self.length_ns),
        }
    }

    /// The mean rate between two offsets from the start.
    #[must_use]
    pub fn mean_rate_between(&self, from_ns: u64, to_ns: u64) -> f64 {
        match self.after {
            // Without the rounding of a product and a quotient.
            After::Hold { rate } if self.is_flat() => rate,
            _ if to_ns <= from_ns => self.rate_at(from_ns),
            _ => {
                let seconds = (to_ns - from_ns) as f64 / NS_PER_S;
                (self.due_before(to_ns) - self.due_before(from_ns)) / seconds
            }
        }
    }

    fn is_flat(&self) -> bool {
        let After::Hold { rate } = self.after else {
            return false;
        };
        self.rates().all(|other| other == rate)
    }

    /// The rate at an offset from the start; where it jumps, the rate after.
    #[must_use]
    pub fn rate_at(&self, offset_ns: u64) -> f64 {
        let (_, within_ns) = self.round_of(offset_ns);
        match self.piece_at(within_ns) {
            Some(piece) => piece.rate_at((within_ns - piece.start_ns) as f64),
            None => self.held(),
        }
    }

    /// Arrivals expected before an offset from the start: the integral.
    #[must_use]
    pub fn due_before(&self, offset_ns: u64) -> f64 {
        let (round, within_ns) = self.round_of(offset_ns);
        let within = match self.piece_at(within_ns) {
            Some(piece) => {
                piece.start_units + piece.due_within((within_ns - piece.start_ns) as f64)
            }
            None => {
                let seconds = (within_ns - self.length_ns) as f64 / NS_PER_S;
                self.units + seconds * self.held()
            }
        };
        round as f64 * self.units + within
    }

    fn held(&self) -> f64 {
        match self.after {
            After::Hold { rate } => rate,
            After::Repeat => 0.0,
        }
    }

    /// How many whole rounds are over, and the offset within this one.
    fn round_of(&self, offset_ns: u64) -> (u64, u64) {
        if self.after == After::Repeat && self.length_ns > 0 {
            (offset_ns / self.length_ns, offset_ns % self.length_ns)
        } else {
            (0, offset_ns)
        }
    }

    fn piece_at(&self, within_ns: u64) -> Option<&Piece> {
        let next = self.pieces.partition_point(|p| p.start_ns <= within_ns);
        let piece = &self.pieces[next.checked_sub(1)?];
        (within_ns - piece.start_ns < piece.length_ns).then_some(piece)
    }

    /// The inverse of [`Profile::due_before`]: the offset at which so many
    /// arrivals were due. None when there will never be so many. `units` is not
    /// negative.
    // The casts saturate: past 2^64 ns (584 years) nothing is ever due.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub(crate) fn offset_ns(&self, units: f64) -> Option<u64> {
        let (round_start_ns, units) = match self.after {
            After::Repeat => self.round_with(units)?,
            After::Hold { rate } if units >= self.units => {
                let beyond = units - self.units;
                return (rate > 0.0)
                    .then(|| (beyond * (NS_PER_S / rate)) as u64)
                    .map(|ns| self.length_ns.saturating_add(ns));
            }
            After::Hold { .. } => (0, units),
        };
        // The last piece that begins at or before: it is never one in which
        // nothing is due, because the next begins at the same number.
        let next = self.pieces.partition_point(|p| p.start_units <= units);
        let piece = &self.pieces[next.checked_sub(1)?];
        let within_ns = piece.offset_ns(units - piece.start_units) as u64;
        Some(
            round_start_ns
                .saturating_add(piece.start_ns)
                .saturating_add(within_ns.min(piece.length_ns)),
        )
    }

    /// Where the round begins in which so many arrivals are due, and how many
    /// are due within it. By a product, so that nothing adds up from round to
    /// round.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn round_with(&self, units: f64) -> Option<(u64, f64)> {
        if self.units.is_nan() || self.units <= 0.0 {
            return None;
        }
        let mut round = (units / self.units).floor();
        let mut within = (-round).mul_add(self.units, units);
        // The quotient may have been rounded up to a whole number, or down.
        if within < 0.0 {
            round -= 1.0;
            within += self.units;
        } else if within >= self.units {
            round += 1.0;
            within -= self.units;
        }
        Some((
            (round as u64).saturating_mul(self.length_ns),
            within.max(0.0),
        ))
    }
}

impl Piece {
    fn rate_at(&self, within_ns: f64) -> f64 {
        self.from + (self.to - self.from) * (within_ns / self.length_ns as f64)
    }

    fn due_within(&self, within_ns: f64) -> f64 {
        within_ns / NS_PER_S * f64::midpoint(self.from, self.rate_at(within_ns))
    }

    /// When so many arrivals of this piece were due, from its start.
    fn offset_ns(&self, units: f64) -> f64 {
        let length_ns = self.length_ns as f64;
        if self.from < self.to {
            rising_ns(self.from, self.to, length_ns, units)
        } else if self.from > self.to {
            // Backwards from the end, where the same square root adds and so
            // loses no digits.
            length_ns - rising_ns(self.to, self.from, length_ns, self.units - units)
        } else {
            units * (NS_PER_S / self.from)
        }
    }
}

/// When the integral of a rate that rises evenly reaches `units`: the root of
/// from·t + slope·t²/2 = units, in the form that does not subtract.
fn rising_ns(from: f64, to: f64, length_ns: f64, units: f64) -> f64 {
    if units <= 0.0 {
        return 0.0;
    }
    let slope = (to - from) / (length_ns / NS_PER_S);
    let root = slope.mul_add(2.0 * units, from * from).sqrt();
    (2.0 * units / (from + root) * NS_PER_S).min(length_ns)
}

/// Neumaier's compensated sum: a hundred thousand parts add up as exactly as two.
#[derive(Debug, Default)]
struct Sum {
    sum: f64,
    lost: f64,
}

impl Sum {
    fn add(&mut self, term: f64) {
        let sum = self.sum + term;
        self.lost += if self.sum.abs() >= term.abs() {
            (self.sum - sum) + term
        } else {
            (term - sum) + self.sum
        };
        self.sum = sum;
    }

    fn value(&self) -> f64 {
        self.sum + self.lost
    }
}
