//! Capture files: what is written is read, what is damaged costs no more than
//! itself, and what is made up costs no memory.

use std::io::Read;

use crate::support::{exchanges, plain};
use capture::file::{About, Damaged, FileError, Head, Kind, Reader, Writer};
use capture::{Exchange, Format, Pair, Place, ReadError, read};
use proptest::prelude::*;

const BEGAN_NS: u64 = 1_795_265_158_000_000_000;
/// Of a block's head.
const BLOCK_HEAD: usize = 48;

/// A file of blocks, and where each ends.
fn file(blocks: &[Vec<Exchange>]) -> (Vec<u8>, Vec<usize>) {
    let head = Head::new(Kind::Traffic, BEGAN_NS, About::default());
    let mut writer = Writer::new(Vec::new(), &head).unwrap();
    let mut ends = vec![writer.bytes() as usize];
    for block in blocks {
        for exchange in block {
            writer.push(exchange).unwrap();
        }
        writer.flush().unwrap();
        ends.push(writer.bytes() as usize);
    }
    let bytes = writer.finish().unwrap();
    assert_eq!(ends.last(), Some(&bytes.len()));
    (bytes, ends)
}

fn blocks(count: u64, records: u64) -> Vec<Vec<Exchange>> {
    (0..count)
        .map(|b| (0..records).map(|r| plain(b * records + r)).collect())
        .collect()
}

fn read_all(bytes: &[u8]) -> (Vec<Exchange>, Damaged) {
    let mut reader = Reader::<_, Exchange>::new(bytes).unwrap();
    let records = reader.by_ref().map(Result::unwrap).collect();
    (records, reader.damaged().clone())
}

#[test]
fn what_is_written_is_read() {
    let blocks = blocks(3, 7);
    let (bytes, _) = file(&blocks);
    let (records, damaged) = read_all(&bytes);
    assert_eq!(records, blocks.concat());
    assert_eq!(damaged, Damaged::default());
    assert!(bytes.len() < 3_000, "packed: {}", bytes.len());
    let (records, _) = read_all(&file(&[]).0);
    assert_eq!(records, []);
}

#[test]
fn many_records_make_blocks_of_their_own() {
    let all: Vec<Exchange> = (0..5_000).map(plain).collect();
    let head = Head::new(Kind::Traffic, BEGAN_NS, About::default());
    let mut writer = Writer::new(Vec::new(), &head).unwrap();
    for exchange in &all {
        writer.push(exchange).unwrap();
    }
    assert!(writer.flushed() > 0 && writer.gathered() < 5_000);
    let (records, damaged) = read_all(&writer.finish().unwrap());
    assert_eq!(damaged.count, 0);
    assert_eq!(records, all);
}

#[test]
fn a_cut_costs_the_block_that_it_goes_through() {
    let blocks = blocks(3, 5);
    let (bytes, ends) = file(&blocks);
    for length in ends[0]..bytes.len() {
        let (records, damaged) = read_all(&bytes[..length]);
        let whole = ends.iter().filter(|end| **end <= length).count() - 1;
        assert_eq!(records, blocks[..whole].concat(), "{length} bytes");
        let cut = !ends.contains(&length);
        assert_eq!(damaged.count, u64::from(cut), "{length} bytes: {damaged:?}");
        if cut {
            let damage = &damaged.first[0];
            assert_eq!(damage.offset, ends[whole] as u64);
            assert_eq!(damage.bytes, (length - ends[whole]) as u64);
            let known = length >= ends[whole] + BLOCK_HEAD;
            assert_eq!(damage.records, known.then_some(5), "{length} bytes");
        }
    }
}

#[test]
fn a_changed_bit_costs_its_block_and_is_reported() {
    let blocks = blocks(3, 5);
    let (bytes, ends) = file(&blocks);
    for at in ends[1]..ends[2] {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        let (records, damaged) = read_all(&changed);
        assert_eq!(records, [&blocks[0][..], &blocks[2]].concat(), "byte {at}");
        assert_eq!((damaged.count, damaged.records), (1, 5), "byte {at}");
        assert_eq!(damaged.first[0].offset, ends[1] as u64);
        assert_eq!(damaged.bytes, (ends[2] - ends[1]) as u64);
    }
}

#[test]
fn what_is_missing_between_two_blocks_is_reported() {
    let blocks = blocks(3, 5);
    let (bytes, ends) = file(&blocks);
    let without = [&bytes[..ends[1]], &bytes[ends[2]..]].concat();
    let (records, damaged) = read_all(&without);
    assert_eq!(records.len(), 10);
    assert_eq!((damaged.count, damaged.bytes, damaged.records), (1, 0, 5));
    let with_rubbish = [&bytes[..ends[1]], &[0xf5; 100], &bytes[ends[1]..]].concat();
    let (records, damaged) = read_all(&with_rubbish);
    assert_eq!(records, blocks.concat());
    assert_eq!((damaged.count, damaged.bytes, damaged.records), (1, 100, 0));
}

