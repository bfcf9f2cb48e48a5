//! One record alone, as a message queue holds it: in the encoding that it has in a capture file.

use crate::Exchange;

impl Exchange {
    /// The record as MessagePack with the names of its fields.
    ///
    /// # Errors
    /// The encoder's words.
    pub fn to_message(&self) -> Result<Vec<u8>, String> {
        rmp_serde::to_vec_named(self).map_err(|e| e.to_string())
    }

    /// Reads such bytes.
    ///
    /// # Errors
    /// They are not a record.
    pub fn from_message(bytes: &[u8]) -> Result<Self, String> {
        rmp_serde::from_slice(bytes).map_err(|e| format!("no record of a capture: {e}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Field;

    #[test]
    fn a_record_comes_back_and_other_bytes_are_refused() {
        let record = Exchange {
            id: 7,
            at_ns: 1 << 60,
            connection: 3,
            method: "POST".into(),
            target: "/cart?id=1".into(),
            headers: vec![Field {
                name: "X-Odd".into(),
                value: vec![0xff],
            }],
            body: vec![0, 1, 2],
            body_bytes: 3,
            ..Exchange::default()
        };
        let bytes = record.to_message().unwrap();
        assert_eq!(Exchange::from_message(&bytes).unwrap(), record);
        for cut in 0..bytes.len() {
            assert!(Exchange::from_message(&bytes[..cut]).is_err(), "{cut}");
        }
        let said = Exchange::from_message(b"hello").unwrap_err();
        assert!(said.starts_with("no record of a capture"), "{said}");
    }
}
