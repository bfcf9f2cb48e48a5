//! `kafka://HOST:PORT[,HOST:PORT]/TOPIC[?partitions=N&sasl=MECHANISM]`, or `kafka+tls://…`.

use crate::Mechanism;
use std::fmt;

const PLAIN: &str = "kafka://";
const TLS: &str = "kafka+tls://";
const EXAMPLE: &str = "give an address such as kafka://127.0.0.1:9092/traffic";
/// Of a topic that powerband makes: as many generators may share it.
const DEFAULT_PARTITIONS: u32 = 12;
const MOST_PARTITIONS: u32 = 1_000;

/// A topic, and the brokers to ask first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// `host:port`, the first ones to ask.
    pub brokers: Vec<String>,
    /// The topic.
    pub topic: String,
    /// Whether connections are encrypted.
    pub tls: bool,
    /// How a login is proved.
    pub mechanism: Mechanism,
    /// Partitions of the topic where it is made.
    pub partitions: u32,
}

/// What is wrong with an address, and the remedy. A password in it is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}; {remedy}")]
pub struct AddressError {
    what: String,
    remedy: String,
}

impl AddressError {
    fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            remedy: remedy.into(),
        }
    }

    /// What is wrong.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// What to do.
    #[must_use]
    pub fn remedy(&self) -> &str {
        &self.remedy
    }
}

impl Address {
    /// Whether a text is meant as an address of Kafka and not as a file.
    #[must_use]
    pub fn is(text: &str) -> bool {
        text.starts_with("kafka:") || text.starts_with("kafka+")
    }

    /// Reads an address.
    ///
    /// # Errors
    /// See [`AddressError`].
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let (tls, rest) = match (text.strip_prefix(PLAIN), text.strip_prefix(TLS)) {
            (Some(rest), _) => (false, rest),
            (None, Some(rest)) => (true, rest),
            (None, None) => return Err(AddressError::new("no such scheme", EXAMPLE)),
        };
        if rest.contains('@') {
            return Err(AddressError::new(
                "it holds a user",
                "give --kafka-login-file, or set POWERBAND_KAFKA_LOGIN",
            ));
        }
        let (brokers, rest) = rest
            .split_once('/')
            .ok_or_else(|| AddressError::new("no topic", EXAMPLE))?;
        let (topic, parameters) = rest.split_once('?').unwrap_or((rest, ""));
        let mut address = Self {
            brokers: brokers.split(',').map(broker).collect::<Result<_, _>>()?,
            topic: named(topic)?,
            tls,
            mechanism: Mechanism::ScramSha512,
            partitions: DEFAULT_PARTITIONS,
        };
        for parameter in parameters.split('&').filter(|text| !text.is_empty()) {
            address.set(parameter)?;
        }
        Ok(address)
    }

    fn set(&mut self, parameter: &str) -> Result<(), AddressError> {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        match name {
            "partitions" => {
                let number = value.parse().ok();
                let number = number.filter(|n| (1..=MOST_PARTITIONS).contains(n));
                self.partitions = number.ok_or_else(|| {
                    AddressError::new(
                        format!("partitions = {value:?} is no number of partitions"),
                        format!("give a whole number from 1 to {MOST_PARTITIONS}"),
                    )
                })?;
            }
            "sasl" => {
                self.mechanism = Mechanism::of(value).ok_or_else(|| {
                    AddressError::new(
                        format!("sasl = {value:?} is no mechanism"),
                        "give scram-sha-512, scram-sha-256 or plain",
                    )
                })?;
            }
            // Its value may be a secret.
            _ => {
                return Err(AddressError::new(
                    format!("no parameter {name:?}"),
                    "give partitions=N or sasl=MECHANISM",
                ));
            }
        }
        Ok(())
    }

    /// Whether every broker that is named is this machine.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.brokers.iter().all(|broker| {
            let host = broker.rsplit_once(':').map_or("", |(host, _)| host);
            let bare = host.trim_start_matches('[').trim_end_matches(']');
            bare == "localhost"
                || bare
                    .parse::<std::net::IpAddr>()
                    .is_ok_and(|ip| ip.is_loopback())
        })
    }

    /// The topic in which the generators of a group agree, and which has their results.
    #[must_use]
    pub fn results(&self) -> String {
        format!("{}-results", self.topic)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.tls { TLS } else { PLAIN };
        write!(f, "{scheme}{}/{}", self.brokers.join(","), self.topic)
    }
}

fn broker(text: &str) -> Result<String, AddressError> {
    let whole = text
        .rsplit_once(':')
        .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok_and(|p| p > 0));
    match whole {
        true => Ok(text.to_owned()),
        false => Err(AddressError::new(
            format!("{text:?} is no host with a port"),
            EXAMPLE,
        )),
    }
}

/// Kafka's rule for names; the topic of the results has a longer one.
fn named(topic: &str) -> Result<String, AddressError> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let fits = (1..=200).contains(&topic.len());
    if fits && topic.chars().all(allowed) && !matches!(topic, "." | "..") {
        return Ok(topic.to_owned());
    }
    let what = match topic.is_empty() {
        true => "no topic".to_owned(),
        false => format!("{topic:?} is no name of a topic"),
    };
    Err(AddressError::new(
        what,
        "name a topic with up to 200 letters, digits, dots, dashes or underscores",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_whole() {
        let one = Address::parse("kafka://127.0.0.1:9092/traffic").unwrap();
        assert_eq!(
            (one.tls, one.partitions, one.mechanism),
            (false, DEFAULT_PARTITIONS, Mechanism::ScramSha512)
        );
        assert!(one.is_loopback());
        let text = "kafka+tls://a.test:9093,[::1]:9093/shop.traffic?partitions=4&sasl=plain";
        let two = Address::parse(text).unwrap();
        assert_eq!(two.brokers, ["a.test:9093", "[::1]:9093"]);
        assert_eq!(
            (two.tls, two.partitions, two.mechanism),
            (true, 4, Mechanism::Plain)
        );
        assert!(!two.is_loopback());
        assert_eq!(
            two.to_string(),
            "kafka+tls://a.test:9093,[::1]:9093/shop.traffic"
        );
        assert_eq!(two.results(), "shop.traffic-results");
    }

    #[test]
    fn wrong_addresses_have_a_remedy_and_show_no_password() {
        for (text, what) in [
            ("kafka://a:9092", "no topic"),
            ("kafka://a:9092/", "no topic"),
            ("kafka://a/t", "\"a\" is no host"),
            ("kafka://a:0/t", "is no host"),
            ("kafka:a:1/t", "no such scheme"),
            ("kafka+ssl://a:1/t", "no such scheme"),
            ("kafka://a:1/t/u", "is no name"),
            ("kafka://a:1/t?partitions=0", "is no number"),
            ("kafka://a:1/t?sasl=gssapi", "is no mechanism"),
            ("kafka://a:1/t?password=hunter2", "no parameter"),
            ("kafka://user:hunter2@a:1/t", "holds a user"),
        ] {
            assert!(Address::is(text), "{text}");
            let said = Address::parse(text).unwrap_err().to_string();
            assert!(said.starts_with(what) || said.contains(what), "{said}");
            assert!(said.contains("; ") && !said.contains("hunter2"), "{said}");
        }
        assert!(!Address::is("traffic.pbc") && !Address::is("kafka.pbc"));
    }
}