#[test]
fn a_block_of_another_file_that_somebody_sent_is_none() {
    let mut forged = plain(9);
    let (other, ends) = file(&blocks(1, 1));
    forged.body = other[ends[0]..].to_vec();
    forged.body_bytes = forged.body.len() as u64;
    let (bytes, ends) = file(&[vec![forged], vec![plain(10)]]);
    let mut changed = bytes.clone();
    changed[ends[0]] ^= 1;
    let (records, damaged) = read_all(&changed);
    assert_eq!(records, [plain(10)]);
    assert_eq!(damaged.records, 1);
}

#[test]
fn other_files_are_refused_by_name() {
    let refused = |bytes: &[u8]| Reader::<_, Exchange>::new(bytes).unwrap_err();
    assert!(matches!(refused(b""), FileError::NotOurs));
    assert!(matches!(refused(b"GET / HTTP/1.1\r\n"), FileError::NotOurs));
    let (bytes, ends) = file(&[]);
    assert!(matches!(
        refused(&bytes[..ends[0] - 1]),
        FileError::Damaged(_)
    ));
    let error = Reader::<_, Pair>::new(bytes.as_slice()).unwrap_err();
    assert!(error.to_string().contains("traffic") && error.to_string().contains("shadow-log"));
    let mut later = bytes;
    later[8] = 2;
    assert!(
        matches!(refused(&later), FileError::Damaged(_)),
        "nor is the version believed unchecked"
    );
}

#[test]
fn a_record_too_large_for_a_block_leaves_the_others() {
    let head = Head::new(Kind::Traffic, BEGAN_NS, About::default());
    let mut writer = Writer::new(Vec::new(), &head).unwrap();
    writer.push(&plain(1)).unwrap();
    let mut large = plain(2);
    large.body = vec![7; 33 << 20];
    large.body_bytes = large.body.len() as u64;
    let error = writer.push(&large).unwrap_err().to_string();
    assert!(error.contains("33554432"), "{error}");
    writer.push(&plain(3)).unwrap();
    let (records, _) = read_all(&writer.finish().unwrap());
    assert_eq!(records, [plain(1), plain(3)]);
}

#[test]
fn as_traffic_it_is_sorted_and_knows_connections() {
    let mut cut = plain(4);
    cut.body_bytes = 10;
    let (bytes, _) = file(&[vec![plain(3), plain(1)], vec![cut, plain(2)]]);
    let traffic = read(&bytes, None).unwrap();
    assert_eq!((traffic.format, traffic.timed), (Format::Capture, true));
    let found: Vec<_> = traffic
        .requests
        .iter()
        .map(|r| (r.at_ns, r.path.as_str(), r.connection))
        .collect();
    assert_eq!(
        found,
        [
            (0, "/products/1?page=2", Some(2)),
            (1_000_000, "/products/2?page=2", Some(3)),
            (2_000_000, "/products/3?page=2", Some(1)),
        ]
    );
    assert_eq!(traffic.began_ns, Some(BEGAN_NS + 1_000_000));
    assert_eq!(traffic.requests[0].host.as_deref(), Some("shop.test"));
    assert_eq!(
        (traffic.skipped.count, traffic.skipped.first[0].place),
        (1, Place::Record(3))
    );
    let again = capture::Traffic::read_from(bytes.as_slice()).unwrap();
    assert_eq!(again, traffic);
    assert!(matches!(
        read(&bytes[..20], None),
        Err(ReadError::Capture { .. })
    ));
}

/// Gives a byte at a time, as a pipe may.
struct Dribble<'a>(&'a [u8]);

impl Read for Dribble<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = into.len().min(1);
        self.0.read(&mut into[..count])
    }
}

proptest! {
    #[test]
    fn whatever_is_recorded_comes_back(
        blocks in prop::collection::vec(prop::collection::vec(exchanges(), 1..6), 0..4),
    ) {
        let (bytes, _) = file(&blocks);
        let (records, damaged) = read_all(&bytes);
        prop_assert_eq!(&records, &blocks.concat());
        prop_assert_eq!(damaged, Damaged::default());
        let dribbled: Vec<Exchange> =
            Reader::new(Dribble(&bytes)).unwrap().map(Result::unwrap).collect();
        prop_assert_eq!(dribbled, records);
    }

    /// What is read of a file with pieces overwritten was written, in order, and what is not is accounted for.
    #[test]
    fn damage_makes_nothing_up(
        edits in prop::collection::vec((any::<prop::sample::Index>(), prop::collection::vec(any::<u8>(), 0..60), 0..60_usize), 1..4),
    ) {
        let blocks = blocks(6, 4);
        let (mut bytes, ends) = file(&blocks);
        for (at, piece, removed) in edits {
            let at = ends[0] + at.index(bytes.len() + 1 - ends[0]);
            let end = bytes.len().min(at + removed);
            bytes.splice(at..end, piece);
        }
        let (records, damaged) = read_all(&bytes);
        let mut left = records.iter();
        let mut expected = left.next();
        for exchange in blocks.concat() {
            if expected == Some(&exchange) {
                expected = left.next();
            }
        }
        prop_assert_eq!(expected, None, "in the order in which they were written");
        prop_assert!(records.len() as u64 + damaged.records <= 24);
        prop_assert!(damaged.first.len() as u64 <= damaged.count);
    }
}
