//! Recorded traffic in a topic of Kafka, in the place of a file.

mod records;

pub use records::{Origin, Records, instant_ns, message};

use crate::args::KafkaArgs;
use crate::client::credentials::read;
use crate::commands::experiment_file::variable;
use crate::{Failure, output};
use experiment::config::{Asked, Problem};
use kafka::{Access, Address, Cluster, KafkaError, Login};
use std::path::Path;
use std::time::{Duration, Instant};

/// Between two lines about how far a wait or a long reading is.
pub const TELL_EVERY: Duration = Duration::from_secs(5);
const LOGIN: &str = "POWERBAND_KAFKA_LOGIN";
const LOGIN_FLAG: &str = "--kafka-login-file";

/// The address in the place of a file, where it is one.
pub fn named(file: &Path) -> Option<&str> {
    file.to_str().filter(|text| Address::is(text))
}

/// An address that can be used, and how. `flag`: where it was given.
pub fn addressed(
    flag: &str,
    text: &str,
    args: &KafkaArgs,
) -> Result<(Address, Access), Vec<Problem>> {
    let address = parsed(flag, text);
    match (address, access(args)) {
        (Ok(address), Ok(access)) => match access.fits(&address) {
            Ok(()) => Ok((address, access)),
            Err(e) => Err(vec![Problem::of(
                &Asked::new(address.to_string(), flag),
                e.what(),
                e.remedy(),
            )]),
        },
        (address, access) => Err([address.err(), access.err()]
            .into_iter()
            .flatten()
            .collect()),
    }
}

fn parsed(flag: &str, text: &str) -> Result<Address, Problem> {
    Address::parse(text)
        .map_err(|e| Problem::of(&Asked::new(shown(text), flag), e.what(), e.remedy()))
}

/// Without parameters, a user and a password, which do not belong there. A password may hold any of the signs.
fn shown(text: &str) -> String {
    let (named, parameters) = text.split_once('?').unwrap_or((text, ""));
    let separator = if named.contains("://") { "://" } else { ":" };
    let (scheme, rest) = named.split_once(separator).unwrap_or(("kafka", named));
    let hosts = match parameters.contains('@') {
        true => "...",
        false => rest.rsplit_once('@').map_or(rest, |(_, hosts)| hosts),
    };
    format!("{scheme}{separator}{hosts}")
}

fn access(args: &KafkaArgs) -> Result<Access, Problem> {
    let of_failure = |failure: Failure| {
        let text = &failure.message;
        let (what, remedy) = text.rsplit_once("; ").unwrap_or((text, ""));
        Problem::with(what, remedy)
    };
    let login = match &args.kafka_login_file {
        Some(file) => Some((LOGIN_FLAG, read(file, LOGIN_FLAG).map_err(of_failure)?)),
        None => variable(LOGIN)
            .map_err(of_failure)?
            .map(|text| (LOGIN, text)),
    };
    let login = login.map(|(origin, text)| {
        Login::parse(&text)
            .map_err(|e| Problem::with(format!("{origin}: {}", e.what()), e.remedy()))
    });
    if let Some(file) = &args.kafka_ca
        && let Err(e) = std::fs::File::open(file)
    {
        let asked = Asked::new(file.display().to_string(), "--kafka-ca");
        return Err(Problem::of(&asked, e, "name a PEM file that can be read"));
    }
    Ok(Access {
        ca: args.kafka_ca.clone(),
        login: login.transpose()?,
    })
}

/// Asks the brokers.
pub fn connected(address: &Address, access: &Access) -> Result<Cluster, Failure> {
    Cluster::connect(address, access).map_err(|e| failure(&e))
}

/// What Kafka did not do. A program without it is wrong usage, and so is a topic that is not there.
pub fn failure(error: &KafkaError) -> Failure {
    let said = error.to_string();
    match error {
        KafkaError::LeftOut | KafkaError::NoTopic { .. } => Failure::usage(said),
        _ => Failure::no_answer(said),
    }
}

/// All records of a topic, in the order of their clocks.
pub fn read_whole(address: &Address, access: &Access) -> Result<Records, Failure> {
    let cluster = connected(address, access)?;
    let mut records = Records::default();
    let mut said = Instant::now();
    let mut reading = cluster.reading(&address.topic).map_err(|e| failure(&e))?;
    let read = reading.read(|place, message| {
        records.take(place, &message);
        if said.elapsed() >= TELL_EVERY {
            said = Instant::now();
            output::say(&format!("{} messages of {address} are read", records.len()));
        }
    });
    reading.close();
    read.map_err(|e| failure(&e))?;
    records.sort();
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_address_is_shown_without_what_may_be_a_password() {
        for (text, wanted) in [
            ("kafka:user:hunter2@h:1/t", "kafka:h:1/t"),
            ("kafka://u:p@h:1/t?password=x", "kafka://h:1/t"),
            ("kafka://h:1/t?password=hun@ter2", "kafka://..."),
            ("kafka://u:hun?ter2@h:1/t", "kafka://..."),
            ("kafka+ssl://h:1/t", "kafka+ssl://h:1/t"),
        ] {
            assert_eq!(shown(text), wanted);
        }
    }
}
