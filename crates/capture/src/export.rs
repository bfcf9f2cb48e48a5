//! Records of a capture -> other tools' formats. A field that a format cannot
//! hold is left out of it; a request that it cannot hold is skipped and
//! reported.

mod gor;
mod h2load;
mod har;
mod vegeta;

use std::fmt;
use std::io::{self, Write};

use crate::request_target;
use crate::traffic::{FIRST_SKIPPED, Place, Skip, Skipped};
use crate::{Exchange, Format};

/// A format that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Export {
    /// GoReplay's `--input-file`.
    Gor,
    /// HTTP Archive 1.2.
    Har,
    /// `vegeta attack -format=json`.
    VegetaJson,
    /// `h2load --timing-script-file`.
    H2load,
}

impl Export {
    /// The format that such a file is read as.
    #[must_use]
    pub fn format(self) -> Format {
        match self {
            Self::Gor => Format::Gor,
            Self::Har => Format::Har,
            Self::VegetaJson => Format::VegetaJson,
            Self::H2load => Format::H2load,
        }
    }
}

impl fmt::Display for Export {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.format().fmt(f)
    }
}

/// Writes one file in another tool's format.
#[derive(Debug)]
pub struct Exporter<W> {
    to: Export,
    out: W,
    began_ns: u64,
    line: Vec<u8>,
    written: u64,
    skipped: Skipped,
}

impl<W: Write> Exporter<W> {
    /// Begins a file. `began_ns`: the Unix time from which records count their instants.
    ///
    /// # Errors
    /// What the medium says.
    pub fn new(to: Export, mut out: W, began_ns: u64) -> io::Result<Self> {
        if to == Export::Har {
            out.write_all(har::BEGIN.as_bytes())?;
        }
        Ok(Self {
            to,
            out,
            began_ns,
            line: Vec::new(),
            written: 0,
            skipped: Skipped::default(),
        })
    }

    /// Writes a request, or skips it.
    ///
    /// # Errors
    /// What the medium says.
    pub fn put(&mut self, exchange: &Exchange) -> io::Result<()> {
        self.line.clear();
        let line = &mut self.line;
        let encoded = encoded(exchange);
        let exchange = encoded.as_ref().unwrap_or(exchange);
        let made = sendable(exchange).and_then(|()| match self.to {
            Export::Gor => gor::write(exchange, self.began_ns, line),
            Export::Har => har::write(exchange, self.began_ns, self.written == 0, line),
            Export::VegetaJson => vegeta::write(exchange, line),
            Export::H2load => h2load::write(exchange, line),
        });
        match made {
            Ok(()) => {
                self.written += 1;
                self.out.write_all(&self.line)
            }
            Err(why) => {
                self.skipped.count += 1;
                if self.skipped.first.len() < FIRST_SKIPPED {
                    let place = Place::Record(self.written + self.skipped.count);
                    let why = why.into();
                    self.skipped.first.push(Skip { place, why });
                }
                Ok(())
            }
        }
    }

    /// Ends the file: how many requests are in it, and which are not.
    ///
    /// # Errors
    /// What the medium says.
    pub fn finish(mut self) -> io::Result<(W, u64, Skipped)> {
        if self.to == Export::Har {
            self.out.write_all(har::END.as_bytes())?;
        }
        self.out.flush()?;
        Ok((self.out, self.written, self.skipped))
    }
}

/// The request with its target percent-encoded, where it holds UTF-8, which the mirror passes and other tools refuse.
fn encoded(exchange: &Exchange) -> Option<Exchange> {
    (!exchange.target.is_ascii()).then(|| Exchange {
        target: request_target::ascii(&exchange.target),
        ..exchange.clone()
    })
}

/// What no line of a head may hold would become a second line of it.
fn sendable(exchange: &Exchange) -> Result<(), &'static str> {
    if exchange.body.len() as u64 != exchange.body_bytes {
        return Err("its body was not kept whole");
    }
    if http::Method::from_bytes(exchange.method.as_bytes()).is_err() {
        return Err("its method is no token");
    }
    let target = exchange.target.as_bytes();
    if !target.starts_with(b"/") || !target.iter().all(u8::is_ascii_graphic) {
        return Err("its target is no path that a request line can hold");
    }
    let legal = exchange.headers.iter().all(|field| {
        http::HeaderName::from_bytes(field.name.as_bytes()).is_ok()
            && http::HeaderValue::from_bytes(&field.value).is_ok()
    });
    if legal {
        Ok(())
    } else {
        Err("a header holds what no line of a head may hold")
    }
}

/// The host that the request was addressed to, since a URL must name one.
fn host(exchange: &Exchange) -> &str {
    let named = exchange
        .headers
        .iter()
        .find(|f| f.name.eq_ignore_ascii_case("host"));
    named
        .and_then(|field| std::str::from_utf8(&field.value).ok())
        .filter(|host| host.parse::<http::uri::Authority>().is_ok())
        .unwrap_or("localhost")
}

/// End-to-end fields as text, `Host` left out.
fn text_headers(exchange: &Exchange) -> Result<Vec<(&str, &str)>, &'static str> {
    let fields = exchange
        .headers
        .iter()
        .filter(|f| !f.name.eq_ignore_ascii_case("host"));
    fields
        .map(|field| {
            let value = std::str::from_utf8(&field.value).map_err(|_| "a header is not UTF-8")?;
            Ok((field.name.as_str(), value))
        })
        .collect()
}
