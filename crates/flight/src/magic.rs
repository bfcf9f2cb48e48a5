//! The first bytes of each kind of file. An error about one kind recognises the other.

pub(crate) const FLIGHT: &[u8; 8] = b"PBFLIGHT";
pub(crate) const EVENTS: &[u8; 8] = b"PBEVENTS";
pub(crate) const SURVIVORS: &[u8; 8] = b"PBSURVIV";
