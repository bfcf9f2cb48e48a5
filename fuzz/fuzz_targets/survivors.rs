//! The reader of survivors files: any bytes whatever give an error or sites whose steps name frames that are there, and no more
//! than the bytes could hold.

#![no_main]

use flight::survivors::parse_survivors;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Ok(survivors) = parse_survivors(data) else { return };
    assert!(survivors.header.every > 0);
    assert!(survivors.frames.len() <= data.len() / 8);
    assert!(survivors.sites.len() <= data.len() / 48);
    let steps = survivors.sites.iter().flat_map(|site| &site.steps);
    assert!(steps.clone().count() <= data.len() / 8);
    assert!(steps.clone().all(|step| step.frame < survivors.frames.len()));
});
