//! What the parser needs for any head, and what it says of one.

use std::mem::MaybeUninit;

use super::{HeadLimits, Malformed};

/// So many fields are parsed without asking for memory.
const FEW_FIELDS: usize = 128;

/// Room for one field.
pub(super) type Slot<'h> = MaybeUninit<httparse::Header<'h>>;

/// Parses with room for as many fields as `head` can have within the limit: every field ends with a line feed.
pub(super) fn with_slots<'h, R>(
    head: &'h [u8],
    limits: HeadLimits,
    parse: impl FnOnce(&mut [Slot<'h>]) -> R,
) -> R {
    let lines = memchr::memchr_iter(b'\n', head).count();
    let fields = lines.min(limits.fields);
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

#[cfg(test)]
mod tests {
    use super::super::{RequestHead, ResponseHead};
    use super::*;

    fn head(first: &str, fields: usize) -> Vec<u8> {
        format!("{first}\r\n{}\r\n", "A: b\r\n".repeat(fields)).into_bytes()
    }

    #[test]
    fn so_many_fields_as_are_allowed_pass_and_one_more_does_not() {
        for most in [1, 2, FEW_FIELDS, FEW_FIELDS + 1, HeadLimits::ANSWERS.fields] {
            let limits = HeadLimits {
                bytes: 1 << 20,
                fields: most,
            };
            for fields in [most, most + 1] {
                let request = head("GET / HTTP/1.1\r\nHost: a", fields - 1);
                let answer = head("HTTP/1.1 200 OK", fields);
                let mut asked = RequestHead::default();
                let mut answered = ResponseHead::default();
                let read = [
                    asked.read(&request, limits),
                    answered.read(&answer, false, limits),
                ];
                let expected = |length| match fields == most {
                    true => Ok(Some(length)),
                    false => Err(Malformed::TooManyFields(most)),
                };
                assert_eq!(read, [expected(request.len()), expected(answer.len())]);
                if fields == most {
                    let all = [asked.fields().all(), answered.fields().all()];
                    assert_eq!(all.map(<[_]>::len), [most, most]);
                }
            }
        }
    }
}
