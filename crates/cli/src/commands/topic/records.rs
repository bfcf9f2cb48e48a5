//! Records of a capture <-> messages. The key is the connection, so that Kafka keeps the requests of one in one partition, in their order.

use capture::Exchange;
use kafka::{Message, Place};
use std::collections::{BTreeSet, HashMap};

/// Unix time in ns at which the request came, as text: the timestamp of a message has ms, and a broker may replace it.
const AT: &str = "at";
/// Names the capture: its connections are numbered together.
const CAPTURE: &str = "capture";
/// Headers whose values were kept although they are secrets.
const UNREDACTED: &str = "unredacted";

/// What the records of one capture have in common.
#[derive(Debug, Clone)]
pub struct Origin {
    /// Unix time in ns from which they count their instants.
    pub began_ns: u64,
    /// Its name.
    pub capture: String,
    /// Headers whose values were kept although they are secrets.
    pub unredacted: Vec<String>,
}

/// A record as a message.
pub fn message(origin: &Origin, exchange: &Exchange) -> Result<Message, String> {
    let at_ns = origin.began_ns.saturating_add(exchange.at_ns);
    let key = match exchange.connection {
        // Requests without a known connection are spread.
        0 => format!("{}#{}", origin.capture, exchange.id),
        connection => format!("{}/{connection}", origin.capture),
    };
    let mut headers = vec![
        (AT.to_owned(), at_ns.to_string().into_bytes()),
        (CAPTURE.to_owned(), origin.capture.clone().into_bytes()),
    ];
    if !origin.unredacted.is_empty() {
        let names = origin.unredacted.join(",").into_bytes();
        headers.push((UNREDACTED.to_owned(), names));
    }
    Ok(Message {
        key: key.into_bytes(),
        value: exchange.to_message()?,
        headers,
        at_ms: i64::try_from(at_ns / 1_000_000).unwrap_or(i64::MAX),
    })
}

/// Unix time in ns at which the request of a message came.
pub fn instant_ns(message: &Message) -> Option<u64> {
    let text = std::str::from_utf8(message.header(AT)?).ok()?;
    text.parse().ok()
}

/// Records out of messages.
#[derive(Debug, Default)]
pub struct Records {
    /// Each with the Unix time in ns at which it came.
    found: Vec<(u64, Exchange)>,
    /// Numbers of connections of several captures, together.
    connections: HashMap<(Vec<u8>, u64), u64>,
    unredacted: BTreeSet<String>,
    skipped: u64,
    first_skipped: Option<String>,
}

impl Records {
    /// One more.
    pub fn take(&mut self, place: Place, message: &Message) {
        let read = Exchange::from_message(&message.value);
        let read = read.and_then(|exchange| {
            let at_ns = instant_ns(message).ok_or("it does not say when its request came")?;
            Ok((at_ns, exchange))
        });
        let (at_ns, mut exchange) = match read {
            Ok(read) => read,
            Err(why) => {
                self.skipped += 1;
                let Place { partition, offset } = place;
                self.first_skipped
                    .get_or_insert(format!("partition {partition}, offset {offset}: {why}"));
                return;
            }
        };
        if exchange.connection > 0 {
            let capture = message.header(CAPTURE).unwrap_or_default().to_vec();
            let next = self.connections.len() as u64 + 1;
            let known = self.connections.entry((capture, exchange.connection));
            exchange.connection = *known.or_insert(next);
        }
        if let Some(names) = message.header(UNREDACTED) {
            let names = String::from_utf8_lossy(names);
            self.unredacted.extend(names.split(',').map(str::to_owned));
        }
        self.found.push((at_ns, exchange));
    }

    /// In the order of their clocks; those of one instant as they are.
    pub fn sort(&mut self) {
        self.found.sort_by_key(|(at_ns, _)| *at_ns);
    }

    /// How many.
    pub fn len(&self) -> u64 {
        self.found.len() as u64
    }

    /// How many messages could not be read.
    pub fn unreadable(&self) -> u64 {
        self.skipped
    }

