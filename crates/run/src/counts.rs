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

#[cfg(test)]
mod tests {
    use super::*;

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
