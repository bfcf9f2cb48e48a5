//! The reader of capture files: any bytes give an error or records that can be written and read again, and no length
//! in them makes it take memory that the bytes do not explain. The first byte says what the others are: a file, the
//! packed bytes of a block, or its records; of the latter two, head and checksums are made to match.

#![no_main]

use capture::Exchange;
use capture::file::{About, Head, Kind, Reader, Record, Writer};
use capture::{Pair, Rules, Traffic};
use libfuzzer_sys::fuzz_target;

const NONCE: [u8; 16] = *b"a fixed nonce 16";

fn head() -> Head {
    let mut head = Head::new(Kind::Traffic, 1_795_265_158_000_000_000, About::default());
    head.nonce = NONCE;
    head
}

fn checksum(bytes: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&NONCE);
    hasher.update(bytes);
    hasher.finalize().to_le_bytes()
}

fn block(packed: &[u8], raw: u32, records: u32) -> Vec<u8> {
    let writer = Writer::<_, Exchange>::new(Vec::new(), &head()).expect("a head");
    let mut file = writer.finish().expect("memory");
    let mut block = b"\xf5PBblk\r\n".to_vec();
    block.extend((packed.len() as u32).to_le_bytes());
    block.extend(raw.to_le_bytes());
    block.extend(records.to_le_bytes());
    block.extend(checksum(packed));
    block.extend([0; 16]);
    block.extend([1, 0, 0, 0]);
    let crc = checksum(&block);
    block.extend(crc);
    file.extend(block);
    file.extend(packed);
    file
}

fn again(records: &[Exchange]) {
    let mut writer = Writer::new(Vec::new(), &head()).expect("a head");
    for record in records {
        writer.push(record).expect("what was read fits");
    }
    let bytes = writer.finish().expect("memory");
    let mut reader = Reader::<_, Exchange>::new(bytes.as_slice()).expect("ours");
    let found: Vec<Exchange> = reader.by_ref().map(|r| r.expect("memory")).collect();
    assert_eq!(found, records);
    assert_eq!(reader.damaged().count, 0);
    let rules = Rules::default();
    for mut record in found {
        record.redact(&rules);
        let once = record.clone();
        record.redact(&rules);
        assert_eq!(record, once);
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((kind, data)) = data.split_first() else {
        return;
    };
    let file = match kind % 3 {
        0 => data.to_vec(),
        1 => {
            let Some((lengths, packed)) = data.split_at_checked(3) else {
                return;
            };
            let raw = u32::from(u16::from_le_bytes([lengths[0], lengths[1]]));
            block(packed, raw, u32::from(lengths[2]))
        }
        _ => {
            let Some((records, raw)) = data.split_first() else {
                return;
            };
            block(&lz4_flex::block::compress(raw), raw.len() as u32, u32::from(*records))
        }
    };
    let Ok(mut reader) = Reader::<_, Exchange>::new(file.as_slice()) else {
        let _ = Reader::<_, Pair>::new(file.as_slice()).map(|reader| reader.count());
        return;
    };
    let records: Vec<Exchange> = reader.by_ref().map(|r| r.expect("memory")).collect();
    let damaged = reader.damaged();
    assert!(damaged.bytes <= file.len() as u64);
    assert!(damaged.first.len() as u64 <= damaged.count);
    again(&records);
    if let Ok(traffic) = Traffic::read_from(file.as_slice()) {
        assert!(traffic.requests.len() <= records.len());
        assert!(traffic.requests.iter().all(|r| r.path.starts_with('/')));
    }
});
