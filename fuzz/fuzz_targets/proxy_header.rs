//! Headers of the PROXY protocol: any bytes are refused or read without a panic, alike
//! however they are cut and whatever follows them; what is read is written again so
//! that it is read as the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use mirror::proxy_protocol::{Header, Version, read, write};

fuzz_target!(|bytes: &[u8]| {
    let whole = read(bytes);
    let gradually = (0..=bytes.len()).map(|count| read(&bytes[..count])).find(|read| *read != Ok(None));
    assert_eq!(gradually.unwrap_or(Ok(None)), whole, "byte by byte");
    let Ok(Some(header)) = whole else {
        return;
    };
    assert!(header.length <= bytes.len().min(4096));
    assert_eq!(read(&bytes[..header.length]), whole, "without what follows");
    let Some(ends) = header.ends else {
        return;
    };
    for version in [Version::V1, Version::V2] {
        let mut written = write(version, Some(&ends));
        let again = Header { length: written.len(), ends: Some(ends) };
        written.extend_from_slice(b"\r\nGET");
        assert_eq!(read(&written), Ok(Some(again)));
    }
});
