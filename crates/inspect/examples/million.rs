//! How long a million records take: files are written, read as `powerband inspect` reads them, and for comparison
//! copied into memory, several times in turn.
//!
//!     cargo run --release -p powerband-inspect --example million -- [RECORDS]

use inspect::{Asked, Selection, document, read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const RING: usize = 16_384;
const ROUNDS: usize = 5;

fn main() -> std::io::Result<()> {
    let wanted: usize = std::env::args()
        .nth(1)
        .and_then(|n| n.parse().ok())
        .unwrap_or(1_000_000);
    let folder = std::env::temp_dir().join(format!("powerband-million-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let timed = write_files(&folder, wanted).and_then(|paths| time(&paths));
    std::fs::remove_dir_all(&folder)?;
    let mut answer = String::new();
    for (copied, inspected, records) in timed? {
        answer.push_str(&format!(
            "{records} records: copied in {:.3} s, inspected in {:.3} s\n",
            copied.as_secs_f64(),
            inspected.as_secs_f64()
        ));
    }
    std::io::Write::write_all(&mut std::io::stdout(), answer.as_bytes())
}

fn time(paths: &[PathBuf]) -> std::io::Result<Vec<(Duration, Duration, u64)>> {
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let mut bytes = 0;
        for path in paths {
            bytes += std::hint::black_box(std::fs::read(path)?).len();
        }
        let copied = begun.elapsed();
        assert!(bytes > 0);
        let begun = Instant::now();
        let reading = read(paths, Selection::default(), u64::MAX / 2);
        let asked = Asked {
            version: String::new(),
            sources: Vec::new(),
            since: Vec::new(),
            now_ns: u64::MAX / 2,
        };
        let made = document(reading, &asked);
        rounds.push((copied, begun.elapsed(), made.scope.records));
    }
    Ok(rounds)
}

/// Full rings of the golden sample's records, with times of their own.
fn write_files(folder: &Path, records: usize) -> std::io::Result<Vec<PathBuf>> {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../contract/samples/flight/wide_wrapped.flight");
    let sample = std::fs::read(sample)?;
    let (head, ring) = sample.split_at(20_480);
    let slots: Vec<&[u8]> = ring.chunks_exact(192).collect();
    let mut paths = Vec::new();
    let mut random = 1_u64;
    for (number, begun) in (0..records).step_by(RING).enumerate() {
        let held = RING.min(records - begun);
        let mut bytes = head.to_vec();
        put(&mut bytes, 20, &(RING as u32).to_le_bytes());
        put(&mut bytes, 384, &(held as u64).to_le_bytes());
        for index in 0..held {
            let at = bytes.len();
            bytes.extend_from_slice(slots[index % slots.len()]);
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            put(&mut bytes, at, &(index as u64 + 1).to_le_bytes());
            put(&mut bytes, at + 32, &(random >> 36).to_le_bytes());
            put(&mut bytes, at + 48, &(random >> 40).to_le_bytes());
        }
        bytes.resize(20_480 + RING * 192, 0);
        let path = folder.join(format!("{number}.flight"));
        std::fs::write(&path, bytes)?;
        paths.push(path);
    }
    Ok(paths)
}

fn put(bytes: &mut [u8], offset: usize, value: &[u8]) {
    bytes[offset..offset + value.len()].copy_from_slice(value);
}
