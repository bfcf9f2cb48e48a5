//! Capture files -> requests that can be sent again; and requests of any format
//! -> records for a capture file.

use std::io::Read;

use crate::collector::{Collector, Found};
use crate::file::{FileError, Reader};
use crate::traffic::{Place, Recorded, Traffic};
use crate::{Exchange, Field, ReadError};

pub(crate) fn read(input: impl Read, found: &mut Collector) -> Result<(), ReadError> {
    let why = |error: FileError| ReadError::Capture {
        why: error.to_string(),
    };
    let mut reader = Reader::<_, Exchange>::new(input).map_err(why)?;
    let began_ns = reader.head().began_ns;
    found.unredacted.clone_from(&reader.head().about.unredacted);
    for (number, record) in (1..).zip(reader.by_ref()) {
        match record {
            Ok(exchange) => found.take(Place::Record(number), request(began_ns, exchange)),
            Err(error) => return Err(why(error.into())),
        }
    }
    for damage in &reader.damaged().first {
        found.skip(Place::Byte(damage.offset), damage.to_string());
    }
    Ok(())
}

fn request(began_ns: u64, exchange: Exchange) -> Result<Found, String> {
    if exchange.body.len() as u64 != exchange.body_bytes {
        return Err(format!(
            "of its body {} bytes of {} were kept",
            exchange.body.len(),
            exchange.body_bytes
        ));
    }
    let header = |field: Field| match String::from_utf8(field.value) {
        Ok(value) => Ok((field.name, value)),
        Err(_) => Err(format!("header {} is not UTF-8", field.name)),
    };
    Ok(Found {
        at_ns: Some(i128::from(began_ns) + i128::from(exchange.at_ns)),
        method: exchange.method,
        target: exchange.target.into_bytes(),
        host: None,
        headers: exchange
            .headers
            .into_iter()
            .map(header)
            .collect::<Result<_, _>>()?,
        body: exchange.body,
        connection: Some(exchange.connection).filter(|number| *number > 0),
        status: exchange.answer.map(|answer| answer.status),
    })
}

impl Traffic {
    /// Reads a capture file as a stream: nothing but its requests is held in memory.
    ///
    /// # Errors
    /// As [`crate::read`]'s.
    pub(crate) fn from_capture(input: impl Read) -> Result<Self, ReadError> {
        let mut found = Collector::default();
        read(input, &mut found)?;
        found.finish(crate::Format::Capture)
    }

    /// Records that did not come from a file, each with the Unix time in ns from which it counts its instant.
    ///
    /// # Errors
    /// As [`crate::read`]'s.
    pub fn of_records(
        records: impl IntoIterator<Item = (u64, Exchange)>,
        unredacted: Vec<String>,
    ) -> Result<Self, ReadError> {
        let mut found = Collector::default();
        found.unredacted = unredacted;
        for (number, (began_ns, exchange)) in (1..).zip(records) {
            found.take(Place::Record(number), request(began_ns, exchange));
        }
        found.finish(crate::Format::Capture)
    }

    /// The requests as records of a capture that began with the first of them, at the instants of
    /// [`Traffic::instants_ns`]. Answers are unknown.
    pub fn into_exchanges(self) -> impl Iterator<Item = Exchange> {
        let instants = self.instants_ns();
        let requests = self.requests.into_iter().zip(instants);
        (1..)
            .zip(requests)
            .map(|(id, (request, at_ns))| exchange(id, at_ns, request))
    }
}

fn exchange(id: u64, at_ns: u64, request: Recorded) -> Exchange {
    let field = |(name, value): (String, String)| Field {
        name,
        value: value.into_bytes(),
    };
    let host = request.host.map(|host| ("Host".to_owned(), host));
    Exchange {
        id,
        at_ns,
        connection: request.connection.unwrap_or(0),
        sequence: 0,
        method: request.method,
        target: request.path,
        headers: host.into_iter().chain(request.headers).map(field).collect(),
        body_bytes: request.body.len() as u64,
        body: request.body,
        answer: None,
    }
}
