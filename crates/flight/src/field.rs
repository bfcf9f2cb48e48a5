//! An entry of the field table: where a field of the record lies, and whether the agent measures it.

use crate::bytes::{text_at, u16_at};
use crate::error::FlightError;

/// What a field of the record counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    None,
    Nanoseconds,
    Count,
    Index,
    Microseconds,
    /// A unit that this version does not know.
    Other(u16),
}

/// An entry of the field table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    /// Bytes from the start of a record.
    pub offset: u16,
    /// Bytes.
    pub size: u16,
    pub unit: Unit,
    /// This agent measures it on this Ruby. Where it is false a 0 means "not measured".
    pub measured: bool,
}

impl Field {
    /// Bytes of an entry.
    pub(crate) const ENTRY_SIZE: u64 = 32;

    /// Reads an entry of the table of records of `record_size` bytes.
    ///
    /// # Errors
    /// When the field reaches beyond the record.
    pub(crate) fn parse(entry: &[u8], record_size: u32) -> Result<Self, FlightError> {
        let u16_of = |offset| u16_at(entry, offset).unwrap_or(0);
        let field = Self {
            name: text_at(entry, 0, 24),
            offset: u16_of(24),
            size: u16_of(26),
            unit: match u16_of(28) {
                0 => Unit::None,
                1 => Unit::Nanoseconds,
                2 => Unit::Count,
                3 => Unit::Index,
                4 => Unit::Microseconds,
                other => Unit::Other(other),
            },
            measured: u16_of(30) & 1 != 0,
        };
        let end = u32::from(field.offset) + u32::from(field.size);
        if end > record_size {
            return Err(FlightError::FieldOutside {
                name: field.name,
                offset: field.offset,
                end,
                record_size,
            });
        }
        Ok(field)
    }
}
