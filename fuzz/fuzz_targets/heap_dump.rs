//! The readers of a heap's dump and of its log: any bytes give an error or a search whose figures are of objects in the dump. The first
//! line of an input is the number of the log's lines, which follow it; the dump is the rest.

#![no_main]

use heap::{Dump, Log, name, search, unnamed};
use libfuzzer_sys::fuzz_target;
use std::collections::HashMap;

fuzz_target!(|data: &[u8]| {
    let mut lines = data.split_inclusive(|byte| *byte == b'\n');
    let first = lines.next().and_then(|line| std::str::from_utf8(line).ok());
    let Some(count) = first.and_then(|line| line.trim().parse::<usize>().ok()) else { return };
    let log: Vec<u8> = lines.by_ref().take(count).flatten().copied().collect();
    let dump: Vec<u8> = lines.flatten().copied().collect();
    let (Ok(log), Ok(dump)) = (Log::read(&log[..]), Dump::read(&dump[..])) else { return };
    assert!(dump.len() <= data.len() / 8);
    let found = search(&dump, &log, &|file| file.starts_with('/'));
    assert!(unnamed(&found.leaks).bytes().all(|byte| byte.is_ascii_hexdigit() || b"-,".contains(&byte)));
    let leaks = name(found.leaks, &HashMap::new());
    for one in leaks.iter().chain(&name(found.others, &HashMap::new())) {
        assert!(!one.path.is_empty());
        assert!(one.objects_by_round.iter().sum::<u64>() <= dump.len() as u64);
        assert!(one.sites.iter().map(|site| site.objects).sum::<u64>() <= dump.len() as u64);
        assert!(one.objects_per_thousand.estimate.is_finite());
    }
});
