//! What the parser needs for any head, and what it says of one.

use std::mem::MaybeUninit;

use super::{HeadLimits, Malformed};

/// So many fields are parsed without asking for memory.
const FEW_FIELDS: usize = 128;

/// Room for one field.
pub(super) type Slot<'h> = MaybeUninit<httparse::Header<'h>>;

/// Parses with room for as many fields as there may be.
pub(super) fn with_slots<'h, R>(fields: usize, parse: impl FnOnce(&mut [Slot<'h>]) -> R) -> R {
    if fields <= FEW_FIELDS {
        let mut few = [const { MaybeUninit::uninit() }; FEW_FIELDS];
        return parse(&mut few[..fields]);
    }
    let mut many = Vec::new();
    many.resize_with(fields, MaybeUninit::uninit);
    parse(&mut many)
}

/// Whether the parser found all of `head` to be one.
pub(super) fn whole(
    parsed: httparse::Result<usize>,
    head: &[u8],
    limits: HeadLimits,
) -> Result<(), Malformed> {
    match parsed {
        Ok(httparse::Status::Complete(length)) if length == head.len() => Ok(()),
        Ok(_) => Err(Malformed::Head("its end")),
        Err(httparse::Error::TooManyHeaders) => Err(Malformed::TooManyFields(limits.fields)),
        Err(error) => Err(error.into()),
    }
}
