//! Counts, lists and the first letter, as sentences have them.

use std::borrow::Borrow;

/// `1 trial`, `3 trials`, `2 processes`, `1,240 requests`.
pub fn counted(count: impl TryInto<u64>, one: &str) -> String {
    let count = count.try_into().unwrap_or(u64::MAX);
    if count == 1 {
        return format!("1 {one}");
    }
    let ending = match one.ends_with('s') || one.ends_with("ch") {
        true => "es",
        false => "s",
    };
    format!("{} {one}{ending}", grouped(count))
}

/// The text with a capital first letter, where that is an ASCII letter.
pub fn sentence_case(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

/// `1,240`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// The first of these names, and how many more there are: `a, b and 3 more`.
pub fn first_of<S: Borrow<str>>(names: &[S], most: usize) -> String {
    let (shown, more) = names.split_at(names.len().min(most));
    match more.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A computed count of threads as a whole number: rounded up, unless it is within 0.1 above one, which a measurement does not tell
/// apart.
pub fn whole_threads(useful: f64) -> f64 {
    (useful - 0.1).ceil().max(1.0)
}

/// From so many threads on, the second has as much to do as the first.
const NEARLY_TWO: f64 = 1.95;

/// How many of these, such as `thread`, keep `what` busy, by the count `useful` of [`whole_threads`]; where a second one has less to
/// do than the first, how busy one alone keeps it.
pub fn keep_busy(useful: f64, one: &str, what: &str) -> String {
    match whole_threads(useful) as u64 {
        1 => format!("about 1 {one} keeps {what} busy"),
        2 if useful < NEARLY_TWO => format!(
            "1 {one} keeps {what} busy {:.0} % of the time, and a second one fills most of the rest",
            100.0 / useful
        ),
        count => format!("about {} keep {what} busy", counted(count, one)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_thread_with_little_to_do_is_not_counted_as_a_whole_one() {
        let said = |useful| keep_busy(useful, "thread", "it");
        let second = "a second one fills most of the rest";
        for (useful, words) in [
            (1.1, "about 1 thread keeps it busy".to_owned()),
            (
                1.15,
                format!("1 thread keeps it busy 87 % of the time, and {second}"),
            ),
            (
                1.5,
                format!("1 thread keeps it busy 67 % of the time, and {second}"),
            ),
            (2.0, "about 2 threads keep it busy".to_owned()),
            (3.6, "about 4 threads keep it busy".to_owned()),
        ] {
            assert_eq!(said(useful), words);
        }
        assert_eq!(
            keep_busy(5.0, "process", "one core"),
            "about 5 processes keep one core busy"
        );
    }

    #[test]
    fn a_tenth_of_a_thread_is_no_further_thread() {
        for (useful, threads) in [
            (0.05, 1.0),
            (2.0, 2.0),
            (2.008, 2.0),
            (2.2, 3.0),
            (2.9, 3.0),
        ] {
            assert_eq!(whole_threads(useful), threads, "{useful}");
        }
    }

    #[test]
    fn one_is_singular_and_all_others_are_plural() {
        assert_eq!(counted(1_u32, "trial"), "1 trial");
        assert_eq!(counted(0_u32, "trial"), "0 trials");
        assert_eq!(counted(2_usize, "process"), "2 processes");
        assert_eq!(counted(3_u64, "batch"), "3 batches");
        assert_eq!(counted(1_234_567_u64, "request"), "1,234,567 requests");
    }
}
