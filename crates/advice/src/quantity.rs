//! Quantities of Kubernetes: `1500m` of a core, `512Mi` of memory.

/// Cores in the shortest form.
pub fn of_cores(cores: f64) -> String {
    let milli = (cores * 1e3).round() as u64;
    match milli % 1000 {
        0 => (milli / 1000).to_string(),
        _ => format!("{milli}m"),
    }
}

/// Bytes in the largest unit that divides them.
pub fn of_bytes(bytes: u64) -> String {
    for (unit, name) in [(1 << 30, "Gi"), (1 << 20, "Mi"), (1 << 10, "Ki")] {
        if bytes > 0 && bytes.is_multiple_of(unit) {
            return format!("{}{name}", bytes / unit);
        }
    }
    bytes.to_string()
}

/// The number of cores or bytes; `None` if the text is not a quantity.
pub fn parse(text: &str) -> Option<f64> {
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &text[number.len()..];
    let number: f64 = number.parse().ok()?;
    let factor = match unit {
        "" => 1.0,
        // A product with 0.001 is not the nearest number: 700m would differ from 0.7.
        "m" => return Some(number / 1e3),
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "Ki" => f64::from(1 << 10),
        "Mi" => f64::from(1 << 20),
        "Gi" => f64::from(1 << 30),
        "Ti" => (1_u64 << 40) as f64,
        _ => return None,
    };
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_written_as_they_are_read() {
        for (cores, text) in [
            (1.5, "1500m"),
            (2.0, "2"),
            (0.05, "50m"),
            (0.7, "700m"),
            (0.35, "350m"),
        ] {
            assert_eq!(of_cores(cores), text);
            assert_eq!(parse(text), Some(cores));
        }
        for (bytes, text) in [(1 << 30, "1Gi"), (1536 << 20, "1536Mi"), (1000, "1000")] {
            assert_eq!(of_bytes(bytes), text);
            assert_eq!(parse(text), Some(bytes as f64));
        }
        assert_eq!(parse("2G"), Some(2e9));
        assert_eq!(parse("much"), None);
        assert_eq!(parse("1Xi"), None);
    }
}
