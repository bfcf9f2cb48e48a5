//! The sample of the byte format: what was written once is read for ever.

use capture::Exchange;
use capture::file::{Damaged, Kind, Reader};

const SAMPLE: &[u8] = include_bytes!("../../../../contract/samples/capture/traffic-v1.pbc");

#[test]
fn the_sample_is_read() {
    let mut reader = Reader::<_, Exchange>::new(SAMPLE).unwrap();
    let head = reader.head().clone();
    assert_eq!(
        (head.kind, head.began_ns),
        (Kind::Traffic, 1_795_265_158_000_000_000)
    );
    assert_eq!(&head.nonce, b"a fixed nonce 16");
    assert_eq!((head.about.host.as_str(), head.about.part), ("web-1", 0));
    let records: Vec<Exchange> = reader.by_ref().map(Result::unwrap).collect();
    assert_eq!(reader.damaged(), &Damaged::default());
    let [get, post, cut] = records.as_slice() else {
        panic!("{records:?}")
    };
    assert_eq!(
        (get.id, get.at_ns, get.connection, get.sequence),
        (1, 250_000_000, 1, 1)
    );
    assert_eq!(get.target, "/products/1?token=REDACTED");
    assert_eq!(
        (
            get.headers[0].name.as_str(),
            get.headers[0].value.as_slice()
        ),
        ("Host", &b"shop.example.com"[..])
    );
    let answer = get.answer.as_ref().unwrap();
    assert_eq!(
        (answer.status, answer.took_ns, answer.digest),
        (200, 5_000_000, 0x0123_4567_89ab_cdef)
    );
    assert_eq!(
        (post.method.as_str(), post.body.as_slice()),
        ("POST", &b"item=7&quantity=2"[..])
    );
    assert_eq!(post.answer, None);
    assert_eq!((cut.body.len(), cut.body_bytes), (0, 1 << 40));
}

#[test]
fn its_bytes_are_where_the_contract_says() {
    let u32_at = |at: usize| u32::from_le_bytes(SAMPLE[at..at + 4].try_into().unwrap());
    let u64_at = |at: usize| u64::from_le_bytes(SAMPLE[at..at + 8].try_into().unwrap());
    let crc = |parts: &[&[u8]]| {
        let mut hasher = crc32fast::Hasher::new();
        parts.iter().for_each(|part| hasher.update(part));
        hasher.finalize()
    };
    assert_eq!(&SAMPLE[..8], b"\x89PBC\r\n\x1a\n");
    assert_eq!(SAMPLE[8..12], [1, 0, 1, 0]);
    let about = &SAMPLE[44..44 + u32_at(12) as usize];
    assert_eq!(u64_at(16), 1_795_265_158_000_000_000);
    assert_eq!(u32_at(40), crc(&[&SAMPLE[..40], about]));
    assert!(
        serde_json::from_slice::<serde_json::Value>(about)
            .unwrap()
            .is_object()
    );
    let nonce = &SAMPLE[24..40];
    let block = 44 + about.len();
    assert_eq!(&SAMPLE[block..block + 8], b"\xf5PBblk\r\n");
    let packed = &SAMPLE[block + 48..block + 48 + u32_at(block + 8) as usize];
    assert_eq!(
        (u32_at(block + 16), u64_at(block + 24), u64_at(block + 32)),
        (2, 0, 250_000_000)
    );
    assert_eq!(u32_at(block + 20), crc(&[nonce, packed]));
    assert_eq!(SAMPLE[block + 40..block + 44], [1, 0, 0, 0]);
    assert_eq!(
        u32_at(block + 44),
        crc(&[nonce, &SAMPLE[block..block + 44]])
    );
    let raw = lz4_flex::block::decompress(packed, u32_at(block + 12) as usize).unwrap();
    // A map of ten names, the first of which is `id`: 1.
    assert_eq!(&raw[..5], b"\x8a\xa2id\x01");
}
