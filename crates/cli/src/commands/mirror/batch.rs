//! What the client's half hands over to be recorded: many requests in two pieces of memory, which come back to be used
//! again. A request's own memory is then made and freed on the one thread; freed on another it costs the
//! client's path more than everything else that recording does there.

use bytes::Bytes;
use capture::{Answer, Exchange, Field};
use mirror::Taken;
use std::time::Instant;

/// Memory that is kept for the next ones: those of 20 ms where there are many.
const KEPT_REQUESTS: usize = 16 << 10;
const KEPT_BYTES: usize = 4 << 20;
/// What a record takes in addition to its texts and body.
const OVERHEAD: u64 = size_of::<Noted>() as u64;

/// Requests in their order.
#[derive(Debug, Default)]
pub struct Batch {
    noted: Vec<Noted>,
    /// Methods, targets, fields' names and values, content types, one after another.
    text: Vec<u8>,
    /// How long each field's name and value are, likewise.
    fields: Vec<(u32, u32)>,
    weight: u64,
}

#[derive(Debug)]
struct Noted {
    id: u64,
    at: Instant,
    connection: u64,
    sequence: u32,
    fields: u32,
    method: u32,
    target: u32,
    body: Bytes,
    body_bytes: u64,
    answer: Option<Figures>,
}

/// An answer without its content type.
#[derive(Debug)]
struct Figures {
    status: u16,
    complete: bool,
    content_type: u32,
    first_byte_ns: u64,
    took_ns: u64,
    body_bytes: u64,
    digest: u64,
}

/// What a request weighs while it waits.
pub fn weight(request: &Taken) -> u64 {
    let fields = request.headers.bytes() + 8 * request.headers.count();
    OVERHEAD + (request.method.len() + request.target.len() + fields + request.body.len()) as u64
}

impl Batch {
    /// One more, which weighs so much.
    pub fn push(&mut self, request: &Taken, answer: Option<&Answer>, weight: u64) {
        self.weight += weight;
        self.text.extend_from_slice(request.method.as_bytes());
        self.text.extend_from_slice(request.target.as_bytes());
        for (name, value) in request.headers.iter() {
            self.text.extend_from_slice(name.as_bytes());
            self.text.extend_from_slice(value);
            self.fields.push((name.len() as u32, value.len() as u32));
        }
        let figures = answer.map(|answer| {
            self.text.extend_from_slice(answer.content_type.as_bytes());
            Figures {
                status: answer.status,
                complete: answer.complete,
                content_type: answer.content_type.len() as u32,
                first_byte_ns: answer.first_byte_ns,
                took_ns: answer.took_ns,
                body_bytes: answer.body_bytes,
                digest: answer.digest,
            }
        });
        self.noted.push(Noted {
            id: request.id,
            at: request.at,
            connection: request.connection,
            sequence: request.sequence,
            fields: request.headers.count() as u32,
            method: request.method.len() as u32,
            target: request.target.len() as u32,
            body: request.body.clone(),
            body_bytes: request.body_bytes,
            answer: figures,
        });
    }

    /// Gives each, in `record`'s memory, and forgets them; returns what they weighed. Instants count from `began`.
    pub fn drain(
        &mut self,
        began: Instant,
        record: &mut Exchange,
        mut take: impl FnMut(&mut Exchange),
    ) -> u64 {
        let (mut text, mut fields) = (Text(&self.text), self.fields.iter());
        for noted in self.noted.drain(..) {
            let at_ns = noted.at.saturating_duration_since(began).as_nanos();
            record.id = noted.id;
            record.at_ns = u64::try_from(at_ns).unwrap_or(u64::MAX);
            record.connection = noted.connection;
            record.sequence = noted.sequence;
            text.next_into(noted.method, &mut record.method);
            text.next_into(noted.target, &mut record.target);
            record
                .headers
                .resize_with(noted.fields as usize, Field::default);
            for (field, (name, value)) in record.headers.iter_mut().zip(&mut fields) {
                text.next_into(*name, &mut field.name);
                field.value.clear();
                field.value.extend_from_slice(text.next(*value));
            }
            record.body.clear();
            record.body.extend_from_slice(&noted.body);
            record.body_bytes = noted.body_bytes;
            record.answer = noted.answer.map(|figures| {
                let mut content_type = String::new();
                text.next_into(figures.content_type, &mut content_type);
                Answer {
                    status: figures.status,
                    first_byte_ns: figures.first_byte_ns,
                    took_ns: figures.took_ns,
                    body_bytes: figures.body_bytes,
                    digest: figures.digest,
                    content_type,
                    complete: figures.complete,
                }
            });
            take(record);
        }
        self.text.clear();
        self.fields.clear();
        self.noted.shrink_to(KEPT_REQUESTS);
        self.text.shrink_to(KEPT_BYTES);
        self.fields.shrink_to(KEPT_BYTES / size_of::<(u32, u32)>());
        std::mem::take(&mut self.weight)
    }
}

/// What is left of the texts.
struct Text<'a>(&'a [u8]);

impl<'a> Text<'a> {
    fn next(&mut self, length: u32) -> &'a [u8] {
        let (next, rest) = self.0.split_at(length as usize);
        self.0 = rest;
        next
    }

    fn next_into(&mut self, length: u32, text: &mut String) {
        text.clear();
        // It was text as it came.
        text.push_str(std::str::from_utf8(self.next(length)).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mirror::Admission;

    fn taken(id: u64, at: Instant, headers: &[(&str, &[u8])], body: &'static [u8]) -> Taken {
        Taken {
            id,
            at,
            connection: id / 2,
            sequence: 3,
            method: "POST".into(),
            target: format!("/{id}?é"),
            headers: headers.iter().copied().collect(),
            body: Bytes::from_static(body),
            body_bytes: body.len() as u64 + 1,
            admission: Admission::nobody(),
        }
    }

    #[test]
    fn what_comes_out_is_what_went_in_and_weighs_nothing_any_more() {
        let began = Instant::now();
        let at = |ms| began + std::time::Duration::from_millis(ms);
        let answer = Answer {
            status: 201,
            first_byte_ns: 1,
            took_ns: 2,
            body_bytes: 3,
            digest: 4,
            content_type: "text/html".into(),
            complete: true,
        };
        let fields: [(&str, &[u8]); 2] = [("Host", b"a"), ("X-Odd", b"\xff")];
        let requests = [
            (taken(1, at(5), &fields, b"body"), Some(answer)),
            (taken(2, at(6), &fields[..1], b""), None),
        ];
        let (mut batch, mut record) = (Batch::default(), Exchange::default());
        for _ in 0..2 {
            for (request, answer) in &requests {
                batch.push(request, answer.as_ref(), weight(request));
            }
            let mut got = Vec::new();
            let drained = batch.drain(began, &mut record, |record| got.push(record.clone()));
            assert_eq!(
                drained,
                requests.iter().map(|one| weight(&one.0)).sum::<u64>()
            );
            let expected = requests.iter().map(|(request, answer)| Exchange {
                id: request.id,
                at_ns: (4 + request.id) * 1_000_000,
                connection: request.connection,
                sequence: 3,
                method: "POST".into(),
                target: request.target.clone(),
                headers: request
                    .headers
                    .iter()
                    .map(|(name, value)| Field {
                        name: name.into(),
                        value: value.into(),
                    })
                    .collect(),
                body: request.body.to_vec(),
                body_bytes: request.body_bytes,
                answer: answer.clone(),
            });
            assert_eq!(got, expected.collect::<Vec<_>>());
        }
        assert_eq!(
            batch.drain(began, &mut record, |_| panic!("nothing is left")),
            0
        );
    }
}
