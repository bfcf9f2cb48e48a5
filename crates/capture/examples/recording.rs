//! What recording one small request costs: `cargo run --release -p powerband-capture --example recording`.
//! Redaction, encoding, packing and checksums, in CPU time of one thread, without a disk.

use capture::file::{About, Head, Kind, Record, Writer};
use capture::{Answer, Exchange, Field, Rules};
use std::hint::black_box;
use std::io::{self, Write};
use std::time::Duration;

const REQUESTS: u64 = 1_000_000;

/// As a browser sends them, by way of a proxy.
fn request(id: u64) -> Exchange {
    let field = |(name, value): (&str, String)| Field {
        name: name.into(),
        value: value.into_bytes(),
    };
    let headers = [
        ("Host", "shop.example.com".to_owned()),
        (
            "User-Agent",
            "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0".to_owned(),
        ),
        (
            "Accept",
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8".to_owned(),
        ),
        ("Accept-Language", "en-US,en;q=0.5".to_owned()),
        ("Accept-Encoding", "gzip, deflate, br, zstd".to_owned()),
        (
            "Cookie",
            format!(
                "_shop_session={:032x}; theme=dark",
                id.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            ),
        ),
        ("X-Forwarded-For", format!("203.0.113.{}", id % 256)),
        (
            "X-Request-Id",
            format!("{:032x}", id.wrapping_mul(0xbf58_476d_1ce4_e5b9)),
        ),
    ];
    Exchange {
        id,
        at_ns: id * 1_000_000 + id % 977,
        connection: 1 + id / 7,
        sequence: (id % 7) as u32 + 1,
        method: "GET".into(),
        target: format!("/products/{}?page={}", id % 5_000, id % 9),
        headers: headers.map(field).into(),
        body: Vec::new(),
        body_bytes: 0,
        answer: Some(Answer {
            status: 200,
            first_byte_ns: 3_000_000 + id % 100_000,
            took_ns: 3_500_000 + id % 100_000,
            body_bytes: 12_000 + id % 100,
            digest: id.wrapping_mul(0x94d0_49bb_1331_11eb),
            content_type: "text/html".into(),
            complete: true,
        }),
    }
}

struct Counting(u64);

impl Write for Counting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Time that this thread has had a CPU: the machine may be busy with something else.
fn cpu() -> Duration {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = told.split(' ').next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.unwrap_or(0))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let rules = Rules::default();
    let templates: Vec<Exchange> = (0..10_000).map(request).collect();
    let began = cpu();
    for n in 0..REQUESTS {
        black_box(templates[(n % 10_000) as usize].clone());
    }
    let cloning = cpu() - began;
    let began = cpu();
    for n in 0..REQUESTS {
        let mut exchange = templates[(n % 10_000) as usize].clone();
        exchange.redact(&rules);
        black_box(exchange);
    }
    let redacting = (cpu() - began).saturating_sub(cloning);
    let head = Head::new(Kind::Traffic, 0, About::default());
    let mut writer = Writer::new(Counting(0), &head)?;
    let began = cpu();
    for n in 0..REQUESTS {
        writer.push(&templates[(n % 10_000) as usize])?;
    }
    writer.flush()?;
    let writing = cpu() - began;
    let ns = |time: Duration| time.as_nanos() / u128::from(REQUESTS);
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "redacting {} ns a request, writing {} ns",
        ns(redacting),
        ns(writing)
    )?;
    writeln!(
        out,
        "{} bytes a request in the file",
        writer.finish()?.0 / REQUESTS
    )?;
    Ok(())
}