    /// What could not be read, in words.
    pub fn skipped(&self) -> Option<String> {
        let first = self.first_skipped.as_ref()?;
        let messages = run::counted(self.skipped, "message");
        Some(format!("{messages} left out: {first}"))
    }

    /// Headers whose values were kept although they are secrets.
    pub fn unredacted(&self) -> Vec<String> {
        self.unredacted.iter().cloned().collect()
    }

    /// The records, each with the Unix time in ns from which it counts its instant.
    pub fn into_timed(self) -> impl Iterator<Item = (u64, Exchange)> {
        self.found.into_iter().map(|(at_ns, mut exchange)| {
            exchange.at_ns = 0;
            (at_ns, exchange)
        })
    }

    /// The records, counted from the first one's instant, which is the first value.
    pub fn into_capture(self) -> (u64, Vec<Exchange>) {
        let began_ns = self.found.iter().map(|(at_ns, _)| *at_ns).min();
        let began_ns = began_ns.unwrap_or(0);
        let records = self.found.into_iter().map(|(at_ns, mut exchange)| {
            exchange.at_ns = at_ns - began_ns;
            exchange
        });
        (began_ns, records.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(capture: &str) -> Origin {
        Origin {
            began_ns: 1_000,
            capture: capture.to_owned(),
            unredacted: Vec::new(),
        }
    }

    fn exchange(id: u64, connection: u64) -> Exchange {
        Exchange {
            id,
            at_ns: 10 * id,
            connection,
            method: "GET".into(),
            target: format!("/{id}"),
            ..Exchange::default()
        }
    }

    const PLACE: Place = Place {
        partition: 2,
        offset: 5,
    };

    #[test]
    fn requests_of_a_connection_share_a_key_and_others_have_their_own() {
        let key = |capture, id, connection| {
            let message = message(&origin(capture), &exchange(id, connection)).unwrap();
            String::from_utf8(message.key).unwrap()
        };
        assert_eq!(key("a", 1, 7), key("a", 2, 7));
        let others = [
            key("a", 1, 7),
            key("b", 1, 7),
            key("a", 1, 8),
            key("a", 1, 0),
            key("a", 2, 0),
        ];
        assert_eq!(others.iter().collect::<BTreeSet<_>>().len(), 5);
    }

    #[test]
    fn records_come_back_with_connections_of_several_captures_apart() {
        let mut records = Records::default();
        for (capture, id, connection) in [("a", 3, 7), ("b", 1, 7), ("a", 2, 7), ("a", 4, 0)] {
            let message = message(&origin(capture), &exchange(id, connection)).unwrap();
            records.take(PLACE, &message);
        }
        records.sort();
        assert_eq!((records.len(), records.skipped()), (4, None));
        let (began_ns, found) = records.into_capture();
        assert_eq!(began_ns, 1_010);
        let found: Vec<(u64, u64, u64)> = found
            .iter()
            .map(|one| (one.id, one.at_ns, one.connection))
            .collect();
        assert_eq!(found, [(1, 0, 2), (2, 10, 1), (3, 20, 1), (4, 30, 0)]);
    }

    #[test]
    fn what_another_program_wrote_is_counted_with_its_place() {
        let mut records = Records::default();
        let mut message = message(&origin("a"), &exchange(1, 1)).unwrap();
        message.headers.clear();
        records.take(PLACE, &message);
        message.value = b"hello".to_vec();
        records.take(PLACE, &message);
        let said = records.skipped().unwrap();
        assert!(
            said.starts_with("2 messages left out: partition 2, offset 5: it does not say"),
            "{said}"
        );
        assert_eq!(records.len(), 0);
    }

    #[test]
    fn the_names_of_unredacted_headers_come_along() {
        let mut records = Records::default();
        let with = Origin {
            unredacted: vec!["Cookie".into(), "X-Key".into()],
            ..origin("a")
        };
        records.take(PLACE, &message(&with, &exchange(1, 1)).unwrap());
        records.take(PLACE, &message(&origin("b"), &exchange(2, 1)).unwrap());
        assert_eq!(records.unredacted(), ["Cookie", "X-Key"]);
    }
}
