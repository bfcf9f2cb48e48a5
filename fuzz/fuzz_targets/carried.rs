//! The text of what removed flight files had counted: any text gives sums or the line that is damaged, and sums are
//! written as Prometheus reads them.

#![no_main]

use libfuzzer_sys::fuzz_target;
use metrics::{Carried, ENDPOINTS, Gauges, Shown, Sums, families, text};

fuzz_target!(|data: &[u8]| {
    let read = String::from_utf8_lossy(data);
    let carried = match Carried::parse(&read) {
        Ok(carried) => carried,
        Err(damaged) => {
            assert!(read.contains(&damaged.line));
            return;
        }
    };
    let mut all = Sums::default();
    for sums in carried.applications.values() {
        all.merge(sums);
    }
    let written = text(&families(&all, &Gauges::default(), Shown { endpoints: ENDPOINTS, opentelemetry: true }));
    // Whoever reads it has one sample a line, whatever the names hold, and each is a count or an amount.
    for line in written.lines().filter(|line| !line.starts_with("# ")) {
        let known = ["powerband_", "http_server_request_duration_seconds_"];
        assert!(known.iter().any(|family| line.starts_with(family)), "{line}");
        let value = line.rsplit(' ').next().and_then(|word| word.parse::<f64>().ok());
        assert!(value.is_some_and(|value| value.is_finite() && value >= 0.0), "{line}");
    }
});
