//! Writes `contract/samples/capture/traffic-v1.pbc`, which readers in any language can be tried on:
//! `cargo run -p powerband-capture --example sample`. `tests/suite/golden.rs` says what is in it.

use capture::file::{About, Head, Kind, Writer};
use capture::{Answer, Exchange, Field};

fn exchange(id: u64, connection: u64, sequence: u32) -> Exchange {
    Exchange {
        id,
        at_ns: id * 250_000_000,
        connection,
        sequence,
        method: "GET".into(),
        target: format!("/products/{id}?token=REDACTED"),
        headers: vec![Field {
            name: "Host".into(),
            value: b"shop.example.com".to_vec(),
        }],
        body: Vec::new(),
        body_bytes: 0,
        answer: Some(Answer {
            status: 200,
            first_byte_ns: 4_000_000,
            took_ns: 5_000_000,
            body_bytes: 2_048,
            digest: 0x0123_4567_89ab_cdef,
            content_type: "text/html".into(),
            complete: true,
        }),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let about = About {
        written_by: "powerband 0.1.0".into(),
        host: "web-1".into(),
        primary: "http://127.0.0.1:3000".into(),
        ..About::default()
    };
    let mut head = Head::new(Kind::Traffic, 1_795_265_158_000_000_000, about);
    head.nonce = *b"a fixed nonce 16";
    head.about.capture = "6120666978656420".into();
    let mut post = exchange(2, 1, 2);
    post.method = "POST".into();
    post.target = "/cart".into();
    post.body = b"item=7&quantity=2".to_vec();
    post.body_bytes = 17;
    post.answer = None;
    let mut cut = exchange(3, 2, 1);
    cut.method = "PUT".into();
    cut.body_bytes = 1 << 40;
    let mut writer = Writer::new(Vec::new(), &head)?;
    writer.push(&exchange(1, 1, 1))?;
    writer.push(&post)?;
    writer.flush()?;
    writer.push(&cut)?;
    let bytes = writer.finish()?;
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../contract/samples/capture"
    );
    std::fs::create_dir_all(folder)?;
    std::fs::write(format!("{folder}/traffic-v1.pbc"), bytes)?;
    Ok(())
}
