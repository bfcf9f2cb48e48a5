//! The readers of other tools' traffic files: any bytes give an error or requests that can be sent, in the order of
//! their instants; what is written of them in each format is read again. The first byte says as which format the
//! others are read; one more leaves that to the file.

#![no_main]

use capture::file::{About, Head, Kind, Reader, Writer};
use capture::{Exchange, Export, Exporter, Format, MAX_BODY, ReadError, read};
use libfuzzer_sys::fuzz_target;

const FORMATS: [Format; 6] = [
    Format::Gor,
    Format::Har,
    Format::VegetaJson,
    Format::H2load,
    Format::AccessLog,
    Format::JsonLines,
];
const EXPORTS: [Export; 4] = [Export::Gor, Export::Har, Export::VegetaJson, Export::H2load];

fuzz_target!(|data: &[u8]| {
    let Some((kind, text)) = data.split_first() else {
        return;
    };
    let format = FORMATS.get(usize::from(*kind) % (FORMATS.len() + 1)).copied();
    let traffic = match read(text, format) {
        Ok(traffic) => traffic,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert!(!traffic.requests.is_empty());
    assert_eq!(traffic.requests[0].at_ns, 0);
    assert!(traffic.requests.is_sorted_by_key(|request| request.at_ns));
    assert!(traffic.instants_ns().is_sorted());
    assert!(traffic.skipped.first.len() as u64 <= traffic.skipped.count);
    for request in &traffic.requests {
        assert!(request.path.starts_with('/') && request.path.bytes().all(|byte| byte.is_ascii_graphic()));
        assert!(request.body.len() <= MAX_BODY);
        let whole = |value: &str| !value.bytes().any(|byte| matches!(byte, b'\r' | b'\n' | 0));
        assert!(request.headers.iter().all(|(name, value)| whole(name) && whole(value)));
    }
    let began_ns = traffic.began_ns.unwrap_or(0);
    let exchanges: Vec<Exchange> = traffic.into_exchanges().collect();
    let head = Head::new(Kind::Traffic, began_ns, About::default());
    let mut writer = Writer::new(Vec::new(), &head).expect("a head");
    for exchange in &exchanges {
        writer.push(exchange).expect("what was read fits");
    }
    let bytes = writer.finish().expect("memory");
    let found: Vec<Exchange> =
        Reader::new(bytes.as_slice()).expect("ours").map(|r| r.expect("memory")).collect();
    assert_eq!(found, exchanges);
    for to in EXPORTS {
        let mut exporter = Exporter::new(to, Vec::new(), began_ns).expect("memory");
        for exchange in &exchanges {
            exporter.put(exchange).expect("memory");
        }
        let (bytes, written, skipped) = exporter.finish().expect("memory");
        assert_eq!(written + skipped.count, exchanges.len() as u64);
        if written > 0 {
            // An instant or a host may be more than the format can say: that is told then.
            let (read, skipped) = match read(&bytes, Some(to.format())) {
                Ok(again) => (again.requests.len() as u64, again.skipped.count),
                Err(ReadError::NothingReadable { skipped, .. }) => (0, skipped.count),
                Err(error) => panic!("{to}: {error}"),
            };
            assert_eq!(read + skipped, written, "{to}");
        }
    }
});
