//! The state of a database connection pool, sampled over time.

use crate::bytes::{u16_at, u64_at};

/// A connection pool at one instant; at most one sample a second and pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolSample {
    /// The sample's number from 0.
    pub index: u64,
    /// `CLOCK_MONOTONIC`
    pub mono_ns: u64,
    /// Connections that the pool may have.
    pub size: u16,
    /// Connections that it has.
    pub connections: u16,
    /// Of those: in use by a live thread.
    pub busy: u16,
    /// Of those: in use by a thread that died.
    pub dead: u16,
    /// Of those: not in use.
    pub idle: u16,
    /// Threads that wait for a connection.
    pub waiting: u16,
    /// Which of the process's pools, in the order in which they were first seen.
    pub pool: u16,
}

impl PoolSample {
    /// Bytes that version 1 uses of a sample.
    pub(crate) const SIZE: u32 = 32;

    /// `None` when the slot holds another sample than the one asked for, or one that was being written.
    pub(crate) fn from_le_bytes(slot: &[u8], index: u64) -> Option<Self> {
        if u64_at(slot, 0)? != index.wrapping_add(1) {
            return None;
        }
        Some(Self {
            index,
            mono_ns: u64_at(slot, 8)?,
            size: u16_at(slot, 16)?,
            connections: u16_at(slot, 18)?,
            busy: u16_at(slot, 20)?,
            dead: u16_at(slot, 22)?,
            idle: u16_at(slot, 24)?,
            waiting: u16_at(slot, 26)?,
            pool: u16_at(slot, 28)?,
        })
    }
}
