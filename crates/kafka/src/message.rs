//! What stands in a partition of a topic.

/// Where a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The partition.
    pub partition: i32,
    /// The offset there.
    pub offset: i64,
}

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Messages of one key are in one partition, in the order in which they were sent.
    pub key: Vec<u8>,
    /// The content.
    pub value: Vec<u8>,
    /// Names and values.
    pub headers: Vec<(String, Vec<u8>)>,
    /// Unix time in ms.
    pub at_ms: i64,
}

impl Message {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&[u8]> {
        let found = self.headers.iter().find(|(known, _)| known == name)?;
        Some(&found.1)
    }

    /// Bytes that count against limits.
    #[must_use]
    pub fn weight(&self) -> u64 {
        let headers = self
            .headers
            .iter()
            .map(|(name, value)| name.len() + value.len());
        (self.key.len() + self.value.len() + headers.sum::<usize>()) as u64
    }
}
