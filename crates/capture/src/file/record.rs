//! What a capture file may hold.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Kind;
use crate::{Exchange, Pair, Rules};

/// A record of a capture file.
pub trait Record: Serialize + DeserializeOwned {
    /// The kind of file that holds such records.
    const KIND: Kind;

    /// Nanoseconds since the capture began.
    fn at_ns(&self) -> u64;

    /// Takes out what the rules cover.
    fn redact(&mut self, rules: &Rules);
}

impl Record for Exchange {
    const KIND: Kind = Kind::Traffic;

    fn at_ns(&self) -> u64 {
        self.at_ns
    }

    fn redact(&mut self, rules: &Rules) {
        rules.exchange(self);
    }
}

impl Record for Pair {
    const KIND: Kind = Kind::ShadowLog;

    fn at_ns(&self) -> u64 {
        self.at_ns
    }

    /// Differences are redacted by the code that cuts them out of the answers.
    fn redact(&mut self, rules: &Rules) {
        rules.target(&mut self.target);
    }
}
