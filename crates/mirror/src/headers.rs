//! The header fields of requests: borrowed, for a tap that decides whether it
//! wants the request, and in one piece of memory for a tap that does. A name and
//! a value for each would be twenty allocations, made on the client's path and
//! freed on another thread.

use crate::http1::{Fields, Forwarded};

/// End-to-end fields in their order.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Headers {
    /// Names and values, one after another.
    bytes: Vec<u8>,
    /// Where each field's name and where its value ends. Heads are shorter than 4 GiB.
    ends: Vec<(u32, u32)>,
}

impl Headers {
    /// Name and value of each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |&(name, value)| {
            let (name, value) = (name as usize, value as usize);
            let field = (&self.bytes[start..name], &self.bytes[name..value]);
            start = value;
            // It was one as it came.
            (std::str::from_utf8(field.0).unwrap_or_default(), field.1)
        })
    }

    /// Of all names and values.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// How many.
    #[must_use]
    pub fn count(&self) -> usize {
        self.ends.len()
    }

    fn with_room(fields: usize, bytes: usize) -> Self {
        Self {
            bytes: Vec::with_capacity(bytes),
            ends: Vec::with_capacity(fields),
        }
    }

    fn push(&mut self, name: &str, value: &[u8]) {
        self.bytes.extend_from_slice(name.as_bytes());
        let name = self.bytes.len() as u32;
        self.bytes.extend_from_slice(value);
        self.ends.push((name, self.bytes.len() as u32));
    }
}

impl std::fmt::Debug for Headers {
    /// Names alone: values are cookies and keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set()
            .entries(self.iter().map(|(name, _)| name))
            .finish()
    }
}

impl<'a> FromIterator<(&'a str, &'a [u8])> for Headers {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a [u8])>>(fields: I) -> Self {
        let mut headers = Self::default();
        fields
            .into_iter()
            .for_each(|(name, value)| headers.push(name, value));
        headers
    }
}

/// The end-to-end fields of a head that was just read, or such a list.
#[derive(Debug, Clone, Copy)]
pub enum Offered<'a> {
    /// With the bytes that they stand in, and the forwarded fields that are passed on.
    Read(&'a Fields, &'a [u8], &'a Forwarded),
    /// Names and values.
    Listed(&'a [(&'a str, &'a [u8])]),
}

impl<'a> Offered<'a> {
    /// Name and value of each.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        let (read, listed) = match self {
            Self::Read(fields, bytes, forwarded) => (Some(fields.passed(bytes, forwarded)), None),
            Self::Listed(list) => (None, Some(list.iter().copied())),
        };
        let read = read.into_iter().flatten();
        read.chain(listed.into_iter().flatten())
    }

    /// In memory of their own.
    #[must_use]
    pub fn kept(self) -> Headers {
        let (fields, bytes) = match self {
            Self::Read(fields, bytes, _) => (fields.all().len(), bytes.len()),
            Self::Listed(list) => (list.len(), 0),
        };
        let mut headers = Headers::with_room(fields, bytes);
        self.iter()
            .for_each(|(name, value)| headers.push(name, value));
        headers
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_kept_is_what_was_offered(fields in prop::collection::vec(("[a-zA-Z-]{1,12}", prop::collection::vec(any::<u8>(), 0..40)), 0..12)) {
            let list: Vec<(&str, &[u8])> = fields.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
            let kept = Offered::Listed(&list).kept();
            prop_assert_eq!(kept.iter().collect::<Vec<_>>(), list.clone());
            prop_assert_eq!(kept.count(), list.len());
            prop_assert_eq!(kept.bytes(), list.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>());
            prop_assert_eq!(list.into_iter().collect::<Headers>(), kept);
        }
    }
}
