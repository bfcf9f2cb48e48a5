//! Figures as people read them: three significant digits at most, a unit always.

pub use run::{change_with_interval, counted, grouped, rounded_change};

/// `61.3`, `1,240`.
pub fn rate(per_s: f64) -> String {
    match per_s {
        r if r >= 1000.0 => grouped(r.round() as u64),
        r if r >= 100.0 => format!("{r:.0}"),
        r => format!("{r:.1}"),
    }
}

/// `8.2 ms`, `1.25 s`; `∞` where a failure makes it so.
pub fn milliseconds(ms: Option<f64>) -> String {
    match ms {
        None => "∞".to_owned(),
        Some(ms) if ms >= 1000.0 => format!("{:.2} s", ms / 1000.0),
        Some(ms) if ms >= 100.0 => format!("{ms:.0} ms"),
        Some(ms) => format!("{ms:.1} ms"),
    }
}

/// The clients of a closed loop.
pub fn clients_without_a_pause(clients: u32) -> String {
    format!(
        "{}, each of which sends its next request as soon as it is answered",
        counted(clients, "client")
    )
}

/// `326 MiB`.
pub fn bytes(bytes: u64) -> String {
    let mib = bytes as f64 / (1 << 20) as f64;
    if mib >= 10_240.0 {
        format!("{:.1} GiB", mib / 1024.0)
    } else {
        format!("{mib:.0} MiB")
    }
}

/// `0.42 MiB`, `20.5 MiB`, `16.8 GiB`: with two decimals where [`bytes`] has none.
pub fn small_bytes(bytes: f64) -> String {
    match bytes / f64::from(1 << 20) {
        mib if mib.abs() < 9.995 => format!("{mib:.2} MiB"),
        mib if mib.abs() < 99.95 => format!("{mib:.1} MiB"),
        mib if mib.abs() >= 10_240.0 => format!("{:.1} GiB", mib / 1024.0),
        mib => format!("{mib:.0} MiB"),
    }
}

/// A response time as a bare number of milliseconds; `∞` where a failure makes it so.
pub fn number_of_ms(ms: Option<f64>) -> String {
    match ms {
        None => "∞".to_owned(),
        Some(ms) if ms >= 100.0 => grouped(ms.round() as u64),
        Some(ms) => format!("{ms:.1}"),
    }
}

/// Whether a change, as it is shown, is that of two figures, as they are shown: rounding aside. `last_digit` is what the last digit of
/// such a figure counts.
pub fn is_change_of(ratio: f64, figures: (f64, f64), last_digit: fn(f64) -> f64) -> bool {
    let (ours, theirs) = figures;
    let own = ours / theirs;
    let rounded = |figure: f64| last_digit(figure) / figure / 2.0;
    let shown = if (ratio - 1.0).abs() >= 0.995 {
        0.005
    } else {
        0.0005
    };
    (own - ratio).abs() <= shown + own * (rounded(ours) + rounded(theirs)) + 1e-9
}

/// Of [`rate`] and [`number_of_ms`].
pub fn last_digit(figure: f64) -> f64 {
    if figure >= 100.0 { 1.0 } else { 0.1 }
}

/// Of [`bytes`].
pub fn last_digit_of_bytes(bytes: f64) -> f64 {
    let mib = f64::from(1 << 20);
    match bytes / mib {
        in_gib if in_gib >= 10_240.0 => 102.4 * mib,
        _ => mib,
    }
}

/// `24.1 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// `0.42 %`.
pub fn share(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// `7 min 12 s`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..60 => format!("{whole} s"),
        60..3600 => format!("{} min {:02} s", whole / 60, whole % 60),
        _ => format!("{} h {:02} min", whole / 3600, whole % 3600 / 60),
    }
}

/// The middle one, or the mean of the two in the middle; `None` without values.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        _ if values.is_empty() => None,
        0 => Some((values[middle - 1] + values[middle]) / 2.0),
        _ => Some(values[middle]),
    }
}

/// Text of others without what a terminal would obey.
pub fn plain(text: &str) -> String {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_carry_their_units() {
        assert_eq!(rate(61.28), "61.3");
        assert_eq!(rate(1_234_567.0), "1,234,567");
        assert_eq!(milliseconds(Some(8.21)), "8.2 ms");
        assert_eq!(milliseconds(Some(1250.0)), "1.25 s");
        assert_eq!(milliseconds(None), "∞");
        assert_eq!(number_of_ms(Some(1250.4)), "1,250");
        assert_eq!(number_of_ms(None), "∞");
        assert_eq!(bytes(326 << 20), "326 MiB");
        assert_eq!(small_bytes(21_495_808.0), "20.5 MiB");
        assert_eq!(small_bytes(-440_401.0), "-0.42 MiB");
        assert_eq!(duration(432.0), "7 min 12 s");
    }

    #[test]
    fn figures_give_a_change_where_rounding_explains_the_rest() {
        let gives = |ratio, figures| is_change_of(ratio, figures, last_digit);
        assert!(gives(1.0, (42.0, 42.0)) && gives(4.02, (170.0, 42.3)));
        assert!(gives(0.912, (22.2, 24.4)) && !gives(0.8, (22.2, 24.4)));
        assert!(!gives(1.38, (126.0, 84.0)));
        let mib = |mib: f64| mib * 1_048_576.0;
        let gives = |ratio, figures| is_change_of(ratio, figures, last_digit_of_bytes);
        assert!(gives(0.85, (mib(17.0), mib(20.0))) && !gives(0.85, (mib(170.0), mib(210.0))));
    }
}
