//! The reader of `smaps`: any text gives nothing, or sums of its figures, and a mapping behind it counts as before.

#![no_main]

use host::smaps::{Mapped, parse_smaps};
use libfuzzer_sys::fuzz_target;

/// All numbers of the text, as if each were resident.
fn most(text: &str) -> u64 {
    let words = text.split(|c: char| !c.is_ascii_digit());
    let numbers = words.filter_map(|word| word.parse::<u64>().ok());
    numbers.fold(0, |sum, kb| sum.saturating_add(kb.saturating_mul(1024)))
}

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let Some(maps) = parse_smaps(&text) else { return };
    let each = Mapped::ALL.into_iter().map(|kind| maps.of(kind).rss_bytes);
    assert_eq!(maps.total().rss_bytes, each.fold(0, u64::saturating_add));
    assert!(maps.total().rss_bytes <= most(&text));
    let more = "0-1 rw-p 0 00:00 0 [heap]\nRss: 4 kB\nPss: 4 kB\n";
    let both = parse_smaps(&format!("{text}\n{more}")).expect("what was read is read again");
    let expected = maps.of(Mapped::Brk).rss_bytes.saturating_add(4096);
    assert_eq!(both.of(Mapped::Brk).rss_bytes, expected);
});
